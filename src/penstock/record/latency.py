"""The latency of a whole run, from the quantiles of its steps.

The mean of many 95th
percentiles is not the 95th percentile. Each step is taken as a hundred equal parts along the
quantiles that it recorded, and the parts of all steps are sorted together, weighted by rows.
Between two quantiles parts are spaced as in an exponential distribution, which the tail of a queue
resembles. Below p50 nothing is recorded: a step is taken to reach as far down as it reaches up, but
not below 0. The slowest hundredth lies at p99.

Error bound: a row lies between the recorded quantiles around it (0 below p50, the step's maximum
above p99). A quantile of the run, and `pooled`, therefore lie between the same quantile with every
row at its lower bound and with every row at its upper one. Where all steps are alike the result is
exact.

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
KNOTS: Final = np.array([0.01, 0.05, 0.5, 0.95, 0.99])
"""Shares of the rows of a step at which its latency is taken as known."""
_LEVELS: Final = np.minimum(np.arange(1, _PARTS + 1) / _PARTS, KNOTS[-1])
_RISE: Final = np.array(
    [np.interp(-np.log1p(-_LEVELS), -np.log1p(-KNOTS), unit) for unit in np.eye(5)]
)
"""Weight of p1, p5, p50, p95 and p99 in each part."""


def pooled(steps: Sequence[Latency | None], rows: Sequence[float]) -> Latency | None:
    """The latency of the rows of all steps together, or None where no step knows its own.

    A step whose rows are unknown (NaN) counts as much as the others do on average.
    """
    known = [(step, weight) for step, weight in zip(steps, rows, strict=True) if step is not None]
    if not known:
        return None
    corners = quantiles_at_knots([step for step, _ in known])
    weights = _shares(np.array([weight for _, weight in known]))
    p50, p95, p99 = _quantiles(np.minimum(corners @ _RISE, corners[:, -1:]), weights)
    return Latency(p50=p50, p95=p95, p99=p99)


def quantiles_at_knots(steps: Sequence[Latency]) -> Array:
    """The latency of each step at the `KNOTS`: below p50 as far down as above it up, from 0.

    >>> quantiles_at_knots([Latency(p50=3.0, p95=4.0, p99=7.0)]).tolist()
    [[0.0, 2.0, 3.0, 4.0, 7.0]]
    """
    upper = np.array([[step.p50, step.p95, step.p99] for step in steps])
    upper = np.maximum.accumulate(upper, axis=1)  # estimates from few rows may cross
    lower = np.maximum(2 * upper[:, :1] - upper[:, :0:-1], 0.0)
    return np.hstack([lower, upper])


def _shares(rows: Array) -> Array:
    known = rows[~np.isnan(rows)]
    filled = np.where(np.isnan(rows), known.mean() if known.size else 1.0, rows)
    filled = filled if filled.sum() > 0 else np.ones_like(rows)
    return np.asarray(filled / filled.sum())


def _quantiles(parts: Array, weights: Array) -> list[float]:
    """The smallest parts that, with all below them, make up each share of the rows."""
    order = np.argsort(parts, axis=None, kind="stable")
    done = np.cumsum(np.repeat(weights / _PARTS, _PARTS)[order])
    place = np.searchsorted(done, KNOTS[2:] - 1e-9)  # a sum of many may fall a hair short
    quantiles: list[float] = parts.ravel()[order][np.minimum(place, len(done) - 1)].tolist()
    return quantiles
