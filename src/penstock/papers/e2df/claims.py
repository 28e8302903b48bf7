"""What the e2df paper found, and whether it was found again."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isnan, nan
from typing import Final

from penstock.experiment.results import Claim, Entry
from penstock.papers.e2df.entries import (
    COMPARED,
    FEW_VIOLATIONS,
    SCARCE,
    TOLERANCE,
    TOLERANCE_OF_RECONFIGURATIONS,
    TOLERANCE_WHERE_SCARCE,
    mean_of,
)
from penstock.papers.e2df.published import APPLICATIONS, INFRASTRUCTURES, WEIGHT, WEIGHTS
from penstock.papers.e2df.runs import EARLY, FIRST, Play

# What the text of the e2df paper says of its tables and of learning, and whether ours show it.


THIRD: Final = 0.4
"""Share of reconfigurations up to which they are about a third; the paper has 0.32 to 0.34."""
HALF: Final = 0.65
"""Share of nodes up to which they are about half; the paper has 0.58."""
ALIKE: Final = 0.02
"""Share under which two means are the same,"""
ALIKE_VIOLATIONS: Final = 0.001
"""and two shares of violations, as a share of all minutes."""
SETTLED: Final = 0.1
"""Share within which a cost no longer changes."""
MOSTLY: Final = 0.5
"""Share of the minutes from which on they are most."""


def findings(entries: Sequence[Entry]) -> Iterator[Claim]:
    """Each with what we found, as far as runs got."""
    yield from _third(entries)
    yield from _simple(entries)
    yield _half(entries)
    yield _scarce(entries)
    yield _plenty(entries)
    yield from _learning(entries)
    yield from _settling(entries)


def _third(entries: Sequence[Entry]) -> Iterator[Claim]:
    shares = {
        name: _ratio(entries, _play(name, "rl"), _play(name, "threshold"), "reconfigurations")
        for name in INFRASTRUCTURES
    }
    if not any(map(isnan, shares.values())):
        told = ", ".join(f"{share:.2f} ({name})" for name, share in shares.items())
        yield Claim(
            text="Operators that learn are reconfigured about a third as often as by thresholds.",
            found=f"{told} of the reconfigurations.",
            holds=max(shares.values()) <= THIRD,
        )


def _simple(entries: Sequence[Entry]) -> Iterator[Claim]:
    pairs = [(_play("simple", name), _play("static", name)) for name in APPLICATIONS]
    shares = [
        abs(_ratio(entries, simple, static, quantity) - 1)
        for simple, static in pairs
        for quantity in ("replicas", "reconfigurations")
    ]
    missed = [
        abs(_mean(entries, simple, "violations") - _mean(entries, static, "violations"))
        for simple, static in pairs
    ]
    if not any(map(isnan, shares)):
        yield Claim(
            text="The simple policy of regions leaves the application as it is with static nodes.",
            found=f"Replicas and reconfigurations are within {100 * max(shares):.1f} %, violations "
            f"within {100 * max(missed):.2f} percentage points.",
            holds=max(shares) <= ALIKE and max(missed) <= ALIKE_VIOLATIONS,
        )


def _half(entries: Sequence[Entry]) -> Claim:
    shares = {
        name: _ratio(entries, _play("rl", name), _play("simple", name), "nodes")
        for name in APPLICATIONS
    }
    told = ", ".join(f"{share:.2f} ({name})" for name, share in shares.items())
    return Claim(
        text="Regions that learn take about half the nodes of simple ones.",
        found=f"{told} of the nodes.",
        holds=all(share <= HALF for share in shares.values()),
    )


def _scarce(entries: Sequence[Entry]) -> Claim:
    fixed, learned = (
        _mean(entries, _play("rl", name, SCARCE), "violations") for name in APPLICATIONS
    )
    return Claim(
        text=f"With a weight of {SCARCE:g} the target is missed most of the time with thresholds, "
        "and less often with operators that learn.",
        found=f"{100 * fixed:.0f} % of the minutes, and {100 * learned:.0f} %.",
        holds=fixed >= MOSTLY and learned < fixed,
    )


def _plenty(entries: Sequence[Entry]) -> Claim:
    most = WEIGHTS[-1]
    gains, nodes = [], []
    for name in APPLICATIONS:
        usual, more = _play("rl", name), _play("rl", name, most)
        gains.append(_mean(entries, usual, "violations") - _mean(entries, more, "violations"))
        nodes.append(_mean(entries, more, "nodes") - _mean(entries, usual, "nodes"))
    told = " and ".join(f"{100 * g:.2f}" for g in gains)
    return Claim(
        text=f"A weight of {most:g} in place of {WEIGHT:g} takes more nodes and hardly helps.",
        found=f"{told} percentage points fewer violations, "
        f"{' and '.join(f'{n:.1f}' for n in nodes)} nodes more (threshold, rl).",
        holds=all(g < FEW_VIOLATIONS for g in gains) and all(n > 0 for n in nodes),
    )


def _learning(entries: Sequence[Entry]) -> Iterator[Claim]:
    """Fig. 6."""
    both = _play("rl", "rl")
    first, early, later = (_mean(entries, both, "violations", s) for s in (FIRST, EARLY, COMPARED))
    if not isnan(early):
        yield Claim(
            text="Two levels that learn are not good at first and soon get better (Fig. 6).",
            found=f"{100 * first:.2f} % violations on the first day, {100 * early:.2f} % on days "
            f"2 to 5, {100 * later:.2f} % after them.",
            holds=early < first and early < FEW_VIOLATIONS,
        )


def _settling(entries: Sequence[Entry]) -> Iterator[Claim]:
    """Fig. 7, of which the paper does not say the weight."""
    changes = {weight: _later_change(entries, weight) for weight in WEIGHTS}
    if any(map(isnan, changes.values())):
        return
    text = (
        "After the first day the cost of regions hardly changes (Fig. 7): on days 2 to 5 it is "
        f"within {100 * SETTLED:g} % of what follows"
    )
    yield Claim(
        text=f"{text}, with a weight of {WEIGHT:g}.",
        found=f"{100 * changes[WEIGHT]:+.1f} %.",
        holds=abs(changes[WEIGHT]) <= SETTLED,
    )
    yield Claim(
        text=f"{text}, whatever the weight.",
        found=", ".join(f"{100 * change:+.1f} % ({w:g})" for w, change in changes.items()) + ".",
        holds=all(abs(change) <= SETTLED for change in changes.values()),
    )


def _later_change(entries: Sequence[Entry], weight: float) -> float:
    """By which share the cost of days 2 to 5 is above that of later ones."""
    play = _play("rl", "rl", weight)
    early, later = (_mean(entries, play, "cost", stretch) for stretch in (EARLY, COMPARED))
    return early / later - 1


def _play(infrastructure: str, application: str, weight: float = WEIGHT) -> Play:
    return Play(infrastructure=infrastructure, application=application, demand_weight=weight)


def _mean(entries: Sequence[Entry], play: Play, quantity: str, stretch: str = COMPARED) -> float:
    """Not a number where runs did not get there."""
    found = mean_of(entries, play, stretch, quantity)
    return nan if found is None else found


def _ratio(entries: Sequence[Entry], one: Play, other: Play, quantity: str) -> float:
    """Not a number where there is nothing of the other."""
    below = _mean(entries, other, quantity)
    return _mean(entries, one, quantity) / below if below else nan


RESOURCES: Final = ("replicas", "nodes")


def claims(entries: Sequence[Entry]) -> tuple[Claim, ...]:
    """Each with what we found; the paper's figures only where whole runs were made."""
    return (*_table_1(entries), *_table_2(entries), *findings(entries))


def _table_1(entries: Sequence[Entry]) -> Iterator[Claim]:
    yield from _near(
        _of(entries, "1", RESOURCES),
        f"Tab. 1: replicas and nodes are within {100 * TOLERANCE['1']:g} % of the paper's.",
    )
    yield from _near(
        _of(entries, "1", ("reconfigurations",)),
        "Tab. 1: reconfigurations are within "
        f"{100 * TOLERANCE_OF_RECONFIGURATIONS:g} % of the paper's.",
    )
    violations = _of(entries, "1", ("violations",))
    worst = max(violations, key=lambda entry: entry.ours.mean)
    yield Claim(
        text=f"Tab. 1: violations are under {100 * FEW_VIOLATIONS:g} % with all policies.",
        found=f"{100 * worst.ours.mean:.2f} % at most ({_name(worst)}).",
        holds=worst.ours.mean < FEW_VIOLATIONS,
    )


def _table_2(entries: Sequence[Entry]) -> Iterator[Claim]:
    for application in APPLICATIONS:
        rows = [e for e in entries if e.where.get("application") == application]
        yield from _near(
            _of(rows, "2", RESOURCES),
            f"Tab. 2, {application}: replicas and nodes are within {100 * TOLERANCE['2']:g} % of "
            f"the paper's, {100 * TOLERANCE_WHERE_SCARCE:g} % with a weight of {SCARCE:g}.",
        )
        shares = [entry.ours.mean for entry in _of(rows, "2", ("violations",))]
        yield Claim(
            text=f"Tab. 2, {application}: the more demand weighs, the fewer violations.",
            found=", ".join(f"{100 * share:.2f}" for share in shares) + " %.",
            holds=all(after <= before for before, after in pairwise(shares))
            and shares[-1] < shares[0],
        )


def _near(entries: Sequence[Entry], text: str) -> Iterator[Claim]:
    """Whether all are as near as their tolerance says; nothing where nothing compares."""
    known = [(entry, _off(entry)) for entry in entries if entry.paper is not None]
    if not known:
        return
    far = [pair for pair in known if pair[0].differs]
    entry, share = max(far or known, key=lambda pair: abs(pair[1]))
    told = f"{_name(entry)}, {entry.where['quantity']}: {100 * share:+.1f} %"
    yield Claim(
        text=text,
        found=f"{len(known) - len(far)} of {len(known)} are; furthest off is {told}.",
        holds=not far,
    )


def _off(entry: Entry) -> float:
    return entry.ours.mean / entry.paper - 1 if entry.paper else 0.0


def _of(entries: Iterable[Entry], table: str, quantities: Sequence[str]) -> list[Entry]:
    return [
        entry
        for entry in entries
        if (entry.where["table"], entry.where["stretch"]) == (table, COMPARED)
        and entry.where["quantity"] in quantities
    ]


def _name(entry: Entry) -> str:
    """Where it stands in its table."""
    first = "infrastructure" if entry.where["table"] == "1" else "demand_weight"
    return f"{entry.where[first]} and {entry.where['application']}"
