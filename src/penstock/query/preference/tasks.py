"""The tasks of the window stage (WLQ): merging parts and answering windows, without state."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from penstock.query.preference import measures
from penstock.query.preference.measures import measures_row
from penstock.query.preference.parts import Work

Batches = Iterator[pa.RecordBatch]
Row = dict[str, Any]

SCHEMA: Final = pa.schema(
    [
        ("slot", pa.int64()),
        ("windows", pa.list_(pa.int64())),
        ("payload", pa.binary()),
        measures.FIELD,
    ]
)
"""A row for each merged part, with the windows of the slot that need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeParts:
    """For `mapInArrow`: the merge tasks of a slot."""

    work: Work

    def __call__(self, batches: Batches) -> Batches:
        """The merged parts of each task, for every slot with windows that need them."""
        rows, reported = _split_reports(batches)
        began, merges, made = time.perf_counter(), 0, []
        for task in _tasks(rows):
            merges += len(task) > 1
            payload = self.work.merge([row["payload"] for row in task])
            made += [{**place, "payload": payload} for place in _places(task[0])]
        if merges:
            busy = time.perf_counter() - began
            reported.append(measures_row(merges=merges, busy=busy, tasks=merges))
        if made or reported:
            passed_on = [
                {"slot": 0, "windows": [], "payload": b"", **values} for values in reported
            ]
            yield pa.RecordBatch.from_pylist([*made, *passed_on], SCHEMA)


def _tasks(rows: Sequence[Row]) -> list[list[Row]]:
    tasks: dict[int, list[Row]] = {}
    for row in rows:
        tasks.setdefault(row["task"], []).append(row)
    return list(tasks.values())


def _places(row: Row) -> list[Row]:
    """The slots that need the result of a task, each with its windows."""
    windows: dict[int, list[int]] = {}
    for window, slot in zip(row["windows"], row["slots"], strict=True):
        windows.setdefault(slot, []).append(window)
    return [{"slot": slot, "windows": those} for slot, those in windows.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """For `mapInArrow`: the results of a slot's windows, in their order."""

    work: Work
    results: pa.Schema
    """The columns of a result, the window first."""

    def __call__(self, batches: Batches) -> Batches:
        """The best of each window."""
        rows, reported = _split_reports(batches)
        schema = pa.schema([*self.results, measures.FIELD])
        windows: dict[int, list[bytes]] = {}
        for row in rows:
            for number in row["windows"]:
                windows.setdefault(number, []).append(row["payload"])
        busy = 0.0
        for number in sorted(windows):
            began = time.perf_counter()
            made = self.work.answer(number, windows[number], self.results.field(0))
            busy += time.perf_counter() - began
            yield from _padded(made, schema)
        reported.append(measures_row(windows=len(windows), busy=busy, tasks=len(windows)))
        yield pa.RecordBatch.from_pylist(reported, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSlot:
    """For `mapInArrow`: both kinds of tasks, where there is one slot."""

    merge: MergeParts
    answer: Answer

    def __call__(self, batches: Batches) -> Batches:
        """Merge and answer in one process."""
        return self.answer(self.merge(batches))


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePanes:
    """For `mapInArrow` on a table: the merged parts of each pane, for the windows that contain it.

    A slot has as many consecutive windows as contain a pane, so a pane goes to two slots at most.
    """

    work: Work

    def __call__(self, batches: Batches) -> Batches:
        """All panes of a partition, each with all its parts."""
        payloads: dict[int, list[bytes]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                payloads.setdefault(row["pane"], []).append(row["payload"])
        for pane in sorted(payloads):
            windows = self.work.panes.windows_of(pane)
            payload, size = self.work.merge(payloads[pane]), len(windows)
            waiting = {"windows": list(windows), "slots": [w // size for w in windows]}
            made = [{**place, "payload": payload} for place in _places(waiting)]
            yield pa.RecordBatch.from_pylist(made, SCHEMA)


def _split_reports(batches: Batches) -> tuple[list[Row], list[dict[str, list[float | None]]]]:
    """The rows with parts, and the measures of the others."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    reported = [{measures.COLUMN: row[measures.COLUMN]} for row in rows if not row["payload"]]
    return [row for row in rows if row["payload"]], reported


def _padded(table: pa.Table, schema: pa.Schema) -> Batches:
    """A table of results, without measures."""
    nothing = pa.nulls(table.num_rows, measures.FIELD.type)
    yield from table.append_column(measures.FIELD, nothing).cast(schema).to_batches()
