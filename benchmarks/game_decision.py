"""How long one decision of each game takes: CPU time, beside the paper's loop in plain Python.

The naive baseline plays Function 1 as it is written, with a list in the place of messages, and
measures the graph by a search from every module. Run with `python -m benchmarks.game_decision`.
"""

import time
from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Final

import numpy as np

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.model import FlowModel
from penstock.policy.game import PLANNERS, Topology

SIZES: Final = (100, 1_000, 10_000)
REPEATS: Final = 5
NAIVE_STEPS: Final = 20_000_000
"""Links that the naive loop may go over before it is left out."""


def chain(size: int, draw: np.random.Generator) -> FlowGraph:
    """One module after the other: the longest diameter."""
    return graph_of(size, [(i, i + 1) for i in range(size - 1)], draw)


def random(size: int, draw: np.random.Generator) -> FlowGraph:
    """Each module is fed by one to three earlier ones."""
    pairs = {
        (int(origin), target)
        for target in range(1, size)
        for origin in draw.integers(0, target, int(draw.integers(1, 4)))
    }
    return graph_of(size, sorted(pairs), draw)


def wide(size: int, draw: np.random.Generator) -> FlowGraph:
    """A source, a sink, and everything else side by side."""
    inner = range(1, size - 1)
    return graph_of(size, [(0, i) for i in inner] + [(i, size - 1) for i in inner], draw)


SHAPES: Final[tuple[Callable[[int, np.random.Generator], FlowGraph], ...]] = (chain, random, wide)


def graph_of(size: int, pairs: list[tuple[int, int]], draw: np.random.Generator) -> FlowGraph:
    """Modules whose price, delay cost and service time chance decides."""
    leaving = np.bincount([origin for origin, _ in pairs], minlength=size)
    return FlowGraph(
        source="m0",
        modules=tuple(
            Module(
                name=f"m{i}",
                service_time=float(10 ** draw.uniform(-2, 1)),
                price=float(10 ** draw.uniform(-3, -1)),
                delay_cost=float(draw.uniform(0.1, 1.0)),
                max_replicas=1000,
            )
            for i in range(size)
        ),
        streams=tuple(
            Stream(origin=f"m{a}", target=f"m{b}", probability=float(1 / leaving[a]))
            for a, b in pairs
        ),
    )


def naive_diameter(model: FlowModel) -> int:
    """The longest of the shortest paths, by a search from every module."""
    longest = 0
    for root in model.modules:
        hops, queue = {root: 0}, deque([root])
        while queue:
            here = queue.popleft()
            for other in model.neighbours[here]:
                if other not in hops:
                    hops[other] = hops[here] + 1
                    queue.append(other)
        longest = max(longest, *hops.values())
    return longest


def naive_nash(model: FlowModel, diameter: int) -> dict[str, float]:
    """Function 1 row by row: all service times, as often as the diameter."""
    modules = model.modules
    pace = {name: m.service_time(m.ideal(m.price)) for name, m in modules.items()}
    for _ in range(diameter):
        told = dict(pace)
        for name, near in model.neighbours.items():
            heard = (told[other] * modules[other].reach for other in near)
            pace[name] = max(told[name], max(heard, default=0.0) / modules[name].reach)
    return {name: m.replicas(pace[name]) for name, m in modules.items()}


def milliseconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """CPU time of the middle one of several runs."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        taken.append(1e3 * (time.process_time() - start))
    return median(taken)


def naive_times(model: FlowModel, shape: Topology) -> tuple[float | None, float | None]:
    """Of the diameter and of the equilibrium, where they can be waited for."""
    wait = shape.size * shape.links <= NAIVE_STEPS
    measured = milliseconds(lambda: naive_diameter(model), repeats=1) if wait else None
    if shape.diameter * shape.links > NAIVE_STEPS:
        return measured, None
    check = naive_nash(model, shape.diameter)
    ours = PLANNERS["nash"](model, topology=shape).replicas
    assert all(abs(ours[name] / check[name] - 1.0) < 1e-9 for name in check)
    return measured, milliseconds(lambda: naive_nash(model, shape.diameter), repeats=3)


def told(value: float | None) -> str:
    """Milliseconds, or that nobody waited for it."""
    return "-" if value is None else f"{value:.1f}"


def print_graph(name: str, graph: FlowGraph) -> None:
    """A line for the topology, and one for each policy."""
    model = FlowModel.of(graph)
    shape = Topology.of(model.neighbours)
    head = f"{name:<8}{shape.size:>7}{shape.links // 2:>8}{shape.diameter:>7}"
    slow_shape, slow_nash = naive_times(model, shape)
    once = milliseconds(lambda: Topology.of(model.neighbours), repeats=3)
    print(f"{head}  {'topology':<10}{told(once):>10}{told(slow_shape):>11}")
    for policy, planner in PLANNERS.items():
        plan = planner(model, topology=shape)
        taken = milliseconds(lambda planner=planner: planner(model, topology=shape))  # type: ignore[misc]
        naive = slow_nash if policy == "nash" else None
        print(
            f"{'':<30}  {policy:<10}{told(taken):>10}{told(naive):>11}"
            f"{plan.messages:>18,}{plan.rounds:>8,}{plan.cost:>15.6g}"
        )


def main() -> None:
    """Print the table."""
    print(f"CPU milliseconds of one decision, median of {REPEATS}; the topology is measured once")
    print(
        f"{'graph':<8}{'modules':>7}{'streams':>8}{'diam.':>7}  {'':<10}{'ours':>10}{'naive':>11}"
        f"{'messages':>18}{'rounds':>8}{'cost':>15}"
    )
    for size in SIZES:
        for shape in SHAPES:
            print_graph(shape.__name__, shape(size, np.random.default_rng(1)))


if __name__ == "__main__":
    main()
