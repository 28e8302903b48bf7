"""Tab. 4 and 5, Fig. 9 to 18 and the claims of the ppq paper, and what goes beyond it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any, Final

import numpy as np

from penstock.core.words import percent
from penstock.experiment.results import Entry, Figure, Line
from penstock.papers.data import facts, read_paper
from penstock.papers.framework import (
    Cell,
    Finding,
    Options,
    Row,
    Table,
    all_known,
    curve,
    drawable,
    line,
)
from penstock.papers.ppq import experiment
from penstock.papers.ppq.experiment import (
    BURSTY,
    INTERVALS,
    MARGIN,
    MARGINS,
    PHASES,
    PUBLISHED,
    SAMPLINGS,
    SETPOINT,
    SLOWDOWNS,
    STEP,
    STREAMS,
    WORKERS,
    WORKLOADS,
    Course,
    Measured,
    Setup,
    aimed,
    artificial,
    beside,
    bursty,
    costs,
    fixed,
    merging,
    sensitivity,
    split,
    summary,
)

SOURCES: Final = {"generated": False, "published": True}
ROWS: Final = {"skyline": PUBLISHED.table_4, "top-delta": PUBLISHED.table_5}
"""By query."""
LEVELS: Final = {1: "elasticity only", 2: "two levels"}
SPLITS: Final = {True: "even", False: "pid"}
MERGES: Final = {True: "with merges", False: "without"}
PANE: Final = 8_000
"""Tuples of a pane in Fig. 10."""
ALIKE: Final = 0.02
"""Share under which a difference of two means is none."""
GROWTH: Final = 0.05
"""Share from which on it is one that a reader would see."""
NEAR: Final = 0.05
"""How far loads may be from the setpoint."""
RANKED: Final = 0.9
"""Rank correlation from which on two orders are the same but for neighbours."""
FEWEST: Final = 4
"""Streams below which there is no order to speak of."""
OVERLOADED: Final = 1.3
"""From this load on a stage is plainly too slow (ppq, Section 4.2)."""
LESS_IDLE: Final = 0.3
"""By which share merges have to lower the idle time."""
RUN_AWAY: Final = 1.5
"""So many times the workers that it takes."""
GROWING: Final = {
    "index of dispersion": ("map-1k", "map-2k", "map-3k", "map-4k"),
    "Hurst parameter": ("ss-0.6", "ss-0.7", "ss-0.8"),
}
_FIXED: Final = "{} and {}, fixed".format(*PUBLISHED.static)
FILE: Final = read_paper(__package__).using(vars(experiment), globals(), INNER=SETPOINT - MARGIN)
measure = FILE.measures

# Tables.


def tables(results: Measured) -> Iterator[Table]:
    """Those of the paper, and its figures in numbers; whatever was played.

    The paper's figures are left out where streams were not played to their end.
    """
    real = results.options.data is not None
    for table in _all_tables(real):
        yield table if results.options.steps is None else table.without_paper()


def _all_tables(real: bool) -> Iterator[Table]:
    source = list(SOURCES)[real]
    game = {"workload": "game1", "source": source}
    for name, query in (("4", "skyline"), ("5", "top-delta"), ("loads", "skyline")):
        yield _streams(name, query)
    sheet = FILE.sheet("9")
    yield sheet.table(
        sheet.row(
            (f"{begin:g} s", f"{rate:,.0f}"),
            rate,
            {"workload": "steps", "phase": phase_name(rate)},
            {"plq": PUBLISHED.workers_of_phases.get(phase_name(rate))},
        )
        for rate, begin in PHASES
    )
    sheet = FILE.sheet("10")
    yield sheet.table(
        sheet.row(
            (workload, name),
            bursty(workload, levels=levels),
            {"workload": workload, "levels": name},
            {"load": PUBLISHED.overload} if (workload, levels) == ("map-1k", 1) else {},
        )
        for workload in BURSTY
        for levels, name in LEVELS.items()
    )
    rows = (Row((str(n),), (*_split(n, even=True), *_split(n, even=False))) for n in WORKERS)
    yield FILE.sheet("11").table(rows)
    yield _merging()
    sheet = FILE.sheet("15")
    elastic, static = {"cv": ROWS["skyline"]["game1"]["cv"]}, {"cv": PUBLISHED.static_cv}
    repeated = sheet.cells(beside(1.0, published=real), game, elastic, listed=False)
    steady = sheet.cells(fixed(published=real), game, static)
    yield sheet.table([Row(("two levels", source), repeated), Row((_FIXED, source), steady)])
    sheet = FILE.sheet("17")
    yield sheet.table(
        sheet.row(
            (f"{interval:g} s", f"{1e3 * sampling:g} ms"),
            sensitivity(interval, sampling, published=real),
            {**game, "interval": f"{interval:g}s", "sampling": f"{1e3 * sampling:g}ms"},
        )
        for interval in INTERVALS
        for sampling in SAMPLINGS
    )
    sheet = FILE.sheet("18")
    yield sheet.table(
        sheet.row((f"{s:g} times",), beside(s, published=real), {**game, "slowdown": f"{s:g}"})
        for s in SLOWDOWNS
    )
    sheet, place = FILE.sheet("margin"), {"workload": "map-4k"}
    yield sheet.table(
        sheet.row((f"{SETPOINT - margin:.1f}",), aimed(margin), {**place, "margin": f"{margin:g}"})
        for margin in MARGINS
    )


def _streams(name: str, query: str) -> Table:
    sheet = FILE.sheet(name)

    def rows() -> Iterator[Row]:
        for workload in STREAMS:
            more = PUBLISHED.game1_loads if (workload, query) == ("game1", "skyline") else {}
            fitted = ("plq", "wlq") if (workload, query) == ("map-1k", "top-delta") else ()
            for source, real in SOURCES.items():
                yield sheet.row(
                    (workload if source == "generated" else f"{workload}, published",),
                    summary(workload, query, published=real),
                    {"workload": workload, "source": source},
                    {**ROWS[query][workload], **more},
                    calibrated=fitted,
                )

    return sheet.table(rows())


def phase_name(rate: float) -> str:
    """As a script finds it.

    >>> phase_name(40e3)
    '40K'
    """
    return f"{rate / 1e3:g}K"


def _split(workers: int, *, even: bool) -> tuple[Cell, ...]:
    """A half row of Fig. 11."""
    paper: Mapping[str, float | None] = {"kept": PUBLISHED.kept.get(workers)}
    if not even:
        paper = PUBLISHED.pid_at_8 if workers == 8 else {}
    place = {"workload": "map-1k", "workers": str(workers), "split": SPLITS[even]}
    return FILE.sheet("11").cells(split(workers, even=even), place, paper)


def _merging() -> Table:
    sheet, place, less = FILE.sheet("12"), {"workload": "map-1k"}, "less idle"
    paper = {True: {"merges": PUBLISHED.merges}, False: {}}
    rows = [
        Row((name,), sheet.cells(merging(on=on), {**place, "tasks": name}, paper[on]))
        for on, name in MERGES.items()
    ]
    both = {**place, "tasks": "both"}
    [lower] = sheet.cells("merging", both, {less: PUBLISHED.less_idle}, [less])
    return sheet.table([*rows, Row(("lower with merges by, %",), ("", "", lower, ""))])


@measure
def overload_apart(differing: Sequence[Entry]) -> Iterator[dict[str, float]]:
    """What a tuple takes in a pane that is not split, and would have to take; under Fig. 10."""
    for entry in (entry for entry in differing if entry.where["quantity"] == "load"):
        whole = 1e6 * float(costs(Setup()).of_tuples(PANE).mean())
        yield {"whole": whole, "needed": whole * PUBLISHED.overload / entry.ours.mean}


# Claims about Tab. 4 and 5.


def by_stream(results: Measured, query: str, quantity: str, *sources: str) -> dict[str, float]:
    """The mean of each stream of Tab. 4 or 5, generated and published ones apart."""
    means = {}
    for source in sources or SOURCES:
        for stream in STREAMS:
            mean = results.mean(summary(stream, query, published=SOURCES[source]), quantity)
            if mean is not None:
                means[stream if source == "generated" else f"{stream}, published"] = mean
    return means


def grows(values: Sequence[float]) -> bool:
    """Whether values plainly grow in all, and none falls by more than counts as alike.

    >>> grows([1.0, 1.2, 1.19]), grows([1.0, 1.2, 1.1]), grows([1.0, 1.0, 1.04])
    (True, False, False)
    """
    steady = all(after >= before * (1 - ALIKE) for before, after in pairwise(values))
    return steady and values[-1] > values[0] * (1 + GROWTH)


@measure
def on_time(results: Measured, query: str) -> Finding | None:
    """By which share of their own time streams end late."""
    if not (late := by_stream(results, query, "delta")):
        return None
    worst = max(late, key=lambda stream: late[stream])
    found = {"least": min(late.values()), "most": late[worst], "worst": worst}
    return Finding(found, late[worst] <= PUBLISHED.latest)


@measure
def near_setpoint(results: Measured, quantity: str) -> Finding | None:
    """Loads of a stage, over the streams."""
    loads, whole = (by_stream(results, "skyline", q) for q in (quantity, f"{quantity}_of_all"))
    if not (loads and whole):
        return None
    mean = fmean(loads.values())
    low, high = (pick(loads, key=lambda stream: loads[stream]) for pick in (min, max))
    found = {"lowest": low, "low": loads[low], "highest": high, "high": loads[high]}
    found |= {"mean": mean, "whole": fmean(whole.values())}
    return Finding(found, abs(mean - SETPOINT) <= NEAR)


@measure
def ranked(results: Measured, query: str) -> Finding | None:
    """The rank correlation of ours and the paper's workers, and of how many streams."""
    from scipy.stats import spearmanr

    plq, wlq = (by_stream(results, query, stage, "generated") for stage in ("plq", "wlq"))
    if len(plq) < FEWEST:
        return None
    ours = [plq[stream] + wlq[stream] for stream in plq]
    theirs = [ROWS[query][stream]["plq"] + ROWS[query][stream]["wlq"] for stream in plq]
    correlation = float(spearmanr(ours, theirs).statistic) if len(set(ours)) > 1 else 0.0
    return Finding((correlation, len(plq)), correlation >= RANKED)


@measure
def varied(results: Measured, query: str, parameter: str) -> Finding | None:
    """CV by stream."""
    streams = GROWING[parameter]
    values = results.means([summary(s, query, published=False) for s in streams], "cv")
    return Finding(dict(zip(streams, values, strict=True)), grows(values)) if values else None


# Claims about Fig. 9 to 18.


@measure
def phases(results: Measured) -> list[float] | None:
    """Workers in the phases that the paper has figures of."""
    known = [rate for rate, _ in PHASES if phase_name(rate) in PUBLISHED.workers_of_phases]
    return results.means(known, "plq")


@measure
def two_levels(results: Measured, workload: str) -> Finding | None:
    """Loads and workers of one level and of two."""
    plays = [bursty(workload, levels=levels) for levels in LEVELS]
    m = results.means(plays, "load", "settled")
    return Finding(m, m[0] >= OVERLOADED and m[2] <= 1.0 and m[3] < m[1]) if m else None


@measure
def enough_workers(results: Measured) -> Finding | None:
    """Workers with which the load comes to the setpoint, and the load with them and with fewer."""
    loads = results.means([split(n, even=True) for n in WORKERS], "load")
    if loads is None:
        return None
    few = next((n for n, load in zip(WORKERS, loads, strict=True) if load <= SETPOINT), 0)
    paper = PUBLISHED.enough
    return Finding((few or "more", loads[paper - 1], loads[paper - 2], paper - 1), few == paper)


@measure
def split_no_further(results: Measured) -> Finding | None:
    """Parts and share of the tuples with the PID, and that share with even parts."""
    wanted = ((False, "splitting"), (False, "kept"), (True, "kept"))
    m = all_known(results.mean(split(8, even=even), quantity) for even, quantity in wanted)
    return Finding(m, m[0] < 8 * (1 - ALIKE) and m[1] < m[2] * (1 - ALIKE)) if m else None


@measure
def go_on(results: Measured) -> list[float] | None:
    """Shares of the tuples that go on from panes in even parts."""
    return results.means([split(parts, even=True) for parts in PUBLISHED.kept], "kept")


@measure
def merges_lower(results: Measured) -> Finding | None:
    """The share of the idle time that merges save, and their share of the tasks."""
    pair = [results.mean("merging", "less idle"), results.mean(merging(on=True), "merges")]
    m = all_known(pair)
    return Finding(m, m[0] >= LESS_IDLE) if m else None


@measure
def distances(results: Measured) -> Finding | None:
    """With the shortest and the longest sampling period, by control interval."""
    of = partial(sensitivity, published=results.options.data is not None)
    ends = SAMPLINGS[0], SAMPLINGS[-1]
    means = {t: results.means([of(t, s) for s in ends], "distance") for t in INTERVALS}
    pairs = {interval: pair for interval, pair in means.items() if pair is not None}
    if not pairs:
        return None
    each = (f"{100 * a:.0f} and {percent(b, '.0f')} ({t:g} s)" for t, (a, b) in pairs.items())
    return Finding(["; ".join(each)], all(often < seldom for often, seldom in pairs.values()))


@measure
def variations(results: Measured) -> Finding | None:
    """Mean CV by control interval."""
    of = partial(sensitivity, published=results.options.data is not None)
    each = all_known(results.means([of(t, s) for s in SAMPLINGS], "cv") for t in INTERVALS)
    if each is None:
        return None
    means = [fmean(values) for values in each]
    return Finding({f"{t:g} s": m for t, m in zip(INTERVALS, means, strict=True)}, grows(means))


@measure
def slowed(results: Measured) -> Finding | None:
    """Workers and windows a second, alone and beside the most other applications."""
    plays = [beside(s, published=results.options.data is not None) for s in SLOWDOWNS]
    both = all_known(results.means(plays, quantity) for quantity in ("workers", "results"))
    if both is None:
        return None
    (first, *_, last), (alone, *_, beside_most) = workers, windows = both
    holds = grows(workers) and min(windows) >= alone * (1 - ALIKE)
    return Finding((first, last, alone, beside_most), holds)


@measure
def run_away(results: Measured) -> Finding | None:
    """Workers and busy share where the inner level aims as high as the outer one, and lower."""
    m = results.means([aimed(margin) for margin in (MARGINS[0], MARGIN)], "plq", "busy")
    return Finding(m, m[0] > RUN_AWAY * m[2] and m[1] < m[3]) if m else None


# Figures: one run of each step by step, and means over seeds by what was varied.


def figures(results: Measured) -> Iterator[Figure]:
    """Those that the workloads that ran have data for."""
    yield from drawable(_all_figures(results, results.options.data is not None))


def _all_figures(results: Measured, real: bool) -> Iterator[Figure]:
    courses = results.details
    steps = courses.get(artificial())
    yield FILE.figure(
        "9",
        {
            "rate": _over_time(("rate", steps, "rate")),
            "workers and parts of a pane": _workers_and_parts(steps),
            "load": _load(steps),
            "results": _over_time(("windows", steps, "results")),
        },
    )
    for number, levels in (("10a", 1), ("10b", 2)):
        charts = {}
        for workload, name in zip(BURSTY, ("Markovian", "self-similar"), strict=True):
            course = courses.get(bursty(workload, levels=levels))
            charts[f"load, {name}"] = _load(course)
            charts[f"workers and parts of a pane, {name}"] = _workers_and_parts(course)
        yield FILE.figure(number, charts)
    yield FILE.figure(
        "11",
        {
            "load": _by_workers(results, "load"),
            "parts of a pane": _by_workers(results, "splitting"),
            "tuples that go on to the window stage": _by_workers(results, "kept"),
        },
    )
    merged = {"without merges": merging(on=False), "with merges": merging(on=True)}

    def of_windows(column: str) -> list[Line]:
        return _over_time(*((name, courses.get(play), column) for name, play in merged.items()))

    yield FILE.figure("12", {"workers": of_windows("wlq"), "load": of_windows("window_load")})
    yield FILE.figure("13", {"idle": of_windows("idle")})
    elastic = courses.get(summary("game1", "skyline", published=real))
    static = courses.get(fixed(published=real))
    yield FILE.figure(
        "14",
        {
            "rate": _over_time(("rate", elastic, "rate")),
            "pane stage": _workers_and_parts(elastic),
            "window stage": _over_time(("workers", elastic, "wlq")),
        },
        data=real,
    )
    both = (("two levels", elastic, "results"), (_FIXED, static, "results"))
    yield FILE.figure("15", {"throughput": _over_time(*both)}, data=real)
    yield FILE.figure(
        "17",
        {
            title: _by_sampling(results, real, quantity)
            for title, quantity in (
                ("mean load of the pane stage off the setpoint", "error"),
                ("its load in a step off what the PID aims at", "distance"),
                ("variation of throughput", "cv"),
            )
        },
    )
    yield _by_slowdown(results, real)


def _over_time(*columns: tuple[str, Course | None, str]) -> list[Line]:
    """Columns of courses, each with its name; what was not played is left out."""
    return [line(name, getattr(course, c), course.begin) for name, course, c in columns if course]


def _load(course: Course | None) -> list[Line]:
    if course is None:
        return []
    setpoint = line("setpoint", np.full(len(course.at), SETPOINT), course.begin)
    return [*_over_time(("load", course, "load")), setpoint]


def _workers_and_parts(course: Course | None) -> list[Line]:
    return _over_time(("workers", course, "plq"), ("parts", course, "splitting"))


def _by_workers(results: Measured, quantity: str) -> Iterator[Line]:
    """Panes split evenly, and as the PID has it."""
    for even, name in ((True, "even parts"), (False, "PID")):
        means = (results.mean(split(n, even=even), quantity) for n in WORKERS)
        yield curve(name, WORKERS, means)


def _by_sampling(results: Measured, real: bool, quantity: str) -> Iterator[Line]:
    """Sensitivity to both intervals."""
    for interval in INTERVALS:
        runs = (sensitivity(interval, sampling, published=real) for sampling in SAMPLINGS)
        means = (results.mean(run, quantity) for run in runs)
        yield curve(f"every {interval:g} s", 1e3 * np.array(SAMPLINGS), means)


def _by_slowdown(results: Measured, real: bool) -> Figure:
    """Load from outside."""
    plays = {slowdown: beside(slowdown, published=real) for slowdown in SLOWDOWNS}
    ideal = line("one for each slide", np.full(len(plays), 1e6 / Setup().slide), np.array([*plays]))

    def by_slowdown(quantity: str) -> Line:
        return curve(quantity, [*plays], (results.mean(p, quantity) for p in plays.values()))

    ends = (
        (f"{s:g} times", results.details.get(plays[s]), "workers")
        for s in (SLOWDOWNS[0], SLOWDOWNS[-1])
    )
    return FILE.figure(
        "18",
        {
            "workers of both stages": [by_slowdown("workers")],
            "workers of both stages over time": _over_time(*ends),
            "throughput": [by_slowdown("results"), ideal],
        },
    )


# The paper.


def _facts(options: Options) -> dict[str, Any]:
    return {
        **facts(options),
        "origin": "generated" if options.data is None else "generated and published",
        "short": options.steps is not None,
        "seconds": (options.steps or 0) * STEP,
    }


PAPER: Final = FILE.paper(
    "ppq",
    tasks=experiment.tasks,
    examine=experiment.examine,
    check=experiment.check,
    derive=experiment.derive,
    workloads=WORKLOADS,
    tables=tables,
    figures=figures,
    facts=_facts,
)
"""Section 5: a preference query over sliding windows meets bursty streams; its panes are split
within a quarter of a second, and the workers of both stages are decided every 2.5 s.
"""
