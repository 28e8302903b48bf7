"""Executors that all queries share, in the order that Spark's own scheduler gives them tasks."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.plant.spark.actuator import Lane, tell_source
from penstock.plant.spark.backend import DEFAULT_PROFILE, Backend, Executor

EVERYONE: Final = "everyone"
"""Whose executors they are."""


@dataclass(slots=True)
class Pool:
    """So many executors, from the beginning to the end: nothing here scales."""

    backend: Backend
    lanes: Mapping[str, Lane]
    size: int
    on_growth: Callable[[], None] = lambda: None
    wanted: dict[str, int] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    asked_at: float | None = None
    """When the cluster was asked for them, in seconds since the epoch."""

    def open(self) -> None:
        """Ask for the executors."""
        self.wanted = self.requested = {EVERYONE: self.size}
        self.asked_at = time.time()
        self.backend.request({DEFAULT_PROFILE: self.size})
        self.on_growth()

    def want(self, degrees: Mapping[str, int]) -> None:
        """No module has executors of its own, so there is nothing to want."""

    def settle(self, executors: Iterable[Executor]) -> None:
        """Tell the sources how many executors there are for a batch."""
        members = self.members(executors)[EVERYONE]
        for lane in self.lanes.values():
            tell_source(lane, members)

    def batch_ended(self, module: str) -> None:
        """A batch has ended, after which nobody has to leave."""

    def members(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that are there."""
        return {EVERYONE: [executor for executor in executors if executor.active]}

    def running(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that have proved that they can take tasks."""
        members = self.members(executors)
        return {who: [e for e in crew if e.is_warm] for who, crew in members.items()}
