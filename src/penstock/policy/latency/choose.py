"""The fewest executors of all modules with which rows keep a promise on their whole way."""

from collections.abc import Mapping
from math import ceil, inf

from penstock.core.graph import FlowGraph
from penstock.policy.latency.stage import Sojourn, Stage


def fewest(
    graph: FlowGraph, stages: Mapping[str, Stage], limit: float, *, relaxed: float = 0.7
) -> dict[str, int]:
    """Executors by module: as few as keep up, then one more wherever it helps most.

    Where no number within the bounds keeps the promise, more would be wasted on it: every module is
    then kept from being busier than `relaxed`.

    >>> from penstock.core.graph import Module
    >>> graph = FlowGraph(source="count", modules=(Module(name="count"),))
    >>> count = Stage(rate=300.0, service_time=0.01, overhead=0.5, trigger=1.0, batches=True)
    >>> fewest(graph, {"count": count}, 10.0), fewest(graph, {"count": count}, 3.0)
    ({'count': 4}, {'count': 5})
    """
    chosen = {name: _keeps_up(stage) for name, stage in stages.items()}
    while (path := slowest(graph, stages, chosen))[0] > limit:
        better = _most_helpful(path[1], stages, chosen)
        if better is None:
            return {name: at_most(stage, relaxed) for name, stage in stages.items()}
        chosen[better] += 1
    return chosen


def at_most(stage: Stage, utilisation: float) -> int:
    """The fewest executors that keep up and are no busier than that, within the bounds.

    >>> at_most(Stage(rate=300.0, service_time=0.01), 0.7)
    5
    """
    enough = ceil(stage.rate * stage.service_time / utilisation * (1.0 - 1e-9))
    return min(max(enough, _keeps_up(stage)), stage.most)


def slowest(
    graph: FlowGraph, stages: Mapping[str, Stage], chosen: Mapping[str, int]
) -> tuple[float, tuple[str, ...]]:
    """The 95th percentile on the way that takes longest, and the modules on that way."""
    ways: dict[str, tuple[Sojourn, tuple[str, ...]]] = {}
    worst: tuple[float, tuple[str, ...]] = (0.0, ())
    for name in graph.order():
        before, path = ways.get(name, (Sojourn(), ()))
        if name in stages:
            before, path = before + stages[name].sojourn(chosen[name]), (*path, name)
        worst = max(worst, (before.p95, path))
        for stream in graph.outputs(name):
            known = ways.get(stream.target)
            if known is None or before.p95 > known[0].p95:
                ways[stream.target] = (before, path)
    return worst


def _keeps_up(stage: Stage) -> int:
    """The fewest executors that rows do not pile up with, within the bounds."""
    busy = ceil(stage.rate * stage.service_time * (1.0 + 1e-9))
    first = max(busy, stage.needs, stage.least)
    while first < stage.most and stage.sojourn(first).mean == inf:
        first += 1
    return min(first, stage.most)


def _most_helpful(
    path: tuple[str, ...], stages: Mapping[str, Stage], chosen: Mapping[str, int]
) -> str | None:
    """The module on a way that one executor more shortens most; None where none would."""
    gains = {
        name: stages[name].sojourn(chosen[name]).p95 - stages[name].sojourn(chosen[name] + 1).p95
        for name in path
        if chosen[name] < stages[name].most
    }
    best = max(gains, key=lambda name: (gains[name] == inf, gains[name]), default=None)
    return best if best is not None and gains[best] > 1e-6 else None
