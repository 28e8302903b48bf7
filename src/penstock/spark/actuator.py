"""Bring an application to the executors that were decided, without restarting a query.

Growing is a request to the cluster. Shrinking lets chosen executors finish their tasks, gives them
no new ones, and then they leave. A module that shuffles lets them go only between two batches,
because what they wrote for the second stage of a batch would leave with them. Where Spark cannot
decommission executors, those that have no task are removed, and a busy one stays until it has none.

`Actuator` gives each module executors of its own. With `adopts` it serves an application of others
that is attached to: one module, whose executors were there before.

`Pool` has executors that all queries share: Spark's scheduler gives them tasks, by shares that we
decide. An executor is never idle while any query has a task for it, and another division takes
effect with the next task: no executor has to leave or to come.
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
    """What an actuator knows of a module: which executors are its own, and when they may leave."""

    @property
    def profile(self) -> int:
        """The resource profile that its executors carry."""
        ...

    @property
    def hint(self) -> Path | None:
        """The file that says in how many parts the module's source is to read a batch; None where
        the source is not ours."""
        ...

    @property
    def shuffles(self) -> bool:
        """Whether its executors may leave only between two batches."""
        ...

    def between_batches(self) -> bool:
        """Whether its query is between two batches now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleExecutors:
    """Executors of one profile whose query is not ours, so that they may leave at any time."""

    profile: int
    hint: Path | None = None
    shuffles: bool = False
    between_batches: Callable[[], bool] = lambda: True


@dataclass(slots=True)
class Actuator:
    """Holds what is wanted, asks the cluster for it, and lets go of what is too much."""

    backend: Backend
    modules: Mapping[str, ScaledModule]
    on_growth: Callable[[], None] = lambda: None
    """Called when executors were asked for that are not there yet."""
    adopts: bool = False
    """Whether the executors were there before us. Then the first decision is compared with what is
    there, executors of other profiles stay in every request, and a request that the cluster does
    not take up is an error."""
    kill_idle: Callable[[Iterable[str]], tuple[str, ...]] | None = None
    """Removes those of these executors that have no task; given where executors cannot be
    decommissioned."""
    wanted: dict[str, int] = field(default_factory=dict)
    """Nothing before the first decision."""
    requested: dict[str, int] = field(default_factory=dict)
    asked_at: float | None = None
    """When the cluster was last asked for something, in seconds since the epoch."""
    _leaving: set[str] = field(default_factory=set)
    _crowded: set[str] = field(default_factory=set)
    """Modules that have more executors than wanted and wait for a good moment."""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def want(self, degrees: Mapping[str, int]) -> bool:
        """Set what modules should have, and do at once what can be done at once; returns whether
        the cluster was asked for it."""
        with self._lock:
            targets = {**self.wanted, **degrees}
            asked = self._is_new(targets)
            if asked:
                self._request(targets)
            self.wanted = targets
            self.settle(self.backend.executors())
            return asked

    def expected(self) -> dict[str, int]:
        """Executors that there should be, by module."""
        return dict(self.wanted)

    def settle(self, executors: Iterable[Executor]) -> int:
        """Let go of what is too much where that is safe now, and tell the sources what is left;
        returns how many executors have yet to go."""
        with self._lock:
            members = self.members(executors)
            for name, module in self.modules.items():
                if self._surplus(name, members[name]) > 0:
                    members[name] = self._shrink_if_safe(name, members)
                tell_source(module, members[name])
            surplus = [self._surplus(name, members[name]) for name in self.modules]
            if min(surplus, default=0) < 0:
                self.on_growth()
            return sum(max(count, 0) for count in surplus)

    def batch_ended(self, module: str) -> None:
        """A batch of this module has just ended, and the next has not begun."""
        with self._lock:
            if module in self._crowded:
                members = self.members(self.backend.executors())
                tell_source(self.modules[module], self._shrink(module, members))

    def members(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that are here to stay, by module."""
        with self._lock:
            active = [executor for executor in executors if executor.active]
            self._leaving &= {executor.id for executor in active}
            staying = [executor for executor in active if executor.id not in self._leaving]
            return {
                name: [executor for executor in staying if executor.profile == module.profile]
                for name, module in self.modules.items()
            }

    def running(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that have proved that they can take tasks, by module."""
        return _warm(self.members(executors))

    def _is_new(self, targets: Mapping[str, int]) -> bool:
        """Whether the cluster has to be asked for these."""
        if not self.adopts or self.wanted:
            return targets != self.wanted
        there = self.members(self.backend.executors())
        return any(count != len(there[module]) for module, count in targets.items())

    def _request(self, targets: Mapping[str, int]) -> None:
        """Ask for what is wanted. This alone removes nothing that runs."""
        self.asked_at = time.time()
        profiles = {self.modules[module].profile: count for module, count in targets.items()}
        accepted = self.backend.request({**self._others(), **profiles})
        if self.adopts and not accepted:
            count = sum(targets.values())
            raise ClusterError(f"the cluster did not take up a request for {count} executors")
        self.requested = dict(targets)

    def _others(self) -> dict[int, int]:
        """Executors of profiles that are not ours: a request without them would cancel them."""
        if not self.adopts:
            return {}
        return dict(Counter(e.profile for e in self.backend.executors() if e.active))

    def _shrink_if_safe(self, name: str, members: Members) -> list[Executor]:
        module = self.modules[name]
        if not module.shuffles or module.between_batches():
            return self._shrink(name, members)
        self._crowded.add(name)
        return members[name]

    def _shrink(self, module: str, members: Members) -> list[Executor]:
        self._crowded.discard(module)
        surplus = self._surplus(module, members[module])
        if surplus <= 0:
            return members[module]
        crowds = Counter(executor.node for own in members.values() for executor in own)
        leaving = self._release(members[module], surplus, crowds)
        self._leaving.update(leaving)
        return [executor for executor in members[module] if executor.id not in leaving]

    def _release(
        self, members: list[Executor], count: int, crowds: Mapping[str | None, int]
    ) -> tuple[str, ...]:
        """Let so many executors go, or as many as can; returns those that do."""
        if self.kill_idle is None:
            return self.backend.decommission(least_useful(members, count, crowds))
        idle = [executor for executor in members if not executor.active_tasks]
        return self.kill_idle(least_useful(idle, count, crowds)) if idle else ()

    def _surplus(self, module: str, members: list[Executor]) -> int:
        return len(members) - self.requested.get(module, len(members))


def least_useful(
    executors: Iterable[Executor], count: int, crowds: Mapping[str | None, int] | None = None
) -> list[str]:
    """Which executors to let go, given how many each node hosts, of any module.

    First those on the node with the fewest, so that nodes become idle; among those, the ones not
    yet warm, then idle ones, then those that came last. The longest-serving have their code
    compiled and the state of their partitions at hand.
    """
    left, hosted, chosen = list(executors), Counter(crowds), list[str]()
    for _ in range(min(count, len(left))):
        first = min(left, key=lambda e: (hosted[e.node], *_usefulness(e)))
        left.remove(first)
        hosted[first.node] -= 1
        chosen.append(first.id)
    return chosen


def _usefulness(executor: Executor) -> tuple[bool, bool, int]:
    return executor.is_warm, executor.active_tasks > 0, -int(executor.id)


def tell_source(module: ScaledModule, members: list[Executor]) -> None:
    """One part of a batch for each executor that is ready for it."""
    if module.hint is not None:
        module.hint.write_text(str(max(sum(executor.is_warm for executor in members), 1)))


def _warm(members: Members) -> dict[str, list[Executor]]:
    return {module: [e for e in own if e.is_warm] for module, own in members.items()}


EVERYONE: Final = "everyone"
"""Whose executors they are."""
PARTS: Final = 2
"""Parts of a batch for each core. A core changes hands only when a task ends, so tasks are short;
and a module can use cores that others leave over."""


@dataclass(slots=True)
class Pool:
    """So many executors, from the beginning to the end, divided by shares or not."""

    backend: Backend
    modules: Mapping[str, ScaledModule]
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
        alike = self.size / len(self.modules)
        for name, module in self.modules.items():
            cores = max(round(there * self.wanted.get(name, alike)), 1)
            if module.hint is not None:
                module.hint.write_text(str(PARTS * cores))

    def batch_ended(self, module: str) -> None:
        """A batch has ended, after which no executor has to leave."""

    def members(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that are there."""
        return {EVERYONE: [executor for executor in executors if executor.active]}

    def running(self, executors: Iterable[Executor]) -> dict[str, list[Executor]]:
        """Of these executors, those that have proved that they can take tasks."""
        return _warm(self.members(executors))
