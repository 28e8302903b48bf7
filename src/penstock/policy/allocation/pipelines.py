"""Whose module is whose, and what a row is worth, where pipelines share a cluster.

>>> from penstock.core.graph import FlowGraph, Module, Stream
>>> graph = FlowGraph(
...     source="fraud.read",
...     also=("reports.read",),
...     modules=tuple(Module(name=n) for n in ("fraud.read", "fraud.match", "reports.read")),
...     streams=(Stream(origin="fraud.read", target="fraud.match"),),
... )
>>> owners(graph)
{'fraud.read': 'fraud', 'fraud.match': 'fraud', 'reports.read': 'reports'}
>>> worth(graph, {"fraud": 5.0})
{'fraud.match': 5.0, 'reports.read': 1.0}
"""

from collections.abc import Mapping
from math import inf

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.settings import near


def owners(graph: FlowGraph) -> dict[str, str]:
    """The pipeline of each module, in the order of the graph: that of the source which feeds it.

    A pipeline is called by what stands before the dot in the name of its source, or by the whole
    name where there is none.
    """
    found = {source: source.partition(".")[0] for source in graph.sources}
    for name in graph.order():
        for stream in graph.outputs(name):
            found.setdefault(stream.target, found[name])
    return {name: found[name] for name in graph.names()}


def worth(graph: FlowGraph, weights: Mapping[str, float]) -> dict[str, float]:
    """What a row that comes to each sink is worth: its own weight, or its pipeline's, or 1."""
    owner = owners(graph)
    return {sink: weights.get(sink, weights.get(owner[sink], 1.0)) for sink in graph.sinks()}


def check_weights(graph: FlowGraph, weights: Mapping[str, float]) -> None:
    """Refuse weights of what is neither a pipeline nor a sink, and weights that weigh nothing.

    >>> from penstock.core.graph import Module
    >>> check_weights(FlowGraph(source="scan", modules=(Module(name="scan"),)), {"scn": 2.0})
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: weights of policy allocation name 'scn', \
which is neither a pipeline nor a module that feeds no other; did you mean 'scan'?
    """
    known = {*owners(graph).values(), *graph.sinks()}
    for name, weight in weights.items():
        if name not in known:
            raise SettingError(
                f"weights of policy allocation name {name!r}, which is neither a pipeline nor a "
                f"module that feeds no other{near(name, known)}"
            )
        if not 0 < weight < inf:
            raise SettingError(
                f"weight of {name} in policy allocation must be above 0 and finite, got {weight:g}"
            )
