"""How many executors a rate needs: the demand that elasticity is measured against.

>>> from penstock.core.graph import Module
>>> graph = FlowGraph(source="count", modules=(Module(name="count", service_time=0.01),))
>>> degrees(graph, 350.0, 0.7)
{'count': 5}
"""

from math import ceil

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.module import Module
from penstock.core.roles import Workload
from penstock.model.scalability import scalability
from penstock.record.measures import Column

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
    found = [degrees(graph, float(rate), utilisation) for rate in rates]
    return {name: np.array([one[name] for one in found], float) for name in graph.names()}


def rates_by_step(workload: Workload, step: float, duration: float) -> Column:
    """Mean rows a second of each control step.

    >>> from penstock.workload import parse
    >>> rates_by_step(parse("step:100/s,400/s@2s"), 2.0, 6.0).tolist()
    [100.0, 400.0, 400.0]
    """
    turns = ceil(duration / step * (1 - 1e-12))
    edges = np.minimum(np.arange(turns + 1) * step, duration)
    rows = np.diff(workload.arrivals(edges))
    found: Column = rows / np.diff(edges)
    return found


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
