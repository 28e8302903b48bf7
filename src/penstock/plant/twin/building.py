"""The state at time zero, made from a flow graph, and room for more rows when it runs short."""

from math import inf, log1p, sqrt
from typing import Any, Final

import numpy as np

from penstock.core.errors import PlantError
from penstock.core.graph import FlowGraph, Module
from penstock.plant.twin.buckets import BUCKETS
from penstock.plant.twin.laws import clipped_mean, law_of
from penstock.plant.twin.scaling import row_time
from penstock.plant.twin.state import CLOCK, NOBODY, ROW, STATION, WAY, State

MOST_ROWS: Final = 1 << 26
"""Rows that the pipeline may hold at once: five gigabytes of them."""


def build(graph: FlowGraph, seed: np.random.SeedSequence, law: str) -> State:
    """No row anywhere, and the initial replicas at work; the law is that of service times."""
    names, size = graph.order(), len(graph.modules)
    state = State(
        clock=np.zeros(1, CLOCK),
        stations=np.zeros(size, STATION),
        ways=np.zeros(len(graph.streams), WAY),
        rows=np.zeros(0, ROW),
        ages=np.zeros((size, BUCKETS, 2)),
    )
    for station, name, child in zip(state.stations, names, seed.spawn(size), strict=True):
        _equip(station, graph[name], child)
        _scatter(station, graph[name].service_cv, law)
    state.stations["index"] = np.arange(size)
    _connect(state, graph, names)
    state.clock["source"] = names.index(graph.source)
    state.clock["free"] = NOBODY
    state.clock["reserve"] = state.stations["whole"].max() + 2
    return more_rows(state)


def more_rows(state: State) -> State:
    """The same state with room for twice as many rows."""
    clock, old = state.clock[0], len(state.rows)
    size = max(2 * old, 1024, 2 * clock["reserve"])
    if size > MOST_ROWS:
        raise PlantError(
            f"more than {old} rows are in the pipeline after {clock['now']:g} s, and the twin "
            f"holds at most {MOST_ROWS}; lower the rate, or let the modules have more replicas"
        )
    rows = np.zeros(size, ROW)
    rows[:old] = state.rows
    rows["next"][old:] = np.arange(old + 1, size + 1)
    rows["next"][-1] = clock["free"]
    clock["free"] = old
    clock["spare"] += size - old
    return state._replace(rows=rows)


def _equip(station: Any, module: Module, seed: np.random.SeedSequence) -> None:
    station["mean"] = row_time(module, module.initial_replicas)
    station["totals"]["nominal"] = station["mean"]
    station["buffer"] = module.buffer
    station["share"] = module.rows_a_batch
    station["trigger"] = module.trigger
    station["overhead"] = module.overhead
    station["task_overhead"] = module.task_overhead
    station["warm_up"], station["crew"] = module.warm_up, module.initial_replicas
    station["overhead_sigma"] = sqrt(log1p(module.overhead_cv**2))
    station["service_chance"], station["way_chance"] = seed.generate_state(2, np.uint64)
    station["servers"] = module.initial_replicas
    station["first_done"] = NOBODY
    station["tick"] = 1
    station["moment"] = module.trigger if module.trigger > 0 else inf


def _scatter(station: Any, cv: float, law: str) -> None:
    station["cv"], station["law"] = cv, law_of(cv, law)
    station["unit"] = clipped_mean(cv) if law == "normal" or cv == 0 else 1.0 / cv**2


def _connect(state: State, graph: FlowGraph, names: tuple[str, ...]) -> None:
    """Write down where each station's output rows go.

    Streams of one module may differ in selectivity. What counts is how many rows a stream carries
    for each input row, `selectivity * probability`: their sum is the number of output rows, and
    each row takes a way in proportion to it.
    """
    position, numbers = 0, {name: m for m, name in enumerate(names)}
    for station, name in zip(state.stations, names, strict=True):
        streams = graph.outputs(name)
        flows = np.array([stream.selectivity * stream.probability for stream in streams])
        total = round(float(flows.sum()), 12)  # three times 0.1 and 0.7 are meant to be 1
        station["whole"], station["fraction"] = int(total), total - int(total)
        station["first_way"], station["last_way"] = position, position + len(streams)
        for stream, share in zip(streams, np.cumsum(flows) / flows.sum(), strict=True):
            state.ways[position] = (numbers[stream.target], share)
            position += 1
