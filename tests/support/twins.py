"""Loads, graphs and checks that tests of the twins share."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.routing import Routing
from penstock.core.signals import (
    Configuration,
    Decision,
    ModuleReading,
    Observation,
)
from penstock.twin import KeyedTwin

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Constant:
    """Rows at an even rate, until there are no more."""

    per_second: float
    rows: float = np.inf

    def rate(self, at: Array) -> Array:
        return np.where(self.arrivals(at) < self.rows, self.per_second, 0.0)

    def arrivals(self, at: Array) -> Array:
        return np.minimum(at * self.per_second, self.rows)

    def times(self, index: Array) -> Array:
        return np.where(index < self.rows, (index + 1) / self.per_second, np.inf)


def chain(*modules: Module) -> FlowGraph:
    return FlowGraph(
        source=modules[0].name,
        modules=modules,
        streams=tuple(Stream(origin=a.name, target=b.name) for a, b in pairwise(modules)),
    )


SEEDS = range(40)
STUDENT_99 = 2.708  # two-sided, 39 degrees of freedom


def assert_agrees(samples: list[float | None], theory: float, precision: float = 0.02) -> None:
    """The interval holds the theory, and is narrow enough to mean something."""
    values = np.array(samples, np.float64)
    margin = STUDENT_99 * values.std(ddof=1) / sqrt(len(values))
    assert margin < precision * theory
    assert abs(values.mean() - theory) < margin


LETTERS = dict.fromkeys("abcdefgh", 1.0)


def keyed(
    rate: float = 300.0,
    rows: float = np.inf,
    *,
    module: Mapping[str, Any] | None = None,
    **settings: Any,
) -> KeyedTwin:
    """A twin whose module is called `only`; what is not set is small and quick."""
    given = {"service_time": 0.003, "initial_replicas": 2} | dict(module or {})
    graph = FlowGraph(source="only", modules=(Module(name="only", **given),))
    usual: dict[str, Any] = {"step": 1.0, "duration": 10.0, "shares": LETTERS}
    return KeyedTwin(graph, Constant(rate, rows), **(usual | settings))


def decide(
    degree: int | None = None, table: Routing | None = None, frequency: float | None = None
) -> Decision:
    configuration = Configuration(
        degrees={} if degree is None else {"only": degree},
        routing={} if table is None else {"only": table},
        frequency=frequency,
    )
    return Decision(configuration=configuration, why="the test says so")


def table(replicas: int, **owners: int) -> Routing:
    return Routing(replicas=replicas, owners=owners)


def only(seen: Observation) -> ModuleReading:
    return seen.modules["only"]
