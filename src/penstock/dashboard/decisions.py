"""Decisions as the page lists them; decisions to hold that follow each other share an entry."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.core.signals import Tick
from penstock.record.acts import Act
from penstock.report.decisions import kind, what, why
from penstock.report.over_time import direction

_REASONS: Final = 50
"""Different ones that an entry remembers, so that a year of holding stays small."""
_SHOWN: Final = 6
_MOST: Final = 3000
"""Entries that are kept; older ones are in the run folder."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """A decision that changed something, or decisions to hold one after the other."""

    number: int
    start: float
    end: float
    kind: str
    """As in the report, or `advised` for what a dry run would have done."""
    what: tuple[str, ...]
    last: int
    """The tick that it ends with, counted from 1."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """By module that it changed: `out`, `in`, `set`, or `moved` for keys alone."""
    newest: str = ""
    reasons: Counter[str] = field(default_factory=Counter)
    steps: int = 0

    def add(self, tick: Tick, index: int) -> None:
        """One more step of the same."""
        self.end, self.last, self.newest = tick.seen.at, index, why(tick)
        self.steps += 1
        if self.newest in self.reasons or len(self.reasons) < _REASONS:
            self.reasons[self.newest] += 1

    def told(self) -> dict[str, Any]:
        """As the page wants it, the newest reason first, then the most frequent."""
        others = [pair for pair in self.reasons.most_common() if pair[0] != self.newest]
        shown = [(self.newest, self.reasons[self.newest]), *others][:_SHOWN]
        return {
            "n": self.number,
            "at": self.start,
            "to": self.end,
            "kind": self.kind,
            "what": self.what,
            "ways": self.ways,
            "why": shown,
            "steps": self.steps,
            "others": max(0, len(self.reasons) - _SHOWN),
        }


class Decisions:
    """The decisions of a run as they come."""

    def __init__(self, *, dry: bool = False) -> None:
        self._dry = dry
        self._count = 0
        self._entries: list[Entry] = []

    def add(self, tick: Tick, act: Act, index: int) -> None:
        """One more; `index` counts ticks from 1."""
        advised = _advised(tick) if self._dry and not act else ()
        sort = kind(act) if act else "advised" if advised else "hold"
        changes = tuple(what(act)) if act else advised
        last = self._entries[-1] if self._entries else None
        if last is None or act or (sort, changes) != (last.kind, last.what):
            at = tick.seen.at
            last = Entry(
                number=self._count,
                start=at,
                end=at,
                kind=sort,
                what=changes,
                last=index,
                ways=_ways(act),
            )
            self._count += 1
            self._entries.append(last)
            del self._entries[:-_MOST]
        last.add(tick, index)

    def since(self, index: int) -> list[dict[str, Any]]:
        """Entries that are new, or longer, since that many ticks."""
        first = bisect_left(self._entries, index + 1, key=lambda entry: entry.last)
        return [entry.told() for entry in self._entries[first:]]


def _ways(act: Act) -> dict[str, str]:
    changed = {name: direction(change) for name, change in act.degrees.items()}
    return {**dict.fromkeys(act.rerouted, "moved"), **changed}


def _advised(tick: Tick) -> tuple[str, ...]:
    """What a dry run would have changed of the modules."""
    decided = tick.decided
    now, then = decided.configuration.degrees, (decided.proposed or decided.configuration).degrees
    return tuple(
        f"{name} {now.get(name, '?')} \u2192 {degree}"
        for name, degree in then.items()
        if now.get(name) != degree
    )
