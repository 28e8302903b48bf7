"""How a guard changes a decision: the outcome, the proposal and the reason stay together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.core.signals import Decision


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a guard has to say about one module."""

    degree: int | None
    """The degree that it allows; None asks nothing of the module."""
    why: str


def revise(decided: Decision, rule: Callable[[str, int], Ruling | None]) -> Decision:
    """The decision under a rule for each module and its degree, where None lets it pass.

    >>> from penstock.core.signals import Configuration
    >>> plan = Decision(configuration=Configuration(degrees={"counter": 9}), why="load doubled")
    >>> ruled = revise(plan, lambda name, degree: Ruling(8, f"{name} limited to 8"))
    >>> ruled.configuration.degrees, ruled.why
    ({'counter': 8}, 'load doubled; counter limited to 8')
    >>> ruled.proposed.degrees
    {'counter': 9}
    """
    degrees, clauses = dict(decided.configuration.degrees), [decided.why]
    for name, degree in decided.configuration.degrees.items():
        ruling = rule(name, degree)
        if ruling is None:
            continue
        clauses.append(ruling.why)
        if ruling.degree is None:
            del degrees[name]
        else:
            degrees[name] = ruling.degree
    return changed(replace(decided, why="; ".join(clauses)), degrees)


def changed(decided: Decision, degrees: Mapping[str, int]) -> Decision:
    """The decision with other degrees; what the policy first proposed is kept."""
    before = decided.configuration.degrees
    if degrees == before:
        return decided
    other = {name for name in before if degrees.get(name) != before[name]}
    return replace(
        decided,
        configuration=replace(
            decided.configuration,
            degrees=degrees,
            # a table for so many replicas is none for another number of them
            routing={k: v for k, v in decided.configuration.routing.items() if k not in other},
        ),
        proposed=decided.proposed or decided.configuration,
        # a forecast for the degree that was proposed says nothing of the one that is allowed
        expects={k: v for k, v in decided.expects.items() if k.rpartition(":")[2] not in other},
    )
