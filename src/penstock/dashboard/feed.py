"""What the run folder holds, kept up to date for every request that asks."""

import threading
import time
from pathlib import Path
from typing import Any, Final, Self

from penstock.core.errors import FileError
from penstock.dashboard.board import Board
from penstock.dashboard.prometheus import family, one, render, text
from penstock.record.follow import Follower, News
from penstock.record.place import is_going_on

_POLL: Final = 0.1
"""Seconds between two looks at the folder; each is two calls of stat where nothing happens."""
_QUIET: Final = 3.0
"""Seconds without a tick after which one looks whether somebody still writes."""


class Feed:
    """Reads a run folder in the background, and wakes those who wait for more.

    `waits` is for a folder in which no run has begun yet.
    """

    def __init__(self, path: Path, *, waits: bool = False) -> None:
        self.changed = threading.Condition()
        self.closing = False
        self.board: Board | None = None
        self._coming: Board | None = None
        """One that is still being read, while another is shown: sums must not seem to fall."""
        self._waits = waits
        self._path = path
        self._follower = Follower(path, fresh=waits)
        self._status = {"state": "waiting", "trouble": ""}
        self._heard = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-feed", daemon=True)

    @property
    def status(self) -> dict[str, Any]:
        """`state` is `waiting`, `live`, `finished` or `stopped`; `trouble` is a sentence."""
        return dict(self._status)

    def start(self) -> None:
        """Read what is there, and go on reading; raises FileError where that cannot be a run."""
        try:
            self._first()
        except BaseException:
            self._follower.close()
            raise
        self._thread.start()

    def _first(self) -> None:
        if not self._waits:
            self._follower.check()
        while self._poll().more:
            pass
        if not self._waits and self._status["trouble"]:
            raise FileError(self._status["trouble"])

    def close(self) -> None:
        """Look once more, tell those who wait, and stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        while self._poll().more:
            pass
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._follower.close()

    def metrics(self) -> str:
        """What `/metrics` answers; before a run has begun only that none is up."""
        with self.changed:
            if self.board is None:
                return text([family("up", "gauge", "Whether the run is still going on", one(0))])
            return render(self.board.state)

    def whole(self) -> str:
        """What `/run.json` answers."""
        with self.changed:
            return (
                '{"now":{"state":"waiting"}}'
                if self.board is None
                else self.board.whole(self.status)
            )

    def _watch(self) -> None:
        while not self._stop.wait(_POLL):
            while self._poll().more and not self._stop.is_set():
                pass

    def _poll(self) -> News:
        try:
            news = self._follower.poll()
        except OSError as error:  # a disk that fails, a share that has gone: the page says so
            news = News(trouble=f"cannot read {self._path}: {error.strerror}")
        with self.changed:
            before = dict(self._status)
            self._take(news)
            if news.settings or news.ticks or before != self._status:
                self.changed.notify_all()
        return news

    def _take(self, news: News) -> None:
        if news.settings is not None:
            self._coming = Board(news.settings, news.key)
            self._status = {"state": "live", "trouble": ""}
        if news.trouble:
            self._status["trouble"] = news.trouble
        if (reading := self._coming or self.board) is None:
            return
        for tick in news.ticks:
            reading.add(tick)
        if self._coming and (self.board is None or not news.more):
            self.board, self._coming = self._coming, None
        if self.board is not None:
            self._end(news, self.board)

    def _end(self, news: News, board: Board) -> None:
        if news.summary is not None:
            board.finish(news.summary)
            self._status["state"] = "finished"
        self._look(heard=bool(news.settings or news.ticks), board=board)

    def _look(self, *, heard: bool, board: Board) -> None:
        """Tell a run that goes on from one that was killed, where it has been silent."""
        now = time.monotonic()
        if heard:
            self._heard = now
        if self._status["state"] == "live" and (now - self._heard > _QUIET or not self._begun()):
            self._heard = now
            if not is_going_on(self._path):
                self._status["state"] = "stopped"
        elif self._status["state"] == "stopped" and heard:
            self._status["state"] = "live"
        board.state.up = self._status["state"] == "live"

    def _begun(self) -> bool:
        return self._thread.ident is not None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
