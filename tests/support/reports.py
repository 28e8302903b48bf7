"""Runs of which a page is written, and what the page says."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from math import pi, sin
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    RegionReading,
    Request,
    Tick,
)
from penstock.record import RunFolder, RunSettings, summarise
from penstock.report.page import write_report

GRAPH = FlowGraph(
    source="splitter",
    modules=(
        Module(name="splitter", service_time=0.003, max_replicas=4),
        Module(name="counter", service_time=0.0015, max_replicas=6),
        Module(name="archive", service_time=0.001, max_replicas=2),
    ),
    streams=(
        Stream(origin="splitter", target="counter", selectivity=2, probability=0.75),
        Stream(origin="splitter", target="archive", selectivity=2, probability=0.25),
    ),
)


def settings(**other: object) -> RunSettings:
    given = {
        "pipeline": "wordcount",
        "plant": "spark",
        "started": datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        "graph": GRAPH,
        "command": ("penstock", "run", "wordcount"),
        "policy": "threshold",
        "seed": 1,
        "slo_latency_p95": 2.0,
        "file": {"pipeline": "wordcount", "step": "2s", "policy": {"name": "threshold"}},
        **other,
    }
    return RunSettings(**given)  # type: ignore[arg-type]  # as a test gives them


def demo(length: int, step: float = 2.0, seed: int = 1) -> list[Tick]:
    """A made-up run with a tide, noise, gaps, a late executor and a decision now and then."""
    random = np.random.default_rng(seed)
    degrees = {"splitter": 1, "counter": 1, "archive": 1}
    running, backlog, ticks = dict(degrees), 0.0, []
    for index in range(1, length + 1):
        tide = 700 + 600 * sin(2 * pi * index / max(40, length / 3))
        rate = max(0.0, tide + random.normal(0, 40))
        capacity = 330.0 * running["splitter"]
        done = min(rate + backlog / step, capacity)
        backlog = max(0.0, backlog + (rate - done) * step)
        busy = min(1.0, rate / capacity)
        wanted = {
            "splitter": min(4, max(1, round(rate / 250))),
            "counter": min(6, max(1, round(rate / 300))),
            "archive": 1,
        }
        delay = 0.4 + backlog / max(done, 1) + 0.3 * busy**4 + random.exponential(0.05)
        gap = index % 37 == 0
        quiet = index % 53 in (0, 1)
        seen = Observation(
            at=index * step,
            step=step,
            latency=None if quiet else Latency(p50=delay, p95=1.5 * delay, p99=2.1 * delay),
            modules={
                name: ModuleReading(
                    arrival_rate=None if gap else rate * share,
                    processed_rate=None if gap else done * share,
                    backlog=None if name == "archive" else backlog * share,
                    utilisation=None if gap else min(1.0, busy * (0.6 + 0.4 * share)),
                    batch_duration=None if quiet else delay * (0.5 + 0.2 * share),
                    failed_tasks=0,
                    wanted=degrees[name],
                    requested=degrees[name],
                    running=running[name],
                )
                for name, share in (("splitter", 1.0), ("counter", 1.5), ("archive", 0.5))
            },
        )
        acts = index % 6 == 0 and wanted != degrees
        running = dict(degrees)
        asked = Configuration(degrees=wanted) if acts else None
        degrees = wanted if acts else degrees
        why = "cooling down after the last change" if index % 6 < 3 else "busy enough"
        if acts:
            why = f"{rate:.0f} rows/s, busy {busy:.0%}, 0.75 is the threshold"
        decided = Decision(
            configuration=Configuration(degrees=degrees),
            why=why,
            proposed=Configuration(degrees=wanted) if not acts and wanted != degrees else None,
        )
        ticks.append(Tick(seen=seen, decided=decided, asked=asked))
    return ticks


def a_run(path: Path, ticks: list[Tick], **other: object) -> Path:
    made = settings(**other)
    with RunFolder.create(path, made) as folder:
        for tick in ticks:
            folder.write(tick)
        folder.finish(summarise(ticks, made.slo_latency_p95, source=made.graph.source))
    return path


class Page(HTMLParser):
    """A page, checked for balance while it is read."""

    VOID: Final = {"meta", "input", "br", "path", "rect"}

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def all(self, tag: str, style: str = "") -> list[dict[str, str]]:
        wanted = set(style.split())
        return [
            attrs
            for name, attrs in self.tags
            if name == tag and wanted <= set(attrs.get("class", "").split())
        ]

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The data of the figures, as the script gets them."""
        found = (json.loads(text) for tag, text in self.texts if tag == "script" and text[0] == "{")
        return [data for data in found if "title" in data]

    @property
    def titles(self) -> list[str]:
        return [data["title"] for data in self.figures]

    @property
    def legends(self) -> set[str]:
        """What the legends of all figures say."""
        said = {line["name"] for data in self.figures for line in data.get("series", ())}
        for data in self.figures:
            said |= {data[key]["words"] for key in ("limit", "during") if data.get(key)}
            said |= {data["bands_words"]} if data.get("bands") else set()
        return said - {""}

    def marks(self, kind: str) -> int:
        """How many marks of a kind there are."""
        marks = (mark for data in self.figures for mark in data.get("marks", ()))
        return sum(mark[1] == kind for mark in marks)

    def text(self, *tags: str) -> str:
        return " ".join(data for tag, data in self.texts if tag in tags)


def read(path: Path) -> Page:
    return Page(write_report(path).read_text(encoding="utf-8"))


EVIL: Final = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&${title}$title"


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
