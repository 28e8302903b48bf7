"""Flow graphs to play on: the paper's, chains, and any that chance makes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.model import FlowModel

SERVICE = FlowGraph(
    source="dispatcher",
    modules=(
        Module(name="dispatcher", service_time=0.1, max_replicas=1, price=0.00483, delay_cost=0.5),
        Module(name="denoiser-1", service_time=2.48, max_replicas=8, price=0.00483, delay_cost=0.5),
        Module(name="denoiser-2", service_time=3.66, max_replicas=8, price=0.00483, delay_cost=0.5),
        Module(
            name="edge-detector", service_time=7.8, max_replicas=32, price=0.0177, delay_cost=0.5
        ),
        Module(
            name="recognizer", service_time=14.44, max_replicas=32, price=0.0177, delay_cost=0.5
        ),
    ),
    streams=(
        Stream(origin="dispatcher", target="denoiser-1", probability=0.5),
        Stream(origin="dispatcher", target="denoiser-2", probability=0.5),
        Stream(origin="denoiser-1", target="edge-detector"),
        Stream(origin="denoiser-2", target="edge-detector"),
        Stream(origin="edge-detector", target="recognizer"),
    ),
)
"""Game, Fig. 10 and Tab. III."""

KINDS = ("ideal", "saturating", "minimum", "measured")


def chain(times: Sequence[float], **settings: Any) -> FlowGraph:
    """Modules one after the other, with these service times."""
    common: dict[str, Any] = {"price": 0.01, "delay_cost": 0.5, "max_replicas": 50, **settings}
    modules = [Module(name=f"m{i}", service_time=t, **common) for i, t in enumerate(times)]
    streams = tuple(Stream(origin=a.name, target=b.name) for a, b in pairwise(modules))
    return FlowGraph(source="m0", modules=tuple(modules), streams=streams)


def random_graph(seed: int, size: int, kinds: Sequence[str] = KINDS, reach: int = 10) -> FlowGraph:
    """An acyclic graph with one source; streams come from at most `reach` modules before."""
    draw = np.random.default_rng(seed)
    modules = tuple(_module(draw, f"m{i}", str(draw.choice(kinds))) for i in range(size))
    ways: list[list[int]] = [[] for _ in range(size)]
    for target in range(1, size):
        several = int(draw.integers(1, 4))
        for origin in set(draw.integers(max(target - reach, 0), target, several).tolist()):
            ways[origin].append(target)
    streams: list[Stream] = []
    for origin, targets in enumerate(ways):
        weights = draw.uniform(0.1, 1.0, len(targets))
        streams += [
            Stream(origin=f"m{origin}", target=f"m{target}", probability=float(share))
            for target, share in zip(targets, weights / weights.sum(), strict=True)
        ]
    return FlowGraph(source="m0", modules=modules, streams=tuple(streams))


def _module(draw: np.random.Generator, name: str, scaling: str) -> Module:
    module = Module(
        name=name,
        service_time=float(10 ** draw.uniform(-2, 1.5)),
        max_replicas=int(draw.integers(1, 60)),
        price=float(10 ** draw.uniform(-3, -1)),
        delay_cost=float(10 ** draw.uniform(-1, 1)),
    )
    if scaling in ("saturating", "minimum"):
        return replace(module, scaling=scaling, best_replicas=float(draw.uniform(1, 30)))
    return (
        replace(module, scaling=scaling, speedup=_speedup(draw))
        if scaling == "measured"
        else module
    )


def _speedup(draw: np.random.Generator) -> tuple[float, ...]:
    """Of up to 12 replicas, each bringing less than the one before."""
    falls = 0.9 * draw.uniform(0.3, 0.9) ** np.arange(1, int(draw.integers(2, 13)))
    shares = 1.0 - np.concatenate([[0.0], np.cumsum(falls / max(falls.sum(), 1.0) * 0.9)])
    return tuple((1.0 / shares).tolist())


@st.composite
def models(draw: st.DrawFn, kinds: Sequence[str] = KINDS, most: int = 30) -> FlowModel:
    """Any graph of up to so many modules, with or without rows from outside setting the pace."""
    graph = random_graph(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(1, most)),
        draw(st.sampled_from([kinds, kinds[:1]])),
        draw(st.integers(1, most)),
    )
    return FlowModel.of(graph, inter_arrival=draw(st.sampled_from([0.0, 0.01, 0.2, 3.0])))
