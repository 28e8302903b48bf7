"""What each module brought and what it cost: the terms of the game paper, from what was measured.

A module's cost in a control step is `delay_cost` for each second between two results, and `price`
for each executor (game, Expr. 5 and 6). Its efficiency is how much of what is paid for is used:
the seconds between two results that its executors could reach, by those that they did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Tick
from penstock.record.measures import Column, column, held, steps


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEconomy:
    """One module over a run. None is unknown."""

    throughput: float | None
    """Rows a second that it finished."""
    efficiency: float | None
    """Mean over the steps, 0 to 1."""
    cost: float | None
    """Of all steps together, in the money of price and delay_cost; None where it has neither."""


def economy(ticks: Sequence[Tick], graph: FlowGraph) -> dict[str, ModuleEconomy]:
    """Throughput, efficiency and cost of each module of a graph.

    >>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
    >>> reading = ModuleReading(processed_rate=4.0, service_time=0.4, running=2)
    >>> seen = Observation(at=5.0, step=5.0, modules={"match": reading})
    >>> held = Decision(configuration=Configuration(degrees={"match": 2}), why="as it was")
    >>> module = Module(name="match", price=0.01, delay_cost=0.5)
    >>> graph = FlowGraph(source="match", modules=(module,))
    >>> found = economy([Tick(seen=seen, decided=held, asked=None)], graph)["match"]
    >>> found.throughput, found.efficiency, round(found.cost, 3)
    (4.0, 0.8, 0.145)
    """
    return {module.name: _economy_of(ticks, module) for module in graph.modules}


def _economy_of(ticks: Sequence[Tick], module: Module) -> ModuleEconomy:
    rate = column(ticks, module.name, "processed_rate")
    running = held(column(ticks, module.name, "running"))
    service = held(column(ticks, module.name, "service_time"))
    return ModuleEconomy(
        throughput=_mean(rate, steps(ticks)),
        efficiency=_mean(np.minimum(rate * service / running, 1.0), steps(ticks)),
        cost=_cost(module, rate, running),
    )


def _cost(module: Module, rate: Column, running: Column) -> float | None:
    if not (module.price or module.delay_cost) or not rate.size:
        return None
    between = held(np.where(rate > 0, 1.0 / np.where(rate > 0, rate, 1.0), np.nan))
    known = module.delay_cost * between + module.price * running
    if np.isnan(known).all():
        return None
    return float(np.nanmean(known) * len(known))  # a step that measured nothing counts as the mean


def _mean(values: Column, seconds: Column) -> float | None:
    known = ~np.isnan(values)
    if not seconds[known].sum() > 0:
        return None
    return float(np.average(values[known], weights=seconds[known]))
