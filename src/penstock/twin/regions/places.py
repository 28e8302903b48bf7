"""Which modules are in which regions, and how long rows travel between them.

>>> from penstock.core.graph import Module, Stream
>>> graph = FlowGraph(
...     source="split",
...     modules=(Module(name="split", region="dc1"), Module(name="count", region="dc2")),
...     streams=(Stream(origin="split", target="count"),),
... )
>>> places = Infrastructure(
...     regions=(Region(name="dc1"), Region(name="dc2")), delays={"dc1-dc2": 0.002}
... )
>>> path_delay(graph, places)
0.002
"""

from collections.abc import Mapping

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure, Region
from penstock.core.settings import near


def check_places(graph: FlowGraph, places: Infrastructure) -> None:
    """Refuse modules without a region, and first replicas that do not fit on the first nodes.

    >>> from penstock.core.graph import Module
    >>> lone = FlowGraph(source="a", modules=(Module(name="a", region="dc9"),), streams=())
    >>> check_places(lone, Infrastructure(regions=(Region(name="dc1"),)))
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: module a is in region 'dc9'; did you mean 'dc1'?
    """
    for module in graph.modules:
        if module.region not in places.names():
            raise SettingError(
                f"module {module.name} is in region {module.region!r}"
                f"{near(str(module.region), places.names())}"
            )
    for region in places.regions:
        _check_room(graph, region)


def _check_room(graph: FlowGraph, region: Region) -> None:
    here = [module for module in graph.modules if module.region == region.name]
    first, room = sum(m.initial_replicas for m in here), region.initial_nodes * region.slots
    if first > room:
        raise SettingError(
            f"region {region.name} has room for {room} replicas at the start and its modules "
            f"begin with {first}; raise its initial_nodes, which are {region.initial_nodes}"
        )


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
