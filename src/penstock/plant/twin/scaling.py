"""Servers asked for and sent away, as a cluster would do it."""

from math import inf
from typing import Any

from penstock.core.graph import Module
from penstock.model.scalability import scalability, slowdown
from penstock.plant.twin.state import Array


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
