"""What the operator remembers of each symbol between two batches.

A state store keeps it as bytes, one text of them for each symbol:

>>> kept = Memory.empty(2).pack()
>>> len(kept), Memory.unpack(kept).counts.tolist()
(2, [0, 0])
>>> Memory.unpack([None]).counts.tolist()
[0]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import UserError
from penstock.pipeline.market.arrivals import UNKNOWN
from penstock.pipeline.market.series import COLUMNS, Series, concatenate

_HEAD: Final = 3
"""Numbers before the history: the count, the last number, the newest moment."""
_TYPES: Final = tuple(np.dtype(kind) for kind in ("<i8", "<f8", "<f8", "<i4", "<i4"))
_ROW: Final = sum(kind.itemsize for kind in _TYPES)
"""Bytes of a quote."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Memory:
    """The state of K symbols."""

    counts: NDArray[np.int64]
    """Quotes ever accepted."""
    last: NDArray[np.int64]
    """The number of the last one."""
    newest: NDArray[np.int64]
    """The moment of the newest one."""
    history: Series
    """The last of them: as many as a window has."""

    @classmethod
    def empty(cls, keys: int) -> "Memory":
        """Symbols never seen."""
        nothing = np.full(keys, UNKNOWN)
        counts = np.zeros(keys, np.int64)
        return cls(counts=counts, last=nothing, newest=nothing, history=Series.empty(keys))

    @classmethod
    def unpack(cls, kept: Sequence[bytes | None]) -> "Memory":
        """From what `pack` gave, or None for a symbol never seen."""
        heads = np.array([_head(text) for text in kept], np.int64).reshape(len(kept), _HEAD)
        counts, last, newest = (np.ascontiguousarray(column) for column in heads.T)
        history = concatenate([Series.empty(0), *(_history(text) for text in kept)])
        return cls(counts=counts, last=last, newest=newest, history=history)

    def pack(self) -> list[bytes]:
        """The state of each symbol, as bytes that any machine reads alike."""
        heads = np.stack((self.counts, self.last, self.newest), axis=1).astype("<i8")
        columns = [
            getattr(self.history, name).astype(kind, copy=False)
            for name, kind in zip(COLUMNS, _TYPES, strict=True)
        ]
        starts = self.history.offsets.tolist()
        return [
            b"".join((head.tobytes(), *(column[a:b].tobytes() for column in columns)))
            for head, a, b in zip(heads, starts, starts[1:], strict=False)
        ]


def _head(text: bytes | None) -> tuple[int, ...]:
    if text is None:
        return (0, UNKNOWN, UNKNOWN)
    if len(text) < 8 * _HEAD or (len(text) - 8 * _HEAD) % _ROW:
        raise UserError(
            f"the state of a symbol has {len(text)} bytes, which no number of quotes makes; "
            "begin with a new checkpoint"
        )
    return tuple(np.frombuffer(text, "<i8", _HEAD).tolist())


def _history(text: bytes | None) -> Series:
    if text is None:
        return Series.empty(1)
    size, at, columns = (len(text) - 8 * _HEAD) // _ROW, 8 * _HEAD, {}
    for name, kind in zip(COLUMNS, _TYPES, strict=True):
        columns[name] = np.frombuffer(text, kind, size, at)
        at += size * kind.itemsize
    return Series(offsets=np.array([0, size]), **columns)
