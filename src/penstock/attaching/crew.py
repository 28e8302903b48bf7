"""The executors of an application, brought to the number that was decided.

Growing is a request to the cluster. Shrinking lets executors finish their tasks and leave where
Spark decommissions, and else removes such as have none; one that is busy stays until it has none.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.errors import ClusterError
from penstock.plant.spark.actuator import least_useful
from penstock.plant.spark.backend import DEFAULT_PROFILE, Executor


class Scheduler(Protocol):
    """Who is asked for executors."""

    def request(self, targets: dict[int, int], /) -> bool:
        """Ask for so many of each profile; False where nobody took it up."""
        ...

    def decommission(self, executors: Iterable[str], /) -> tuple[str, ...]:
        """Let executors finish their tasks and leave."""
        ...

    def executors(self) -> tuple[Executor, ...]:
        """All that there are or were."""
        ...


class Remover(Protocol):
    """Who removes executors that have no task."""

    def kill_idle(self, executors: Iterable[str], /) -> tuple[str, ...]:
        """Those that go."""
        ...


@dataclass(slots=True)
class Crew:
    """Holds what is wanted and what was asked for; None before anything was decided."""

    scheduler: Scheduler
    remover: Remover
    graceful: bool
    """Whether executors can be decommissioned."""
    wanted: int | None = None
    requested: int | None = None
    _leaving: set[str] = field(default_factory=set)

    def want(self, number: int) -> bool:
        """Bring the executors to a number; False where that was wanted before."""
        everyone = self.scheduler.executors()
        there = len(self.members(everyone))
        if number == (there if self.wanted is None else self.wanted):
            self.wanted = number if self.wanted is None else self.wanted
            return False
        if not self.scheduler.request({**self._others(everyone), DEFAULT_PROFILE: number}):
            raise ClusterError(f"the cluster did not take up a request for {number} executors")
        self.wanted = self.requested = number
        self.settle(everyone)
        return True

    def settle(self, everyone: Iterable[Executor]) -> int:
        """Let go of what is too much and can go now; returns how many have yet to."""
        members = self.members(everyone)
        surplus = 0 if self.requested is None else len(members) - self.requested
        if surplus <= 0:
            return 0
        idle = [e for e in members if not e.active_tasks]
        crowds = Counter(executor.node for executor in members)
        chosen = least_useful(members if self.graceful else idle, surplus, crowds)
        if not chosen:
            return surplus
        remove = self.scheduler.decommission if self.graceful else self.remover.kill_idle
        gone = remove(chosen)
        self._leaving.update(gone)
        return surplus - len(gone)

    def members(self, everyone: Iterable[Executor]) -> list[Executor]:
        """Of these executors, those of the default profile that are here to stay."""
        active = [executor for executor in everyone if executor.active]
        self._leaving &= {executor.id for executor in active}
        return [e for e in active if e.profile == DEFAULT_PROFILE and e.id not in self._leaving]

    def _others(self, everyone: Iterable[Executor]) -> dict[int, int]:
        """Executors of other profiles: a request that leaves them out would cancel them."""
        return dict(Counter(e.profile for e in everyone if e.active))
