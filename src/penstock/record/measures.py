"""Columns over time from a list of ticks; what was not measured is NaN, never zero.

>>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
>>> def tick(**readings):
...     seen = Observation(at=1.0, step=1.0, modules={"count": ModuleReading(**readings)})
...     return Tick(seen=seen, decided=Decision(configuration=Configuration(degrees={}), why="-"),
...                 asked=None)
>>> column([tick(backlog=7), tick()], "count", "backlog")
array([ 7., nan])

`mean`, `highest` and `integral` make one number of a column; None where nothing was measured:

>>> values, seconds = np.array([2.0, np.nan, 4.0]), np.array([1.0, 1.0, 3.0])
>>> mean(values, seconds), highest(values), integral(values, seconds)
(3.5, 4.0, None)
"""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Tick

Column = NDArray[np.float64]


def modules(ticks: Sequence[Tick]) -> tuple[str, ...]:
    """Every module that was ever seen, in the order of its first reading."""
    return tuple(dict.fromkeys(name for tick in ticks for name in tick.seen.modules))


def regions(ticks: Sequence[Tick]) -> tuple[str, ...]:
    """Every region that was ever seen, in the order of its first reading."""
    return tuple(dict.fromkeys(name for tick in ticks for name in tick.seen.regions))


def times(ticks: Sequence[Tick]) -> Column:
    """When each step ended, in seconds since the run began."""
    return observed(ticks, "at")


def steps(ticks: Sequence[Tick]) -> Column:
    """How many seconds each step covers."""
    return observed(ticks, "step")


def column(ticks: Sequence[Tick], module: str, metric: str) -> Column:
    """One metric of one module, a value a step."""
    return observed(ticks, "modules", module, metric)


def observed(ticks: Sequence[Tick], *path: str) -> Column:
    """A value a step, by its path in an observation: `latency`, `p95` or `regions`, `dc1`, `nodes`.

    >>> observed([], "pool")
    array([], dtype=float64)
    """
    first, *rest = path
    values: list[Any] = [getattr(tick.seen, first) for tick in ticks]
    for name in rest:
        values = [
            value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
            for value in values
        ]
    return np.array([nan if value is None else value for value in values], dtype=np.float64)


def watts(ticks: Sequence[Tick], *, modelled: bool) -> Column:
    """Watts of each step that are modelled, or measured; NaN where there are none."""
    powers = (tick.seen.power for tick in ticks)
    values = [p.watts if p and p.modelled == modelled else nan for p in powers]
    return finite(np.array(values, dtype=np.float64))


def finite(values: Column) -> Column:
    """What is not finite is unknown, as it is in a recording."""
    return np.where(np.isfinite(values), values, nan)


def reporting(ticks: Sequence[Tick], metric: str) -> dict[str, Column]:
    """The metric of every module that ever reports it.

    A stage inside a query has no backlog of its own; that is no gap in the recording.
    """
    columns = {name: column(ticks, name, metric) for name in modules(ticks)}
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}


def total(columns: dict[str, Column], length: int) -> Column:
    """The sum over modules, NaN in steps where one of them is missing."""
    return np.sum(list(columns.values()), axis=0) if columns else np.full(length, nan)


def held(values: Column) -> Column:
    """Gaps filled with the value before them, or with the first one where there is none before.

    >>> held(np.array([nan, 2.0, nan, 3.0]))
    array([2., 2., 2., 3.])
    """
    known = np.flatnonzero(~np.isnan(values))
    if known.size == 0:
        return values
    before = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    filled: Column = values[known[np.maximum(before, 0)]]
    return filled


def known(values: Column) -> Column:
    """Those that were measured."""
    return values[~np.isnan(values)]


def added(values: Column) -> float | None:
    """The sum of those that were measured."""
    measured = known(values)
    return float(measured.sum()) if measured.size else None


def integral(values: Column, seconds: Column) -> float | None:
    """The sum over time; None where one is missing."""
    product = values * seconds
    return float(product.sum()) if product.size and not np.isnan(product).any() else None


def mean(values: Column, seconds: Column) -> float | None:
    """Weighted by time."""
    weights = seconds[~np.isnan(values)]
    return float(np.average(known(values), weights=weights)) if weights.sum() > 0 else None


def lowest(values: Column) -> float | None:
    """The least that was measured."""
    measured = known(values)
    return float(measured.min()) if measured.size else None


def highest(values: Column) -> float | None:
    """The most that was measured."""
    measured = known(values)
    return float(measured.max()) if measured.size else None


def last(values: Column) -> float | None:
    """The last, None where just that one was not measured."""
    return None if not values.size or np.isnan(values[-1]) else float(values[-1])


def whole(value: float | None) -> int | None:
    """A count."""
    return None if value is None else round(value)
