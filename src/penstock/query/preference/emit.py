"""The emitter on Spark: its state in Spark's store, and tasks for the windows that are complete.

Tasks are spread over the slots of the window stage (ppq, Section 3.2). A window is one task at a
time (WIN_UPDATE), since its result is one. What else can be done at once is merging parts before a
window has use for them (MERGE): parts of a pane are merged once for all windows that share it, and
where there are more slots than windows, each window's parts are merged in as many runs as there are
slots for it.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from penstock.core.errors import SettingError
from penstock.query.preference import measures
from penstock.query.preference.emitter import Complete, Emitter, Part, Slack
from penstock.query.preference.measures import telling
from penstock.query.preference.part import decode, encode
from penstock.query.preference.punctuation import Arrivals, resumed
from penstock.query.preference.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Parts that become one, on a slot, for windows that wait for it."""

    slot: int
    parts: tuple[Part, ...]
    windows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The tasks of a batch."""

    merges: tuple[MergeTask, ...] = ()
    """Those of a single part merge nothing: it is passed on."""
    slots: Mapping[int, int]
    """The slot of each window; windows in their order fill the slots in their order."""


def schedule(windows: Mapping[int, tuple[Part, ...]], slots: int) -> Schedule:
    """Spread the tasks of complete windows over so many slots.

    >>> a, b, c = (Part(pane, rows=9, best=9, payload=b"") for pane in (0, 0, 1))
    >>> made = schedule({0: (a, b, c), 1: (c,)}, slots=2)
    >>> [(task.slot, len(task.parts), task.windows) for task in made.merges]
    [(0, 2, (0,)), (1, 1, (0, 1))]
    >>> made.slots
    {0: 0, 1: 1}
    """
    runs = _runs(windows, slots) if 0 < len(windows) < slots else _by_pane(windows)
    loads = [0] * slots
    merges = []
    for parts, waiting in sorted(runs, key=lambda run: -_weight(run[0])):
        slot = loads.index(min(loads))
        loads[slot] += _weight(parts)
        merges.append(MergeTask(slot=slot, parts=parts, windows=waiting))
    return Schedule(merges=tuple(merges), slots=_placed(windows, slots))


def _weight(parts: Sequence[Part]) -> int:
    """Tuples to be compared; none for a part that is passed on."""
    return sum(part.best for part in parts) if len(parts) > 1 else 0


def _by_pane(
    windows: Mapping[int, tuple[Part, ...]],
) -> list[tuple[tuple[Part, ...], tuple[int, ...]]]:
    """The parts of each pane, for all windows that have it."""
    parts: dict[int, tuple[Part, ...]] = {}
    waiting: dict[int, list[int]] = {}
    for number, those in windows.items():
        for pane in dict.fromkeys(part.pane for part in those):
            parts.setdefault(pane, tuple(part for part in those if part.pane == pane))
            waiting.setdefault(pane, []).append(number)
    return [(parts[pane], tuple(waiting[pane])) for pane in parts]


def _runs(
    windows: Mapping[int, tuple[Part, ...]], slots: int
) -> list[tuple[tuple[Part, ...], tuple[int, ...]]]:
    """The parts of each window in as many runs as there are slots for it."""
    share = slots // len(windows)
    runs: list[tuple[tuple[Part, ...], tuple[int, ...]]] = []
    for number, parts in windows.items():
        edges = [len(parts) * run // share for run in range(share + 1)]
        runs += [(parts[a:b], (number,)) for a, b in pairwise(edges) if a < b]
    return runs


def _placed(windows: Mapping[int, tuple[Part, ...]], slots: int) -> dict[int, int]:
    """Windows in their order, in runs of about the same work."""
    work = [sum(part.best for part in parts) + 1 for parts in windows.values()]
    total, before, placed = sum(work), 0, {}
    for number, weight in zip(windows, work, strict=True):
        placed[number] = min((2 * before + weight) * slots // (2 * total), slots - 1)
        before += weight
    return placed


SCHEMA: Final = (
    f"slot int, task int, windows array<long>, slots array<int>, payload binary, {measures.DDL}"
)
"""A row for each part of a merge task, with the windows that wait for it and their slots."""
STATE: Final = "kept binary"
_NAMES: Final = ("slot", "task", "windows", "slots", "payload", measures.COLUMN)
_MANY: Final = 16
"""Parts of a pane that are merged before they become more."""
_MICROS: Final = 1e6
_SLACK, _OF = b"slack", b"of"


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
        state.update((_keep(emitter, self.work),))
        tasks = list(_tasks(schedule(complete.windows, self.slots)))
        tasks.append(_told(emitter, complete, time.perf_counter() - began))
        yield pd.DataFrame(tasks, columns=list(_NAMES))

    def _start(self) -> Emitter:
        return Emitter(panes=self.work.panes, slack=self.slack)

    def _recall(self, kept: bytes) -> Emitter:
        table = decode(kept)
        known = {name: json.loads(text) for name, text in table.schema.metadata.items()}
        self._check(known[_OF])
        held: dict[int, tuple[Part, ...]] = {}
        for row in table.to_pylist():
            held[row["pane"]] = (*held.get(row["pane"], ()), Part(**row))
        return replace(self._start(), slack=resumed(self.slack, known[_SLACK]), open=held)

    def _check(self, before: dict[str, Any]) -> None:
        """Refuse the state of another query: its panes would be taken for ours."""
        for name, asked in self.work.signature().items():
            if before[name] != asked:
                raise SettingError(
                    f"the checkpoint is of a query with {name} {before[name]}, and this one has "
                    f"{asked}; start it on a new checkpoint"
                )

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
    held = rows[rows["payload"].notna()]
    values = zip(held["pane"], held["rows"], held["best"], held["payload"], strict=True)
    return [Part(int(pane), int(n), int(best), bytes(load)) for pane, n, best, load in values]


def _arrivals(rows: pd.DataFrame) -> Arrivals:
    """When the rows of all tasks were created."""
    arrivals = Arrivals()
    for plain in rows["arrivals"]:
        if plain is not None:
            arrivals = arrivals.also(Arrivals.from_plain(plain))
    return arrivals


def _keep(emitter: Emitter, work: Work) -> bytes:
    parts = [part for pane in sorted(emitter.open) for part in emitter.open[pane]]
    table = pa.table(
        {
            "pane": pa.array([part.pane for part in parts], pa.int64()),
            "rows": pa.array([part.rows for part in parts], pa.int64()),
            "best": pa.array([part.best for part in parts], pa.int64()),
            "payload": pa.array([part.payload for part in parts], pa.binary()),
        }
    )
    known = {_SLACK: json.dumps(emitter.slack.plain()), _OF: json.dumps(work.signature())}
    return encode(table.replace_schema_metadata(known))


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
                measures.COLUMN: [],
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
