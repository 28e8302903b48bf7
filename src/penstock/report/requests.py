"""What managers of modules and regions asked for and were answered, as a table."""

from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import Final

from penstock.core.signals import Request, Tick
from penstock.report.scales import clock

_MOST: Final = 200
_THINGS: Final = {"application": "replica", "infrastructure": "node"}


def requests(ticks: Sequence[Tick], most: int = _MOST) -> str:
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
    return f"{request.manager} {sign}{count:,} {thing}{'s' * (count != 1)}"


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
