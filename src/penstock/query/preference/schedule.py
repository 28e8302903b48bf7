"""Who merges what: the tasks of the window stage, spread over its slots (ppq, Section 3.2).

A window is one task at a time (WIN_UPDATE), since its result is one. What else can be done at once
is merging parts before a window has use for them (MERGE): parts of a pane are merged once for all
windows that share it, and where there are more slots than windows, each window's parts are merged
in as many runs as there are slots for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.query.preference.emitter import Part


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
