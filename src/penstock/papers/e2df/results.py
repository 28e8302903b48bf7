"""Tab. 1 and 2, Fig. 4 to 7 and the claims of the e2df paper, and what was assumed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from math import isnan, nan
from typing import Any, Final

import numpy as np

from penstock.core.words import count_of, percent
from penstock.experiment.results import Chart, Entry, Figure, Floats, Line
from penstock.experiment.results import Table as Sheet
from penstock.papers.e2df import experiment, published
from penstock.papers.e2df.closed_loop import Levels
from penstock.papers.e2df.experiment import (
    BEGINNING,
    BLOCK,
    CEILING,
    COMBINATIONS,
    DAY,
    EARLY,
    FAST,
    FIRST,
    HOURS,
    LEARNED,
    LEARNING,
    LIMIT,
    MEMORY,
    MOST,
    OBJECTIVES,
    PLAYS,
    SHOWN,
    SLOT,
    SLOTS_OF_THE_PAPER,
    SLOW,
    STATIC_NODES,
    STRETCHES,
    WHOLE,
    Curves,
    Days,
    Measured,
    Play,
)
from penstock.papers.e2df.published import APPLICATIONS, INFRASTRUCTURES, WEIGHT, WEIGHTS
from penstock.papers.framework import (
    Cell,
    Claim,
    Options,
    Paper,
    Reason,
    Row,
    Table,
    Test,
    about,
    agrees,
    assumptions,
    at_most,
    cells,
    chart,
    decimals,
    figure,
    legend,
    line,
    named,
    order,
    percents,
)

TOLERANCE: Final = {"1": 0.1, "2": 0.15}
"""Shares by which replicas and nodes may be off, by table,"""
TOLERANCE_OF_RECONFIGURATIONS: Final = 0.15
"""and reconfigurations."""
TOLERANCE_OF_VIOLATIONS: Final = 0.25
"""The same of violations, unless they are off by less than"""
FEW_VIOLATIONS: Final = 0.005
"""this share of all minutes."""
SCARCE: Final = 0.1
"""The weight with which demand hardly counts: there"""
TOLERANCE_WHERE_SCARCE: Final = 0.4
"""everything may be off by this share."""
_USUAL: Final = Levels()

# Tables.


_SHARES: Final = dict.fromkeys(("violations", "reconfigurations"), decimals(2, 100))
_FIGURES: Final = {**_SHARES, "replicas": decimals(2), "nodes": decimals(2)}
"""Of Tab. 1 and 2."""
_HEADER: Final = ("violations, %", "reconfigurations, %", "replicas", "nodes")
_WORDS: Final = {**_FIGURES, "unmet": decimals(1), "cost": decimals(1, 1e3)}
_LATER: Final = (FIRST, EARLY, LEARNED)


def tables(results: Measured) -> Iterator[Table | Sheet]:
    """Those of the paper, whose figures are left out of shorter runs, and ours."""
    first = Table(
        title="Tab. 1: policies of infrastructure and application",
        header=("infrastructure", "application", *_HEADER),
        rows=[Row((p.infrastructure, p.application), compared("1", p)) for p in COMBINATIONS],
        notes=(_legend("1"), *_OPEN, Reason("We have not found out why the marked ones differ.")),
    )
    second = Table(
        title="Tab. 2: weights of demand and nodes in the cost of regions that learn",
        header=("w_d, w_c", "application", *_HEADER),
        rows=[Row((_weights(p), p.application), compared("2", p)) for p in OBJECTIVES],
        notes=(_legend("2"), *_OPEN, *OF_TABLE_2),
    )
    yield from (t if _whole(results.options) else t.without_paper() for t in (first, second))
    yield Table(
        title="The same over whole runs, with the time of learning",
        header=("infrastructure", "w_d, w_c", "application", *_HEADER),
        rows=[Row(_names(p), _ours(p, (WHOLE,), *_FIGURES), _others(p)) for p in PLAYS],
    )
    yield Table(
        title="Requests a day for a replica that found no free slot",
        header=("infrastructure", "w_d, w_c", "application", *_LATER),
        rows=[Row(_names(play), _ours(play, _LATER, "unmet")) for play in PLAYS],
        notes=(
            "The paper has no figures of these. A request that is not met is made again in the "
            "next minute, and counts again.",
        ),
    )
    yield Table(
        title="Fig. 6 and 7 in numbers: how learning goes on",
        header=(
            *("w_d, w_c", "application"),
            *(f"{name}, {stretch}" for name in ("cost", "violations, %") for stretch in _LATER),
        ),
        rows=[
            Row(
                (_weights(play), play.application),
                _ours(play, _LATER, "cost", "violations", listed=False),
            )
            for play in OBJECTIVES
        ],
        notes=(
            "Costs are thousandths of Expr. 1, on average over minutes and regions; those of "
            "different weights do not compare.",
        ),
    )
    yield assumptions(
        ASSUMPTIONS,
        "The tables above are compatible with these choices, which does not prove that the authors "
        "made them.",
    )


def _whole(options: Options) -> bool:
    return (options.steps or SLOTS_OF_THE_PAPER) == SLOTS_OF_THE_PAPER


def compared(table: str, play: Play) -> tuple[Cell, ...]:
    """What Tab. 1 or 2 has of a play. What the paper leaves open was chosen with both in view."""
    row = printed_row(table, play)
    return cells(
        (play, LEARNED),
        _where(table, play, LEARNED),
        _FIGURES,
        row,
        tolerance=lambda quantity: tolerance(table, play, quantity, row[quantity]),
        calibrated=_FIGURES,
    )


def printed_row(table: str, play: Play) -> Mapping[str, float]:
    """What the paper has of a play.

    >>> printed_row("2", OBJECTIVES[3])["reconfigurations"]
    0.0321
    """
    if table == "1":
        return published.TABLE_1[play.infrastructure, play.application]
    return published.TABLE_2[f"{play.demand_weight:g}", play.application]


def tolerance(table: str, play: Play, quantity: str, paper: float) -> float:
    """As a share of the paper's figure.

    >>> tolerance("1", COMBINATIONS[0], "violations", 0.0001)  # 0.01 % may be up to 0.51 %
    50.0
    """
    if quantity == "violations":
        return max(TOLERANCE_OF_VIOLATIONS, FEW_VIOLATIONS / paper)
    if play.demand_weight == SCARCE:
        return TOLERANCE_WHERE_SCARCE
    if quantity == "reconfigurations":
        return TOLERANCE_OF_RECONFIGURATIONS
    return TOLERANCE[table]


def _ours(
    play: Play, stretches: Sequence[str], *quantities: str, listed: bool = True
) -> tuple[Cell, ...]:
    """Values that the paper does not have, quantity by quantity."""
    return tuple(
        cell
        for quantity in quantities
        for stretch in stretches
        for cell in cells(
            (play, stretch),
            _where("stretches", play, stretch),
            {quantity: _WORDS[quantity]},
            tolerance=0.0,
            listed=listed,
        )
    )


def _others(play: Play) -> tuple[Cell, ...]:
    """What no table prints, or only that of another row."""
    rest = [stretch for stretch in STRETCHES if stretch != WHOLE]
    whole = _ours(play, (WHOLE,), "unmet")
    return (*_ours(play, rest, *_FIGURES), *_ours(play, STRETCHES, "cost"), *whole)


def _where(table: str, play: Play, stretch: str) -> dict[str, str]:
    return {"table": table, "workload": "daily", **play.where, "stretch": stretch}


def _names(play: Play) -> tuple[str, str, str]:
    weights = _weights(play) if play.infrastructure == "rl" else ""
    return play.infrastructure, weights, play.application


def _weights(play: Play) -> str:
    """Of demand, and of nodes.

    >>> _weights(OBJECTIVES[0])
    '0.1, 0.9'
    """
    return f"{play.demand_weight:g}, {1 - play.demand_weight:g}"


def _legend(table: str) -> str:
    limits = {
        "replicas and nodes": percent(TOLERANCE[table]),
        "reconfigurations": percent(TOLERANCE_OF_RECONFIGURATIONS),
        "violations": f"{percent(TOLERANCE_OF_VIOLATIONS)} and {100 * FEW_VIOLATIONS:g} "
        "percentage points",
    }
    if table == "2":
        limits[f"rows of {SCARCE:g}"] = percent(TOLERANCE_WHERE_SCARCE)
    return legend(", ".join(f"{limit} ({what})" for what, limit in limits.items()))


# What the paper leaves open. The values are read off what the simulation takes.


_PLACES: Final = ", ".join(f"{one} in {region}" for one, region in experiment.PLACEMENT.items())
ASSUMPTIONS: Final = f"""
the load (Fig. 3 is drawn) | from {min(HOURS):g} to {max(HOURS):g} rows/s by the hour, joined by \
lines | experiment.HOURS
its noise | times 1 + {SLOW:g} e + {FAST:g} z, at most {MOST:g}; {MEMORY:g} of e stay for the next \
minute | SLOW, FAST, MOST, MEMORY
response time | even split over replicas, M/D/1 each, summed along the path |
overload | infinite response, and no backlog in the next minute |
bound of an operator | of {1e3 * _USUAL.bound:g} ms; a quarter of {1e3 * LIMIT:g} ms would be \
15 ms | Levels.bound
levels of an operator's rate | equal ones, {_USUAL.levels} up to {_USUAL.peak:g} rows/s at the \
source | Levels.levels, Levels.peak
before anything was learned | levels stay as they are, which counts as {_USUAL.prior:g} seen; \
estimates are zero | Levels.prior
regions of the operators | {_PLACES} | experiment.PLACEMENT
node of a new replica | a random one with a free core |
replica that goes | the one on the emptiest node (the paper: a random one) |
order within a minute | operators, then regions; new nodes serve in the next minute |
utilisation of a region | mean of min(rho, 1) over its replicas before they change, to the nearest \
{_USUAL.quantum:g} | Levels.quantum
an idle node | exists where an active node is empty after operators have acted |
an unmet request | one more replica where no active node of the region has a core |
monotone estimates | over nodes and utilisation, idle node or not; for (k, lambda) in Section 6.2 \
read (k, u) |
idle nodes that simple keeps | in each region {_USUAL.idle_nodes} | Levels.idle_nodes
nodes at the start | one in each region, {STATIC_NODES} where they are static | experiment.places
a reconfiguration | a minute in which at least one operator is scaled |
minutes that count | those after the first {LEARNING // DAY} days; of a shorter run, its second \
half | experiment.LEARNING
"""
_OPEN: Final = (
    f"Counted from day {LEARNING // DAY + 1} on (of a shorter run, its second half), because "
    "the paper speaks of the time when learning is complete; whole runs are below.",
    "The paper leaves open, and these rest on: the load (drawn in Fig. 3 without data), M/D/1 "
    "operators without a backlog, "
    f"{1e3 * _USUAL.bound:g} ms as the bound of an operator, {_USUAL.levels} levels of its "
    "rate, regions of the operators, the node that a replica goes to and leaves, what counts "
    f"as an unmet request, and {_USUAL.idle_nodes} idle nodes of simple. Each is in the last "
    "table, with what sets it.",
)
"""The same in short, under Tab. 1 and 2."""


# Why figures of ours are not the paper's: only what was seen or tried out.


OF_TABLE_2: Final = (
    Reason(
        f"Threshold, {SCARCE:g}: in 50,000 minutes of a seed the regions of splitter and filter "
        "stay with one node each, that of counter and consumer takes 2.4; the paper's 3.14 are "
        "hardly more than one in each.",
        about("replicas", "nodes", demand_weight=f"{SCARCE:g}", application="threshold"),
    ),
    Reason(
        "Threshold, 0.3: violations depend on small things. In 40,000 minutes of a seed they were "
        "5.2 %, and 3.4 % with utilisations rounded down and not to the nearest.",
        about("violations", demand_weight="0.3", application="threshold"),
    ),
    Reason(
        f"Rl, {SCARCE:g}: violations differ from seed to seed more than all others, and are fewer "
        "than on days 2 to 5.",
        about("violations", demand_weight=f"{SCARCE:g}", application="rl"),
    ),
)


# Claims.


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
RESOURCES: Final = ("replicas", "nodes")
Compared = list[tuple[Entry, float]]
"""Entries with the share by which they are off."""


def _near(text: str, table: str, plays: Sequence[Play], *quantities: str) -> Claim[Curves]:
    """All are as near as their tolerance says; nothing where nothing compares."""

    def measured(results: Measured) -> Compared:
        if not _whole(results.options):
            return []
        row = (c for play in plays for c in compared(table, play))
        entries = (c.entry(results) for c in row if c.where["quantity"] in quantities)
        return [(e, e.ours.mean / e.paper - 1) for e in entries if e is not None and e.paper]

    def found(near: Compared) -> str:
        far = [pair for pair in near if pair[0].differs]
        entry, share = max(far or near, key=lambda pair: abs(pair[1]))
        row = entry.where["infrastructure" if table == "1" else "demand_weight"]
        furthest = f"{row} and {entry.where['application']}, {entry.where['quantity']}"
        return (
            f"{len(near) - len(far)} of {len(near)} are; furthest off is {furthest}: "
            f"{percent(share, '+.1f')}."
        )

    return Claim(
        text=text,
        measured=measured,
        test=Test(
            "agrees",
            lambda near: not any(entry.differs for entry, _ in near),
            "agrees within the tolerance of each",
        ),
        found=found,
        calibrated=True,
    )


def _play(infrastructure: str, application: str, weight: float = WEIGHT) -> Play:
    return Play(infrastructure=infrastructure, application=application, demand_weight=weight)


def _mean(results: Measured, play: Play, quantity: str, stretch: str = LEARNED) -> float:
    """Not a number where runs did not get there."""
    mean = results.mean((play, stretch), quantity)
    return nan if mean is None else mean


def _ratio(results: Measured, one: Play, other: Play, quantity: str) -> float:
    """Not a number where there is nothing of the other."""
    below = _mean(results, other, quantity)
    return _mean(results, one, quantity) / below if below else nan


def _known(values: Mapping[Any, float]) -> Mapping[Any, float] | None:
    """None where one of them is not a number."""
    return None if any(map(isnan, values.values())) else values


def _worst_violations(results: Measured) -> tuple[float, str]:
    """Of Tab. 1."""
    shares = {p: _mean(results, p, "violations") for p in COMBINATIONS}
    worst = max(shares, key=lambda play: shares[play])
    return shares[worst], f"{worst.infrastructure} and {worst.application}"


def _of_table_2(application: str) -> Iterator[Claim[Curves]]:
    plays = [play for play in OBJECTIVES if play.application == application]
    yield _near(
        f"Tab. 2, {application}: replicas and nodes are within {percent(TOLERANCE['2'])} of the "
        f"paper's, {percent(TOLERANCE_WHERE_SCARCE)} with a weight of {SCARCE:g}.",
        "2",
        plays,
        *RESOURCES,
    )
    yield Claim(
        text=f"Tab. 2, {application}: the more demand weighs, the fewer violations.",
        measured=lambda results: [_mean(results, play, "violations") for play in plays],
        test=order(lambda m: all(b <= a for a, b in pairwise(m)) and m[-1] < m[0]),
        found=lambda shares: f"{percents(shares, 2)}.",
    )


def _ratios(quantity: str, **pairs: tuple[Play, Play]) -> Callable[[Measured], Any]:
    """What the first of each pair has by what the second has."""

    def ratios(results: Measured) -> Mapping[str, float] | None:
        return _known({n: _ratio(results, *pair, quantity) for n, pair in pairs.items()})

    return ratios


def _apart(results: Measured) -> tuple[float, float] | None:
    """How far simple and static regions are apart: shares of counts, and violations."""
    pairs = [(_play("simple", name), _play("static", name)) for name in APPLICATIONS]
    shares = [
        abs(_ratio(results, simple, static, quantity) - 1)
        for simple, static in pairs
        for quantity in ("replicas", "reconfigurations")
    ]
    missed = (
        abs(_mean(results, simple, "violations") - _mean(results, static, "violations"))
        for simple, static in pairs
    )
    return None if any(map(isnan, shares)) else (max(shares), max(missed))


def _plenty(results: Measured) -> tuple[list[float], list[float]]:
    """Fewer violations and more nodes with the greatest weight than with the usual one."""
    gains, nodes = [], []
    for name in APPLICATIONS:
        usual, more = _play("rl", name), _play("rl", name, WEIGHTS[-1])
        gains.append(_mean(results, usual, "violations") - _mean(results, more, "violations"))
        nodes.append(_mean(results, more, "nodes") - _mean(results, usual, "nodes"))
    return gains, nodes


def _plenty_found(m: tuple[list[float], list[float]]) -> str:
    gains, nodes = " and ".join(map(decimals(2, 100), m[0])), " and ".join(map(decimals(1), m[1]))
    return f"{gains} percentage points fewer violations, {nodes} nodes more (threshold, rl)."


def _days(results: Measured) -> list[float] | None:
    """Violations of two levels that learn: on the first day, then, and after learning."""
    shares = [_mean(results, _play("rl", "rl"), "violations", stretch) for stretch in _LATER]
    return None if isnan(shares[1]) else shares


def _changes(results: Measured) -> Mapping[float, float] | None:
    """By which share the cost of days 2 to 5 is above that of later ones, by weight."""

    def change(weight: float) -> float:
        play = _play("rl", "rl", weight)
        early, later = (_mean(results, play, "cost", stretch) for stretch in (EARLY, LEARNED))
        return early / later - 1

    return _known({weight: change(weight) for weight in WEIGHTS})


_COST_SETTLES: Final = (
    "After the first day the cost of regions hardly changes (Fig. 7): on days 2 to 5 it is within "
    f"{percent(SETTLED)} of what follows"
)

CLAIMS: Final[tuple[Claim[Curves], ...]] = (
    _near(
        f"Tab. 1: replicas and nodes are within {percent(TOLERANCE['1'])} of the paper's.",
        "1",
        COMBINATIONS,
        *RESOURCES,
    ),
    _near(
        f"Tab. 1: reconfigurations are within {percent(TOLERANCE_OF_RECONFIGURATIONS)} of the "
        "paper's.",
        "1",
        COMBINATIONS,
        "reconfigurations",
    ),
    Claim(
        text=f"Tab. 1: violations are under {percent(FEW_VIOLATIONS)} with all policies.",
        measured=_worst_violations,
        test=Test(
            "at most", lambda worst: worst[0] < FEW_VIOLATIONS, f"at most {FEW_VIOLATIONS:g}"
        ),
        found=lambda worst: f"{percent(worst[0], '.2f')} at most ({worst[1]}).",
    ),
    *(claim for application in APPLICATIONS for claim in _of_table_2(application)),
    Claim(
        text="Operators that learn are reconfigured about a third as often as by thresholds.",
        measured=_ratios(
            "reconfigurations",
            **{name: (_play(name, "rl"), _play(name, "threshold")) for name in INFRASTRUCTURES},
        ),
        test=at_most(THIRD),
        found=lambda shares: f"{named(shares, decimals(2))} of the reconfigurations.",
    ),
    Claim(
        text="The simple policy of regions leaves the application as it is with static nodes.",
        measured=_apart,
        test=Test(
            "agrees",
            lambda m: m[0] <= ALIKE and m[1] <= ALIKE_VIOLATIONS,
            f"agrees within {percent(ALIKE)}, violations within {ALIKE_VIOLATIONS:g}",
        ),
        found=lambda m: (
            f"Replicas and reconfigurations are within {percent(m[0], '.1f')}, violations "
            f"within {100 * m[1]:.2f} percentage points."
        ),
    ),
    Claim(
        text="Regions that learn take about half the nodes of simple ones.",
        measured=_ratios(
            "nodes", **{name: (_play("rl", name), _play("simple", name)) for name in APPLICATIONS}
        ),
        test=at_most(HALF),
        found=lambda shares: f"{named(shares, decimals(2))} of the nodes.",
    ),
    Claim(
        text=f"With a weight of {SCARCE:g} the target is missed most of the time with thresholds, "
        "and less often with operators that learn.",
        measured=lambda results: [
            _mean(results, _play("rl", name, SCARCE), "violations") for name in APPLICATIONS
        ],
        test=order(lambda m: m[0] >= MOSTLY and m[1] < m[0]),
        found=lambda m: f"{percent(m[0], '.0f')} of the minutes, and {percent(m[1], '.0f')}.",
    ),
    Claim(
        text=f"A weight of {WEIGHTS[-1]:g} in place of {WEIGHT:g} takes more nodes and hardly "
        "helps.",
        measured=_plenty,
        test=order(
            lambda m: all(gain < FEW_VIOLATIONS for gain in m[0]) and all(more > 0 for more in m[1])
        ),
        found=_plenty_found,
    ),
    Claim(
        text="Two levels that learn are not good at first and soon get better (Fig. 6).",
        measured=_days,
        test=order(lambda m: m[1] < m[0] and m[1] < FEW_VIOLATIONS),
        found=lambda m: "{} violations on the first day, {} on days 2 to 5, {} after them.".format(
            *(percent(share, ".2f") for share in m)
        ),
    ),
    Claim(
        text=f"{_COST_SETTLES}, with a weight of {WEIGHT:g}.",
        measured=_changes,
        test=Test(
            "agrees",
            lambda changes: abs(changes[WEIGHT]) <= SETTLED,
            f"agrees within {percent(SETTLED)}",
        ),
        found=lambda changes: f"{percent(changes[WEIGHT], '+.1f')}.",
    ),
    Claim(
        text=f"{_COST_SETTLES}, whatever the weight.",
        measured=_changes,
        test=agrees(0.0, within=SETTLED),
        found=lambda changes: f"{named(changes, partial(percent, form='+.1f'))}.",
    ),
)


# Figures: the first seed, by the half-hour, and costs by the hour and the day.


_COMPARED: Final = {
    "simple, threshold": _play("simple", "threshold"),
    "rl, threshold": _play("rl", "threshold"),
    "rl, rl": _play("rl", "rl"),
}
"""Fig. 6: without learning, and with it at one level and at both."""
_NOTE: Final = (
    f"The first seed. Response times are those of the worst minute of {BLOCK}, drawn at "
    f"{1e3 * CEILING:g} ms where they are longer or an operator is overloaded; replicas and nodes "
    f"are means of {BLOCK} minutes."
)


def figures(results: Measured) -> Iterator[Figure]:
    """All four."""
    curves = results.details
    last = {
        f"({letter}) {p.infrastructure}, {p.application}": curves[p].last
        for letter, p in zip("abcdef", COMBINATIONS, strict=True)
    }
    yield figure(
        "4",
        f"The last {SHOWN} days, by the policies of infrastructure and application",
        *(one for name, days in last.items() for one in _resources(name, days)),
        notes=(_NOTE,),
    )
    others = {
        f"w_d {p.demand_weight:g}, {p.application}": curves[p].last
        for p in OBJECTIVES
        if p.demand_weight != WEIGHT
    }
    yield figure(
        "5",
        f"The last {SHOWN} days with regions that learn, by the weight of demand",
        *(one for name, days in others.items() for one in _resources(name, days)),
        notes=(_NOTE, f"A weight of {WEIGHT:g} is in Fig. 4, (e) and (f)."),
    )
    days = {name: curves[play].first for name, play in _COMPARED.items()}
    yield figure(
        "6",
        f"The first {SHOWN} days, with and without learning",
        chart(
            *("response time", "day", "ms"),
            *(line(name, 1e3 * d.response, d.at) for name, d in days.items()),
        ),
        chart("replicas", "day", "", *(line(n, d.replicas, d.at) for n, d in days.items())),
        chart("nodes", "day", "", *(line(n, d.nodes, d.at) for n, d in days.items())),
        notes=(_NOTE,),
    )
    learners = {f"w_d {p.demand_weight:g}": curves[p] for p in OBJECTIVES if p.application == "rl"}
    yield figure(
        "7",
        "Mean cost of regions that learn, above operators that learn",
        chart(
            *(f"from the beginning to each hour of the first {BEGINNING} days", "day", ""),
            *(_at_ends(name, c.running_cost, 1 / 24) for name, c in learners.items()),
        ),
        chart(
            *("of each day", "day", ""),
            *(_at_ends(name, c.daily_cost, 1.0) for name, c in learners.items()),
        ),
        notes=("The first seed; Expr. 1, on average over regions.",),
    )


def _resources(name: str, days: Days) -> Iterator[Chart]:
    """Response time, and what it took."""
    response = line("response time", 1e3 * days.response, days.at)
    bound = line("bound", np.full(2, 1e3 * LIMIT), days.at[[0, -1]])
    yield chart(f"{name}: response time", "day", "ms", response, bound)
    both = line("replicas", days.replicas, days.at), line("nodes", days.nodes, days.at)
    yield chart(f"{name}: replicas and nodes", "day", "", *both, stepped=True)


def _at_ends(name: str, values: Floats, step: float) -> Line:
    """Each value at the end of what it is about, in days."""
    return line(name, values, step * np.arange(1.0, len(values) + 1))


# The paper.


def _remarks(options: Options) -> Iterator[str]:
    yield (
        f"{count_of(options.seeds, 'seed')} of the load and of the nodes that "
        f"replicas go to, the same in all rows; {options.steps:,} minutes each, in every one of "
        "which both levels decide once."
    )
    yield (
        f"Violations are minutes with a mean response time above {1e3 * LIMIT:g} ms. Tab. 1 and 2 "
        f"count from day {LEARNING // DAY + 1} on (or, of shorter runs, the second half): the "
        "paper speaks of the time when learning is complete. Whole runs are in a table of their "
        "own."
    )
    yield (
        "The paper leaves much open, from the load to the node that a replica goes to: what was "
        "taken is under Tab. 1 and 2 in short, and in the last table in full."
    )
    if not _whole(options):
        yield (
            f"Runs have {options.steps:,} minutes and not {SLOTS_OF_THE_PAPER:,}: the paper's "
            "figures are left out, with what notes say of them, what learning comes to may not be "
            "found, and the first day ends with the first half at the latest."
        )


def _settings(_: Options) -> dict[str, Any]:
    varied = ("application", "infrastructure", "demand_weight")
    return {
        "seconds_per_step": SLOT,
        "response_bound": LIMIT,
        "learning_steps": LEARNING,
        "static_nodes": STATIC_NODES,
        "demand_weights": list(WEIGHTS),
        **{name: value for name, value in asdict(_USUAL).items() if name not in varied},
    }


PAPER: Final = Paper(
    name="e2df",
    title="Multi-level elasticity for wide-area data streaming systems: a reinforcement learning "
    "approach",
    seeds=5,
    steps=SLOTS_OF_THE_PAPER,
    takes=frozenset({"steps"}),
    tasks=experiment.tasks,
    examine=experiment.examine,
    settings=_settings,
    remarks=_remarks,
    tables=tables,
    figures=figures,
    claims=CLAIMS,
)
"""Section 8: a word count in three regions meets a daily pattern for 100,000 minutes; operators and
regions are decided by rules, or learn.
"""
