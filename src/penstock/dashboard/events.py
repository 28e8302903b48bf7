"""A run as server-sent events: batches of ticks, each with the place to go on from."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.dashboard.feed import Feed

_HEARTBEAT: Final = 15.0
"""Seconds of silence after which a comment shows that the connection stands."""
_PACE: Final = 0.1
"""Seconds between two batches at least: a page draws no faster than eyes can follow."""


@dataclass(frozen=True, slots=True)
class Place:
    """How much of which run a page has.

    >>> Place.parse("0a1b-250", {}), Place.parse(None, {"after": "7", "run": "0a1b"})
    (Place(run='0a1b', after=250), Place(run='0a1b', after=7))
    >>> Place.parse("nonsense", {"after": "-3"})
    Place(run='', after=0)
    """

    run: str
    after: int

    @classmethod
    def parse(cls, last_id: str | None, query: Mapping[str, str]) -> "Place":
        """From the header that a browser sends when it comes back, else from the query."""
        run, _, after = (last_id or "").rpartition("-")
        if not run:
            run, after = query.get("run", ""), query.get("after", "")
        return cls(run, int(after) if after.isdecimal() and len(after) < 16 else 0)


def events(feed: Feed, place: Place) -> Iterator[str]:
    """What is new, as it comes, until the feed closes."""
    yield "retry: 1000\n\n"
    told: object = None
    columns = -1
    while True:
        text, place, told, columns = _next(feed, place, told, columns)
        yield text
        if text.startswith("event: bye"):
            return
        if not text.startswith(":"):
            time.sleep(_PACE)


def _next(feed: Feed, place: Place, told: object, columns: int) -> tuple[str, Place, object, int]:
    """The next event, a comment where nothing happens, or the last."""
    with feed.changed:
        if not _is_news(feed, place, told) and not feed.closing:
            feed.changed.wait(_HEARTBEAT)
        news, board, status = _is_news(feed, place, told), feed.board, feed.status
        if not news:
            return (
                ("event: bye\ndata: {}\n\n" if feed.closing else ": still here\n\n"),
                place,
                told,
                columns,
            )
        if board is None:
            return 'data: {"now":{"state":"waiting"}}\n\n', place, status, columns
        after = place.after if place.run == board.key else 0
        after = min(after, len(board.rows))
        text, until = board.batch(after, status, columns=columns != board.width())
        place = Place(board.key, until)
        return f"id: {board.key}-{until}\ndata: {text}\n\n", place, status, board.width()


def _is_news(feed: Feed, place: Place, told: object) -> bool:
    if feed.board is None:
        return told != feed.status
    there = (feed.board.key, len(feed.board.rows))
    return there != (place.run, place.after) or told != feed.status
