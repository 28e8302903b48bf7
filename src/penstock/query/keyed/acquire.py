"""Fetching the state of keys in the background, while the replica works on keys that it has."""

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from penstock.query.keyed.backing import Backing, Entry
from penstock.query.keyed.history import HERE
from penstock.query.keyed.work import KeyedWork, Rows


@dataclass(slots=True)
class Acquisition:
    """The rows of keys, as they come."""

    store: str
    """Its name, by which this process knows what it has of it."""
    backing: Backing
    work: KeyedWork
    wanted: Mapping[str, Entry]
    moved: Collection[str] = ()
    """Those that have just changed hands."""
    delay: float = 0.0
    """Further seconds that each of these takes, as from far away."""
    _arrived: dict[str, Rows] = field(default_factory=dict)
    _failure: BaseException | None = None
    _news: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def begin(self) -> "Acquisition":
        """Start fetching, in the order in which the keys were given."""
        if self.wanted:
            threading.Thread(target=self._fetch, daemon=True).start()
        return self

    def after(self, needed: Collection[str], *, grace: float = 0.0) -> dict[str, Rows]:
        """What has come when these keys have, and at most so many seconds later."""
        with self._news:
            self._news.wait_for(lambda: self._failure or self._arrived.keys() >= set(needed))
            self._news.wait_for(
                lambda: self._failure or len(self._arrived) == len(self.wanted), grace
            )
            if self._failure is not None:
                raise self._failure
            return dict(self._arrived)

    def _fetch(self) -> None:
        try:
            for key, entry in self.wanted.items():
                if self.delay and key in self.moved:
                    time.sleep(self.delay)
                self._tell(key, self._read(key, entry))
        except BaseException as error:  # for the one who waits; a thread has nobody to tell
            with self._news:
                self._failure = error
                self._news.notify()

    def _read(self, key: str, entry: Entry) -> Rows:
        return HERE.acquire(self.store, self.backing, key, entry, self.work)

    def _tell(self, key: str, rows: Rows) -> None:
        with self._news:
            self._arrived[key] = rows
            self._news.notify()
