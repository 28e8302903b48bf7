"""A made-up run with three regions: one lacks room at times, one stops answering, requests fail."""

from collections.abc import Iterator
from dataclasses import replace
from math import pi, sin

from penstock.core.signals import Configuration, RegionReading, Request, Tick
from tests.report.test_page import demo

REGIONS = ("dc1", "dc2", "dc3")


def with_regions(length: int = 200, silent: range = range(60, 80)) -> list[Tick]:
    """The demo of the report, on nodes that follow a tide of their own; dc2 falls silent."""
    nodes = dict.fromkeys(REGIONS, 1)
    ticks = []
    for index, tick in enumerate(demo(length)):
        wanted = {name: _wish(index, place) for place, name in enumerate(REGIONS)}
        asked = {
            name: nodes[name] + (wanted[name] > nodes[name]) - (wanted[name] < nodes[name])
            for name in REGIONS
        }
        asked["dc2"] = nodes["dc2"] if index in silent else asked["dc2"]
        ticks.append(_on_nodes(tick, index, nodes, asked, index in silent))
        nodes = asked
    return ticks


def _wish(index: int, place: int) -> int:
    return max(1, round(3 + place + 3 * sin(2 * pi * (index + 15 * place) / 70)))


def _on_nodes(
    tick: Tick, index: int, nodes: dict[str, int], asked: dict[str, int], silent: bool
) -> Tick:
    regions = {name: _reading(index, name, nodes[name]) for name in REGIONS}
    if silent:
        regions["dc2"] = RegionReading(trouble="its manager is unreachable")
    changes = {name: n for name, n in asked.items() if n != nodes[name]}
    decided = replace(
        tick.decided,
        configuration=replace(tick.decided.configuration, nodes=changes),
        requests=tuple(_requests(index, nodes, asked)),
    )
    before = tick.asked or Configuration(degrees={})
    return Tick(
        seen=replace(tick.seen, regions=regions),
        decided=decided,
        asked=replace(before, nodes=changes) if changes or tick.asked else None,
    )


def _reading(index: int, name: str, nodes: int) -> RegionReading:
    lacks = int(name == "dc3" and index % 41 == 7)
    return RegionReading(
        nodes=nodes,
        idle=index // 9 % 2 if nodes > 1 else 0,
        free=nodes,
        replicas=nodes,
        utilisation=0.4 + 0.05 * REGIONS.index(name) + 0.2 * sin(index / 9),
        unmet=lacks,
        wanted=nodes,
        requested=nodes,
    )


def _requests(index: int, nodes: dict[str, int], asked: dict[str, int]) -> Iterator[Request]:
    for name, now in nodes.items():
        if asked[name] != now:
            yield Request(
                level="infrastructure",
                manager=name,
                change=asked[name] - now,
                why="no idle node" if asked[name] > now else "1 node idles",
                granted=True,
                answer="all are accepted",
            )
    if index % 29 == 5:
        yield Request(
            level="application",
            manager="counter",
            change=1,
            why="91 % busy",
            granted=False,
            answer="splitter in the same region asked for more too, and is slower",
        )
