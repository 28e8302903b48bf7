"""Executors that all queries share: Spark's scheduler gives them tasks, by shares that we decide.

An executor is never idle while any query has a task for it, and another division takes effect with
the next task: no executor has to leave or to come.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.plant.spark.actuator import Lane
from penstock.plant.spark.backend import DEFAULT_PROFILE, Backend, Executor

EVERYONE: Final = "everyone"
"""Whose executors they are."""
PARTS: Final = 2
"""Parts of a batch for each core. A core changes hands only when a task ends, so tasks are short;
and a module can use cores that others leave over."""


@dataclass(slots=True)
class Pool:
    """So many executors, from the beginning to the end, divided by shares or not."""

    backend: Backend
    lanes: Mapping[str, Lane]
    size: int
    divided: bool = False
    """Whether modules have shares, each in a scheduler pool of its own name; else it is Spark's own
    scheduler that divides."""
    on_growth: Callable[[], None] = lambda: None
    wanted: dict[str, int] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    asked_at: float | None = None
    """When the cluster was asked for them, in seconds since the epoch."""

    def open(self) -> None:
        """Ask for the executors."""
        self.asked_at = time.time()
        self.backend.request({DEFAULT_PROFILE: self.size})
        self.on_growth()

    def expected(self) -> dict[str, int]:
        """Executors that there should be."""
        return {EVERYONE: self.size}

    def want(self, degrees: Mapping[str, int]) -> None:
        """Set the cores that modules should have of those that all share."""
        if not self.divided:
            return
        for module, cores in degrees.items():
            if self.wanted.get(module) != cores:
                self.backend.set_share(module, cores)
                self.wanted[module] = cores
        self.requested = dict(self.wanted)

    def settle(self, executors: Iterable[Executor]) -> None:
        """Tell the sources in how many parts to read a batch: by the cores that a module has, or
        would have if all were given the same."""
        there = len(self.running(executors)[EVERYONE]) / self.size
        alike = self.size / len(self.lanes)
        for module, lane in self.lanes.items():
            cores = max(round(there * self.wanted.get(module, alike)), 1)
            lane.hint.write_text(str(PARTS * cores))

    def batch_ended(self, module: str) -> None:
        """A batch has ended, after which nobody has to leave."""

    def members(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that are there."""
        return {EVERYONE: [executor for executor in executors if executor.active]}

    def running(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that have proved that they can take tasks."""
        members = self.members(executors)
        return {who: [e for e in crew if e.is_warm] for who, crew in members.items()}
