"""How near the twin comes to the flow-graph model: inter-departure times on random graphs.

Every module of every graph is measured under back-pressure, the source with rows always waiting or
fed at a rate. Run with `python -m benchmarks.back_pressure [graphs]`.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.model import FlowModel
from penstock.twin import Twin
from penstock.workload import Constant

GRAPHS = 200
MOST_MODULES = 50
RAREST = 20_000
"""Rows that the least visited module is measured over; chance then counts for 0.7 %."""
LEAST_REACH = 0.02
"""A graph with a module that fewer rows than this come by is drawn again: it would take long."""
BUFFER = 200
"""The model is about means, as if no buffer ran dry or full by chance. Between two stations that
are equally fast and exponential, one of this size costs a part in 203; many in a row cost more."""
WARM_UP = 0.25
"""Share of a run in which buffers fill."""
FILLS = 30
"""Rows of the source for each that fits into a buffer: what fills them late must not count."""
FLOOD = 1.5
"""Rows that come for each that could be served, where the source is to have rows always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A graph with its degrees, and how often rows come."""

    graph: FlowGraph
    model: FlowModel
    inter_arrival: float

    def degrees(self) -> dict[str, float]:
        """Replicas that never change."""
        return {module.name: float(module.initial_replicas) for module in self.graph.modules}


def random_case(
    random: np.random.Generator,
    size: int,
    *,
    balanced: bool,
    flooded: bool,
    least_reach: float = LEAST_REACH,
) -> Case:
    """Any graph of that size, its modules about equally fast or not, with a source that has rows
    always waiting or is fed at a rate."""
    graph = _random_graph(random, size)
    while min(graph.visits().values()) < least_reach:
        graph = _random_graph(random, size)
    if balanced:
        graph = _balanced(random, graph)
    model = FlowModel.of(graph)
    case = Case(graph=graph, model=model, inter_arrival=0.0)
    pace = model.pace(case.degrees()).inter_departure[graph.source]
    if flooded:
        return replace(case, inter_arrival=pace / FLOOD)
    fed = pace * random.uniform(0.8, 1.5)
    return replace(case, model=model.arriving_every(fed), inter_arrival=fed)


def deviations(case: Case, seed: int, rarest: int = RAREST) -> dict[str, float]:
    """Measured by predicted inter-departure time of each module, less one."""
    predicted = case.model.pace(case.degrees()).inter_departure
    to_fill = FILLS * BUFFER * len(predicted) * predicted[case.graph.source]
    duration = max(max(predicted.values()) * rarest / (1.0 - WARM_UP), to_fill)
    twin = Twin(
        case.graph,
        Constant(1.0 / case.inter_arrival),
        step=WARM_UP * duration,
        duration=duration,
        seed=seed,
    )
    readings = twin.readings()
    next(readings)
    filled = twin.totals()
    for _ in readings:
        pass
    settled = {name: totals - filled[name] for name, totals in twin.totals().items()}
    return {n: t.seconds / t.finished / predicted[n] - 1.0 for n, t in settled.items()}


def _random_graph(random: np.random.Generator, size: int) -> FlowGraph:
    return FlowGraph(
        source="m0",
        modules=tuple(_random_module(random, f"m{i}") for i in range(size)),
        streams=tuple(
            Stream(origin=f"m{i}", target=f"m{target}", probability=probability)
            for i, targets in enumerate(_random_ways(random, size))
            for target, probability in zip(targets, _shares(random, len(targets)), strict=True)
        ),
    )


def _random_ways(random: np.random.Generator, size: int) -> list[list[int]]:
    """Up to four ways onwards from each module to one of the next few, and some without any."""
    ways: list[list[int]] = [[] for _ in range(size)]
    for i in range(size - 1):
        near = np.arange(i + 1, min(i + 5, size))
        if i == 0 or random.uniform() < 0.95:
            count = min(len(near), int(random.integers(1, 4)))
            ways[i] = random.choice(near, count, replace=False).tolist()
    fed = {target for targets in ways for target in targets}
    for target in set(range(1, size)) - fed:
        ways[int(random.integers(max(0, target - 4), target))].append(target)
    return ways


def _shares(random: np.random.Generator, count: int) -> list[float]:
    weights = random.uniform(0.2, 1.0, count)
    return [float(weight) for weight in weights / weights.sum()]


def _random_module(random: np.random.Generator, name: str) -> Module:
    scaling = ("ideal", "saturating", "minimum", "measured")[random.integers(4)]
    best = float(random.uniform(1.0, 8.0)) if scaling in ("saturating", "minimum") else None
    return Module(
        name=name,
        service_time=float(random.uniform(0.5, 5.0)),
        service_cv=(0.0, 0.3, 1.0)[random.integers(3)],
        initial_replicas=int(random.integers(1, 9)),
        buffer=BUFFER,
        scaling=scaling,
        best_replicas=best,
        speedup=(1.0, 1.9, 2.6, 3.1, 3.3) if scaling == "measured" else (),
    )


def _balanced(random: np.random.Generator, graph: FlowGraph) -> FlowGraph:
    """The same graph with modules that could all take a source row every 0.8 to 1 s."""
    model = FlowModel.of(graph)

    def quicken(module: Module) -> Module:
        own = model.modules[module.name]
        seconds = own.reach * own.service_time(module.initial_replicas)
        faster = float(random.uniform(0.8, 1.0)) / seconds
        return replace(module, service_time=module.service_time * faster)

    return replace(graph, modules=tuple(quicken(module) for module in graph.modules))


def measure(seed: int) -> list[float]:
    """The deviations of all modules of one graph."""
    random = np.random.default_rng(seed)
    size = int(random.integers(1, MOST_MODULES + 1))
    balanced, flooded = (bool(side) for side in random.integers(2, size=2))
    case = random_case(random, size, balanced=balanced, flooded=flooded)
    return list(deviations(case, seed).values())


def main(graphs: int = GRAPHS) -> None:
    """Print the worst and the mean deviation."""
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(measure, range(graphs)))
    sizes = np.abs(np.concatenate(found))
    means = [float(np.mean(values)) for values in found]
    print(f"{graphs} random graphs of up to {MOST_MODULES} modules, {len(sizes)} modules in all")
    print(f"inter-departure times away from the model: worst {sizes.max():.2%}, ", end="")
    print(f"mean {sizes.mean():.2%}; within 3 %: {np.mean(sizes < 0.03):.2%}")
    print(f"mean of all modules of a graph: {min(means):+.2%} to {max(means):+.2%}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
