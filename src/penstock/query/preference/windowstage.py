"""The window stage (WLQ) on Spark: an emitter that holds the state, and tasks that hold none."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from penstock.query.preference import told
from penstock.query.preference.arrivals import Arrivals
from penstock.query.preference.criterion import Criterion
from penstock.query.preference.emitter import Complete, Emitter, Part, Slack
from penstock.query.preference.panes import Panes
from penstock.query.preference.part import Columns, answer, decode, encode, merge
from penstock.query.preference.schedule import Schedule, schedule
from penstock.query.preference.told import telling

TASKS: Final = (
    f"slot int, task int, windows array<long>, slots array<int>, payload binary, {told.DDL}"
)
MERGED: Final = f"slot int, window long, payload binary, {told.DDL}"
STATE: Final = "kept binary"
WAITING: Final = "window long, payload binary"
_TASKS: Final = pa.schema(
    [
        ("slot", pa.int32()),
        ("task", pa.int32()),
        ("windows", pa.list_(pa.int64())),
        ("slots", pa.list_(pa.int32())),
        ("payload", pa.binary()),
        told.FIELD,
    ]
)
_MERGED: Final = pa.schema(
    [("slot", pa.int32()), ("window", pa.int64()), ("payload", pa.binary()), told.FIELD]
)
_WAITING: Final = pa.schema([("window", pa.int64()), ("payload", pa.binary())])
_MANY: Final = 16
"""Parts of a pane that are merged before they become more."""
_MICROS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is compared with what, and how the best are chosen."""

    columns: Columns
    panes: Panes
    criterion: Criterion

    def merge(self, payloads: Sequence[bytes]) -> bytes:
        """Several parts as one."""
        if len(payloads) == 1:
            return payloads[0]
        return encode(merge(_decoded(payloads), self.columns, self.criterion))

    def answer(self, window: int, payloads: Sequence[bytes], field: pa.Field) -> pa.Table:
        """The result of a window, which stands in a column of its own before the others."""
        made = answer(_decoded(payloads), self.columns, self.criterion)
        return made.add_column(0, field, self._edges(window, made.num_rows, field.type))

    def _edges(self, window: int, rows: int, kind: pa.StructType) -> pa.StructArray:
        """When the window begins and ends, as often as it has rows."""
        edges = (self.panes.start(window), self.panes.end(window))
        sides = [
            pa.array(np.full(rows, edge)).cast(side.type)
            for edge, side in zip(edges, kind, strict=True)
        ]
        return pa.StructArray.from_arrays(sides, fields=list(kind))


def _decoded(payloads: Sequence[bytes]) -> list[pa.Table]:
    return [decode(payload) for payload in payloads]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emit:
    """For `applyInPandasWithState`: parts come in, tasks for windows that are complete go out."""

    work: Work
    slack: Slack
    """At the very start."""
    slots: int

    def __call__(
        self, _key: Any, frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """One batch."""
        began = time.perf_counter()
        rows = pd.concat(list(frames)).sort_values(["batch", "task", "pane"], kind="stable")
        emitter = self._recall(state.get[0]) if state.exists else self._start()
        emitter, complete = emitter.step(_parts(rows), _arrivals(rows))
        emitter = self._compacted(emitter)
        state.update((_keep(emitter),))
        tasks = list(_tasks(schedule(complete.windows, self.slots)))
        tasks.append(_told(emitter, complete, time.perf_counter() - began))
        yield pd.DataFrame(tasks, columns=_TASKS.names)

    def _start(self) -> Emitter:
        return Emitter(panes=self.work.panes, slack=self.slack)

    def _recall(self, kept: bytes) -> Emitter:
        table = decode(kept)
        held: dict[int, tuple[Part, ...]] = {}
        for row in table.to_pylist():
            held[row["pane"]] = (*held.get(row["pane"], ()), Part(**row))
        known = json.loads(table.schema.metadata[b"slack"])
        return replace(self._start(), slack=self.slack.from_plain(known), open=held)

    def _compacted(self, emitter: Emitter) -> Emitter:
        """Panes that last for many batches do not keep a part of each."""
        held = {
            pane: parts if len(parts) <= _MANY else (self._one(parts),)
            for pane, parts in emitter.open.items()
        }
        return replace(emitter, open=held)

    def _one(self, parts: Sequence[Part]) -> Part:
        payload = self.work.merge([part.payload for part in parts])
        rows = sum(part.rows for part in parts)
        return Part(parts[0].pane, rows, decode(payload).num_rows, payload)


def _parts(rows: pd.DataFrame) -> list[Part]:
    held = rows[rows["pane"].notna()]
    values = zip(held["pane"], held["rows"], held["best"], held["payload"], strict=True)
    return [Part(int(pane), int(n), int(best), bytes(load)) for pane, n, best, load in values]


def _arrivals(rows: pd.DataFrame) -> Arrivals:
    """When the rows of all tasks were created."""
    arrivals = Arrivals()
    for plain in rows["arrivals"]:
        if plain is not None:
            arrivals = arrivals.also(Arrivals.from_plain(plain))
    return arrivals


def _keep(emitter: Emitter) -> bytes:
    parts = [part for pane in sorted(emitter.open) for part in emitter.open[pane]]
    table = pa.table(
        {
            "pane": pa.array([part.pane for part in parts], pa.int64()),
            "rows": pa.array([part.rows for part in parts], pa.int64()),
            "best": pa.array([part.best for part in parts], pa.int64()),
            "payload": pa.array([part.payload for part in parts], pa.binary()),
        }
    )
    return encode(table.replace_schema_metadata({"slack": json.dumps(emitter.slack.plain())}))


def _tasks(made: Schedule) -> Iterator[dict[str, Any]]:
    for number, task in enumerate(made.merges):
        windows, slots = list(task.windows), [made.slots[window] for window in task.windows]
        for part in task.parts:
            yield {
                "slot": task.slot,
                "task": number,
                "windows": windows,
                "slots": slots,
                "payload": part.payload,
                told.COLUMN: [],
            }


def _told(emitter: Emitter, complete: Complete, busy: float) -> dict[str, Any]:
    slack = emitter.slack
    values = telling(
        late=complete.late,
        empty=complete.empty,
        panes=complete.panes,
        busy=busy,
        slack=slack.lag / _MICROS,
        punctuation=(slack.punctuation or 0) / _MICROS,
    )
    # Never a column without any value: pandas would complain where Spark puts frames together.
    return {"slot": 0, "task": -1, "windows": [], "slots": [], "payload": b"", **values}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeParts:
    """For `mapInArrow`: the merge tasks of a slot."""

    work: Work

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Each task's parts as one, for every window that waits for it."""
        tasks, said = _gathered(batches, key="task")
        began, merges = time.perf_counter(), 0
        made: list[dict[str, Any]] = []
        for rows in tasks.values():
            payload = self.work.merge([row["payload"] for row in rows])
            merges += len(rows) > 1
            waiting = zip(rows[0]["windows"], rows[0]["slots"], strict=True)
            made += [{"window": w, "slot": slot, "payload": payload} for w, slot in waiting]
        if merges:
            busy = time.perf_counter() - began
            said.append(telling(merges=merges, busy=busy, tasks=merges))
        if made or said:
            yield _batch([*made, *({"slot": 0, **values} for values in said)], _MERGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """For `mapInArrow`: the results of a slot's windows, in their order."""

    work: Work
    results: pa.Schema
    """The columns of a result, the window first."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The best of each window."""
        windows, said = _gathered(batches, key="window")
        schema = pa.schema([*self.results, told.FIELD])
        for values in said:
            yield _batch([values], schema)
        for number in sorted(windows):
            began = time.perf_counter()
            made = self._result(number, [row["payload"] for row in windows[number]])
            yield from _padded(made, schema)
            busy = time.perf_counter() - began
            yield _batch([telling(windows=1, busy=busy, tasks=1)], schema)

    def _result(self, number: int, payloads: Sequence[bytes]) -> pa.Table:
        return self.work.answer(number, payloads, self.results.field(0))


def merging_panes(work: Work) -> Callable[[pa.Table], pa.Table]:
    """For `applyInArrow`: the parts of a pane as one, for every window that has the pane."""

    def merge_pane(parts: pa.Table) -> pa.Table:
        payload = work.merge(parts["payload"].to_pylist())
        windows = list(work.panes.windows_of(parts["pane"][0].as_py()))
        return pa.table({"window": windows, "payload": [payload] * len(windows)}, schema=_WAITING)

    return merge_pane


def answering(work: Work, results: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """For `applyInArrow`: the result of a window, given its panes."""

    def answer_window(panes: pa.Table) -> pa.Table:
        number, payloads = panes["window"][0].as_py(), panes["payload"].to_pylist()
        return work.answer(number, payloads, results.field(0)).cast(results)

    return answer_window


def _gathered(
    batches: Iterator[pa.RecordBatch], *, key: str
) -> tuple[dict[int, list[dict[str, Any]]], list[dict[str, list[float]]]]:
    """Rows by their task or window, and what was told on the way."""
    rows: dict[int, list[dict[str, Any]]] = {}
    said: list[dict[str, list[float]]] = []
    for batch in batches:
        for row in batch.to_pylist():
            if not row["payload"]:
                said.append({told.COLUMN: row[told.COLUMN]})
            else:
                rows.setdefault(row[key], []).append(row)
    return rows, said


def _batch(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def _padded(table: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A table of results, which tell nothing else."""
    told_nothing = pa.nulls(table.num_rows, told.FIELD.type)
    yield from table.append_column(told.FIELD, told_nothing).cast(schema).to_batches()
