"""The emitter of the window stage: which windows are complete, and the tasks that answer them.

`Emitter` knows parts by their panes only. `Emit` keeps it in Spark's state store, and spreads
tasks over the slots of the window stage (ppq, Section 3.2). A window is one task at a time
(WIN_UPDATE). Parts are merged before that in parallel (MERGE): the parts of a pane once for all
windows that share it, and where there are more slots than windows, each window's parts in as many
runs as there are slots for it.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from penstock.core.errors import SettingError
from penstock.core.panes import Panes
from penstock.query.preference import measures
from penstock.query.preference.measures import measures_row
from penstock.query.preference.parts import Work, decode, encode
from penstock.query.preference.punctuation import AdaptiveKSlack, Arrivals, KSlack, resumed

Slack = KSlack | AdaptiveKSlack


@dataclass(frozen=True, slots=True)
class Part:
    """The best tuples of a part of a pane."""

    pane: int
    rows: int
    """Tuples that it was chosen from."""
    best: int
    """Tuples in it."""
    payload: bytes


PartsBy = Mapping[int, tuple[Part, ...]]
"""Parts by the number of their pane or window."""
Run = tuple[tuple[Part, ...], tuple[int, ...]]
"""Parts to merge, and the windows that need them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """The result of one step of the emitter."""

    windows: PartsBy
    """Windows with rows that are complete now, in their order, with their parts."""
    empty: int = 0
    """Complete windows without rows."""
    late: int = 0
    """Rows whose pane was already closed."""
    panes: int = 0
    """Panes with new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitter:
    """Panes whose windows are not all complete, and the slack for late rows.

    >>> emitter = Emitter(panes=Panes(window=20, slide=10), slack=KSlack(slack=5))
    >>> part = Part(0, rows=2, best=1, payload=b"")
    >>> _, complete = emitter.step([part], Arrivals(2, oldest=3, newest=25))
    >>> {window: [part.pane for part in parts] for window, parts in complete.windows.items()}
    {-1: [0], 0: [0]}
    """

    panes: Panes
    slack: Slack
    open: PartsBy = field(default_factory=dict)
    """By pane, its parts."""

    def step(self, parts: Sequence[Part], arrivals: Arrivals) -> tuple["Emitter", Complete]:
        """The emitter after a batch, and the windows that are now complete."""
        before = self.slack.punctuation
        fresh = [p for p in parts if before is None or not self.panes.closed(p.pane, before)]
        late = sum(part.rows for part in parts) - sum(part.rows for part in fresh)
        slack = self.slack.advance(arrivals, late)
        held = dict(self.open)
        for part in fresh:
            held[part.pane] = (*held.get(part.pane, ()), part)
        windows, empty = self._complete(held, before, slack.punctuation)
        if slack.punctuation is not None:  # drop the panes that no future window has
            first = self.panes.first_needed(slack.punctuation)
            held = {pane: own for pane, own in held.items() if pane >= first}
        after = replace(self, slack=slack, open=held)
        panes = len({part.pane for part in fresh})
        return after, Complete(windows=windows, empty=empty, late=late, panes=panes)

    def _complete(
        self, held: PartsBy, before: int | None, after: int | None
    ) -> tuple[PartsBy, int]:
        """Windows that a punctuation completes, and how many of them have no rows."""
        if after is None or (before is None and not held):
            return {}, 0
        if before is None:  # windows before the first row do not count
            before = self.panes.end(self.panes.windows_of(min(held))[0]) - 1
        first, last = self.panes.closed_windows(before, after)
        known = [self.panes.windows_of(pane) for pane in held]  # the range may span years
        numbers = {n for w in known for n in range(max(w.start, first), min(w.stop, last))}
        windows = {
            number: tuple(p for pane in self.panes.panes_of(number) for p in held.get(pane, ()))
            for number in sorted(numbers)
        }
        return windows, last - first - len(windows)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Parts to merge on a slot, for the windows that need them."""

    slot: int
    parts: tuple[Part, ...]
    windows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The tasks of a batch."""

    merges: tuple[MergeTask, ...] = ()
    """One with a single part merges nothing and passes it on."""
    slots: Mapping[int, int]
    """The slot of each window; windows fill the slots in order."""


def schedule(windows: PartsBy, slots: int) -> Schedule:
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
    """Tuples to compare; 0 for a single part."""
    return sum(part.best for part in parts) if len(parts) > 1 else 0


def _by_pane(windows: PartsBy) -> list[Run]:
    """The parts of each pane, for all windows that contain it."""
    parts: dict[int, tuple[Part, ...]] = {}
    waiting: dict[int, list[int]] = {}
    for number, those in windows.items():
        for pane in dict.fromkeys(part.pane for part in those):
            parts.setdefault(pane, tuple(part for part in those if part.pane == pane))
            waiting.setdefault(pane, []).append(number)
    return [(parts[pane], tuple(waiting[pane])) for pane in parts]


def _runs(windows: PartsBy, slots: int) -> list[Run]:
    """The parts of each window in as many runs as there are slots for it."""
    share = slots // len(windows)
    runs: list[Run] = []
    for number, parts in windows.items():
        edges = [len(parts) * run // share for run in range(share + 1)]
        runs += [(parts[a:b], (number,)) for a, b in pairwise(edges) if a < b]
    return runs


def _placed(windows: PartsBy, slots: int) -> dict[int, int]:
    """Windows in order, in runs of about equal work."""
    work = [sum(part.best for part in parts) + 1 for parts in windows.values()]
    total, before, placed = sum(work), 0, {}
    for number, weight in zip(windows, work, strict=True):
        placed[number] = min((2 * before + weight) * slots // (2 * total), slots - 1)
        before += weight
    return placed


SCHEMA: Final = (
    "slot int, task int, windows array<long>, slots array<int>, payload binary, "
    f"{measures.COLUMN} array<double>"
)
"""A row for each part of a merge task, with the windows that need it and their slots."""
STATE: Final = "kept binary"
_NOTHING: Final = {"slot": 0, "task": -1, "windows": [], "slots": [], "payload": b""}
_KEPT: Final = pa.schema(
    {"pane": pa.int64(), "rows": pa.int64(), "best": pa.int64(), "payload": pa.binary()}
)
_MANY: Final = 16
"""Parts of a pane beyond which they are merged."""
_MICROS: Final = 1e6
_SLACK, _OF = b"slack", b"of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Emit:
    """For `applyInPandasWithState`: from parts to the tasks of complete windows."""

    work: Work
    slack: Slack
    """The initial slack."""
    slots: int

    def __call__(
        self, _key: Any, frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """One batch."""
        began = time.perf_counter()
        rows = pd.concat(list(frames)).sort_values(["batch", "task", "pane"], kind="stable")
        emitter = Emitter(panes=self.work.panes, slack=self.slack)
        if state.exists:
            emitter = self._recalled(emitter, state.get[0])
        emitter, complete = emitter.step(_parts(rows), _arrivals(rows))
        emitter = self._compacted(emitter)
        state.update((_keep(emitter, self.work),))
        tasks = list(_tasks(schedule(complete.windows, self.slots)))
        tasks.append(_measures(emitter, complete, time.perf_counter() - began))
        yield pd.DataFrame(tasks, columns=[*_NOTHING, measures.COLUMN])

    def _recalled(self, emitter: Emitter, kept: bytes) -> Emitter:
        """The emitter with its saved state; that of another query is refused."""
        table = decode(kept)
        known = {name: json.loads(text) for name, text in table.schema.metadata.items()}
        for name, asked in self.work.signature().items():
            if (before := known[_OF][name]) != asked:
                raise SettingError(
                    f"the checkpoint is of a query with {name} {before}, and this one has "
                    f"{asked}; start it on a new checkpoint"
                )
        held: dict[int, tuple[Part, ...]] = {}
        for row in table.to_pylist():
            held[row["pane"]] = (*held.get(row["pane"], ()), Part(**row))
        return replace(emitter, slack=resumed(self.slack, known[_SLACK]), open=held)

    def _compacted(self, emitter: Emitter) -> Emitter:
        """With the parts of a pane merged where there are many."""
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
    """The arrivals of all tasks."""
    known = [Arrivals(*map(int, values)) for values in rows["arrivals"] if values is not None]
    return reduce(Arrivals.also, known, Arrivals())


def _keep(emitter: Emitter, work: Work) -> bytes:
    parts = [part for pane in sorted(emitter.open) for part in emitter.open[pane]]
    table = pa.Table.from_pylist([asdict(part) for part in parts], _KEPT)
    known = {_SLACK: json.dumps(asdict(emitter.slack)), _OF: json.dumps(work.signature())}
    return encode(table.replace_schema_metadata(known))


def _tasks(made: Schedule) -> Iterator[dict[str, Any]]:
    for number, task in enumerate(made.merges):
        windows, slots = list(task.windows), [made.slots[window] for window in task.windows]
        row = {"slot": task.slot, "task": number, "windows": windows, "slots": slots}
        for part in task.parts:
            yield {**row, "payload": part.payload, measures.COLUMN: []}


def _measures(emitter: Emitter, complete: Complete, busy: float) -> dict[str, Any]:
    slack = emitter.slack
    values = measures_row(
        late=complete.late,
        empty=complete.empty,
        panes=complete.panes,
        busy=busy,
        slack=slack.lag / _MICROS,
        punctuation=(slack.punctuation or 0) / _MICROS,
    )
    # A column without any value would make pandas warn when Spark concatenates frames.
    return {**_NOTHING, **values}
