"""Decisions and requests as tables; decisions to hold that follow each other share a row."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, islice
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.signals import Configuration, Request, Tick
from penstock.core.words import clock, count_of, plural
from penstock.record.acts import Act, Change, acts

_MOST: Final = 600
_REASONS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A decision that changed something, or a row of decisions to hold."""

    start: float
    end: float
    kind: str
    """`out`, `in`, `both` or `set` of degrees, else of nodes; else `faster` or `slower` of the
    clock, `moved` of keys alone, or `hold`."""
    what: tuple[str, ...]
    reasons: tuple[tuple[str, int], ...]
    """Each reason with the number of steps that gave it, the most frequent first."""


def rows(ticks: Sequence[Tick], graph: FlowGraph | None = None) -> list[Row]:
    """The decisions of a run, in order; the graph says which modules have keys."""
    both = zip(ticks, acts(ticks, graph), strict=True)
    return [
        row for held, group in groupby(both, lambda pair: not pair[1]) for row in _rows(held, group)
    ]


def table(ticks: Sequence[Tick], graph: FlowGraph | None = None) -> str:
    """The table, decisions to hold hidden until asked for, unless there is nothing else."""
    found = rows(ticks, graph)
    holds = sum(row.kind == "hold" for row in found)
    checked = " checked" if holds == len(found) else ""
    body = "".join(_html(row) for row in found[:_MOST])
    more = len(found) - _MOST
    rest = f"<p>{more:,} more rows are in ticks.jsonl.</p>" if more > 0 else ""
    return (
        f'<input type="checkbox" id="holds"{checked}><label for="holds">Show decisions to hold'
        f"</label><table><thead><tr><th>Time</th><th>Change</th><th>Why</th></tr></thead>"
        f"<tbody>{body}</tbody></table>{rest}"
    )


def _rows(held: bool, group: Iterator[tuple[Tick, Act]]) -> Iterator[Row]:
    if held:
        yield _hold([tick for tick, _ in group])
        return
    for tick, act in group:
        yield Row(
            start=tick.seen.at,
            end=tick.seen.at,
            kind=kind(act),
            what=tuple(what(act)),
            reasons=((why(tick), 1),),
        )


def _hold(ticks: list[Tick]) -> Row:
    return Row(
        start=ticks[0].seen.at,
        end=ticks[-1].seen.at,
        kind="hold",
        what=("held" if len(ticks) == 1 else f"held for {len(ticks):,} steps",),
        reasons=tuple(Counter(why(tick) for tick in ticks).most_common()),
    )


def kind(act: Act) -> str:
    """The kind of an act, as `Row.kind` has it; a hold has none."""
    changes = (act.degrees or act.nodes).values()
    grows, shrinks = any(c.grows for c in changes), any(c.shrinks for c in changes)
    if grows and shrinks:
        return "both"
    if grows or shrinks:
        return "out" if grows else "in"
    return "set" if changes else _kind_of_clock(act)


def _kind_of_clock(act: Act) -> str:
    if act.clock is None:
        return "moved"
    if act.clock.before is None:
        return "set"
    return "faster" if act.clock.grows else "slower"


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


def _html(row: Row) -> str:
    changes = ", ".join(f"<span>{escape(part)}</span>" for part in row.what)
    span = clock(row.start) if row.start == row.end else f"{clock(row.start)}\u2013{clock(row.end)}"
    return (
        f'<tr class="{row.kind}" data-at="{row.start:g}"><td>{span}</td>'
        f"<td>{changes}</td><td>{_reasons(row)}</td></tr>\n"
    )


def _reasons(row: Row) -> str:
    (first, _), *others = row.reasons
    if not others:
        return escape(first)
    shown = "".join(
        f"<li>{escape(reason)} <small>{steps:,}\u00d7</small></li>"
        for reason, steps in row.reasons[:_REASONS]
    )
    left = len(row.reasons) - _REASONS
    rest = f"<li>and {left:,} other reasons</li>" if left > 0 else ""
    return f"<details><summary>{escape(first)}</summary><ul>{shown}{rest}</ul></details>"


# What managers of modules and regions asked for and were answered, as a table.


_MOST_REQUESTS: Final = 200
_THINGS: Final = {"application": "replica", "infrastructure": "node"}


def requests(ticks: Sequence[Tick], most: int = _MOST_REQUESTS) -> str:
    """The section, the newest last; empty where nobody asked for anything."""
    made = sum(len(tick.decided.requests) for tick in ticks)
    if not made:
        return ""
    rows = "".join(_row(at, request) for at, request in _newest(ticks, most))
    return (
        f'<section class="requests"><h2>Requests</h2><p class="soft">{_opening(ticks, most)}</p>'
        "<table><thead><tr><th>Time</th><th>Request</th><th>Why, and the answer</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></section>"
    )


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
    count = abs(request.change)
    return f"{request.manager} {sign}{count_of(count, thing)}"


def _newest(ticks: Sequence[Tick], most: int) -> list[tuple[float, Request]]:
    backwards = (
        (tick.seen.at, request)
        for tick in reversed(ticks)
        for request in reversed(tick.decided.requests)
    )
    return list(islice(backwards, most))[::-1]


def _opening(ticks: Sequence[Tick], most: int) -> str:
    answers = [request.granted for tick in ticks for request in tick.decided.requests]
    refused = answers.count(False)
    told = f"{len(answers):,} in all, {refused:,} of them refused."
    return f"{told} The last {most:,}:" if len(answers) > most else told


def _row(at: float, request: Request) -> str:
    answer = f"{'granted' if request.granted else 'refused'}: {request.answer}"
    return (
        f'<tr class="{"granted" if request.granted else "refused"}"><td>{clock(at)}</td>'
        f"<td>{escape(asked_for(request))}</td>"
        f"<td>{escape(request.why)}<br>{escape(answer)}</td></tr>\n"
    )
