"""Tab. 4 and 5 as they are shown, with the loads that belong to them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.experiment.cells import Words
from penstock.experiment.papers import ppq_printed as printed
from penstock.experiment.papers.ppq_cells import LEGEND, one, percents, quantities, row, two
from penstock.experiment.papers.ppq_entries import LOADS, SOURCES, SUMMARY, TABLES
from penstock.experiment.papers.ppq_numbers import numbers
from penstock.experiment.papers.ppq_outcome import START
from penstock.experiment.papers.ppq_plays import QUERIES
from penstock.experiment.papers.ppq_reasons import reasons_of_loads, reasons_of_summary
from penstock.experiment.reproduction import Entry, Table

_TITLES: Final = {
    "skyline": "Tab. 4: the skyline query",
    "top-delta": "Tab. 5: the top-delta query",
}
_WORDS: Final = dict(zip(SUMMARY, (two, one, two, percents, two), strict=True))


def tables(entries: Sequence[Entry]) -> tuple[Table, ...]:
    """Those of the paper, and its figures in numbers; whatever was played."""
    made = (
        *(_summary(entries, query) for query in QUERIES),
        _loads(entries),
        *numbers(entries),
    )
    return tuple(table for table in made if table.rows)


def _summary(entries: Sequence[Entry], query: str) -> Table:
    return Table(
        title=_TITLES[query],
        header=("stream", "pane workers", "window workers", "parts of a pane", "delta, %", "CV"),
        rows=tuple(_streams(entries, TABLES[query], _WORDS)),
        notes=(LEGEND, *reasons_of_summary(entries, query)),
    )


def _loads(entries: Sequence[Entry]) -> Table:
    return Table(
        title=f"Loads of both stages (skyline); the setpoint is {printed.SETPOINT:g}",
        header=(
            "stream",
            f"panes, after {START:g} s",
            f"windows, after {START:g} s",
            "panes, whole run",
            "windows, whole run",
        ),
        rows=tuple(_streams(entries, TABLES["skyline"], dict.fromkeys(LOADS, two))),
        notes=(LEGEND, *reasons_of_loads(entries)),
    )


def _streams(
    entries: Sequence[Entry], table: str, words: Mapping[str, Words]
) -> Iterator[tuple[str, ...]]:
    for workload in printed.STREAMS:
        for source in SOURCES:
            place = {"table": table, "workload": workload, "source": source}
            name = workload if source == "generated" else f"{workload}, published"
            yield from row(entries, (name,), quantities(place, words))
