"""Tab. 5 to 7, Fig. 11 to 17 and the claims of the mpc paper."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Final

import numpy as np

from penstock.experiment.results import Figure
from penstock.experiment.results import Table as PlainTable
from penstock.papers.data import facts, read_paper
from penstock.papers.framework import (
    Cell,
    Finding,
    Options,
    Row,
    Table,
    line,
)
from penstock.papers.mpc import experiment
from penstock.papers.mpc.experiment import (
    COMPARED,
    HOLT,
    HORIZONS,
    KEEPS_UP,
    PEAK,
    PUBLISHED,
    SEARCHES,
    SECONDS,
    THRESHOLD,
    TREE,
    VARIANTS,
    VOLTAGES,
    WORKLOADS,
    Measured,
    Variant,
)
from penstock.policy.mpc import STRATEGIES

CHOICES: Final = {
    "nosw": "without switching cost",
    "sw-1": "one step ahead",
    "sw-2": "two steps ahead",
}
NAMES: Final = {"rwalk": "random walk", "day": "trading day"}
"""By workload."""
FILE: Final = read_paper(__package__).using(
    vars(experiment),
    least_volts=min(VOLTAGES.volts.values()),
    most_volts=max(VOLTAGES.volts.values()),
    holt=" and ".join(f"{h['a']:g}, {h['b']:g} ({w})" for w, h in HOLT.items()),
)
measure = FILE.measures

# Tables.


def tables(results: Measured) -> Iterator[Table | PlainTable]:
    """All that the workloads that ran have values for."""
    options = results.options
    workloads = _ran(options)
    yield _searches()
    yield _parameters_of_strategies()
    for workload in workloads:
        rows = (_row("strategies", workload, variant, options) for variant in (*VARIANTS, PEAK))
        yield FILE.sheet("strategies", workload=NAMES[workload]).table(rows)
    yield _power(workloads)
    yield FILE.sheet("7").table(_row("7", "day", variant, options) for variant in COMPARED)


def _ran(options: Options) -> list[str]:
    return [workload for workload in WORKLOADS if workload in options.workloads]


def _searches() -> Table:
    sheet = FILE.sheet("5")

    def cells(horizon: str) -> Iterator[Cell]:
        for search in SEARCHES:
            paper = PUBLISHED.table_5[horizon] if search == TREE else {}
            place = {"horizon": horizon, "search": search}
            yield from sheet.cells((int(horizon), search), place, paper)

    return sheet.table(
        Row((f"h = {h}", f"{row['states']:,.0f}"), tuple(cells(h)))
        for h, row in PUBLISHED.table_5.items()
    )


def _parameters_of_strategies() -> PlainTable:
    rows = [
        (
            name,
            "latency (Expr. 12)" if kind.latency else "throughput (Expr. 11)",
            "power (Expr. 14)" if kind.power else "replicas (Expr. 13)",
            *(f"{PUBLISHED.alpha[name][workload]:g}" for workload in WORKLOADS),
            *(
                f"{1e3 * THRESHOLD[w]:g} ms" if kind.latency else "results / tuples 0.95"
                for w in WORKLOADS
            ),
        )
        for name, kind in STRATEGIES.items()
    ]
    return FILE.sheet("6").plain(rows)


def _row(table: str, workload: str, variant: Variant, options: Options) -> Row:
    """Counts compare only where all seconds were played."""
    whole = options.steps is None or options.steps >= SECONDS[workload]
    paper: Mapping[str, float] = {}
    if variant == PEAK:
        paper = {"watts": PUBLISHED.peak_watts}
    elif whole and table == "7":
        paper = PUBLISHED.table_7[variant.strategy, variant.choice]
    elif whole and (workload, variant.name) == ("rwalk", "th-power sw-2"):
        paper = {"violations": PUBLISHED.violations}
    place = {"workload": workload, "strategy": variant.strategy, "variant": variant.choice}
    labels = variant.strategy, "" if variant == PEAK else variant.choice
    return FILE.sheet(table, workload="").row(labels, (workload, variant), place, paper)


def _power(workloads: Sequence[str]) -> Table:
    """What frequencies save, without switching cost; the paper does not say on which workload."""
    sheet = FILE.sheet("5.3.2")
    saved = {
        "share saved": ("12 replicas at 2 GHz", PUBLISHED.saving),
        "watts saved": ("the same without clocks", PUBLISHED.saved_watts),
    }

    def rows() -> Iterator[Row]:
        for quantity, (against, printed) in saved.items():
            for strategy, paper in printed.items():
                fitted = (quantity,) if strategy == "th-power" else ()
                each = (
                    sheet.cells(
                        (workload, strategy),
                        {"workload": workload, "strategy": strategy},
                        {quantity: paper},
                        [quantity],
                        calibrated=fitted,
                    )
                    for workload in workloads
                )
                labels = strategy, f"{quantity}, against {against}"
                yield Row(labels, tuple(cell for cells in each for cell in cells))

    return sheet.table(rows(), header=[NAMES[workload] for workload in workloads])


# Claims.


ALIKE: Final = 0.01
"""Share under which a difference of two means is none,"""
ALIKE_COUNTS: Final = 0.5
"""or of counts, the difference itself."""
COUNTED: Final = ("reconfigurations", "violations")
BASELINES: Final = {"rules-90": "rules", "rules-95": "rules (95 %)", "spl": "spl"}


def no_more(one: float, other: float, quantity: str) -> bool:
    """Whether a mean is no greater than another, within what counts as alike.

    >>> no_more(4.52, 4.51, "replicas"), no_more(4.6, 4.5, "replicas")
    (True, False)
    """
    slack = ALIKE_COUNTS if quantity in COUNTED else ALIKE * abs(other)
    return one <= other + slack


def variant_of(strategy: str, choice: str = "nosw") -> Variant:
    """The variant of a strategy with such a switching cost and horizon."""
    return next(v for v in VARIANTS if (v.strategy, v.choice) == (strategy, choice))


def _by_workload(
    results: Measured, variants: Sequence[Variant], quantity: str
) -> dict[str, list[float]]:
    """Means of variants on the workloads that have all of them."""
    means = {
        w: results.means([(w, variant) for variant in variants], quantity)
        for w in results.options.workloads
    }
    return {workload: values for workload, values in means.items() if values is not None}


@measure
def braked(results: Measured, strategy: str, quantity: str, sign: float) -> Finding | None:
    """A switching cost moves a figure one way on a workload, and on none the other way; a longer
    horizon moves it back, or not at all."""
    variants = [variant_of(strategy, choice) for choice in CHOICES]
    if not (means := _by_workload(results, variants, quantity)):
        return None
    signed = [[sign * value for value in values] for values in means.values()]
    never_against = all(
        no_more(one, free, quantity) and no_more(one, ahead, quantity)
        for free, one, ahead in signed
    )
    moves = any(not no_more(free, one, quantity) for free, one, _ in signed)
    each = (f"{a:.4g}, {b:.4g} and {c:.4g} ({w})" for w, (a, b, c) in means.items())
    return Finding(["; ".join(each)], never_against and moves)


@measure
def less(results: Measured, one: str, other: str, quantity: str, unit: str) -> Finding | None:
    """A strategy has less than another of the same kind on every workload."""
    pairs = _by_workload(results, [variant_of(one), variant_of(other)], quantity)
    each = (f"{a:.3g} against {b:.3g} {unit} ({w})" for w, (a, b) in pairs.items())
    return Finding(["; ".join(each)], all(a < b for a, b in pairs.values())) if pairs else None


def _reconfigurations(results: Measured) -> dict[str, list[float]]:
    """Of each strategy, on the walk and on the day."""
    means = {
        s: results.means([(w, variant_of(s)) for w in WORKLOADS], "reconfigurations")
        for s in STRATEGIES
    }
    return {strategy: values for strategy, values in means.items() if values is not None}


def _day_and_walk(pairs: Mapping[str, Sequence[float]], holds: bool) -> Finding | None:
    each = (f"{day:.4g} and {walk:.4g} ({s})" for s, (walk, day) in pairs.items())
    return Finding(["; ".join(each)], holds) if pairs else None


@measure
def more_on_the_day(results: Measured) -> Finding | None:
    """Every strategy reconfigures more often on the day than on the walk."""
    pairs = _reconfigurations(results)
    return _day_and_walk(pairs, all(walk < day for walk, day in pairs.values()))


@measure
def more_with_clocks(results: Measured) -> Finding | None:
    """Strategies that decide the clock reconfigure more often than those that do not."""
    pairs = _reconfigurations(results)
    kinds = [(pairs[f"{kind}-node"], pairs[f"{kind}-power"]) for kind in ("th", "lat") if pairs]
    fewer = (node < power for both in kinds for node, power in zip(*both, strict=True))
    return _day_and_walk(pairs, all(fewer))


@measure
def compared(results: Measured, quantity: str) -> Finding | None:
    """Tab. 7: th-node beside the baselines."""
    baselines, ours = COMPARED[:3], COMPARED[3]
    means = results.means([("day", variant) for variant in (ours, *baselines)], quantity)
    if means is None:
        return None
    first, *others = means
    names = (BASELINES[variant.strategy] for variant in baselines)
    return Finding((first, dict(zip(names, others, strict=True))), first < min(others))


@measure
def agreed(results: Measured) -> Finding | None:
    """Whether both searches found the same in every decision."""
    same = results.means([(h, TREE) for h in HORIZONS], "agreed")
    every = f"The same in every decision, over {len(same or ())} horizons."
    return Finding([every if all(same) else "They part."], all(same)) if same else None


# Figures: one run of each strategy step by step, and means over seeds.


def figures(results: Measured) -> Iterator[Figure]:
    """Those that the workloads that ran have data for."""
    courses, workloads = results.details, _ran(results.options)
    if "day" in workloads:
        free = line("without", courses["day", "th-power nosw"].replicas)
        braked = {CHOICES[c]: courses["day", f"th-power {c}"].replicas for c in ("sw-1", "sw-2")}
        yield FILE.figure(
            "11",
            {
                f"without switching cost, and {ahead} with it": (free, line(ahead, replicas))
                for ahead, replicas in braked.items()
            },
        )
    yield _bars(results, "12", "reconfigurations")
    watts = {
        NAMES[w]: [line(s, courses[w, f"{s} nosw"].watts) for s in STRATEGIES] for w in workloads
    }
    yield FILE.figure("13", watts)
    yield _bars(results, "14a", "replicas", lambda v: not STRATEGIES[v.strategy].power)
    yield _bars(results, "14b", "watts", lambda v: STRATEGIES[v.strategy].power)
    if "rwalk" in workloads:
        ratios = {title: courses["rwalk", f"th-power {c}"].ratio for c, title in CHOICES.items()}
        yield FILE.figure(
            "15",
            {
                title: (
                    line("results / tuples", ratio),
                    line("missed below", np.full(len(ratio), KEEPS_UP)),
                )
                for title, ratio in ratios.items()
            },
        )
    yield _bars(results, "16", "violations")
    yield _bars(results, "17", "amplitude")


def _bars(
    results: Measured,
    number: str,
    quantity: str,
    which: Callable[[Variant], bool] = lambda _: True,
) -> Figure:
    drawn = [variant for variant in VARIANTS if which(variant)]
    means = {
        NAMES[w]: [results.mean((w, variant), quantity) for variant in drawn]
        for w in _ran(results.options)
    }
    if not any(mean for each in means.values() for mean in each):
        return replace(FILE.figure(number, {}), notes=("None in so few seconds.",))
    return FILE.bars(number, "", [v.name for v in drawn], means)


# The paper.


def _facts(options: Options) -> dict[str, Any]:
    seconds = {w: min(options.steps or SECONDS[w], SECONDS[w]) for w in options.workloads}
    return {
        **facts(options),
        "seconds": seconds,
        "second": 1.0,
        "origin": "generated" if options.data is None else "published",
        "short": any((options.steps or inf) < SECONDS[w] for w in options.workloads),
    }


PAPER: Final = FILE.paper(
    "mpc",
    tasks=experiment.tasks,
    examine=experiment.examine,
    check=experiment.check,
    derive=experiment.derive,
    workloads=WORKLOADS,
    tables=tables,
    figures=figures,
    facts=_facts,
)
"""Section 5: quotes come to a keyed operator for 180 s of a random walk and for 235 s of a trading
day; its replicas and their clock are decided by the strategies of Tab. 6, by rules and by SPL.
"""
