"""Bring an application to the executors that were decided, without restarting a query.

Growing is a request to the cluster. Shrinking decommissions chosen executors: they finish their
tasks and get no new ones. A module that shuffles releases executors only between two batches,
because their shuffle files for the second stage would be lost with them. Where Spark cannot
decommission, executors without a task are killed, and busy ones stay until they are idle.

`Actuator` gives each module executors of its own. With `adopts` it serves an attached application:
one module, whose executors were there before.

`ExecutorPool` has executors that all queries share: Spark's scheduler assigns tasks to them, by
shares that are decided. No executor is idle while any query has a task for it, and new shares take
effect with the next task: no executor has to leave or to start.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from penstock.core.errors import ClusterError
from penstock.spark.backend import DEFAULT_PROFILE, Backend, Executor

Members = Mapping[str, list[Executor]]
"""Executors by module."""


class ScaledModule(Protocol):
    """What an actuator knows of a module: its executors, and when they may be released."""

    @property
    def profile(self) -> int:
        """The resource profile that its executors carry."""
        ...

    @property
    def hint(self) -> Path | None:
        """The file with the number of parts in which the module's source reads a batch; None if
        the source is not ours."""
        ...

    @property
    def shuffles(self) -> bool:
        """Whether its executors may be released only between two batches."""
        ...

    def between_batches(self) -> bool:
        """Whether its query is between two batches now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleExecutors:
    """Executors of one profile whose query is not ours; they may be released at any time."""

    profile: int
    hint: Path | None = None
    shuffles: bool = False
    between_batches: Callable[[], bool] = lambda: True


@dataclass(slots=True)
class Actuator:
    """Requests the executors that are wanted, and releases those beyond."""

    backend: Backend
    modules: Mapping[str, ScaledModule]
    on_growth: Callable[[], None] = lambda: None
    """Called when requested executors are not there yet."""
    adopts: bool = False
    """Whether the executors were there before us. Then the first decision is compared with those
    that exist, executors of other profiles are kept in every request, and a request that the
    cluster does not accept is an error."""
    kill_idle: Callable[[Iterable[str]], tuple[str, ...]] | None = None
    """Kills those of these executors that have no task; given if executors cannot be
    decommissioned."""
    wanted: dict[str, int] = field(default_factory=dict)
    """Empty before the first decision."""
    requested: dict[str, int] = field(default_factory=dict)
    requested_at: float | None = None
    """Time of the last request to the cluster, in seconds since the epoch."""
    _leaving: set[str] = field(default_factory=set)
    _shrink_later: set[str] = field(default_factory=set)
    """Modules with surplus executors that are released after the current batch."""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def want(self, degrees: Mapping[str, int]) -> bool:
        """Set the executors that modules should have; returns whether a request was needed."""
        with self._lock:
            targets = {**self.wanted, **degrees}
            is_new = self._is_new(targets)
            if is_new:
                self._request(targets)
            self.wanted = targets
            self.reconcile(self.backend.executors())
            return is_new

    def expected(self) -> dict[str, int]:
        """Executors that each module should have."""
        return dict(self.wanted)

    def reconcile(self, executors: Iterable[Executor]) -> int:
        """Release surplus executors where that is safe now, and update the sources' parallelism;
        returns how many executors have yet to be released."""
        with self._lock:
            members = self.members(executors)
            for name, module in self.modules.items():
                if self._surplus(name, members[name]) > 0:
                    if not module.shuffles or module.between_batches():
                        members[name] = self._shrink(name, members)
                    else:
                        self._shrink_later.add(name)
                write_parallelism(module, members[name])
            surplus = [self._surplus(name, members[name]) for name in self.modules]
            if min(surplus, default=0) < 0:
                self.on_growth()
            return sum(max(count, 0) for count in surplus)

    def batch_ended(self, module: str) -> None:
        """A batch of this module has just ended, and the next has not started."""
        with self._lock:
            if module in self._shrink_later:
                members = self.members(self.backend.executors())
                write_parallelism(self.modules[module], self._shrink(module, members))

    def members(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, the active ones that are not being released, by module."""
        with self._lock:
            active = [executor for executor in executors if executor.active]
            self._leaving &= {executor.id for executor in active}
            staying = [executor for executor in active if executor.id not in self._leaving]
            return {
                name: [executor for executor in staying if executor.profile == module.profile]
                for name, module in self.modules.items()
            }

    def running(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that have completed a task, by module."""
        return _warm(self.members(executors))

    def _is_new(self, targets: Mapping[str, int]) -> bool:
        """Whether these differ from what was requested last."""
        if not self.adopts or self.wanted:
            return targets != self.wanted
        there = self.members(self.backend.executors())
        return any(count != len(there[module]) for module, count in targets.items())

    def _request(self, targets: Mapping[str, int]) -> None:
        """Request what is wanted. This alone releases no running executor."""
        self.requested_at = time.time()
        profiles = {self.modules[module].profile: count for module, count in targets.items()}
        # executors of other profiles: a request without them would cancel them
        present = self.backend.executors() if self.adopts else ()
        others = Counter(executor.profile for executor in present if executor.active)
        accepted = self.backend.request({**others, **profiles})
        if self.adopts and not accepted:
            count = sum(targets.values())
            raise ClusterError(f"the cluster did not accept a request for {count} executors")
        self.requested = dict(targets)

    def _shrink(self, module: str, members: Members) -> list[Executor]:
        """Release surplus executors, as many as possible now; returns those that stay."""
        self._shrink_later.discard(module)
        surplus = self._surplus(module, members[module])
        if surplus <= 0:
            return members[module]
        per_node = Counter(executor.node for own in members.values() for executor in own)
        own, leaving = members[module], tuple[str, ...]()
        if self.kill_idle is None:
            leaving = self.backend.decommission(choose_to_release(own, surplus, per_node))
        elif idle := [executor for executor in own if not executor.active_tasks]:
            leaving = self.kill_idle(choose_to_release(idle, surplus, per_node))
        self._leaving.update(leaving)
        return [executor for executor in own if executor.id not in leaving]

    def _surplus(self, module: str, members: list[Executor]) -> int:
        return len(members) - self.requested.get(module, len(members))


def choose_to_release(
    executors: Iterable[Executor], count: int, per_node: Mapping[str | None, int] | None = None
) -> list[str]:
    """Which executors to release, given how many each node hosts, of any module.

    First those on the node with the fewest, so that nodes become idle; among those, cold ones, then
    idle ones, then the newest. The oldest have their code compiled and the state of their
    partitions cached.
    """
    left, hosted, chosen = list(executors), Counter(per_node), list[str]()
    for _ in range(min(count, len(left))):
        first = min(left, key=lambda e: (hosted[e.node], *_usefulness(e)))
        left.remove(first)
        hosted[first.node] -= 1
        chosen.append(first.id)
    return chosen


def _usefulness(executor: Executor) -> tuple[bool, bool, int]:
    return executor.is_warm, executor.active_tasks > 0, -int(executor.id)


def write_parallelism(module: ScaledModule, members: list[Executor]) -> None:
    """Write the number of warm executors, at least 1, for the module's source."""
    if module.hint is not None:
        module.hint.write_text(str(max(sum(executor.is_warm for executor in members), 1)))


def _warm(members: Members) -> dict[str, list[Executor]]:
    return {module: [e for e in own if e.is_warm] for module, own in members.items()}


ALL_MODULES: Final = "all modules"
"""The key of executors that modules share."""
PARTS: Final = 2
"""Parts of a batch per core: a core is reassigned only when a task ends, so tasks are short, and a
module can use cores that others leave idle."""


@dataclass(slots=True)
class ExecutorPool:
    """A fixed number of executors that all modules share, with or without decided shares."""

    backend: Backend
    modules: Mapping[str, ScaledModule]
    size: int
    divided: bool = False
    """Whether modules have decided shares, each in a scheduler pool of its own; otherwise Spark's
    scheduler alone assigns tasks."""
    on_growth: Callable[[], None] = lambda: None
    wanted: dict[str, int] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    requested_at: float | None = None
    """Time of the request, in seconds since the epoch."""

    def open(self) -> None:
        """Request the executors."""
        self.requested_at = time.time()
        self.backend.request({DEFAULT_PROFILE: self.size})
        self.on_growth()

    def expected(self) -> dict[str, int]:
        """Executors that all modules together should have."""
        return {ALL_MODULES: self.size}

    def want(self, degrees: Mapping[str, int]) -> None:
        """Set the cores that each module should have of the shared ones."""
        if not self.divided:
            return
        for module, cores in degrees.items():
            if self.wanted.get(module) != cores:
                self.backend.set_share(module, cores)
                self.wanted[module] = cores
        self.requested = dict(self.wanted)

    def reconcile(self, executors: Iterable[Executor]) -> None:
        """Update the sources' parallelism: by the cores that a module has, or an equal share."""
        present = len(self.running(executors)[ALL_MODULES]) / self.size
        equal = self.size / len(self.modules)
        for name, module in self.modules.items():
            cores = max(round(present * self.wanted.get(name, equal)), 1)
            if module.hint is not None:
                module.hint.write_text(str(PARTS * cores))

    def batch_ended(self, module: str) -> None:
        """Nothing to do: no executor is ever released."""

    def members(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, the active ones."""
        return {ALL_MODULES: [executor for executor in executors if executor.active]}

    def running(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that have completed a task."""
        return _warm(self.members(executors))
