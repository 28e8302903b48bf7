"""The recent rows of keys, at hand in this process where it has seen them before.

A replica's task may run in any executor of the module. What a process has of a key is brought up
to date with the pieces that were written since, and read from the start only where it has none.
"""

import threading
from collections import OrderedDict
from typing import Final

import numpy as np

from penstock.query.keyed.backing import Backing, Entry, Piece
from penstock.query.keyed.work import KeyedWork, Rows, joined, recent

MOST_BYTES: Final = 256 * 2**20
"""Memory for rows of keys in one process; those not used for longest go first."""


class Histories:
    """Rows of keys, with the count of accepted rows at which they stand."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[int, Rows]] = OrderedDict()
        self._bytes, self._most = 0, most_bytes
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything, as a new process would."""
        with self._lock:
            self._known.clear()
            self._bytes = 0

    def get(self, store: str, key: str, entry: Entry) -> Rows | None:
        """The rows of a key if they are at hand and up to date."""
        count, rows = self._known.get((store, key), (-1, None))
        return rows if count == entry.count else None

    def acquire(
        self, store: str, backing: Backing, key: str, entry: Entry, work: KeyedWork
    ) -> Rows:
        """The rows of a key, from this process and from the store."""
        keep, dtype = work.keep, work.dtype
        count, known = self._known.get((store, key), (0, np.empty(0, dtype)))
        if not 0 <= count <= entry.count:  # a batch that failed had gone further
            count, known = 0, np.empty(0, dtype)
        missing = min(entry.count - count, keep)
        newer = backing.read(tail(entry.pieces, missing), dtype)
        rows = recent(joined([known, newer], dtype), keep)
        self.put(store, key, entry.count, rows)
        return rows

    def put(self, store: str, key: str, count: int, rows: Rows) -> None:
        """Remember the rows of a key."""
        with self._lock:
            before = self._known.pop((store, key), None)
            self._bytes += rows.nbytes - (before[1].nbytes if before else 0)
            self._known[store, key] = (count, rows)
            while self._bytes > self._most and len(self._known) > 1:
                _, (_, dropped) = self._known.popitem(last=False)
                self._bytes -= dropped.nbytes


def tail(pieces: tuple[Piece, ...], rows: int) -> tuple[Piece, ...]:
    """The last rows of some pieces.

    >>> tail((Piece("a", 0, 10), Piece("b", 5, 8)), 5)
    (Piece(file='a', begin=8, end=10), Piece(file='b', begin=5, end=8))
    """
    found: list[Piece] = []
    for piece in reversed(pieces):
        if rows <= 0:
            break
        taken = piece._replace(begin=max(piece.begin, piece.end - rows))
        found.append(taken)
        rows -= taken.rows
    return tuple(reversed(found))


HERE: Final = Histories()
"""Of this process."""
