"""Axes with round numbers.

>>> axis("s", 0.43).labels
((0.0, '0'), (0.1, '100'), (0.2, '200'), (0.3, '300'), (0.4, '400'), (0.5, '500'))
>>> axis("s", 0.43).unit
'ms'
"""

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

from penstock.core.words import clock, short_number

_TIME_STEPS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200),
)
_DAY: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, with a label at every round number."""

    low: float
    high: float
    labels: tuple[tuple[float, str], ...]
    unit: str
    decades: bool = False
    """Whether each tenfold takes the same room; what is below the low end lies on it."""

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end."""
        if self.decades:
            return log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def axis(unit: str, highest: float) -> Axis:
    """An axis from zero that holds `highest`; `unit` is `s`, `%`, or what is counted."""
    if unit == "%":
        return _axis(0.5 if highest <= 1 else nice_step(highest, 4), max(1.0, highest), 0.01, "%")
    if unit == "s":
        factor, shown = _time_unit(highest)
        return _axis(nice_step(highest / factor, 4) * factor, highest, factor, shown)
    if unit in ("executors", "nodes"):
        return _axis(max(1.0, floor(nice_step(highest, 4))), max(2.0, highest), 1.0, unit)
    return _axis(nice_step(highest, 4), highest, 1.0, unit)


def wide_axis(lowest: float, highest: float) -> Axis:
    """An axis in seconds for values of very different size, a tenfold at a time.

    >>> wide_axis(0.3, 41.0).labels
    ((0.2, '0.2'), (1.0, '1'), (10.0, '10'), (50.0, '50'))
    """
    powers = range(floor(log10(lowest)) - 1, ceil(log10(highest)) + 2)  # one more for rounding
    steps = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    low = max(step for step in steps if step <= lowest)
    high = min(step for step in steps if step >= highest and step > low)
    decades = (step for step in steps if log10(step).is_integer() and low < step < high)
    labels = tuple((value, short_number(value)) for value in (low, *decades, high))
    return Axis(low, high, labels, "s, log scale", decades=True)


def narrow_axis(low: float, high: float) -> Axis:
    """An axis that need not begin at zero, for values that differ little, such as prices.

    >>> narrow_axis(151.3, 158.9).labels
    ((150.0, '150'), (152.0, '152'), (154.0, '154'), (156.0, '156'), (158.0, '158'), (160.0, '160'))
    >>> narrow_axis(9.5, 9.5).labels
    ((9.45, '9.45'), (9.5, '9.50'), (9.55, '9.55'))
    """
    size = max(abs(low), abs(high))
    spread = high - low if high - low > 1e-9 * size else size / 50
    step = nice_step(max(spread, 1e-12), 4)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    if first >= last:
        first, last = first - 1, first + 1
    marks = [_clean(index * step) for index in range(first, last + 1)]
    labels = tuple((mark, f"{mark:,.{_decimals(step)}f}") for mark in marks)
    return Axis(marks[0], marks[-1], labels, "")


def time_axis(start: float, end: float, *, most: int = 10) -> Axis:
    """An axis over a run, labelled at round moments since its start."""
    end = end if end > start else start + 1.0
    step = _time_step((end - start) / most)
    first, last = ceil(start / step - 1e-9), floor(end / step + 1e-9)
    moments = [index * step for index in range(first, last + 1)]
    return Axis(start, end, tuple((at, clock(at, step)) for at in moments), _clock_unit(step))


def nice_step(span: float, count: int) -> float:
    """A round step that covers the span in about `count` of them.

    >>> nice_step(930, 4), nice_step(0.7, 4), nice_step(0, 4)
    (250.0, 0.2, 0.25)
    """
    rough = (span if span > 0 else 1.0) / count
    size = 10.0 ** floor(log10(rough))
    best = min((1, 2, 2.5, 5, 10), key=lambda nice: abs(log10(nice * size / rough)))
    return _clean(best * size)


def _axis(step: float, highest: float, factor: float, unit: str) -> Axis:
    count = max(1, ceil(highest / step - 1e-9))
    values = [_clean(index * step) for index in range(count + 1)]
    return Axis(0.0, values[-1], tuple((v, short_number(v / factor)) for v in values), unit)


def _decimals(step: float) -> int:
    """Digits after the point that multiples of a round step need.

    >>> _decimals(2.5), _decimals(0.25), _decimals(20)
    (1, 2, 0)
    """
    return len(f"{step:.15f}".rstrip("0").split(".")[1])


def _clean(value: float) -> float:
    return float(f"{value:.12g}")


def _time_unit(highest: float) -> tuple[float, str]:
    for below, factor, shown in ((1.0, 1e-3, "ms"), (300.0, 1.0, "s"), (10_800.0, 60.0, "min")):
        if highest < below:
            return factor, shown
    return 3600.0, "h"


def _time_step(least: float) -> float:
    days = _DAY * max(1, ceil(least / _DAY))
    return next((float(step) for step in _TIME_STEPS if step >= least), days)


def _clock_unit(step: float) -> str:
    if step < 1:
        return "s"
    return "h:min" if step >= 3600 else "min:s"
