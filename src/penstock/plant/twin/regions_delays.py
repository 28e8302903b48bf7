"""How long rows are on their way between regions.

>>> from penstock.core.graph import Module, Stream
>>> from penstock.core.regions import Region
>>> graph = FlowGraph(
...     source="split",
...     modules=(Module(name="split", region="dc1"), Module(name="count", region="dc2")),
...     streams=(Stream(origin="split", target="count"),),
... )
>>> here = (Region(name="dc1"), Region(name="dc2"))
>>> path_delay(graph, Infrastructure(regions=here, delays={"dc1-dc2": 0.002}))
0.002
"""

from collections.abc import Mapping

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure


def path_delay(graph: FlowGraph, places: Infrastructure) -> float:
    """Seconds between regions from the source to a sink, on the way where they are the most."""
    return max(arrivals(graph, places, dict.fromkeys(graph.names(), 0.0)).values())


def arrivals(
    graph: FlowGraph, places: Infrastructure, spent: Mapping[str, float]
) -> dict[str, float]:
    """When a row has been through each module, by the slowest way, if it spends so long in each."""
    done = {graph.source: spent[graph.source]}
    for name in graph.order():
        for stream in graph.outputs(name):
            way = places.delay(str(graph[name].region), str(graph[stream.target].region))
            there = done[name] + way + spent[stream.target]
            done[stream.target] = max(done.get(stream.target, 0.0), there)
    return done
