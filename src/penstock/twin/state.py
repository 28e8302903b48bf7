"""All that the simulation knows at one moment, as records that compiled code changes in place.

A row is an index into `rows`. It is free, or stands in a lane, or is served: a lane is a linked
list, and the rows that a station serves are a heap, both threaded through the rows themselves.
Stations are numbered so that each comes after those that feed it.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.extras import require
from penstock.core.graph import FlowGraph, Module
from penstock.core.regions import Infrastructure
from penstock.core.settings import near
from penstock.model.scalability import scalability, slowdown
from penstock.twin.keys.state import ENTRY, KEY, KEYED, REPLICA, TAG, VISIT
from penstock.twin.keys.state import equip as equip_keys
from penstock.twin.keys.state import settle as settle_keys
from penstock.twin.keys.tables import RoutingTables
from penstock.twin.observing import BUCKETS, TOTALS
from penstock.twin.records import (
    BATCH,
    CHANCE,
    INDEX,
    LANE,
    NO_INDEX,
    POOL,
    Array,
    check_room,
    equip_batch,
    grown,
    longer,
)
from penstock.twin.sources import LAWS, MOST_NORMAL_CV, clipped_mean, law_of

CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("source", INDEX),
        ("cursor", "i8"),  # next of the arrivals in hand
        ("free", INDEX),  # first row that is free
        ("spare", "i8"),  # rows that are free
        ("reserve", "i8"),  # rows that one event may need
        ("blocked", "i8"),  # rows that are blocked anywhere
        ("services", "i8"),  # begun since the start
        ("visits", POOL),
        ("written", "i8"),  # rows in the journal
    ]
)

STATION: Final = np.dtype(
    [
        ("index", INDEX),
        ("mean", "f8"),  # seconds that the next row takes, at the degree in force
        ("pace", "f8"),  # seconds for each of those, by the clock and by interference
        ("cv", "f8"),
        ("law", "i8"),  # how service times scatter
        ("unit", "f8"),  # what a draw of that law is divided by, to have the mean 1
        ("buffer", "f8"),
        ("whole", "i8"),  # output rows for each row: so many,
        ("fraction", "f8"),  # and one more with this probability
        ("first_way", "i8"),
        ("last_way", "i8"),  # exclusive
        ("far", "i8"),  # whether a way takes time
        ("coming", "i8"),  # rows on their way here
        ("service_chance", CHANCE),
        ("way_chance", CHANCE),
        ("due", "f8"),  # when something next happens here
        ("since", "f8"),  # the totals cover the time until then
        ("servers", "i8"),  # all that exist, those that leave after their row included
        ("leaving", "i8"),
        ("busy", "i8"),
        ("holding", "i8"),  # servers that are blocked
        ("first_done", INDEX),  # root of the heap of rows that are served
        ("waiting", LANE),  # rows in the buffer
        ("blocked", LANE),  # rows of other stations that found the buffer full, in that order
        ("taken", LANE),  # rows of the open micro-batch that no server has taken yet
        ("results", LANE),  # rows of the open micro-batch that are done, to be released with it
        ("batch", BATCH),
        ("closed_busy", "f8"),  # busy and all server-seconds when the last micro-batch ended
        ("closed_servers", "f8"),
        ("keyed", KEYED),
        ("totals", TOTALS),
        ("youngest", "i8"),  # first bucket of `ages` with rows of this step
        ("oldest", "i8"),  # and the last
    ]
)

WAY: Final = np.dtype(
    [
        ("target", INDEX),
        ("share", "f8"),  # of this way and those before it
        ("delay", "f8"),
        ("transit", LANE),  # rows that will enter the target
    ]
)

ROW: Final = np.dtype(
    [
        ("created", "f8"),
        ("entered", "f8"),  # of a row in transit, when it will enter
        ("service", "f8"),
        ("done", "f8"),
        ("order", "i8"),  # services begun before this one; with keys, the replica
        ("next", INDEX),  # in its lane; while it is served, the left child in the heap
        ("right", INDEX),
        ("left", "i4"),  # output rows not yet placed
        ("way", INDEX),  # that the next of them takes
        ("home", INDEX),  # station that the row is at
    ],
    align=True,
)


class State(NamedTuple):
    """The arrays; compiled code takes them as one."""

    clock: Array
    """One record."""
    stations: Array
    ways: Array
    """From each station to the next ones, station after station."""
    rows: Array
    ages: NDArray[np.float64]
    """By station and bucket, how many rows left in this step, and the seconds of their latency."""
    tags: Array
    """By row, what belongs to its key; empty where no station has keys."""
    replicas: Array
    """Of stations with keys, one station after the other, like the next."""
    keys: Array
    visits: Array
    journal: Array
    """Rows that were done in this step, up to `clock.written`; empty where none is kept."""


def row_time(module: Module, replicas: int) -> float:
    """Mean seconds that a row takes at one of so many replicas.

    Together they have a result every `service_time * share` seconds, so each takes `replicas`
    times as long.

    >>> row_time(Module(name="match", service_time=2.0), 8)
    2.0
    >>> row_time(Module(name="match", service_time=2.0, scaling="saturating", best_replicas=4), 8)
    4.0
    """
    return slowdown(scalability(module), replicas) * module.service_time


def resize(station: Any, module: Module, running: int) -> None:
    """Let so many servers take rows: idle ones leave at once, others when they are rid of theirs.

    Rows that are begun from now on take as long as they do at this degree.
    """
    change = running - int(station["servers"] - station["leaving"])
    if change == 0:
        return
    if change > 0:
        station["servers"] += change
    else:
        idle = min(-change, station["servers"] - station["busy"] - station["holding"])
        station["servers"] -= idle
        station["leaving"] += -change - idle
    station["mean"] = row_time(module, running)


# The state at time zero, made from a flow graph, and room for more when it runs short.


MOST_ROWS: Final = 1 << 26
"""Rows that the pipeline may hold at once: four gigabytes of them."""

Tables = Mapping[str, RoutingTables]


def build(
    graph: FlowGraph,
    seed: np.random.SeedSequence,
    law: str,
    *,
    places: Infrastructure | None = None,
    tables: Tables | None = None,
    journal: bool = False,
) -> State:
    """No row anywhere, and the initial replicas at work; the law is that of service times."""
    names, size, tables = graph.order(), len(graph.modules), tables or {}
    keys = sum(len(table.names) for table in tables.values())
    state = State(
        clock=np.zeros(1, CLOCK),
        stations=np.zeros(size, STATION),
        ways=np.zeros(len(graph.streams), WAY),
        rows=np.zeros(0, ROW),
        ages=np.zeros((size, BUCKETS, 2)),
        tags=np.zeros(0, TAG),
        replicas=np.zeros(sum(graph[name].max_replicas for name in tables), REPLICA),
        keys=np.zeros(keys, KEY),
        visits=np.zeros(keys, VISIT),
        journal=np.zeros(1024 * journal, ENTRY),
    )
    # A lone module with keys has always drawn from the seed itself: recorded runs repeat.
    children = [seed] if size == len(tables) == 1 else seed.spawn(size)
    for station, name, child in zip(state.stations, names, children, strict=True):
        _equip(station, graph[name], child, keyed=name in tables)
        _scatter(station, graph[name].service_cv, law)
    state.stations["index"], state.stations["youngest"] = np.arange(size), BUCKETS
    _connect(state, graph, names, places)
    _add_keys(state, graph, names, tables)
    state.clock["source"] = names.index(graph.source)
    state.clock["free"] = state.clock["visits"]["free"] = NO_INDEX
    state.clock["reserve"] = state.stations["whole"].max() + 2
    return more_rows(state)


def more_rows(state: State, wanted: int = 0) -> State:
    """The same state with room for as many more rows, and for twice as many as it had."""
    clock, old = state.clock[0], len(state.rows)
    size = max(2 * old, old + wanted, 1024, 2 * clock["reserve"])
    remedy = "let the modules have more replicas"
    check_room(size, MOST_ROWS, "rows are in the pipeline", clock["now"], remedy)
    tags = longer(state.tags, size) if len(state.keys) else state.tags
    return state._replace(rows=grown(state.rows, size, clock), tags=tags)


def more_visits(state: State, wanted: int) -> State:
    """The same state with room for as many visits, and twice as many as it had."""
    old = len(state.visits)
    size = max(2 * old, old + wanted)
    return state._replace(visits=grown(state.visits, size, state.clock[0]["visits"]))


def more_journal(state: State) -> State:
    """The same state with a journal twice as long."""
    return state._replace(journal=longer(state.journal, 2 * len(state.journal)))


def _equip(station: Any, module: Module, seed: np.random.SeedSequence, *, keyed: bool) -> None:
    station["mean"] = row_time(module, module.initial_replicas)
    station["totals"]["nominal"] = station["mean"]
    station["pace"] = 1.0
    station["buffer"] = module.buffer
    equip_batch(station["batch"], module)
    draws = seed.generate_state(2 + keyed, np.uint64)
    station["service_chance"], station["way_chance"] = draws[0], draws[-1]
    station["keyed"]["key_chance"] = draws[1]
    station["servers"] = module.initial_replicas
    station["first_done"] = NO_INDEX


def _scatter(station: Any, cv: float, law: str) -> None:
    station["cv"], station["law"] = cv, law_of(cv, law)
    station["unit"] = clipped_mean(cv) if law == "normal" or cv == 0 else 1.0 / cv**2


def _connect(
    state: State, graph: FlowGraph, names: tuple[str, ...], places: Infrastructure | None
) -> None:
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
            way = state.ways[position]
            way["target"], way["share"] = numbers[stream.target], share
            way["delay"] = _delay(graph, places, name, stream.target)
            station["far"] |= way["delay"] > 0
            position += 1


def _delay(graph: FlowGraph, places: Infrastructure | None, origin: str, target: str) -> float:
    if places is None:
        return 0.0
    return places.delay(str(graph[origin].region), str(graph[target].region))


def _add_keys(state: State, graph: FlowGraph, names: tuple[str, ...], tables: Tables) -> None:
    first_key = first_replica = 0
    for name, table in tables.items():
        station, count = state.stations[names.index(name)], len(table.names)
        mine = slice(first_key, first_key + count)
        equip_keys(station, state.keys[mine], table.means, table.weights, first_key)
        settle_keys(state.visits[mine], table.owners(table.in_force) + first_replica, first_key)
        station["totals"]["nominal"] = graph[name].service_time
        keyed = station["keyed"]
        keyed["protocol"], keyed["first_replica"] = table.protocol, first_replica
        keyed["migration_time"] = table.settings.migration_time
        keyed["hand_out_time"] = table.settings.hand_out_time
        keyed["active"] = keyed["span"] = graph[name].initial_replicas
        first_key, first_replica = first_key + count, first_replica + graph[name].max_replicas


# What the twin cannot simulate, refused before it starts.


# Beyond these the draws lose their precision, or time stands still.
_LONGEST_SERVICE: Final = 1e9
_LOWEST_CV: Final = 1e-4
_HIGHEST_CV: Final = {"gamma": 1e2, "normal": MOST_NORMAL_CV}
_SHORTEST_TRIGGER: Final = 1e-6
_MOST_VISITS: Final = 1e10
"""Rows at all modules together; a core simulates some five million of them a second."""


def check_settings(graph: FlowGraph, step: float, duration: float, seed: int, service: str) -> None:
    """Refuse times without an end, and modules whose draws would be wrong."""
    require("twin", "simulating", "numba")
    for name, value in (("step", step), ("duration", duration)):
        if not 0 < value < inf:
            raise SettingError(f"{name} of the twin must be above 0 and finite, got {value}")
    if seed < 0:
        raise SettingError(f"seed of the twin must not be negative, got {seed}")
    if service not in LAWS:
        raise SettingError(f"there is no law of service times {service!r}{near(service, LAWS)}")
    for module in graph.modules:
        _check_setting(module, "service_time", 0.0, _LONGEST_SERVICE)
        _check_setting(module, "service_cv", _LOWEST_CV, _HIGHEST_CV[service])
        _check_setting(module, "trigger", _SHORTEST_TRIGGER, inf)


def check_size(graph: FlowGraph, rows: float, duration: float) -> None:
    """Refuse a run that would compute for hours."""
    visits = rows * sum(graph.visits().values())
    if visits > _MOST_VISITS:
        raise SettingError(
            f"the workload brings {rows:.3g} rows in {duration:g} s, {visits:.3g} at all modules "
            f"together, and the twin simulates at most {_MOST_VISITS:g}; lower the rate or the "
            "duration"
        )


def _check_setting(module: Module, name: str, low: float, high: float) -> None:
    value = getattr(module, name)
    if value != 0 and not low <= value <= high:
        raise SettingError(
            f"{name} of module {module.name} must be 0 or from {low:g} to {high:g} on the twin, "
            f"got {value:g}"
        )
