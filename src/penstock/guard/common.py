"""How a guard changes a decision, and what it reads of a module."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.core.signals import Decision, ModuleReading, Observation, Request
from penstock.policy.common.degrees import with_degrees
from penstock.policy.common.estimates import executor_time, known


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a guard has to say about one module."""

    degree: int | None
    """The degree that it allows; None asks nothing of the module."""
    why: str


def revise(decided: Decision, rule: Callable[[str, int], Ruling | None]) -> Decision:
    """The decision under a rule for each module and its degree, where None lets it pass.

    Nodes stay as decided, and requests too, but for those that the rule overrules: their answer
    says so.

    >>> from penstock.core.signals import Configuration
    >>> plan = Decision(configuration=Configuration(degrees={"counter": 9}), why="load doubled")
    >>> ruled = revise(plan, lambda name, degree: Ruling(8, f"{name} limited to 8"))
    >>> ruled.configuration.degrees, ruled.why
    ({'counter': 8}, 'load doubled; counter limited to 8')
    >>> ruled.proposed.degrees
    {'counter': 9}
    """
    before = decided.configuration.degrees
    all_rulings = {name: rule(name, degree) for name, degree in before.items()}
    rulings = {name: ruling for name, ruling in all_rulings.items() if ruling is not None}
    text = "; ".join([decided.why, *(ruling.why for ruling in rulings.values())])
    requests = tuple(r for made in decided.requests for r in _overruled(made, before, rulings))
    allowed = {
        name: before[name] if ruling is None else ruling.degree
        for name, ruling in all_rulings.items()
    }
    degrees = {name: degree for name, degree in allowed.items() if degree is not None}
    return with_degrees(replace(decided, why=text, requests=requests), degrees)


def _overruled(
    request: Request, before: Mapping[str, int], rulings: Mapping[str, Ruling]
) -> Iterator[Request]:
    """The request with what a guard made of it, so that none passes for carried out that is not.

    What the guard leaves stays granted, and the rest is a refusal of its own.
    """
    ruling, decided = rulings.get(request.manager), before.get(request.manager)
    granted = request.granted and request.level == "application"
    if ruling is None or decided is None or ruling.degree == decided or not granted:
        yield request
        return
    began = decided - request.change
    left = 0 if ruling.degree is None else ruling.degree - began
    if left * request.change <= 0:
        yield _held_back(request, ruling)
    elif abs(left) < abs(request.change):
        yield replace(request, change=left)
        yield replace(_held_back(request, ruling), change=request.change - left)
    else:
        yield replace(request, change=left, answer=f"a guard made it more: {ruling.why}")


def _held_back(request: Request, ruling: Ruling) -> Request:
    answer = f"its manager granted it, and a guard held it back: {ruling.why}"
    return replace(request, granted=False, answer=answer)


def pace(module: ModuleReading) -> float | None:
    """Rows a second that one busy executor works off; None where that is unknown.

    >>> pace(ModuleReading(service_time=0.01)), pace(ModuleReading(backlog=1e6))
    (100.0, None)
    """
    time = executor_time(module)
    return known(1.0 / time) if time else None


def reading(seen: Observation, name: str) -> ModuleReading:
    """What was measured of a module: nothing, where it was not seen."""
    return seen.modules.get(name, ModuleReading())
