"""Fig. 9 to 18 in numbers: ours, the paper's in brackets where it has any."""

from collections.abc import Iterator, Sequence

from penstock.experiment.cells import cell
from penstock.experiment.papers import ppq_plays as plays
from penstock.experiment.papers import ppq_printed as printed
from penstock.experiment.papers.ppq_cells import (
    LEGEND,
    Rows,
    one,
    percent,
    percents,
    quantities,
    row,
    tenths,
    two,
)
from penstock.experiment.papers.ppq_entries import (
    LEVELS,
    MERGES,
    SETTLING,
    SOURCES,
    SPLITS,
    milliseconds,
    phase_name,
)
from penstock.experiment.papers.ppq_outcome import START
from penstock.experiment.papers.ppq_reasons import (
    reasons_9,
    reasons_10,
    reasons_11,
    reasons_12,
    reasons_17,
    reasons_18,
    reasons_of_margins,
)
from penstock.experiment.papers.ppq_streams import PHASES
from penstock.experiment.reproduction import Entry, Table, find


def numbers(entries: Sequence[Entry]) -> Iterator[Table]:
    """Of each figure, and of what goes beyond them."""
    yield _phases(entries)
    yield _bursty(entries)
    yield _splits(entries)
    yield _merging(entries)
    yield _fixed(entries)
    yield _sensitivity(entries)
    yield _beside(entries)
    yield _margins(entries)


def _phases(entries: Sequence[Entry]) -> Table:
    rows: Rows = []
    for rate, begin in PHASES:
        place = {"table": "9", "phase": phase_name(rate), "quantity": "plq"}
        rows += row(entries, (f"{begin:g} s", f"{rate:,.0f}"), [(place, two)])
    return Table(
        title="Fig. 9 in numbers: workers of the pane stage",
        header=("from", "tuples/s", f"workers, from {SETTLING:g} s later on"),
        rows=tuple(rows),
        notes=(LEGEND, *reasons_9(entries)),
    )


def _bursty(entries: Sequence[Entry]) -> Table:
    words = {"load": two, "settled": one, "splitting": two}
    rows: Rows = []
    for workload in plays.BURSTY:
        for name in LEVELS.values():
            place = {"table": "10", "workload": workload, "levels": name}
            rows += row(entries, (workload, name), quantities(place, words))
    return Table(
        title="Fig. 10 in numbers: the pane stage at 80,000 tuples/s",
        header=("stream", "", "load, second half", "workers, second half", "parts of a pane"),
        rows=tuple(rows),
        notes=(LEGEND, *reasons_10(entries)),
    )


def _splits(entries: Sequence[Entry]) -> Table:
    words = {"load": two, "splitting": two, "kept": percent}
    rows: Rows = []
    for workers in plays.WORKERS:
        place = {"table": "11", "workers": str(workers)}
        wanted = [w for s in SPLITS.values() for w in quantities({**place, "split": s}, words)]
        rows += row(entries, (str(workers),), wanted)
    return Table(
        title="Fig. 11 in numbers: panes split evenly, and just enough, at 80,000 tuples/s",
        header=(
            "workers",
            *(
                f"{quantity}, {split}"
                for split in ("even", "PID")
                for quantity in ("load", "parts", "% kept")
            ),
        ),
        rows=tuple(rows),
        notes=(LEGEND, *reasons_11(entries)),
    )


def _merging(entries: Sequence[Entry]) -> Table:
    words = {"wlq": one, "window_load": two, "idle": percent, "merges": percent}
    rows: Rows = []
    for name in MERGES.values():
        rows += row(entries, (name,), quantities({"table": "12", "tasks": name}, words))
    if less := cell(find(entries, table="12", quantity="less idle"), percent, half=percent):
        rows.append(("lower with merges by, %", "", "", less, ""))
    return Table(
        title="Fig. 12 and 13 in numbers: tasks that merge (map-1k)",
        header=("tasks", "window workers", f"load after {START:g} s", "idle, %", "merges, %"),
        rows=tuple(rows),
        notes=(LEGEND, *reasons_12(entries)),
    )


def _fixed(entries: Sequence[Entry]) -> Table:
    rows: Rows = []
    for source in SOURCES:
        place = {"workload": "game1", "source": source}
        if find(entries, table="15", **place) is None:
            continue
        elastic = {**place, "table": "18", "slowdown": "1"}
        speed = {**elastic, "quantity": "results"}, two
        change = {**place, "table": "4", "quantity": "cv"}, two
        rows += row(entries, ("two levels", source), [speed, change])
        fixed = quantities({**place, "table": "15"}, {"results": two, "cv": two})
        rows += row(entries, ("{} and {}, fixed".format(*printed.STATIC), source), fixed)
    return Table(
        title="Fig. 15 in numbers: game1 with two levels, and with all the workers it ever takes",
        header=("workers", "stream", "windows/s", "CV"),
        rows=tuple(rows),
        notes=(LEGEND,),
    )


def _sensitivity(entries: Sequence[Entry]) -> Table:
    words = {"error": tenths, "distance": tenths, "cv": two}
    rows: Rows = []
    for interval in plays.INTERVALS:
        for sampling in plays.SAMPLINGS:
            place = {"table": "17", "interval": f"{interval:g}s"}
            place |= {"sampling": milliseconds(sampling)}
            names = (f"{interval:g} s", f"{1e3 * sampling:g} ms")
            rows += row(entries, names, quantities(place, words))
    return Table(
        title="Fig. 17 in numbers: game1 by control interval and sampling period",
        header=(
            "interval",
            "period",
            "mean load off the setpoint, %",
            "load of a step off the PID's, %",
            "CV",
        ),
        rows=tuple(rows),
        notes=tuple(reasons_17(entries)),
    )


def _beside(entries: Sequence[Entry]) -> Table:
    words = {"workers": one, "results": two, "cv": two, "delta": percents}
    rows: Rows = []
    for slowdown in plays.SLOWDOWNS:
        place = {"table": "18", "slowdown": f"{slowdown:g}"}
        rows += row(entries, (f"{slowdown:g} times",), quantities(place, words))
    return Table(
        title="Fig. 18 in numbers: game1 beside other applications",
        header=("tuples take", "workers of both stages", "windows/s", "CV", "delta, %"),
        rows=tuple(rows),
        notes=tuple(reasons_18(entries)),
    )


def _margins(entries: Sequence[Entry]) -> Table:
    words = {"plq": two, "busy": percent, "splitting": two}
    rows: Rows = []
    for margin in plays.MARGINS:
        place = {"table": "margin", "margin": f"{margin:g}"}
        rows += row(entries, (f"{printed.SETPOINT - margin:.1f}",), quantities(place, words))
    return Table(
        title="Beyond the paper: what the inner level aims at while the outer aims at 0.9 (map-4k)",
        header=("inner level", "pane workers", "busy, %", "parts of a pane"),
        rows=tuple(rows),
        notes=tuple(reasons_of_margins(entries)),
    )
