"""The latency of a whole run, from the quantiles of its steps.

The mean of many 95th percentiles is not the 95th percentile. Each step is taken as a hundred
equal parts, from 0 through its p50 and p95 to its p99, where the slowest part lies too; between
those they are spaced as in an exponential distribution, which the tail of a queue resembles. The
parts of all steps are sorted together, weighted by rows.

>>> calm, storm = Latency(p50=1, p95=1, p99=1), Latency(p50=9, p95=9, p99=9)
>>> pooled([calm, storm], rows=[990, 10]).p95
1.0
>>> pooled([calm, storm], rows=[500, 500]).p95
9.0
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency

Array = NDArray[np.float64]

_PARTS: Final = 100
_KNOTS: Final = np.array([0.0, 0.5, 0.95, 0.99])
_LEVELS: Final = np.minimum(np.arange(1, _PARTS + 1) / _PARTS, _KNOTS[-1])
_RISE: Final = np.array(
    [np.interp(-np.log1p(-_LEVELS), -np.log1p(-_KNOTS), unit) for unit in np.eye(4)]
)
"""Weight of 0, p50, p95 and p99 in each part."""


def pooled(steps: Sequence[Latency | None], rows: Sequence[float]) -> Latency | None:
    """The latency of the rows of all steps together, or None where no step knows its own.

    A step whose rows are unknown (NaN) counts as much as the others do on average.
    """
    known = [(step, weight) for step, weight in zip(steps, rows, strict=True) if step is not None]
    if not known:
        return None
    corners = np.array([[0.0, step.p50, step.p95, step.p99] for step, _ in known])
    corners = np.maximum.accumulate(corners, axis=1)  # estimates from few rows may cross
    weights = _shares(np.array([weight for _, weight in known]))
    p50, p95, p99 = _quantiles(np.minimum(corners @ _RISE, corners[:, 3:]), weights)
    return Latency(p50=p50, p95=p95, p99=p99)


def _shares(rows: Array) -> Array:
    known = rows[~np.isnan(rows)]
    filled = np.where(np.isnan(rows), known.mean() if known.size else 1.0, rows)
    filled = filled if filled.sum() > 0 else np.ones_like(rows)
    return np.asarray(filled / filled.sum())


def _quantiles(parts: Array, weights: Array) -> list[float]:
    """The smallest parts that, with all below them, make up each share of the rows."""
    order = np.argsort(parts, axis=None, kind="stable")
    done = np.cumsum(np.repeat(weights / _PARTS, _PARTS)[order])
    place = np.searchsorted(done, _KNOTS[1:] - 1e-9)  # a sum of many may fall a hair short
    found: list[float] = parts.ravel()[order][np.minimum(place, len(done) - 1)].tolist()
    return found
