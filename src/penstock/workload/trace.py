"""Rows as they once came: replay of a file with a `second count` on each line."""

from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import Path
from typing import ClassVar, Final

import numpy as np

from penstock.core.errors import FileError
from penstock.core.schema import Positive, checked
from penstock.workload.curve import Curve, Floats

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
@checked("workload trace")
class Trace:
    """The counts of a file, each spread evenly over its second; after the last, no rows come.

    Lines are `second count`; the first line may be the number of lines instead, and what follows
    a `#` is a remark. Seconds count from the first line, and one that is left out had no rows.
    The file is read once: a copy sent to another machine carries the counts with it.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w+") as file:
    ...     _ = file.write("0 2\\n1 4\\n")
    ...     file.flush()
    ...     trace = Trace(file.name)
    >>> trace.times(np.array([0.0, 1.0, 2.0, 5.0, 6.0])).tolist()
    [0.5, 1.0, 1.25, 2.0, inf]
    """

    drawn: ClassVar[bool] = True

    path: str
    """File of the counts."""
    speed: Positive = 1.0
    """2 plays the same rows in half the time."""
    scale: Positive = 1.0
    """2 plays twice the rows in the same time."""
    repeat: bool = False
    """Begin again at the end, for ever."""
    _once: Curve = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_once", _play(*read_counts(self.path)))

    def rate(self, at: Floats) -> Floats:
        """Rows a second at each moment."""
        _, into = self._plays(at)
        return self.speed * self.scale * np.where(at < 0, 0.0, self._once.rate(into))

    def arrivals(self, at: Floats) -> Floats:
        """Rows that have come by each moment."""
        plays, into = self._plays(at)
        return self.scale * (plays * self._total + self._once.arrivals(into))

    def times(self, index: Floats) -> Floats:
        """The moment at which each row comes: when the count of arrivals reaches `index + 1`."""
        count = (np.asarray(index, float) + 1.0) / self.scale
        total = self._total
        plays = np.floor(count / total) if self.repeat and total > 0 else np.zeros_like(count)
        rest = count - plays * total
        # the last row of a play belongs to it, whatever rounding has done to its number
        ends = (plays > 0) & (rest <= _ROUNDING * count)
        plays, rest = np.where(ends, plays - 1.0, plays), np.where(ends, total, rest)
        rest = np.where(np.abs(rest - total) <= _ROUNDING * count, total, rest)
        return (plays * self._length + self._once.reached(rest)) / self.speed

    def _plays(self, at: Floats) -> tuple[Floats, Floats]:
        into = np.maximum(at, 0.0) * self.speed
        plays = np.floor(into / self._length) if self.repeat else np.zeros_like(into)
        return plays, into - plays * self._length

    @property
    def _length(self) -> float:
        return float(self._once.starts[-1])

    @property
    def _total(self) -> float:
        return float(self._once.rows[-1])


def _play(second: Floats, count: Floats) -> Curve:
    edges = np.concatenate([second, second + 1.0])
    rates = np.concatenate([count, np.zeros(len(count))])
    # where the next second follows at once, its rate comes first and is the one kept
    starts, kept = np.unique(edges, return_index=True)
    return Curve.through(starts=starts, rates=rates[kept])


def read_counts(path: str) -> tuple[Floats, Floats]:
    """The seconds of a file, from 0 on, and the rows that arrived in each."""
    lines = _lines(path)
    if lines and len(lines[0][1].split()) == 1:
        (number, announced), *lines = lines
        if announced != str(len(lines)):
            raise FileError(
                f"line {number} of {path} announces {announced!r} lines, but {len(lines)} follow; "
                "each line must be a second and a count"
            )
    if not lines:
        raise FileError(f"{path} has no line with a second and a count")
    pairs = np.array([_pair(number, line, path) for number, line in lines])
    for back in np.flatnonzero(np.diff(pairs[:, 0]) <= 0)[:1]:
        number, line = lines[back + 1]
        raise FileError(f"line {number} of {path} must be of a later second, got {line!r}")
    return pairs[:, 0] - pairs[0, 0], pairs[:, 1]


def _lines(path: str) -> list[tuple[int, str]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise FileError(f"cannot read the trace {path}: {reason}") from None
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [(number, line) for number, line in enumerate(lines, 1) if line]


def _pair(number: int, line: str, path: str) -> tuple[int, float]:
    try:
        second, count = line.split()
        pair = int(second), float(count)
    except ValueError:
        pair = 0, nan
    if not (isfinite(pair[1]) and pair[1] >= 0):
        raise FileError(f"line {number} of {path} must be a second and a count, got {line!r}")
    return pair
