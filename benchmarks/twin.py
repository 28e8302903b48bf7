"""How fast the twin is: row-events a second of one core's time, beside plain Python.

A row-event is one row served at one station. Run with `python -m benchmarks.twin`.
"""

import random
import time
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from statistics import median
from typing import Any, NamedTuple

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.twin import Twin
from penstock.workload import Constant

REPEATS = 7
STATIONS = (("one server, 80 % busy", 1), ("eight servers, 80 % busy", 8))
LOAD = 0.8
TWIN_ROWS, PLAIN_ROWS = 1_000_000, 100_000
RATE = 600.0
HOUR = 3600.0

WORDCOUNT = FlowGraph(
    source="splitter",
    modules=(
        Module(name="splitter", service_time=1 / 330, service_cv=1.0, initial_replicas=3),
        Module(name="filter", service_time=1 / 2000, service_cv=1.0, initial_replicas=2),
        Module(name="counter", service_time=1 / 1000, service_cv=1.0, initial_replicas=2),
        Module(name="consumer", service_time=1 / 1000, service_cv=1.0, initial_replicas=2),
    ),
    streams=(
        Stream(origin="splitter", target="filter", selectivity=5.0),
        Stream(origin="filter", target="counter", selectivity=0.4),
        Stream(origin="counter", target="consumer"),
    ),
)
"""Inputs of the four modules for each row of the source: 1, 5, 2 and 2."""


class Run(NamedTuple):
    """What one run took, and the mean waiting time that it found."""

    row_events: int
    seconds: float
    waiting_time: float

    @property
    def speed(self) -> float:
        """Row-events a second."""
        return self.row_events / self.seconds


def on_twin(servers: int, rows: int, seed: int) -> Run:
    """Simulate a station with exponential gaps and service times of a second on the twin."""
    module = Module(
        name="only", service_time=1.0, service_cv=1.0, initial_replicas=servers, max_replicas=99
    )
    rate = LOAD * servers
    graph = FlowGraph(source="only", modules=(module,))
    duration = rows / rate
    start = time.process_time()
    twin = Twin(graph, Constant(rate), step=duration / 100, duration=duration, seed=seed)
    for _ in twin.readings():
        pass
    seconds, totals = time.process_time() - start, twin.totals()["only"]
    return Run(totals.served, seconds, totals.waiting_time or 0.0)


def in_python(servers: int, rows: int, seed: int) -> Run:
    """Simulate the same station as people write it by hand: a heap of events and a queue."""
    draw = random.Random(seed)
    rate = LOAD * servers
    start = time.process_time()
    events: list[tuple[float, bool]] = [(draw.expovariate(rate), True)]
    waiting: deque[float] = deque()
    busy = served = 0
    waited = 0.0
    while served < rows:
        now, arrival = heappop(events)
        if arrival:
            waiting.append(now)
            heappush(events, (now + draw.expovariate(rate), True))
        else:
            busy -= 1
            served += 1
        if waiting and busy < servers:
            waited += now - waiting.popleft()
            busy += 1
            heappush(events, (now + draw.expovariate(1.0), False))
    return Run(served, time.process_time() - start, waited / served)


def wordcount_hour(step: float, seed: int) -> Run:
    """Simulate an hour of the word count."""
    start = time.process_time()
    twin = Twin(WORDCOUNT, Constant(RATE), step=step, duration=HOUR, seed=seed)
    for _ in twin.readings():
        pass
    seconds, totals = time.process_time() - start, twin.totals()
    return Run(sum(t.served for t in totals.values()), seconds, 0.0)


def with_feature(name: str, seed: int, rows: int = 500_000) -> Run:
    """Simulate four servers, 60 % busy, row by row, in micro-batches, with keys, or with both."""
    given: dict[str, Any] = {"trigger": 10.0, "overhead": 1.0} if "micro-batches" in name else {}
    keys = 200 if "keys" in name else 0
    module = Module(
        name="only", service_time=1.0, service_cv=1.0, initial_replicas=4, keys=keys, **given
    )
    graph, rate = FlowGraph(source="only", modules=(module,)), 0.6 * 4
    twin = Twin(graph, Constant(rate), step=rows / rate / 100, duration=rows / rate, seed=seed)
    start = time.process_time()
    for _ in twin.readings():
        pass
    return Run(twin.totals()["only"].served, time.process_time() - start, 0.0)


def print_features() -> None:
    """What each feature costs beside plain stations, in one run and mixed order."""
    names = ("row by row", "micro-batches", "keys", "keys in micro-batches")
    runs = {name: [with_feature(name, 0, 1000)][:0] for name in names}
    for seed in range(REPEATS):
        for name in names[seed % 4 :] + names[: seed % 4]:
            runs[name].append(with_feature(name, seed))
    plain = median(run.speed for run in runs[names[0]])
    for name, made in runs.items():
        speed = median(run.speed for run in made)
        print(f"{name:<26}{speed / 1e6:>8.2f} million a second, {speed / plain:.2f} of row by row")


def repeat(run: Callable[[int], Run], times: int = REPEATS) -> list[Run]:
    """The same run with several seeds, the slowest first."""
    return sorted((run(seed) for seed in range(times)), key=lambda run: run.speed)


def print_station(name: str, servers: int) -> None:
    """One line for the twin, one for plain Python, and how they compare."""
    twin = repeat(lambda seed: on_twin(servers, TWIN_ROWS, seed))
    plain = repeat(lambda seed: in_python(servers, PLAIN_ROWS, seed))
    for what, runs in (("twin", twin), ("plain Python", plain)):
        low, middle, high = runs[0].speed, median(run.speed for run in runs), runs[-1].speed
        waiting = sum(run.waiting_time for run in runs) / len(runs)
        print(
            f"{name:<26}{what:<14}{low / 1e6:>8.2f}{middle / 1e6:>9.2f}{high / 1e6:>8.2f}"
            f"{waiting:>11.3f}"
        )
    ratio = median(run.speed for run in twin) / median(run.speed for run in plain)
    print(f"{'':<26}{'ratio':<14}{'':>8}{ratio:>8.1f}x")


def print_hour(step: float) -> None:
    """How long one simulated hour takes."""
    runs = repeat(lambda seed: wordcount_hour(step, seed), times=3)
    seconds = median(run.seconds for run in runs)
    print(
        f"an hour at {RATE:g} rows/s, control step {step:>2g} s: {seconds:.2f} s "
        f"({runs[0].row_events / 1e6:.1f} million row-events, "
        f"{median(run.speed for run in runs) / 1e6:.1f} million a second)"
    )


def main() -> None:
    """Print the table."""
    on_twin(1, 1000, 0)  # compiles, or loads what was compiled before
    print(f"million row-events a second of CPU time, {REPEATS} repeats")
    print(f"{'station':<26}{'':<14}{'low':>8}{'median':>9}{'high':>8}{'waiting s':>11}")
    for name, servers in STATIONS:
        print_station(name, servers)
    print("\nfour servers, 60 % busy")
    print_features()
    print("\nword count: splitter, filter, counter, consumer")
    for step in (60.0, 5.0, 1.0):
        print_hour(step)


if __name__ == "__main__":
    main()
