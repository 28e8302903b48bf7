"""Observations by hand, and a plant that plays them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    check_degrees,
    current,
)

Reading = ModuleReading | Mapping[str, Any]


def seen(
    modules: Mapping[str, Reading] | None = None,
    /,
    at: float = 1.0,
    step: float = 1.0,
    latency: Latency | None = None,
    **named: Reading,
) -> Observation:
    """An observation in one line; what is not given was not measured.

    >>> seen(at=2.0, counter={"utilisation": 0.9, "running": 2}).modules["counter"].utilisation
    0.9
    >>> seen({"edge-detector": {"running": 2}}).running
    2
    """
    readings = {
        name: reading if isinstance(reading, ModuleReading) else ModuleReading(**reading)
        for name, reading in {**(modules or {}), **named}.items()
    }
    return Observation(at=at, step=step, modules=readings, latency=latency)


def chain(*, selectivity: float = 1.0, **modules: Mapping[str, Any]) -> FlowGraph:
    """A graph in one line: modules with their settings, each of which feeds the next.

    >>> chain(splitter={"service_time": 0.003}, counter={}).streams
    (Stream(origin='splitter', target='counter', probability=1.0, selectivity=1.0),)
    """
    return FlowGraph(
        source=next(iter(modules)),
        modules=tuple(Module(name=name, **settings) for name, settings in modules.items()),
        streams=tuple(
            Stream(origin=origin, target=target, selectivity=selectivity)
            for origin, target in pairwise(modules)
        ),
    )


@dataclass
class ScriptedPlant:
    """Plays observations and remembers what was decided; an exception is raised in its turn.

    >>> plant = ScriptedPlant([seen(counter={"running": 2}), OSError("the cluster is gone")])
    >>> for observation in plant.readings():
    ...     pass
    Traceback (most recent call last):
    ...
    OSError: the cluster is gone
    """

    script: Iterable[Observation | Exception]
    decisions: list[Decision] = field(default_factory=list, init=False)
    """Every decision."""
    _degrees: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _modules: set[str] = field(default_factory=set, init=False, repr=False)

    def readings(self) -> Iterator[Observation]:
        """The script, item by item."""
        for item in self.script:
            if isinstance(item, Exception):
                raise item
            self._modules |= set(item.modules)
            self._degrees |= current(item).degrees
            yield item

    def apply(self, decision: Decision, /) -> Configuration | None:
        """Remember the decision; returns what it changes, or None."""
        wanted = decision.configuration.degrees
        check_degrees(wanted, self._modules)
        self.decisions.append(decision)
        if all(self._degrees.get(name) == degree for name, degree in wanted.items()):
            return None
        self._degrees |= wanted
        return Configuration(degrees=dict(self._degrees))


@dataclass
class Clock:
    """A clock that only you move.

    >>> clock = Clock()
    >>> clock.advance(2.5)
    >>> clock()
    2.5
    """

    now: float = 0.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def varied(count: int = 60, seed: int = 1) -> tuple[Observation, ...]:
    """Observations of all sorts: busy and idle, growing and shrinking, partly or wholly unknown.

    >>> varied(20) == varied(20)
    True
    """
    draw = np.random.default_rng(seed)
    names = ("splitter", "counter")
    measured = [seen({name: _reading(draw) for name in names}, at=1.0 + i) for i in range(count)]
    silent = seen(dict.fromkeys(names, ModuleReading()), at=count + 1.0)
    return (*measured, silent, seen(at=count + 2.0))


def _reading(draw: np.random.Generator) -> ModuleReading:
    requested = int(draw.integers(1, 9))
    running = max(requested + int(draw.integers(-1, 2)), 0)
    busy = float(draw.choice([0.0, 0.1, 0.3, 0.6, 0.75, 0.9, 1.0, draw.random()]))
    rate = float(draw.choice([0.0, 100.0, 1e6]))
    values: dict[str, Any] = {
        "arrival_rate": rate,
        "processed_rate": min(rate, 1e5),
        "backlog": float(draw.choice([0.0, 1e3, 1e12])),
        "utilisation": busy,
        "service_time": 0.003,
        "service_cv": 1.0,
        "batch_duration": 1.0,
        "latency": Latency(p50=0.5, p95=1.0, p99=2.0),
        "wanted": requested,
        "requested": requested,
        "running": running,
    }
    unknown = draw.random() if draw.random() < 0.5 else 0.0
    return ModuleReading(**{k: v for k, v in values.items() if draw.random() >= unknown})
