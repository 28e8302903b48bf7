"""A rate that is linear between knots, its exact integral, and the inverse of that.

Every workload is such a curve. Two rows a second for three seconds, then none:

>>> curve = Curve.through(starts=[0.0, 3.0], rates=[2.0, 0.0])
>>> curve.arrivals(np.array([1.0, 3.0, 9.0])).tolist()
[2.0, 6.0, 6.0]
>>> curve.times(np.array([0.0, 5.0, 6.0])).tolist()
[0.5, 3.0, inf]
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.core.errors import SettingError

Floats = NDArray[np.float64]

_FEWEST_SLOTS: Final = 1 << 10
_MOST_SLOTS: Final = 1 << 22  # 48 days of seconds, in 130 MB
_MOST_ROWS: Final = 1e15
"""In one slot; counts beyond lose their last digit in a float soon after."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Segments of a rate, flat or leading to the next one's; the last goes on for ever."""

    starts: Floats
    """The second at which each segment begins, the first being 0."""
    rates: Floats
    """Rows a second at each segment's beginning."""
    slopes: Floats
    """By how much each segment's rate rises in a second."""
    rows: Floats
    """Rows that have come by each segment's beginning."""

    @classmethod
    def through(cls, *, starts: ArrayLike, rates: ArrayLike, joined: bool = False) -> "Curve":
        """The curve with these rates from these moments on; joined, it is straight between them."""
        begin, rate = np.asarray(starts, float), np.asarray(rates, float)
        width = np.diff(begin)
        slope = np.diff(rate) / width if joined else np.zeros(len(width))
        # cumsum adds from left to right, so a longer curve begins with the very same numbers
        rows = np.cumsum(width * (rate[:-1] + slope * width / 2))
        return cls(begin, rate, np.append(slope, 0.0), np.append(0.0, rows))

    @classmethod
    def counted(cls, *, edges: Floats, counts: Floats) -> "Curve":
        """The curve that brings so many rows between one edge and the next, evenly."""
        rows = np.append(0.0, np.cumsum(counts[:-1]))
        return cls(edges[:-1], counts / np.diff(edges), np.zeros(len(counts)), rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Curve) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("starts", "rates", "slopes")
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def rate(self, at: Floats) -> Floats:
        """Rows a second at each moment; none before the start."""
        segment, into = self._segment(at)
        rate = self.rates[segment] + self.slopes[segment] * into
        return np.where(at < 0, 0.0, np.maximum(rate, 0.0))

    def arrivals(self, at: Floats) -> Floats:
        """Rows that have come by each moment."""
        segment, into = self._segment(at)
        mean = self.rates[segment] + self.slopes[segment] * into / 2
        return _within(self.rows, segment, self.rows[segment] + mean * into)

    def times(self, index: Floats) -> Floats:
        """The moment at which each row comes: when the count of rows reaches `index + 1`."""
        return self.reached(np.asarray(index, float) + 1.0)

    def reached(self, count: Floats) -> Floats:
        """The first moment by which so many rows have come; inf for never.

        It never falls as the count rises, not even by rounding: every operation below is monotone.
        """
        count = np.maximum(count, 0.0)
        segment = np.maximum(np.searchsorted(self.rows, count, side="left") - 1, 0)
        slopes = self.slopes[segment]
        # the way from the end with the higher rate: there the rate only falls
        rises = slopes > 0
        end = segment + rises
        way = self._way(np.abs(count - self.rows[end]), self.rates[end], -np.abs(slopes))
        return _within(self.starts, segment, self.starts[end] + np.where(rises, -way, way))

    def _segment(self, at: Floats) -> tuple[NDArray[np.intp], Floats]:
        at = np.maximum(at, 0.0)
        segment = np.searchsorted(self.starts, at, side="right") - 1
        return segment, at - self.starts[segment]

    @staticmethod
    def _way(rows: Floats, rate: Floats, slope: Floats) -> Floats:
        # the root of rows = rate*t + slope*t**2/2, in the form that does not cancel
        under = rate + np.sqrt(np.maximum(rate * rate + 2.0 * slope * rows, 0.0))
        never = np.where(rows > 0, np.inf, 0.0)
        return np.divide(2.0 * rows, under, out=never, where=under > 0)


class Curved:
    """The three questions of a workload, answered from its curve."""

    __slots__ = ()

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """A curve that is right up to that second, and up to that many rows."""
        raise NotImplementedError

    def rate(self, at: Floats) -> Floats:
        """Rows a second at each moment."""
        return self.curve(until=_last(at)).rate(at)

    def arrivals(self, at: Floats) -> Floats:
        """Rows that have come by each moment."""
        return self.curve(until=_last(at)).arrivals(at)

    def times(self, index: Floats) -> Floats:
        """The moment at which each row comes: when the count of arrivals reaches `index + 1`."""
        return self.curve(rows=_last(index) + 1.0).times(index)


class Slotted(Curved):
    """A workload that is drawn slot by slot, as many slots as it takes."""

    __slots__ = ()

    kind: ClassVar[str]
    remedy: ClassVar[str] = "give it a longer slot"
    """Where the slots that there may be do not reach far enough."""
    slot: Any

    @property
    def pace(self) -> float:
        """Seconds of a slot."""
        return float(self.slot)

    def draw(self, slots: int) -> Curve:
        """The curve of so many slots; every longer one begins with it."""
        raise NotImplementedError

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """The shortest of the curves of 1024, 4096, ... slots that reaches far enough.

        Since every longer curve begins with the shorter one, the answer to a question does not
        depend on what was asked before.
        """
        slots, slot = _FEWEST_SLOTS, self.pace
        while slots <= _MOST_SLOTS:
            if (slots - 1) * slot >= until and (curve := _drawn(self, slots)).rows[-1] >= rows:
                return curve
            slots *= 4
        goal = f"second {until:g}" if _MOST_SLOTS * slot < until else f"row {rows:g}"
        raise SettingError(
            f"workload {self.kind} does not reach {goal} in {_MOST_SLOTS:,} slots of {slot:g} s; "
            f"{self.remedy}"
        )


@lru_cache(maxsize=16)
def _drawn(workload: Slotted, slots: int) -> Curve:
    return workload.draw(slots)


def _within(edges: Floats, segment: NDArray[np.intp], values: Floats) -> Floats:
    # rounding must not carry a value out of its segment
    bounded: Floats = np.clip(values, edges[segment], np.append(edges[1:], np.inf)[segment])
    return bounded


def _last(values: Floats) -> float:
    return float(np.max(values, initial=0.0))


def check_slot(highest: float, slot: float, of: str) -> None:
    """Reject slots with more rows than a float counts exactly.

    >>> check_slot(1e18, 1.0, "workload poisson")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: workload poisson must have at most 1e+15 rows in a slot, \
got 1e+18; lower its rate or its slot
    """
    if highest * slot > _MOST_ROWS:
        raise SettingError(
            f"{of} must have at most {_MOST_ROWS:g} rows in a slot, got {highest * slot:g}; "
            "lower its rate or its slot"
        )
