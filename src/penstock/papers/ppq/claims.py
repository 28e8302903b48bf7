"""What the ppq paper found, and whether it was found again."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from penstock.experiment.results import Claim, Entry
from penstock.papers.ppq import published, runs
from penstock.papers.ppq.entries import (
    ALIKE,
    LEVELS,
    TABLES,
    by_stream,
    grows,
    mean_of,
    means_of,
    milliseconds,
    rank_correlation,
)
from penstock.papers.ppq.runs import START
from penstock.papers.ppq.setup import MARGIN

# What the figures of the ppq paper show, and whether ours show it.


OVERLOADED: Final = 1.3
"""From this load on a stage is plainly too slow (ppq, Section 4.2)."""
LESS_IDLE: Final = 0.3
"""By which share merges have to lower the idle time."""
RUN_AWAY: Final = 1.5
"""So many times the workers that it takes."""
NEAR_FIGURE: Final = 0.02
"""How far shares of tuples may be from the paper's."""


def findings(entries: Sequence[Entry]) -> Iterator[Claim]:
    """Each with what we found, where it was played."""
    yield from _phases(entries)
    for workload in runs.BURSTY:
        yield from _bursty(entries, workload)
    yield from _enough(entries)
    yield from _just_enough(entries)
    yield from _kept(entries)
    yield from _merging(entries)
    yield from _sampling(entries)
    yield from _intervals(entries)
    yield from _beside(entries)
    yield from _margins(entries)


def _phases(entries: Sequence[Entry]) -> Iterator[Claim]:
    paper = published.WORKERS_OF_PHASES
    ours = means_of(entries, [{"table": "9", "phase": phase} for phase in paper])
    if ours is None:
        return
    beside = list(zip(paper, ours, strict=True))
    told = ", ".join(f"{workers:.2f} ({paper[p]:g}) at {p}" for p, workers in beside)
    yield Claim(
        text="Workers of the pane stage follow the rate, within one of the paper's (Fig. 9).",
        found=f"{told} tuples/s.",
        holds=all(abs(workers - paper[phase]) <= 1.0 for phase, workers in beside),
    )


def _bursty(entries: Sequence[Entry], workload: str) -> Iterator[Claim]:
    found = means_of(
        entries,
        [
            {"table": "10", "workload": workload, "levels": name, "quantity": quantity}
            for name in LEVELS.values()
            for quantity in ("load", "settled")
        ],
    )
    if found is None:
        return
    alone, most, both, few = found
    yield Claim(
        text="Elasticity alone leaves the pane stage overloaded whatever its workers, two levels "
        f"do not (Fig. 10, {workload}).",
        found=f"A load of {alone:.2f} with {most:.0f} workers, and of {both:.2f} with {few:.1f}.",
        holds=alone >= OVERLOADED and both <= 1.0 and few < most,
    )


def _enough(entries: Sequence[Entry]) -> Iterator[Claim]:
    found = means_of(entries, [_split(workers, "even", "load") for workers in runs.WORKERS])
    if found is None:
        return
    loads = dict(zip(runs.WORKERS, found, strict=True))
    enough = next((n for n, load in loads.items() if load <= published.SETPOINT), 0)
    seven = published.ENOUGH
    yield Claim(
        text=f"{seven} workers, and no fewer, bring the load to the setpoint (Fig. 11).",
        found=f"It takes {enough or 'more'}; the load is {loads[seven]:.2f} with {seven} and "
        f"{loads[seven - 1]:.2f} with {seven - 1}.",
        holds=enough == seven,
    )


def _just_enough(entries: Sequence[Entry]) -> Iterator[Claim]:
    places = [_split(8, "pid", "splitting"), _split(8, "pid", "kept"), _split(8, "even", "kept")]
    found = means_of(entries, places)
    if found is None:
        return
    parts, less, more = found
    yield Claim(
        text="The PID splits panes no further than it takes, so that fewer tuples go on (Fig. 11, "
        "8 workers).",
        found=f"{parts:.2f} parts ({published.SPLIT_AT_8:g}); {100 * less:.0f} % of the tuples "
        f"({100 * published.KEPT_AT_8:.0f} %), with even parts {100 * more:.0f} % "
        f"({100 * published.KEPT[8]:.0f} %).",
        holds=parts < 8 * (1 - ALIKE) and less < more * (1 - ALIKE),
    )


def _kept(entries: Sequence[Entry]) -> Iterator[Claim]:
    """The twin takes these shares from theory: nothing was fitted."""
    paper = published.KEPT
    found = means_of(entries, [_split(parts, "even", "kept") for parts in paper])
    if found is None:
        return
    beside = list(zip(paper, found, strict=True))
    told = (f"{100 * ours:.0f} % ({100 * paper[n]:.0f} %) with {n}" for n, ours in beside)
    yield Claim(
        text="As many tuples go on from panes in so many parts as theory says, within "
        f"{NEAR_FIGURE:g} (Fig. 11).",
        found=", ".join(told) + ".",
        holds=all(abs(ours - paper[parts]) <= NEAR_FIGURE for parts, ours in beside),
    )


def _split(workers: int, split: str, quantity: str) -> dict[str, str]:
    return {"table": "11", "workers": str(workers), "split": split, "quantity": quantity}


def _merging(entries: Sequence[Entry]) -> Iterator[Claim]:
    less = mean_of(entries, table="12", quantity="less idle")
    merges = mean_of(entries, table="12", tasks="with merges", quantity="merges")
    if less is None or merges is None:
        return
    yield Claim(
        text=f"Merges lower the idle time of the window stage by {100 * LESS_IDLE:g} % or more "
        "(Fig. 13).",
        found=f"{100 * less:.0f} % ({100 * published.LESS_IDLE:g} %); they are "
        f"{100 * merges:.0f} % of the tasks ({100 * published.MERGES:g} %).",
        holds=less >= LESS_IDLE,
    )


def _sampling(entries: Sequence[Entry]) -> Iterator[Claim]:
    ends = runs.SAMPLINGS[0], runs.SAMPLINGS[-1]
    found = {
        interval: means_of(entries, [_sensitive(interval, s, "distance") for s in ends])
        for interval in runs.INTERVALS
    }
    known = {interval: pair for interval, pair in found.items() if pair is not None}
    if not known:
        return
    told = "; ".join(
        f"{100 * often:.0f} and {100 * seldom:.0f} % ({interval:g} s)"
        for interval, (often, seldom) in known.items()
    )
    short, long = (milliseconds(sampling) for sampling in ends)
    yield Claim(
        text="The more sampling periods in an interval, the nearer the load of the pane stage is "
        "to what the PID aims at (Fig. 17, left).",
        found=f"With periods of {short} and {long} it is off by {told}.",
        holds=all(often < seldom for often, seldom in known.values()),
    )


def _intervals(entries: Sequence[Entry]) -> Iterator[Claim]:
    found = [
        means_of(entries, [_sensitive(interval, s, "cv") for s in runs.SAMPLINGS])
        for interval in runs.INTERVALS
    ]
    varied = [fmean(values) for values in found if values is not None]
    if len(varied) < len(runs.INTERVALS):
        return
    beside = zip(varied, runs.INTERVALS, strict=True)
    yield Claim(
        text="The longer the control interval, the more throughput varies (Fig. 17, right).",
        found=", ".join(f"{cv:.2f} ({interval:g} s)" for cv, interval in beside) + ".",
        holds=grows(varied),
    )


def _sensitive(interval: float, sampling: float, quantity: str) -> dict[str, str]:
    place = {"table": "17", "interval": f"{interval:g}s", "quantity": quantity}
    return {**place, "sampling": milliseconds(sampling)}


def _beside(entries: Sequence[Entry]) -> Iterator[Claim]:
    places = [{"table": "18", "slowdown": f"{slowdown:g}"} for slowdown in runs.SLOWDOWNS]
    workers = means_of(entries, [{**place, "quantity": "workers"} for place in places])
    results = means_of(entries, [{**place, "quantity": "results"} for place in places])
    if workers is None or results is None:
        return
    yield Claim(
        text="Beside other applications it takes more workers, and throughput stays (Fig. 18).",
        found=f"{workers[0]:.1f} to {workers[-1]:.1f} workers where tuples take "
        f"{runs.SLOWDOWNS[0]:g} to {runs.SLOWDOWNS[-1]:g} times as long, and {results[0]:.2f} to "
        f"{results[-1]:.2f} windows/s.",
        holds=grows(workers) and min(results) >= results[0] * (1 - ALIKE),
    )


def _margins(entries: Sequence[Entry]) -> Iterator[Claim]:
    places = [
        {"table": "margin", "margin": f"{margin:g}", "quantity": quantity}
        for margin in (runs.MARGINS[0], MARGIN)
        for quantity in ("plq", "busy")
    ]
    found = means_of(entries, places)
    if found is None:
        return
    many, lazy, few, busy = found
    yield Claim(
        text="Beyond the paper: an inner level that aims as high as the outer one lets the pane "
        "stage run away, one that aims lower does not.",
        found=f"{many:.1f} workers, {100 * lazy:.0f} % busy, against {few:.1f}, "
        f"{100 * busy:.0f} % busy.",
        holds=many > RUN_AWAY * few and lazy < busy,
    )


NEAR: Final = 0.05
"""How far loads may be from the setpoint."""
RANKED: Final = 0.9
"""Rank correlation from which on two orders are the same but for neighbours."""
FEWEST: Final = 4
"""Streams below which there is no order to speak of."""
_GROWING: Final = {
    "index of dispersion": ("map-1k", "map-2k", "map-3k", "map-4k"),
    "Hurst parameter": ("ss-0.6", "ss-0.7", "ss-0.8"),
}


def claims(entries: Sequence[Entry]) -> tuple[Claim, ...]:
    """Each with what we found, where it was played."""
    return (
        *_on_time(entries),
        *_loads(entries),
        *_order(entries),
        *_growing(entries),
        *findings(entries),
    )


def _on_time(entries: Sequence[Entry]) -> Iterator[Claim]:
    for query, table in TABLES.items():
        late = by_stream(entries, table, "delta")
        if late:
            worst = max(late, key=lambda stream: late[stream])
            yield Claim(
                text=f"Throughput: every stream ends within {100 * published.LATEST:g} % of its "
                f"own time, on average over the seeds ({query}).",
                found=f"{100 * min(late.values()):.2f} to {100 * late[worst]:.2f} % ({worst}).",
                holds=late[worst] <= published.LATEST,
            )


def _loads(entries: Sequence[Entry]) -> Iterator[Claim]:
    for quantity, stage in (("load", "pane"), ("window_load", "window")):
        after = by_stream(entries, TABLES["skyline"], quantity)
        whole = by_stream(entries, TABLES["skyline"], f"{quantity}_of_all")
        if after and whole:
            mean = fmean(after.values())
            yield Claim(
                text=f"The load of the {stage} stage is within {NEAR:g} of the setpoint of "
                f"{published.SETPOINT:g}, on average over the streams and after {START:g} s.",
                found=f"{mean:.3f}, from {_extreme(after, -1)} to {_extreme(after, 1)}; "
                f"{fmean(whole.values()):.3f} over whole runs, which begin with one worker.",
                holds=abs(mean - published.SETPOINT) <= NEAR,
            )


def _extreme(loads: dict[str, float], sign: int) -> str:
    stream = max(loads, key=lambda name: sign * loads[name])
    return f"{loads[stream]:.2f} ({stream})"


def _order(entries: Sequence[Entry]) -> Iterator[Claim]:
    for query, table in TABLES.items():
        plq, wlq = (by_stream(entries, table, stage, published=False) for stage in ("plq", "wlq"))
        if len(plq) < FEWEST:
            continue
        theirs = [published.ROWS[query][s].plq + published.ROWS[query][s].wlq for s in plq]
        alike = rank_correlation([plq[s] + wlq[s] for s in plq], theirs)
        yield Claim(
            text=f"Streams take workers in the paper's order ({query}).",
            found=f"A rank correlation of {alike:.2f} over {len(plq)} streams.",
            holds=alike >= RANKED,
        )


def _growing(entries: Sequence[Entry]) -> Iterator[Claim]:
    for query, table in TABLES.items():
        known = by_stream(entries, table, "cv", published=False)
        for parameter, streams in _GROWING.items():
            if not set(streams) <= set(known):
                continue
            told = ", ".join(f"{known[stream]:.2f} ({stream})" for stream in streams)
            yield Claim(
                text=f"The variation of throughput grows with the {parameter} ({query}).",
                found=f"{told}.",
                holds=grows([known[stream] for stream in streams]),
            )
