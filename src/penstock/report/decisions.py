"""The decisions of a run as they come, and what managers asked for.

Decisions to hold that follow each other share an entry. The report lists all entries, the live page
asks for those that are new.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.core.graph import FlowGraph
from penstock.core.signals import Configuration, Request, Tick
from penstock.core.words import clock, count_of, plural
from penstock.record.acts import Act, Change, acts

_REASONS: Final = 50
"""Different ones that an entry remembers, so that a year of holding stays small."""
_SHOWN: Final = 6
_MOST: Final = 3000
"""Entries that are kept of a run that goes on; older ones are in the run folder."""
_LISTED: Final = 600
"""Rows of the report's table."""


@dataclass(slots=True)
class Entry:
    """A decision that changed something, or decisions to hold one after the other."""

    number: int
    start: float
    kind: str
    """`out`, `in`, `both` or `set` of degrees, else of nodes; else `faster` or `slower` of the
    clock, `moved` of keys alone, `advised` for what a dry run would have done, or `hold`."""
    what: tuple[str, ...]
    ways: Mapping[str, str]
    """By module that it changed: `out`, `in`, `set`, or `moved` for keys alone."""
    end: float = 0.0
    last: int = 0
    """The tick that it ends with, counted from 1."""
    newest: str = ""
    reasons: Counter[str] = field(default_factory=Counter)
    steps: int = 0

    def add(self, tick: Tick, index: int) -> None:
        """One more step of the same."""
        self.end, self.last, self.newest = tick.seen.at, index, why(tick)
        self.steps += 1
        if self.newest in self.reasons or len(self.reasons) < _REASONS:
            self.reasons[self.newest] += 1

    def listed(self) -> dict[str, Any]:
        """As the table of a report has it, the most frequent reasons first."""
        first, last = clock(self.start), clock(self.end)
        held = "held" if self.steps == 1 else f"held for {count_of(self.steps, 'step')}"
        others = len(self.reasons) - _SHOWN
        return {
            "kind": self.kind,
            "start": f"{self.start:g}",
            "when": first if self.start == self.end else f"{first}\u2013{last}",
            "changes": (held,) if self.kind == "hold" else self.what,
            "reasons": [(why, f"{steps:,}") for why, steps in self.reasons.most_common(_SHOWN)],
            "others": count_of(others, "other reason") if others > 0 else "",
        }

    def to_json(self) -> dict[str, Any]:
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

    def __init__(self, *, dry: bool = False, most: int = _MOST) -> None:
        self._dry = dry
        self._most = most
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
            ways = {**dict.fromkeys(act.rerouted, "moved"), **_directions(act)}
            last = Entry(self._count, at, sort, changes, ways)
            self._count += 1
            self._entries.append(last)
            del self._entries[: -self._most]
        last.add(tick, index)

    @property
    def entries(self) -> Sequence[Entry]:
        """All that are kept, in order."""
        return self._entries

    def since(self, index: int) -> list[dict[str, Any]]:
        """Entries that are new, or longer, since that many ticks."""
        first = bisect_left(self._entries, index + 1, key=lambda entry: entry.last)
        return [entry.to_json() for entry in self._entries[first:]]


def _directions(act: Act) -> dict[str, str]:
    return {name: change.direction for name, change in act.degrees.items()}


def _advised(tick: Tick) -> tuple[str, ...]:
    """What a dry run would have changed of the modules."""
    decided = tick.decided
    now, then = decided.configuration.degrees, (decided.proposed or decided.configuration).degrees
    return tuple(
        f"{name} {now.get(name, '?')} \u2192 {degree}"
        for name, degree in then.items()
        if now.get(name) != degree
    )


def rows(ticks: Sequence[Tick], graph: FlowGraph | None = None) -> Sequence[Entry]:
    """The decisions of a run, in order; the graph says which modules have keys."""
    decisions = Decisions(most=len(ticks) + 1)
    for index, (tick, act) in enumerate(zip(ticks, acts(ticks, graph), strict=True), start=1):
        decisions.add(tick, act, index)
    return decisions.entries


def table(ticks: Sequence[Tick], graph: FlowGraph | None = None) -> dict[str, Any]:
    """What the page of a run lists: the first rows, and how many more there are."""
    entries = rows(ticks, graph)
    return {
        "decisions": [entry.listed() for entry in entries[:_LISTED]],
        "only_holds": all(entry.kind == "hold" for entry in entries),
        "more": f"{len(entries) - _LISTED:,}" if len(entries) > _LISTED else "",
    }


def kind(act: Act) -> str:
    """The kind of an act, as `Entry.kind` has it; a hold has none."""
    changes = (act.degrees or act.nodes).values()
    ways = {change.direction for change in changes}
    if {"out", "in"} <= ways:
        return "both"
    if changes:
        return next((way for way in ("out", "in") if way in ways), "set")
    if act.clock is None:
        return "moved"
    return {"out": "faster", "in": "slower"}.get(act.clock.direction, "set")


def what(act: Act) -> Iterator[str]:
    """Each change of an act in a few words."""
    for module, change in act.degrees.items():
        yield f"{module} {_change(change)}"
    if act.clock is not None:
        yield f"clock {_change(act.clock)} GHz"
    for region, change in act.nodes.items():
        yield f"{region} {_change(change)} {plural(change.after, 'node')}"
    for module in act.rerouted:
        yield f"{module}: keys moved"


def _change(change: Change) -> str:
    """Before and after.

    >>> _change(Change(before=None, after=3)), _change(Change(before=2.0, after=1.9))
    ('? \u2192 3', '2 \u2192 1.9')
    """
    before = "?" if change.before is None else f"{change.before:.4g}"
    return f"{before} \u2192 {change.after:.4g}"


def why(tick: Tick) -> str:
    """The reason of a decision, with what was proposed where a guard decided otherwise."""
    proposed = tick.decided.proposed
    if proposed is None or proposed == tick.decided.configuration:
        return tick.decided.why
    return f"{tick.decided.why} (proposed: {_proposal(proposed, tick.decided.configuration)})"


def _proposal(proposed: Configuration, instead: Configuration) -> str:
    """Degrees, and the clock and nodes where they are not what was decided."""
    parts = [f"{name} {degree}" for name, degree in proposed.degrees.items()]
    other = {k: n for k, n in proposed.nodes.items() if instead.nodes.get(k) != n}
    parts += [f"{name} {count_of(n, 'node')}" for name, n in other.items()]
    if proposed.frequency not in (None, instead.frequency):
        parts.append(f"{proposed.frequency:.4g} GHz")
    return ", ".join(parts)


# What managers of modules and regions asked for and were answered, as a table.


_MOST_REQUESTS: Final = 200
_THINGS: Final = {"application": "replica", "infrastructure": "node"}


def requests(ticks: Sequence[Tick], most: int = _MOST_REQUESTS) -> dict[str, Any]:
    """The last requests and a sentence about all; no rows where there were none."""
    made = [(tick.seen.at, request) for tick in ticks for request in tick.decided.requests]
    refused = sum(not request.granted for _, request in made)
    opening = f"{len(made):,} in all, {refused:,} of them refused."
    if len(made) > most:
        opening += f" The last {most:,}:"
    rows = [
        {
            "when": clock(at),
            "what": asked_for(request),
            "why": request.why,
            "answered": "granted" if request.granted else "refused",
            "answer": request.answer,
        }
        for at, request in made[-most:]
    ]
    return {"opening": opening, "rows": rows}


def asked_for(request: Request) -> str:
    """Who asks for how many of what.

    >>> node = Request(
    ...     level="infrastructure", manager="dc1", change=-2, why="", granted=True, answer=""
    ... )
    >>> asked_for(node)
    'dc1 \u22122 nodes'
    """
    thing = _THINGS.get(request.level, request.level)
    sign = "+" if request.change > 0 else "\u2212" if request.change < 0 else ""
    return f"{request.manager} {sign}{count_of(abs(request.change), thing)}"
