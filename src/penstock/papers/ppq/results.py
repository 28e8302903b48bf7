"""Tab. 4 and 5, Fig. 9 to 18 and the claims of the ppq paper, and what goes beyond it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any, Final

import numpy as np

from penstock.core.words import count_of, percent
from penstock.experiment.results import Chart, Entry, Figure, Line, Words
from penstock.papers import framework
from penstock.papers.framework import (
    Cell,
    Claim,
    Note,
    Options,
    Paper,
    Reason,
    Row,
    Table,
    Test,
    about,
    agrees,
    all_known,
    at_most,
    chart,
    curve,
    decimals,
    drawable,
    figure,
    legend,
    line,
    named,
    order,
)
from penstock.papers.ppq import experiment, published
from penstock.papers.ppq.experiment import (
    BURSTY,
    FACTORS,
    INTERVALS,
    MARGIN,
    MARGINS,
    PHASES,
    POOL,
    QUERIES,
    SAMPLINGS,
    SETTLING,
    SLOWDOWNS,
    START,
    STEP,
    WORKERS,
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
from penstock.papers.ppq.published import SETPOINT, STREAMS

TOLERANCE: Final = {"delta": 0.25, "cv": 0.25}
"""Share by which a figure may be off before it needs a reason, where a few seconds of a run decide;
10 % of all others."""
SOURCES: Final = {"generated": False, "published": True}
TABLES: Final = {"skyline": "4", "top-delta": "5"}
"""By query."""
LEVELS: Final = {1: "elasticity only", 2: "two levels"}
SPLITS: Final = {True: "even", False: "pid"}
MERGES: Final = {True: "with merges", False: "without"}
PANE: Final = 8_000
"""Tuples of a pane in Fig. 10."""
_GAMES: Final = ("game1", "game2")
_FIXED: Final = "{} and {}, fixed".format(*published.STATIC)

# Tables.


_ONE, _TWO, _PERCENT = decimals(1), decimals(2), decimals(0, 100)
_TENTHS, _PERCENTS = decimals(1, 100), decimals(2, 100)
_SUMMARY: Final = {"plq": _TWO, "wlq": _ONE, "splitting": _TWO, "delta": _PERCENTS, "cv": _TWO}
_LOADS: Final = dict.fromkeys(("load", "window_load", "load_of_all", "window_load_of_all"), _TWO)
LEGEND: Final = legend("10 %, or 25 % for delta and CV")
_cells: Final = partial(framework.cells, tolerance=lambda name: TOLERANCE.get(name, 0.1))


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
    for query, number in TABLES.items():
        further = _LOADS if query != "skyline" else {}
        yield Table(
            title=f"Tab. {number}: the {query} query",
            header=(
                *("stream", "pane workers", "window workers", "parts of a pane"),
                *("delta, %", "CV"),
            ),
            rows=list(_streams(query, _SUMMARY, further)),
            notes=(LEGEND, *_about_summary(query)),
        )
    yield Table(
        title=f"Loads of both stages (skyline); the setpoint is {SETPOINT:g}",
        header=(
            "stream",
            *(f"{stage}, after {START:g} s" for stage in ("panes", "windows")),
            *(f"{stage}, whole run" for stage in ("panes", "windows")),
        ),
        rows=list(_streams("skyline", _LOADS, {})),
        notes=(LEGEND, *OF_LOADS),
    )
    yield Table(
        title="Fig. 9 in numbers: workers of the pane stage",
        header=("from", "tuples/s", f"workers, from {SETTLING:g} s later on"),
        rows=[
            Row(
                (f"{begin:g} s", f"{rate:,.0f}"),
                _cells(
                    rate,
                    {"table": "9", "workload": "steps", "phase": phase_name(rate)},
                    {"plq": _TWO},
                    {"plq": published.WORKERS_OF_PHASES.get(phase_name(rate))},
                    calibrated=("plq",),
                ),
            )
            for rate, begin in PHASES
        ],
        notes=(LEGEND, OF_PHASES),
    )
    yield Table(
        title="Fig. 10 in numbers: the pane stage at 80,000 tuples/s",
        header=("stream", "", "load, second half", "workers, second half", "parts of a pane"),
        rows=[
            Row(
                (workload, name),
                _cells(
                    bursty(workload, levels=levels),
                    {"table": "10", "workload": workload, "levels": name},
                    {"load": _TWO, "settled": _ONE, "splitting": _TWO},
                    {"load": published.OVERLOAD} if (workload, levels) == ("map-1k", 1) else {},
                ),
            )
            for workload in BURSTY
            for levels, name in LEVELS.items()
        ],
        notes=(LEGEND, _about_overload),
    )
    yield Table(
        title="Fig. 11 in numbers: panes split evenly, and just enough, at 80,000 tuples/s",
        header=(
            "workers",
            *(f"{name}, {way}" for way in ("even", "PID") for name in ("load", "parts", "% kept")),
        ),
        rows=[Row((str(n),), (*_split(n, even=True), *_split(n, even=False))) for n in WORKERS],
        notes=(
            LEGEND,
            "Loads count in the second half minute. How many tuples are kept is not fitted: it is "
            "the expected size of the skyline of independent coordinates.",
            Reason("The PID's parts depend on the bursts of a stream, of which the paper had one."),
        ),
    )
    yield _merging()
    elastic, static = published.ROWS["skyline"]["game1"]["cv"], published.STATIC_CV
    both = {"results": _TWO, "cv": _TWO}
    repeated = _cells(
        beside(1.0, published=real), {"table": "4", **game}, both, {"cv": elastic}, listed=False
    )
    steady = _cells(fixed(published=real), {"table": "15", **game}, both, {"cv": static})
    yield Table(
        title="Fig. 15 in numbers: game1 with two levels, and with all the workers it ever takes",
        header=("workers", "stream", "windows/s", "CV"),
        rows=[Row(("two levels", source), repeated), Row((_FIXED, source), steady)],
        notes=(LEGEND,),
    )
    yield Table(
        title="Fig. 17 in numbers: game1 by control interval and sampling period",
        header=(
            *("interval", "period", "mean load off the setpoint, %"),
            *("load of a step off the PID's, %", "CV"),
        ),
        rows=[
            Row(
                (f"{interval:g} s", f"{1e3 * sampling:g} ms"),
                _cells(
                    sensitivity(interval, sampling, published=real),
                    {
                        "table": "17",
                        **game,
                        "interval": f"{interval:g}s",
                        "sampling": f"{1e3 * sampling:g}ms",
                    },
                    {"error": _TENTHS, "distance": _TENTHS, "cv": _TWO},
                ),
            )
            for interval in INTERVALS
            for sampling in SAMPLINGS
        ],
        notes=(
            "The paper has 1 to 2 % of error with tens of periods in an interval. Ours is not a "
            "matter of the PID: with the two pane workers that game1 takes there is little to "
            "split, and the mean load is the outer level's.",
        ),
    )
    yield Table(
        title="Fig. 18 in numbers: game1 beside other applications",
        header=("tuples take", "workers of both stages", "windows/s", "CV", "delta, %"),
        rows=[
            Row(
                (f"{slowdown:g} times",),
                _cells(
                    beside(slowdown, published=real),
                    {"table": "18", **game, "slowdown": f"{slowdown:g}"},
                    {"workers": _ONE, "results": _TWO, "cv": _TWO, "delta": _PERCENTS},
                ),
            )
            for slowdown in SLOWDOWNS
        ],
        notes=(
            "The paper draws Fig. 18 by the share of virtual cores that are busy, without figures.",
        ),
    )
    yield Table(
        title="Beyond the paper: what the inner level aims at while the outer aims at 0.9 (map-4k)",
        header=("inner level", "pane workers", "busy, %", "parts of a pane"),
        rows=[
            Row(
                (f"{SETPOINT - margin:.1f}",),
                _cells(
                    aimed(margin),
                    {"table": "margin", "workload": "map-4k", "margin": f"{margin:g}"},
                    {"plq": _TWO, "busy": _PERCENT, "splitting": _TWO},
                ),
            )
            for margin in MARGINS
        ],
        notes=(
            f"The paper has {SETPOINT:g} for both. But an inner level that aims at what the outer "
            "one wants to see joins parts until it sees just that, however many workers are idle, "
            "so none is ever taken away. The authors' published logs show the same: runs with 0.9 "
            "inside have 14 to 27 pane workers. Tab. 4 goes with their runs with 0.7; all figures "
            "above but Fig. 11 have 0.7.",
        ),
    )


def _streams(
    query: str, words: Mapping[str, Words], unprinted: Mapping[str, Words]
) -> Iterator[Row]:
    for workload in STREAMS:
        paper = dict(published.ROWS[query][workload])
        if (workload, query) == ("game1", "skyline"):
            paper |= published.GAME1_LOADS
        fitted = ("plq", "wlq") if (workload, query) == ("map-1k", "top-delta") else ()
        for source, real in SOURCES.items():
            place = {"table": TABLES[query], "workload": workload, "source": source}
            play = summary(workload, query, published=real)
            name = workload if source == "generated" else f"{workload}, published"
            both = (_cells(play, place, w, paper, calibrated=fitted) for w in (words, unprinted))
            yield Row((name,), *both)


def phase_name(rate: float) -> str:
    """As a script finds it.

    >>> phase_name(40e3)
    '40K'
    """
    return f"{rate / 1e3:g}K"


def _split(workers: int, *, even: bool) -> tuple[Cell, ...]:
    """A half row of Fig. 11."""
    paper: Mapping[str, float | None] = {"kept": published.KEPT.get(workers)}
    if not even:
        paper = published.PID_AT_8 if workers == 8 else {}
    place = {"table": "11", "workload": "map-1k", "workers": str(workers), "split": SPLITS[even]}
    words = {"load": _TWO, "splitting": _TWO, "kept": _PERCENT}
    return _cells(split(workers, even=even), place, words, paper)


def _merging() -> Table:
    place = {"table": "12", "workload": "map-1k"}
    words = {"wlq": _ONE, "window_load": _TWO, "idle": _PERCENT, "merges": _PERCENT}
    paper = {True: {"merges": published.MERGES}, False: {}}
    rows = [
        Row((name,), _cells(merging(on=on), {**place, "tasks": name}, words, paper[on]))
        for on, name in MERGES.items()
    ]
    less, *_ = _cells(
        *("merging", {**place, "tasks": "both"}),
        *({"less idle": _PERCENT}, {"less idle": published.LESS_IDLE}),
    )
    return Table(
        title="Fig. 12 and 13 in numbers: tasks that merge (map-1k)",
        header=("tasks", "window workers", f"load after {START:g} s", "idle, %", "merges, %"),
        rows=[*rows, Row(("lower with merges by, %",), ("", "", less, ""))],
        notes=(LEGEND, OF_MERGES),
    )


# Why figures of ours are not the paper's, each reason tried out or worked out.


def _about_summary(query: str) -> Iterator[Note]:
    """Under Tab. 4 or 5."""
    yield (
        "delta is the time from the end of a stream to its last result, by the length of the "
        "stream; CV is of the windows that are done in each slide of 200 ms, which the paper does "
        "not define. Published streams are known by the second only, and play evenly within it."
    )
    if query == "top-delta":
        panes, windows = FACTORS[query]
        yield (
            f"A comparison takes {panes:g} times as long as for the skyline in the pane stage and "
            f"{windows:g} times in the window stage: fitted to the row of map-1k, and to no other."
        )
    yield from _WORKERS_OF_SKYLINE if query == "skyline" else _WORKERS_OF_TOP_DELTA
    yield Reason(
        "CV: the paper's grows a lot with the dispersion and the Hurst parameter, ours hardly "
        "does. Counted by the second it is 0.5 to 0.7 of that, in the same order.",
        about("cv"),
    )
    yield Reason(
        "Where a stream ends late, the 59 workers were used up: with top-delta in three of four "
        "steps of the map streams and in half of those of ss-0.8.",
        lambda entry: about("delta")(entry) and entry.ours.mean > published.LATEST,
    )
    yield Reason(
        "delta is a matter of the last seconds of a stream: 1 % is three or four seconds of work "
        "that is left when it ends.",
        about("delta"),
    )


def _of_panes(which: Callable[[str], bool]) -> Callable[[Entry], bool]:
    """Selects pane workers and parts of some streams."""
    return lambda entry: about("plq", "splitting")(entry) and which(entry.where["workload"])


_WORKERS_OF_SKYLINE: Final = (
    Reason(
        "Pane workers of game1: the paper's 3.82 go with the authors' published log of a run with "
        "0.8 inside, which has 3.9; their logs with 0.6 and 0.7 have 2.0 and 2.1.",
        _of_panes(lambda workload: workload == "game1"),
    ),
    Reason(
        "Pane workers: ours split nearly all panes among all workers. With an inner level that "
        "aims at 0.8 they are more and panes are split less, see the last table.",
        _of_panes(lambda workload: workload not in _GAMES),
    ),
)
_WORKERS_OF_TOP_DELTA: Final = (
    Reason(
        "Other rows were not fitted. A result of top-delta has about 100 tuples whatever its "
        "input, which the model leaves out: ours has as many as the skyline.",
        lambda entry: not about("cv")(entry),
    ),
)
OF_LOADS: Final = (
    "Loads are means over control steps of tuples that came by those that could have been served, "
    "after 60 s or half of a shorter run; a backlog counts, so that a surge weighs more than a "
    "lull of the same length.",
    Reason(
        "Game1, whole run: the paper's text has 0.882 and 0.912, its published logs 0.93 and 0.89 "
        "for panes, 1.47 and 1.35 for windows."
    ),
)
OF_PHASES: Final = Reason(
    "Half a worker more: ours go back and forth. Rule 7 adds one where the load is acceptable and "
    "panes are in more than two parts; with it the stage is fast, and rule 1 takes it away."
)
OF_MERGES: Final = Reason(
    "Merges: we have not found out why they are more. In the authors' published logs they are 39 % "
    "of the tasks of map-1k, 21 to 23 % of game1 and 26 % of game2, in ours 28 and 35 % of the "
    "games.",
    about("merges"),
)


def _about_overload(differing: Sequence[Entry]) -> Iterator[str]:
    """Under Fig. 10."""
    for entry in filter(about("load"), differing):
        whole = 1e6 * float(costs(Setup()).of_tuples(PANE).mean())
        needed = whole * published.OVERLOAD / entry.ours.mean
        yield (
            "Without splits the few panes that are open at a time have a worker each, however many "
            "there are: the load is what a tuple takes in a whole pane. Ours is fitted to panes "
            f"that are split; it is {whole:.0f} us on average in a pane of {PANE:,}, and would "
            f"have to be {needed:.0f} us."
        )


# Claims about Tab. 4 and 5.


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
NEAR_FIGURE: Final = 0.02
"""How far shares of tuples may be from the paper's."""
GROWING: Final = {
    "index of dispersion": ("map-1k", "map-2k", "map-3k", "map-4k"),
    "Hurst parameter": ("ss-0.6", "ss-0.7", "ss-0.8"),
}


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


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Spearman's, 1 for the same order.

    >>> rank_correlation([1.0, 5.0, 9.0], [20.0, 30.0, 25.0])
    0.5
    """
    ranks = [np.argsort(np.argsort(values)) for values in (ours, theirs)]
    apart = float(np.sum((ranks[0] - ranks[1]) ** 2))
    return 1.0 - 6.0 * apart / (len(ours) * (len(ours) ** 2 - 1))


_LATE: Final = {
    "top-delta": "The 59 workers are used up; the authors' published logs miss it, too, with 406.7 "
    "s on map-1k where the skyline took 333.5 s."
}


def _on_time(query: str) -> Claim[Course]:
    def found(late: dict[str, float]) -> str:
        worst = max(late, key=lambda stream: late[stream])
        return f"{100 * min(late.values()):.2f} to {percent(late[worst], '.2f')} ({worst})."

    return Claim(
        text=f"Throughput: every stream ends within {percent(published.LATEST)} of its own time, "
        f"on average over the seeds ({query}).",
        measured=lambda results: by_stream(results, query, "delta"),
        test=at_most(published.LATEST),
        found=found,
        reason=_LATE.get(query, ""),
    )


def _near_setpoint(quantity: str, stage: str) -> Claim[Course]:
    def measured(results: Measured) -> list[dict[str, float]]:
        both = [by_stream(results, "skyline", q) for q in (quantity, f"{quantity}_of_all")]
        return both if all(both) else []

    def extreme(loads: dict[str, float], sign: int) -> str:
        stream = max(loads, key=lambda name: sign * loads[name])
        return f"{loads[stream]:.2f} ({stream})"

    return Claim(
        text=f"The load of the {stage} stage is within {NEAR:g} of the setpoint of {SETPOINT:g}, "
        f"on average over the streams and after {START:g} s.",
        measured=measured,
        test=Test(
            "agrees",
            lambda m: abs(fmean(m[0].values()) - SETPOINT) <= NEAR,
            f"agrees within {NEAR:g}",
        ),
        found=lambda m: (
            f"{fmean(m[0].values()):.3f}, from {extreme(m[0], -1)} to "
            f"{extreme(m[0], 1)}; {fmean(m[1].values()):.3f} over whole runs, which begin with one "
            "worker."
        ),
        reason="Where the rate doubles within a few seconds workers come a step late, and what "
        "waits counts as load.",
    )


def _ranked(query: str) -> Claim[Course]:
    def measured(results: Measured) -> tuple[float, int] | None:
        plq, wlq = (by_stream(results, query, stage, "generated") for stage in ("plq", "wlq"))
        if len(plq) < FEWEST:
            return None
        theirs = [published.ROWS[query][s]["plq"] + published.ROWS[query][s]["wlq"] for s in plq]
        return rank_correlation([plq[s] + wlq[s] for s in plq], theirs), len(plq)

    return Claim(
        text=f"Streams take workers in the paper's order ({query}).",
        measured=measured,
        test=order(lambda m: m[0] >= RANKED),
        found=lambda m: f"A rank correlation of {m[0]:.2f} over {m[1]} streams.",
    )


def _varied(query: str, parameter: str) -> Claim[Course]:
    streams = GROWING[parameter]
    return Claim(
        text=f"The variation of throughput grows with the {parameter} ({query}).",
        measured=lambda results: results.means(
            [summary(stream, query, published=False) for stream in streams], "cv"
        ),
        test=order(grows),
        found=lambda values: f"{named(dict(zip(streams, values, strict=True)), _TWO)}.",
        reason="Most of ours is there on every stream: counted by the slide of 200 ms, windows are "
        "done in groups.",
    )


# Claims about Fig. 9 to 18.


_PHASES: Final = [rate for rate, _ in PHASES if phase_name(rate) in published.WORKERS_OF_PHASES]


def _phases_found(workers: Sequence[float]) -> str:
    pairs = zip(published.WORKERS_OF_PHASES.items(), workers, strict=True)
    return ", ".join(f"{n:.2f} ({paper:g}) at {p}" for (p, paper), n in pairs) + " tuples/s."


def _two_levels(workload: str) -> Claim[Course]:
    """Loads and workers of one level and of two."""
    return Claim(
        text="Elasticity alone leaves the pane stage overloaded whatever its workers, two levels "
        f"do not (Fig. 10, {workload}).",
        measured=lambda results: results.means(
            [bursty(workload, levels=levels) for levels in LEVELS], "load", "settled"
        ),
        test=order(lambda m: m[0] >= OVERLOADED and m[2] <= 1.0 and m[3] < m[1]),
        found=lambda m: (
            f"A load of {m[0]:.2f} with {m[1]:.0f} workers, and of {m[2]:.2f} with {m[3]:.1f}."
        ),
    )


def _enough(loads: Sequence[float]) -> int:
    """Workers with which the load comes to the setpoint; 0 where more are needed."""
    return next((n for n, x in zip(WORKERS, loads, strict=True) if x <= SETPOINT), 0)


def _kept_found(shares: Sequence[float]) -> str:
    pairs = zip(shares, published.KEPT.items(), strict=True)
    return ", ".join(f"{_whole(s)} ({_whole(p)}) with {n}" for s, (n, p) in pairs) + "."


_whole: Final = partial(percent, form=".0f")
_ENDS: Final = SAMPLINGS[0], SAMPLINGS[-1]


def _distances(results: Measured) -> dict[float, list[float]]:
    """With the shortest and the longest sampling period, by control interval."""
    of = partial(sensitivity, published=results.options.data is not None)
    pairs = {t: results.means([of(t, s) for s in _ENDS], "distance") for t in INTERVALS}
    return {interval: pair for interval, pair in pairs.items() if pair is not None}


def _distances_found(pairs: dict[float, list[float]]) -> str:
    each = (f"{100 * a:.0f} and {_whole(b)} ({t:g} s)" for t, (a, b) in pairs.items())
    short, long = (f"{1e3 * sampling:g}ms" for sampling in _ENDS)
    return f"With periods of {short} and {long} it is off by {'; '.join(each)}."


def _variations(results: Measured) -> list[float] | None:
    """Mean CV by control interval."""
    of = partial(sensitivity, published=results.options.data is not None)
    each = all_known(results.means([of(t, s) for s in SAMPLINGS], "cv") for t in INTERVALS)
    return None if each is None else [fmean(values) for values in each]


def _slowed(results: Measured) -> list[list[float]] | None:
    """Workers and throughput by slowdown."""
    slowed = [beside(s, published=results.options.data is not None) for s in SLOWDOWNS]
    return all_known(results.means(slowed, quantity) for quantity in ("workers", "results"))


CLAIMS: Final[tuple[Claim[Course], ...]] = (
    *map(_on_time, QUERIES),
    _near_setpoint("load", "pane"),
    _near_setpoint("window_load", "window"),
    *map(_ranked, QUERIES),
    *(_varied(query, parameter) for query in QUERIES for parameter in GROWING),
    Claim(
        text="Workers of the pane stage follow the rate, within one of the paper's (Fig. 9).",
        measured=lambda results: results.means(_PHASES, "plq"),
        test=agrees(list(published.WORKERS_OF_PHASES.values()), within=1.0),
        found=_phases_found,
        calibrated=True,
    ),
    *map(_two_levels, BURSTY),
    Claim(
        text=f"{published.ENOUGH} workers, and no fewer, bring the load to the setpoint (Fig. 11).",
        measured=lambda results: results.means([split(n, even=True) for n in WORKERS], "load"),
        test=Test(
            "agrees", lambda loads: _enough(loads) == published.ENOUGH, "agrees: the same number"
        ),
        calibrated=True,
        found=lambda loads: (
            f"It takes {_enough(loads) or 'more'}; the load is "
            f"{loads[published.ENOUGH - 1]:.2f} with {published.ENOUGH} and "
            f"{loads[published.ENOUGH - 2]:.2f} with {published.ENOUGH - 1}."
        ),
    ),
    Claim(
        text="The PID splits panes no further than it takes, so that fewer tuples go on (Fig. 11, "
        "8 workers).",
        measured=lambda results: all_known(
            results.mean(split(8, even=even), quantity)
            for even, quantity in ((False, "splitting"), (False, "kept"), (True, "kept"))
        ),
        test=order(lambda m: m[0] < 8 * (1 - ALIKE) and m[1] < m[2] * (1 - ALIKE)),
        found=lambda m: (
            f"{m[0]:.2f} parts ({published.PID_AT_8['splitting']:g}); {_whole(m[1])} of the "
            f"tuples ({_whole(published.PID_AT_8['kept'])}), with even parts {_whole(m[2])} "
            f"({_whole(published.KEPT[8])})."
        ),
    ),
    Claim(  # the twin takes these shares from theory: nothing was fitted
        text="As many tuples go on from panes in so many parts as theory says, within "
        f"{NEAR_FIGURE:g} (Fig. 11).",
        measured=lambda results: results.means(
            [split(parts, even=True) for parts in published.KEPT], "kept"
        ),
        test=agrees(list(published.KEPT.values()), within=NEAR_FIGURE),
        found=_kept_found,
    ),
    Claim(
        text=f"Merges lower the idle time of the window stage by {percent(LESS_IDLE)} or more "
        "(Fig. 13).",
        measured=lambda results: all_known(
            [results.mean("merging", "less idle"), results.mean(merging(on=True), "merges")]
        ),
        test=Test("at least", lambda m: m[0] >= LESS_IDLE, f"at least {LESS_IDLE:g}"),
        found=lambda m: (
            f"{_whole(m[0])} ({percent(published.LESS_IDLE)}); they are "
            f"{_whole(m[1])} of the tasks ({percent(published.MERGES)})."
        ),
    ),
    Claim(
        text="The more sampling periods in an interval, the nearer the load of the pane stage is "
        "to what the PID aims at (Fig. 17, left).",
        measured=_distances,
        test=order(lambda found: all(often < seldom for often, seldom in found.values())),
        found=_distances_found,
        reason="With the two pane workers that game1 takes there is little to split.",
    ),
    Claim(
        text="The longer the control interval, the more throughput varies (Fig. 17, right).",
        measured=_variations,
        test=order(grows),
        found=lambda varied: (
            named({f"{t:g} s": cv for t, cv in zip(INTERVALS, varied, strict=True)}, _TWO) + "."
        ),
    ),
    Claim(
        text="Beside other applications it takes more workers, and throughput stays (Fig. 18).",
        measured=_slowed,
        test=order(lambda m: grows(m[0]) and min(m[1]) >= m[1][0] * (1 - ALIKE)),
        found=lambda m: (
            f"{m[0][0]:.1f} to {m[0][-1]:.1f} workers where tuples take "
            f"{SLOWDOWNS[0]:g} to {SLOWDOWNS[-1]:g} times as long, and {m[1][0]:.2f} to "
            f"{m[1][-1]:.2f} windows/s."
        ),
    ),
    Claim(
        text="Beyond the paper: an inner level that aims as high as the outer one lets the pane "
        "stage run away, one that aims lower does not.",
        measured=lambda results: results.means(
            [aimed(margin) for margin in (MARGINS[0], MARGIN)], "plq", "busy"
        ),
        test=order(lambda m: m[0] > RUN_AWAY * m[2] and m[1] < m[3]),
        found=lambda m: (
            f"{m[0]:.1f} workers, {_whole(m[1])} busy, against {m[2]:.1f}, {_whole(m[3])} busy."
        ),
    ),
)


# Figures: one run of each step by step, and means over seeds by what was varied.


def figures(results: Measured) -> Iterator[Figure]:
    """Those that the workloads that ran have data for."""
    yield from drawable(_all_figures(results, results.options.data is not None))


def _all_figures(results: Measured, real: bool) -> Iterator[Figure]:
    courses = results.details
    steps = courses.get(artificial())
    yield figure(
        "9",
        "The pane stage, as the rate changes in steps",
        _over_time("rate", "tuples/s", ("rate", steps, "rate")),
        _workers_and_parts("workers and parts of a pane", steps),
        _load("load", steps),
        _over_time("results", "windows/s", ("windows", steps, "results")),
        notes=("The rates of the last three phases are ours; the paper draws them only.",),
    )
    for number, levels in (("10a", 1), ("10b", 2)):
        charts = []
        for workload, name in zip(BURSTY, ("Markovian", "self-similar"), strict=True):
            course = courses.get(bursty(workload, levels=levels))
            charts.append(_load(f"load, {name}", course))
            charts.append(_workers_and_parts(f"workers and parts of a pane, {name}", course))
        yield figure(number, f"The pane stage at 80,000 tuples/s, {LEVELS[levels]}", *charts)
    yield _by_workers(results)
    merges = {"without merges": False, "with merges": True}
    merged = {name: courses.get(merging(on=on)) for name, on in merges.items()}

    def of_windows(title: str, y: str, column: str) -> Chart:
        return _over_time(title, y, *((name, course, column) for name, course in merged.items()))

    yield figure(
        "12",
        "The window stage with and without tasks that merge, map-1k",
        of_windows("workers", "", "wlq"),
        of_windows("load", "", "window_load"),
    )
    yield figure("13", "Idle time of the window stage, map-1k", of_windows("idle", "%", "idle"))
    source = () if real else ("A generated walk with the rates of Game1 (Tab. 3).",)
    elastic = courses.get(summary("game1", "skyline", published=real))
    static = courses.get(fixed(published=real))
    yield figure(
        "14",
        "Game1 with two levels",
        _over_time("rate", "tuples/s", ("rate", elastic, "rate")),
        _workers_and_parts("pane stage", elastic),
        _over_time("window stage", "", ("workers", elastic, "wlq")),
        notes=source,
    )
    both = (("two levels", elastic, "results"), (_FIXED, static, "results"))
    throughput = _over_time("throughput", "windows/s", *both)
    yield figure("15", "Windows a second of Game1", throughput, notes=source)
    yield _by_interval(results, real)
    yield _by_slowdown(results, real)


def _over_time(title: str, y: str, *columns: tuple[str, Course | None, str]) -> Chart:
    """Columns of courses, each with its name; what was not played is left out."""
    lines = (line(n, getattr(course, c), course.begin) for n, course, c in columns if course)
    return chart(title, "s", y, *lines, stepped=True)


def _load(title: str, course: Course | None) -> Chart:
    drawn = _over_time(title, "", ("load", course, "load"))
    if course is None:
        return drawn
    setpoint = line("setpoint", np.full(len(course.at), SETPOINT), course.begin)
    return replace(drawn, lines=(*drawn.lines, setpoint))


def _workers_and_parts(title: str, course: Course | None) -> Chart:
    return _over_time(title, "", ("workers", course, "plq"), ("parts", course, "splitting"))


def _by_workers(results: Measured) -> Figure:
    """Panes split evenly, and as the PID has it."""

    def by_workers(title: str, y: str, quantity: str, wide: str = "") -> Chart:
        lines = (
            curve(name, WORKERS, (results.mean(split(n, even=even), quantity) for n in WORKERS))
            for even, name in ((True, "even parts"), (False, "PID"))
        )
        return chart(title, "workers", y, *lines, wide=wide)

    return figure(
        "11",
        "Panes split evenly, and just enough, at 80,000 tuples/s",
        by_workers("load", "", "load", "y"),
        by_workers("parts of a pane", "", "splitting"),
        by_workers("tuples that go on to the window stage", "%", "kept"),
        notes=(f"The PID aims at {SETPOINT:g}; workers are fixed in each run.",),
    )


def _by_interval(results: Measured, real: bool) -> Figure:
    """Sensitivity to both intervals."""

    def by_sampling(title: str, y: str, quantity: str) -> Chart:
        lines = []
        for interval in INTERVALS:
            runs = (sensitivity(interval, sampling, published=real) for sampling in SAMPLINGS)
            means = (results.mean(run, quantity) for run in runs)
            lines.append(curve(f"every {interval:g} s", 1e3 * np.array(SAMPLINGS), means))
        return chart(title, "ms", y, *lines, wide="x")

    return figure(
        "17",
        "Game1 by control interval and sampling period",
        by_sampling("mean load of the pane stage off the setpoint", "%", "error"),
        by_sampling("its load in a step off what the PID aims at", "%", "distance"),
        by_sampling("variation of throughput", "CV", "cv"),
        notes=("To the right, milliseconds of a sampling period.",),
    )


def _by_slowdown(results: Measured, real: bool) -> Figure:
    """Load from outside."""
    plays = {slowdown: beside(slowdown, published=real) for slowdown in SLOWDOWNS}
    ideal = line("one for each slide", np.full(len(plays), 1e6 / Setup().slide), np.array([*plays]))

    def by_slowdown(title: str, y: str, quantity: str, *more: Line) -> Chart:
        means = (results.mean(play, quantity) for play in plays.values())
        return chart(title, "times", y, curve(quantity, [*plays], means), *more)

    ends = (
        (f"{s:g} times", results.details.get(plays[s]), "workers")
        for s in (SLOWDOWNS[0], SLOWDOWNS[-1])
    )
    return figure(
        "18",
        "Game1 beside other applications, that make tuples take so many times as long",
        by_slowdown("workers of both stages", "", "workers"),
        _over_time("workers of both stages over time", "", *ends),
        by_slowdown("throughput", "windows/s", "results", ideal),
    )


# The paper.


def _remarks(options: Options) -> Iterator[str]:
    yield (
        f"{count_of(options.seeds, 'seed')}; simulated tuple by tuple, as the paper "
        "schedules them: owners of panes, K-slack punctuations, tasks that update windows and "
        f"merge parts. Both stages begin with one worker and share {POOL}."
    )
    yield (
        f"A tuple takes {1e6 * experiment.TUPLE:g} us and {1e6 * experiment.COMPARISON:g} us for "
        "each other that it is compared with, of which theory says how many there are on "
        "independent coordinates; both were fitted to the workers that the text of Fig. 9 and 11 "
        "has."
    )
    yield (
        f"The outer level aims at a load of {SETPOINT:g}, the inner one at "
        f"{SETPOINT - MARGIN:.1f}: with the same setpoint for both, as the paper has it, the pane "
        "stage takes ever more workers that do little (last table)."
    )
    yield (
        "Streams are generated, and drawn again until their mean rate (10 %) and their busiest "
        "second (25 %) are those of Tab. 3; game1 and game2 are walks within the bounds of the "
        "published ones. Game3, Game4 and their delays were not published, Fig. 16 (watts) is left "
        "out."
    )
    if options.data is not None:
        yield (
            "Published streams are played beside the generated ones; Fig. 14 to 18 are of the "
            "published Game1."
        )
    if options.steps is not None:
        yield (
            f"Only the first {options.steps * STEP:g} seconds were played: the paper's figures are "
            "left out, and what a whole stream shows may not be found."
        )


def _settings(options: Options) -> dict[str, Any]:
    return {
        "seconds_per_step": STEP,
        "sampling": experiment.SAMPLING,
        "setpoint": SETPOINT,
        "margin": MARGIN,
        "pool": POOL,
        "data": "generated" if options.data is None else "generated and published",
    }


PAPER: Final = Paper(
    name="ppq",
    title="Elastic-PPQ: a two-level autonomic system for spatial preference query processing over "
    "dynamic data streams",
    seeds=3,
    workloads=published.WORKLOADS,
    takes=frozenset({"steps", "workloads", "data"}),
    check=experiment.check,
    tasks=experiment.tasks,
    examine=experiment.examine,
    derive=experiment.derive,
    settings=_settings,
    remarks=_remarks,
    tables=tables,
    figures=figures,
    claims=CLAIMS,
)
"""Section 5: a preference query over sliding windows meets bursty streams; its panes are split
within a quarter of a second, and the workers of both stages are decided every 2.5 s.
"""
