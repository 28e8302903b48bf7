"""Run folders for the tests of the dashboard: made-up ticks with gaps, and ways to write them."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from math import pi, sin
from pathlib import Path

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    Power,
    Tick,
)
from penstock.record import RunFolder, RunSettings, summarise, tick_to_json

GRAPH = FlowGraph(
    source="splitter",
    modules=(
        Module(name="splitter", service_time=0.003, max_replicas=4, price=0.01, delay_cost=0.5),
        Module(name="counter", service_time=0.0015, max_replicas=6, price=0.02),
    ),
    streams=(Stream(origin="splitter", target="counter", selectivity=2),),
)
EVERYWHERE = "0.0.0.0"  # noqa: S104  # tests reach it by loopback
TOKEN = "a-token-that-is-long-enough"  # noqa: S105  # for tests only
HOSTILE = '<script>document.title = "owned"</script><b>busy</b>'
"""A reason that is nothing but text."""


def settings(**other: object) -> RunSettings:
    given = {
        "pipeline": "wordcount",
        "plant": "twin",
        "started": datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        "graph": GRAPH,
        "policy": "threshold",
        "slo_latency_p95": 2.0,
        "file": {"pipeline": "wordcount"},
        **other,
    }
    return RunSettings(**given)  # type: ignore[arg-type]  # as a test gives them


def tick(index: int, why: str | None = None) -> Tick:
    """One of a run with a tide, gaps and a change every tenth step."""
    rate = 400 + 300 * sin(2 * pi * index / 60)
    gap, degree = index % 17 == 3, 1 + index // 10 % 3
    latency = None if index % 13 == 5 else Latency(p50=0.6, p95=0.8 + rate / 400, p99=3.0)
    before = 1 + (index - 1) // 10 % 3 if index else 1
    wanted = Configuration(degrees={"splitter": degree, "counter": 2})
    return Tick(
        seen=Observation(
            at=float(index + 1),
            step=1.0,
            modules={
                "splitter": ModuleReading(
                    arrival_rate=None if gap else rate,
                    processed_rate=0.0 if index % 11 == 0 else rate,
                    backlog=float(index % 7),
                    utilisation=0.5,
                    wanted=before,
                    requested=before,
                    running=None if gap or index == 0 else before,
                    failed_tasks=1 if index % 20 == 7 else None,
                ),
                "counter": ModuleReading(
                    arrival_rate=2 * rate, processed_rate=2 * rate, backlog=1.0, running=2
                ),
            },
            latency=latency,
            power=None if gap else Power(watts=20.0 + index % 5, modelled=index % 2 == 0),
        ),
        decided=Decision(
            configuration=wanted,
            why=why or f"{rate:.0f} rows/s at {degree}",
            expects={"arrival_rate:splitter": rate * 1.1},
        ),
        asked=wanted if degree != before else None,
    )


def ticks(count: int) -> list[Tick]:
    return [tick(index) for index in range(count)]


def finished(path: Path, run: Iterable[Tick], **other: object) -> Path:
    """A run that ended."""
    run, about = list(run), settings(**other)
    with RunFolder.create(path, about) as folder:
        for one in run:
            folder.write(one)
        folder.finish(
            summarise(run, about.slo_latency_p95, source=about.graph.source, graph=about.graph)
        )
    return path


def line(one: Tick) -> str:
    return json.dumps(tick_to_json(one)) + "\n"
