"""Values over time, thinned until they fit a page without losing a peak or a gap."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a plot; NaN is a gap."""

    name: str
    style: str
    """Class names that say how it is drawn."""
    at: Column
    values: Column
    stepped: bool = False
    """Whether a value holds until the next one."""


def thin(series: Series, most: int) -> Series:
    """The same picture with about as many points as asked for.

    >>> flat = Series(name="n", style="", at=np.arange(9.0), values=np.ones(9), stepped=True)
    >>> thin(flat, 100).at
    array([0., 8.])
    """
    slim = _kept(series, _turns(series.values)) if series.stepped else series
    return slim if len(slim.at) <= most else _kept(slim, _extremes(slim.values, max(1, most // 3)))


def drawn(series: Series) -> dict[str, Any]:
    """The points as the page's script wants them."""
    return {
        "t": [float(f"{at:.7g}") for at in series.at],
        "v": [None if np.isnan(value) else float(f"{value:.4g}") for value in series.values],
        "stepped": series.stepped,
    }


def _kept(series: Series, index: NDArray[np.intp]) -> Series:
    return Series(
        name=series.name,
        style=series.style,
        at=series.at[index],
        values=series.values[index],
        stepped=series.stepped,
    )


def _turns(values: Column) -> NDArray[np.intp]:
    """Where a stepped line changes, and its end."""
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    keep = np.concatenate([[True], ~same]) if len(values) else np.empty(0, dtype=bool)
    keep[-1:] = True
    return np.flatnonzero(keep)


def _extremes(values: Column, buckets: int) -> NDArray[np.intp]:
    """The lowest, the highest and one gap, if any, of each stretch; the first and the last."""
    gaps = np.isnan(values)
    kept = {0, len(values) - 1}
    for stretch in np.array_split(np.arange(len(values)), buckets):
        start, part = int(stretch[0]), values[stretch]
        if gaps[stretch].any():
            kept |= _gap(gaps, start + int(np.argmax(gaps[stretch])))
        if not gaps[stretch].all():
            kept |= {start + int(np.nanargmin(part)), start + int(np.nanargmax(part))}
    return np.array(sorted(kept), dtype=np.intp)


def _gap(gaps: NDArray[np.bool_], first: int) -> set[int]:
    """A gap with the values on both sides of it, so that it looks no wider than it is."""
    return {max(0, first - 1), first, first + int(np.argmin(gaps[first:]))}
