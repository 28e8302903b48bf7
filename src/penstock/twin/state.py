"""All that the simulation knows at one moment, as records that compiled code changes in place.

A row is an index into `rows`. It is free, or stands in a lane, or is served: a lane is a linked
list, and the rows that a station serves are a heap, both threaded through the rows themselves.
Stations are numbered so that each comes after those that feed it.
"""

from math import inf, log1p, sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import PlantError, SettingError
from penstock.core.extras import require
from penstock.core.graph import FlowGraph, Module
from penstock.core.settings import near
from penstock.model.scalability import scalability, slowdown
from penstock.twin.observing import BUCKETS, TOTALS
from penstock.twin.sources import LAWS, MOST_NORMAL_CV, clipped_mean, law_of

NOBODY: Final = -1
"""No row, or no station."""

IDLE: Final = 0
"""No micro-batch is open; the station's next moment is the trigger."""
OPEN: Final = 1
"""A micro-batch is being served or released."""

Array = np.ndarray[Any, Any]


CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("source", "i8"),
        ("cursor", "i8"),  # next of the arrivals in hand
        ("free", "i8"),  # first row that is free
        ("spare", "i8"),  # rows that are free
        ("reserve", "i8"),  # rows that one event may need
        ("blocked", "i8"),  # rows that are blocked anywhere
        ("services", "i8"),  # begun so far
    ]
)

CHANCE: Final = np.dtype([("state", "u8")])  # where a stream of random numbers stands

LANE: Final = np.dtype([("first", "i8"), ("last", "i8"), ("count", "i8")])

STATION: Final = np.dtype(
    [
        ("index", "i8"),
        ("mean", "f8"),  # seconds that the next row takes, at the degree in force
        ("cv", "f8"),
        ("law", "i8"),  # how service times scatter
        ("unit", "f8"),  # what a draw of that law is divided by, to have the mean 1
        ("buffer", "f8"),
        ("share", "f8"),  # rows that one server takes on in a micro-batch, at most
        ("trigger", "f8"),
        ("overhead", "f8"),
        ("task_overhead", "f8"),
        ("overhead_sigma", "f8"),  # of the logarithm of both
        ("warm_up", "f8"),
        ("crew", "i8"),  # servers that have taken part in a micro-batch
        ("fresh", "i8"),  # whether the open micro-batch is the first of some server
        ("whole", "i8"),  # output rows for each row: so many,
        ("fraction", "f8"),  # and one more with this probability
        ("first_way", "i8"),
        ("last_way", "i8"),  # exclusive
        ("service_chance", CHANCE),
        ("way_chance", CHANCE),
        ("due", "f8"),  # when something next happens here
        ("since", "f8"),  # the totals cover the time until then
        ("servers", "i8"),  # all that exist, those that leave after their row included
        ("leaving", "i8"),
        ("busy", "i8"),
        ("holding", "i8"),  # servers that are blocked
        ("first_done", "i8"),  # root of the heap of rows that are served
        ("waiting", LANE),  # rows in the buffer
        ("blocked", LANE),  # rows of other stations that found the buffer full, in that order
        ("taken", LANE),  # rows of the open micro-batch that no server has taken yet
        ("results", LANE),  # rows of the open micro-batch that are done, to be released with it
        ("phase", "i8"),
        ("moment", "f8"),  # when the micro-batch next does something
        ("tick", "i8"),  # number of the next trigger
        ("opened", "f8"),
        ("closed_busy", "f8"),  # busy and all server-seconds when the last micro-batch ended
        ("closed_servers", "f8"),
        ("unfinished", "i8"),  # rows of the open micro-batch that are not done
        ("totals", TOTALS),
    ]
)

WAY: Final = np.dtype([("target", "i8"), ("share", "f8")])  # share: of this way and those before it

ROW: Final = np.dtype(
    [
        ("created", "f8"),
        ("entered", "f8"),
        ("service", "f8"),
        ("done", "f8"),
        ("order", "i8"),  # services begun before this one
        ("next", "i8"),  # in its lane; while it is served, the left child in the heap
        ("right", "i8"),
        ("left", "i8"),  # output rows not yet placed
        ("way", "i8"),  # station that the next of them goes to
        ("home", "i8"),  # station that the row is at
    ]
)


class State(NamedTuple):
    """The arrays, in the order in which compiled code takes them."""

    clock: Array
    """One record."""
    stations: Array
    ways: Array
    """From each station to the next ones, station after station."""
    rows: Array
    ages: NDArray[np.float64]
    """By station and bucket, how many rows left in this step, and the seconds of their latency."""


# Servers asked for and sent away, as a cluster would do it.


class Fleet:
    """How many servers each station has asked for, and when those that are starting are ready."""

    def __init__(self, modules: list[Module]) -> None:
        self._modules = modules
        """In the order of the stations."""
        self._starting: list[list[float]] = [[] for _ in modules]

    def running(self, stations: Array) -> list[int]:
        """Servers that can take rows now, by station; those that leave after their row cannot."""
        counts: list[int] = (stations["servers"] - stations["leaving"]).tolist()
        return counts

    def requested(self, stations: Array) -> list[int]:
        """Servers that each station will have when all have started or left."""
        running = self.running(stations)
        return [n + len(starting) for n, starting in zip(running, self._starting, strict=True)]

    def resize(self, stations: Array, m: int, degree: int, now: float) -> None:
        """Ask for a number of servers; those that have not started yet are cancelled first."""
        starting, change = self._starting[m], degree - self.requested(stations)[m]
        if change > 0:
            starting.extend([now + self._modules[m].start_up] * change)
        else:
            cancelled = min(-change, len(starting))
            del starting[len(starting) - cancelled :]
            _send_away(stations[m], -change - cancelled)
            self._set_pace(stations, m)

    def next_ready(self) -> float:
        """When the next server will be ready."""
        return min((starting[0] for starting in self._starting if starting), default=inf)

    def start_ready(self, stations: Array, now: float) -> None:
        """Put the servers to work that are ready by now."""
        for m, starting in enumerate(self._starting):
            while starting and starting[0] <= now:
                starting.pop(0)
                stations["servers"][m] += 1
                self._set_pace(stations, m)

    def _set_pace(self, stations: Array, m: int) -> None:
        """Rows that are begun from now on take as long as they do at this degree."""
        stations["mean"][m] = row_time(self._modules[m], self.running(stations)[m])


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


def _send_away(station: Any, count: int) -> None:
    """Idle servers leave at once, busy and blocked ones when they are rid of their row."""
    idle = min(count, station["servers"] - station["busy"] - station["holding"])
    station["servers"] -= idle
    station["leaving"] += count - idle


# The state at time zero, made from a flow graph, and room for more rows when it runs short.


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
