"""What the processors took over a run, and at which clock.

>>> Energy(
...     joules=80.0, seconds=4.0, watts_mean=20.0, frequency_mean=1.9, modelled_share=1.0
... ).origin
'modelled'
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from penstock.core.signals import Tick
from penstock.core.units import format_duration
from penstock.core.words import quantity
from penstock.record.measures import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy, power and clock of a run. None is unknown."""

    joules: float | None
    """Watts times seconds, over the steps that know their watts."""
    seconds: float
    """Of the steps that know their watts."""
    watts_mean: float | None
    """Over those seconds."""
    frequency_mean: float | None
    """GHz, weighted by time, over the steps that know it."""
    modelled_share: float | None
    """Share of those seconds whose watts come from the model: 1 is all of them, 0 none."""
    joules_per_row: float | None = None
    """Over the steps that know both their watts and their rows."""

    @property
    def origin(self) -> str:
        """Where the watts come from: `modelled`, `partly modelled`, `measured`, or nowhere."""
        if self.modelled_share is None:
            return ""
        return {0.0: "measured", 1.0: "modelled"}.get(self.modelled_share, "partly modelled")


def watt(ticks: Sequence[Tick], *, modelled: bool | None = None) -> Column:
    """Watts of each step, NaN where unknown; only modelled or only measured ones, if asked for."""
    kinds = (True, False) if modelled is None else (modelled,)
    powers = (tick.seen.power for tick in ticks)
    return _finite([p.watts if p and p.modelled in kinds else None for p in powers])


def frequency(ticks: Sequence[Tick]) -> Column:
    """GHz at the end of each step, NaN where unknown."""
    return _finite([tick.seen.frequency for tick in ticks])


def spent(energy: Energy, duration: float) -> str:
    """Energy, mean power and mean clock of a run of that many seconds, and whether they are
    modelled. A clock beside modelled watts is taken for modelled too.

    >>> watched = Energy(
    ...     joules=4956, seconds=120, watts_mean=41.3, frequency_mean=1.62, modelled_share=1
    ... )
    >>> spent(watched, duration=120)
    '4.96 kJ, 41.3 W and 1.62 GHz on average, all modelled'
    >>> spent(watched, duration=124)
    '4.96 kJ in 2 min of 2.07 min, 41.3 W and 1.62 GHz on average, all modelled'
    """
    means = [
        *([] if energy.watts_mean is None else [quantity(energy.watts_mean, "W")]),
        *([] if energy.frequency_mean is None else [f"{energy.frequency_mean:.3g} GHz"]),
    ]
    mean = [f"{' and '.join(means)} on average"] if means else []
    return ", ".join([_joules(energy, duration), *mean, *_origin(energy)])


def _joules(energy: Energy, duration: float) -> str:
    if energy.joules is None:
        return "unknown"
    known = quantity(energy.joules, "J")
    if energy.seconds >= duration * (1 - 1e-6):
        return known
    return f"{known} in {format_duration(energy.seconds)} of {format_duration(duration)}"


def _origin(energy: Energy) -> list[str]:
    if energy.modelled_share == 1:
        return ["all modelled"]
    return [energy.origin] if energy.origin else []


def _finite(values: Sequence[float | None]) -> Column:
    """What is not finite is unknown, as it is in a recording."""
    column = np.array([nan if value is None else value for value in values], dtype=np.float64)
    return np.where(np.isfinite(column), column, nan)
