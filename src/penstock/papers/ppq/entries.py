"""Every figure that can be set beside the paper's, with its interval."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from penstock.experiment.interval import interval
from penstock.experiment.results import Entry, find
from penstock.papers.ppq import published as printed
from penstock.papers.ppq.runs import (
    BURSTY,
    INTERVALS,
    MARGINS,
    QUERIES,
    SAMPLINGS,
    SLOWDOWNS,
    WORKERS,
    Outcome,
    Play,
    Runs,
    aimed,
    artificial,
    beside,
    bursty,
    fixed,
    merging,
    sensitivity,
    split,
    summary,
)
from penstock.papers.ppq.setup import PHASES

TOLERANCE: Final = 0.1
"""Share by which a figure may be off before it needs a reason."""
TOLERANCE_OF_TAILS: Final = 0.25
"""The same for what a few seconds of a run decide."""
TAILS: Final = ("delta", "cv")
SUMMARY: Final = ("plq", "wlq", "splitting", "delta", "cv")
LOADS: Final = ("load", "window_load", "load_of_all", "window_load_of_all")
SOURCES: Final = ("generated", "published")
TABLES: Final = {"skyline": "4", "top-delta": "5"}
LEVELS: Final = {1: "elasticity only", 2: "two levels"}
SPLITS: Final = {True: "even", False: "pid"}
MERGES: Final = {True: "with merges", False: "without"}
SETTLING: Final = 10.0
"""Seconds of a phase of Fig. 9 before its workers count."""


def entries(runs: Runs) -> tuple[Entry, ...]:
    """Of all figures and tables that were played."""
    return (
        *_phases(runs),
        *_bursty(runs),
        *_splits(runs),
        *_merging(runs),
        *(e for query in QUERIES for e in _summary(runs, query)),
        *_fixed(runs, published=runs.published),
        *_sensitivity(runs, published=runs.published),
        *_beside(runs, published=runs.published),
        *_margins(runs),
    )


def phase_name(rate: float) -> str:
    """As a script finds it.

    >>> phase_name(40e3)
    '40K'
    """
    return f"{rate / 1e3:g}K"


def milliseconds(seconds: float) -> str:
    """As a script finds it.

    >>> milliseconds(0.625)
    '625ms'
    """
    return f"{1e3 * seconds:g}ms"


def _phases(runs: Runs) -> Iterator[Entry]:
    """Fig. 9."""
    ends = [begin for _, begin in PHASES[1:]] + [float("inf")]
    for (rate, begin), end in zip(PHASES, ends, strict=True):
        found = [_workers(o, begin, end) for o in runs.of(artificial())]
        known = [value for value in found if value is not None]
        if known:
            name = phase_name(rate)
            where = {"table": "9", "workload": "steps", "phase": name, "quantity": "plq"}
            yield _entry(where, known, printed.WORKERS_OF_PHASES.get(name) if runs.whole else None)


def _workers(outcome: Outcome, begin: float, end: float) -> float | None:
    course = outcome.course
    within = (course.at > begin + SETTLING) & (course.at <= end)
    return float(course.plq[within].mean()) if within.any() else None


def _bursty(runs: Runs) -> Iterator[Entry]:
    """Fig. 10."""
    for workload in BURSTY:
        for levels, name in LEVELS.items():
            paper = {"load": printed.OVERLOAD} if (workload, levels) == ("map-1k", 1) else {}
            yield from _measured(
                runs,
                bursty(workload, levels=levels),
                {"table": "10", "workload": workload, "levels": name},
                ("load", "settled", "splitting"),
                paper,
            )


def _splits(runs: Runs) -> Iterator[Entry]:
    """Fig. 11."""
    for workers in WORKERS:
        for even, name in SPLITS.items():
            yield from _measured(
                runs,
                split(workers, even=even),
                {"table": "11", "workload": "map-1k", "workers": str(workers), "split": name},
                ("load", "splitting", "kept"),
                _printed_split(workers, even=even),
            )


def _printed_split(workers: int, *, even: bool) -> Mapping[str, float]:
    if even:
        return {"kept": printed.KEPT[workers]} if workers in printed.KEPT else {}
    if workers == 8:
        return {"splitting": printed.SPLIT_AT_8, "kept": printed.KEPT_AT_8}
    return {}


def _merging(runs: Runs) -> Iterator[Entry]:
    """Fig. 12 and 13."""
    for on, name in MERGES.items():
        yield from _measured(
            runs,
            merging(on=on),
            {"table": "12", "workload": "map-1k", "tasks": name},
            ("wlq", "window_load", "idle", "merges"),
            {"merges": printed.MERGES} if on else {},
        )
    idle = [runs.values(merging(on=on), "idle") for on in (True, False)]
    less = [1.0 - a / b for a, b in zip(*idle, strict=True) if b > 0]
    if less:
        where = {"table": "12", "workload": "map-1k", "tasks": "both", "quantity": "less idle"}
        yield _entry(where, less, printed.LESS_IDLE if runs.whole else None)


def _summary(runs: Runs, query: str) -> Iterator[Entry]:
    """Tab. 4 or 5, generated streams and then published ones."""
    for source in SOURCES:
        for workload in printed.STREAMS:
            yield from _measured(
                runs,
                summary(workload, query, published=source == "published"),
                {"table": TABLES[query], "workload": workload, "source": source},
                (*SUMMARY, *LOADS),
                _printed_row(workload, query),
            )


def _printed_row(workload: str, query: str) -> Mapping[str, float]:
    row = printed.ROWS[query][workload]._asdict()
    if (workload, query) == ("game1", "skyline"):
        row["load_of_all"], row["window_load_of_all"] = printed.GAME1_LOADS
    return row


def _fixed(runs: Runs, *, published: bool) -> Iterator[Entry]:
    """Fig. 15."""
    yield from _measured(
        runs,
        fixed(published=published),
        {"table": "15", "workload": "game1", "source": SOURCES[published]},
        ("results", "cv"),
        {"cv": printed.STATIC_CV},
    )


def _sensitivity(runs: Runs, *, published: bool) -> Iterator[Entry]:
    """Fig. 17."""
    for every in INTERVALS:
        for sampling in SAMPLINGS:
            play = sensitivity(every, sampling, published=published)
            where = {"table": "17", "workload": "game1", "source": SOURCES[published]}
            where |= {"interval": f"{every:g}s", "sampling": milliseconds(sampling)}
            loads = runs.values(play, "load_of_all")
            if loads:
                errors = [abs(load / printed.SETPOINT - 1.0) for load in loads]
                yield _entry({**where, "quantity": "error"}, errors, None)
            yield from _measured(runs, play, where, ("distance", "cv"), {})


def _beside(runs: Runs, *, published: bool) -> Iterator[Entry]:
    """Fig. 18."""
    for slowdown in SLOWDOWNS:
        play = beside(slowdown, published=published)
        where = {"table": "18", "workload": "game1", "source": SOURCES[published]}
        where |= {"slowdown": f"{slowdown:g}"}
        both = zip(runs.values(play, "plq"), runs.values(play, "wlq"), strict=True)
        if threads := [plq + wlq for plq, wlq in both]:
            yield _entry({**where, "quantity": "workers"}, threads, None)
        yield from _measured(runs, play, where, ("results", "cv", "delta"), {})


def _margins(runs: Runs) -> Iterator[Entry]:
    """Beyond the paper."""
    for margin in MARGINS:
        where = {"table": "margin", "workload": "map-4k", "margin": f"{margin:g}"}
        yield from _measured(runs, aimed(margin), where, ("plq", "busy", "splitting"), {})


def _measured(
    runs: Runs,
    play: Play,
    where: Mapping[str, str],
    quantities: Sequence[str],
    paper: Mapping[str, float],
) -> Iterator[Entry]:
    """Those of a play that are known."""
    for quantity in quantities:
        if values := runs.values(play, quantity):
            theirs = paper.get(quantity) if runs.whole else None
            yield _entry({**where, "quantity": quantity}, values, theirs)


def _entry(where: Mapping[str, str], values: Sequence[float], paper: float | None) -> Entry:
    tolerance = TOLERANCE_OF_TAILS if where["quantity"] in TAILS else TOLERANCE
    return Entry(where=where, ours=interval(values), paper=paper, tolerance=tolerance)


# Means of ours, found by where they stand, and how they compare.


ALIKE: Final = 0.02
"""Share under which a difference of two means is none."""
GROWTH: Final = 0.05
"""Share from which on it is one that a reader would see."""


def mean_of(entries: Sequence[Entry], **where: str) -> float | None:
    """The mean of a place; None where there is none."""
    found = find(entries, **where)
    return None if found is None else found.ours.mean


def means_of(entries: Sequence[Entry], places: Sequence[dict[str, str]]) -> list[float] | None:
    """Those of several places; None where one of them has none."""
    found = [mean_of(entries, **place) for place in places]
    known = [value for value in found if value is not None]
    return known if len(known) == len(places) else None


def by_stream(
    entries: Sequence[Entry], table: str, quantity: str, *, published: bool = True
) -> dict[str, float]:
    """The mean of each stream of Tab. 4 or 5, generated and published ones apart."""
    return {
        _name(entry): entry.ours.mean
        for entry in entries
        if (entry.where["table"], entry.where["quantity"]) == (table, quantity)
        and (published or entry.where["source"] == "generated")
    }


def grows(values: Sequence[float]) -> bool:
    """Whether values plainly grow in all, and none falls as far as they can be told apart.

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


def _name(entry: Entry) -> str:
    stream = entry.where["workload"]
    return stream if entry.where["source"] == "generated" else f"{stream}, published"
