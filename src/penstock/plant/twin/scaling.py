"""Servers asked for and sent away, as a cluster would do it."""

from math import inf
from typing import Any

from penstock.plant.twin.state import Array


class Fleet:
    """How many servers each station has asked for, and when those that are starting are ready."""

    def __init__(self, start_ups: list[float]) -> None:
        self._start_ups = start_ups
        self._starting: list[list[float]] = [[] for _ in start_ups]

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
            starting.extend([now + self._start_ups[m]] * change)
        else:
            cancelled = min(-change, len(starting))
            del starting[len(starting) - cancelled :]
            _send_away(stations[m], -change - cancelled)

    def next_ready(self) -> float:
        """When the next server will be ready."""
        return min((starting[0] for starting in self._starting if starting), default=inf)

    def start_ready(self, stations: Array, now: float) -> None:
        """Put the servers to work that are ready by now."""
        for m, starting in enumerate(self._starting):
            while starting and starting[0] <= now:
                starting.pop(0)
                stations["servers"][m] += 1


def _send_away(station: Any, count: int) -> None:
    """Idle servers leave at once, busy and blocked ones when they are rid of their row."""
    idle = min(count, station["servers"] - station["busy"] - station["holding"])
    station["servers"] -= idle
    station["leaving"] += count - idle
