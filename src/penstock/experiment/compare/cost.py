"""What a run cost: executor time, money, energy, and the share of it that nobody used."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.signals import Tick
from penstock.experiment.compare.track import Track
from penstock.model.power import VOLTAGES, power
from penstock.record.measures import Column, column


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What an executor costs.

    >>> Prices(executor_hour=-1)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: price must not be negative, got -1
    """

    executor_hour: float = 0.05
    """In any currency."""
    billing: float = 1.0
    """Seconds that are begun are paid in full: 1 where seconds are billed, 3600 where hours are."""

    def __post_init__(self) -> None:
        """Refuse what nobody pays."""
        if self.executor_hour < 0:
            raise SettingError(f"price must not be negative, got {self.executor_hour:g}")
        if not isfinite(self.executor_hour):
            raise SettingError(f"price must be a finite number, got {self.executor_hour:g}")
        if not self.billing > 0:
            raise SettingError(f"billing must be above 0s, got {self.billing:g}s")


def core_seconds(track: Track) -> float:
    """Executors of one core that were requested or running, whichever is more, over time."""
    return float((track.bill * track.seconds).sum())


def money(track: Track, prices: Prices) -> float:
    """What all executors cost, each from its request until it has left.

    The last that came is taken to be the first to go, and each pays for whole billing periods.
    """
    billed = sum(
        ceil(length / prices.billing - 1e-9) * prices.billing
        for paid in track.paid.values()
        for length in _lives(paid, track.seconds)
    )
    return prices.executor_hour * billed / 3600.0


def _lives(paid: Column, seconds: Column) -> list[float]:
    """How long each executor of a module was paid for."""
    lives: list[float] = []
    open_: list[float] = []
    for count, length in zip(paid, seconds, strict=True):
        while len(open_) > count:
            lives.append(open_.pop())
        open_ += [0.0] * (int(count) - len(open_))
        open_ = [life + float(length) for life in open_]
    return lives + open_


def joules(ticks: Sequence[Tick], track: Track) -> float:
    """Energy of the executors that ran; a step that does not know its watts has the model's."""
    watts = [_watts(tick, float(n)) for tick, n in zip(ticks, track.supply, strict=True)]
    return float(np.dot(watts, track.seconds))


def _watts(tick: Tick, executors: float) -> float:
    if tick.seen.power is not None:
        return tick.seen.power.watts
    return float(power(executors, VOLTAGES.frequencies[-1]))


def idle_share(ticks: Sequence[Tick], track: Track) -> float | None:
    """Share of the executor time paid for in which no row was worked on.

    Steps that do not know how busy a module was are left out.
    """
    paid = used = 0.0
    for name, cores in track.paid.items():
        busy = column(ticks, name, "utilisation")
        known = ~np.isnan(busy)
        paid += float((cores * track.seconds)[known].sum())
        used += float((busy * track.running[name] * track.seconds)[known].sum())
    return max(0.0, 1.0 - used / paid) if paid else None
