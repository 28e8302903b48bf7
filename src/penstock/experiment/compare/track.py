"""What a run did over time, as numbers by step: every score is computed from it.

>>> from penstock.core.signals import (
...     Configuration, Decision, ModuleReading, Observation, Tick)
>>> reading = ModuleReading(requested=3, running=2)
>>> seen = Observation(at=2.0, step=2.0, modules={"count": reading})
>>> held = Decision(configuration=Configuration(degrees={}), why="-")
>>> track = follow([Tick(seen=seen, decided=held, asked=None)])
>>> track.running["count"].tolist(), track.paid["count"].tolist()
([2.0], [3.0])

`degrees` is how many executors a rate needs, the demand that elasticity is measured against:

>>> from penstock.core.graph import Module
>>> graph = FlowGraph(source="count", modules=(Module(name="count", service_time=0.01),))
>>> degrees(graph, 350.0, 0.7)
{'count': 5}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Workload
from penstock.core.signals import Tick
from penstock.model.power import VOLTAGES, power
from penstock.model.scalability import scalability
from penstock.record.measures import Column, column, held, modules, steps, times


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Executors of each module, step by step; a gap keeps the value before it."""

    at: Column
    """When each step ended, in seconds since the run began."""
    seconds: Column
    """How long each step lasted."""
    running: Mapping[str, Column]
    """Executors that could take tasks at the end of each step."""
    paid: Mapping[str, Column]
    """Executors that were requested or running, whichever is more: who requests an executor
    pays for it from then on, and for one that is sent away until it has left."""

    @property
    def duration(self) -> float:
        """Seconds of the whole run."""
        return float(self.seconds.sum())

    @property
    def supply(self) -> Column:
        """Executors that ran, in all."""
        return _sum(self.running, len(self.at))

    @property
    def bill(self) -> Column:
        """Executors to be paid for, in all."""
        return _sum(self.paid, len(self.at))


def sampled(values: Column, ends: Column, at: Column) -> Column:
    """Values of steps that end at some moments, for steps that end at others.

    >>> sampled(np.array([5.0, 7.0]), np.array([2.0, 4.0]), np.array([2.1, 3.9, 6.0])).tolist()
    [5.0, 7.0, 7.0]
    """
    slack = 0.25 * float(np.median(np.diff(ends, prepend=0.0)))
    held_values: Column = values[np.clip(np.searchsorted(ends, at - slack), 0, len(ends) - 1)]
    return held_values


def aligned(track: Track, at: Column) -> Track:
    """The track as if its steps had ended at these moments, as those of another run did."""
    return Track(
        at=at,
        seconds=np.diff(at, prepend=0.0),
        running={name: sampled(n, track.at, at) for name, n in track.running.items()},
        paid={name: sampled(n, track.at, at) for name, n in track.paid.items()},
    )


def follow(ticks: Sequence[Tick]) -> Track:
    """The track of a run."""
    names = modules(ticks)
    running = {name: _known(ticks, name, "running") for name in names}
    asked = {name: _known(ticks, name, "requested") for name in names}
    return Track(
        at=times(ticks),
        seconds=steps(ticks),
        running=running,
        paid={name: np.fmax(running[name], asked[name]) for name in names},
    )


def _known(ticks: Sequence[Tick], name: str, metric: str) -> Column:
    return held(column(ticks, name, metric))


def _sum(columns: Mapping[str, Column], length: int) -> Column:
    total: Column = np.sum(list(columns.values()), axis=0) if columns else np.zeros(length)
    return total


# What a run cost: executor time, money, energy, and the share of it that was not used.


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
        """Refuse a price or a period that is out of range."""
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


COMFORT = 0.7
"""Busy share at which a prudent person provisions: the target of HPA and of Flink alike."""


def degrees(graph: FlowGraph, rate: float, utilisation: float) -> dict[str, int]:
    """The least degree of each module that serves so many rows a second, so busy at most.

    A module that no degree within its bounds would do for has its largest.
    """
    return {
        name: degree_of(graph[name], rate * visits, utilisation)
        for name, visits in graph.visits().items()
    }


def degree_of(module: Module, rate: float, utilisation: float) -> int:
    """The least degree of one module, within its bounds."""
    model, work = scalability(module), rate * module.service_time
    for degree in range(module.min_replicas, module.max_replicas):
        if work * model.share(degree) <= utilisation * (1 + 1e-9):
            return degree
    return module.max_replicas


def demand(graph: FlowGraph, rates: Column, utilisation: float) -> dict[str, Column]:
    """The least degree of each module in each step, by the rate of that step."""
    plans = [degrees(graph, float(rate), utilisation) for rate in rates]
    return {name: np.array([one[name] for one in plans], float) for name in graph.names()}


def rates_by_step(workload: Workload, step: float, duration: float) -> Column:
    """Mean rows a second of each control step.

    >>> from penstock.workload import parse
    >>> rates_by_step(parse("step:100/s,400/s@2s"), 2.0, 6.0).tolist()
    [100.0, 400.0, 400.0]
    """
    turns = ceil(duration / step * (1 - 1e-12))
    edges = np.minimum(np.arange(turns + 1) * step, duration)
    rows = np.diff(workload.arrivals(edges))
    rates: Column = rows / np.diff(edges)
    return rates


def smoothed(rates: Column, window: int) -> Column:
    """Each rate as the mean of it and those before it: rows may wait for a while.

    >>> smoothed(np.array([0.0, 4.0, 8.0]), 2).tolist()
    [0.0, 2.0, 6.0]
    """
    if window <= 1:
        return rates
    total = np.concatenate([[0.0], np.cumsum(rates)])
    ends = np.arange(1, len(rates) + 1)
    starts = np.maximum(ends - window, 0)
    mean: Column = (total[ends] - total[starts]) / (ends - starts)
    return mean
