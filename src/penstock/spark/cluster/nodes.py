"""Regions as named groups of workers on our own cluster: nodes that are acquired and released.

A node of region dc1 is a worker called dc1-1, dc1-2 and so on; a number is never used again.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from penstock.core.errors import PlantError
from penstock.core.regions import Infrastructure
from penstock.spark.cluster.offer import Offer, resource_names
from penstock.spark.pages import PROMPT, Listed, fetch_all, listed

_PREFIX: Final = "region_"
_LOOKS: Final = 2
"""Looks in a row at which a daemon must be silent to be taken for stuck: a busy one may be late."""


class Cluster(Protocol):
    """What nodes need of the cluster that they are workers of."""

    def add(self, offer: Offer, /) -> None:
        """Start a worker; returns at once."""
        ...

    def release(self, name: str, /) -> None:
        """Let a worker finish and end; returns at once."""
        ...

    def ended(self, name: str, /) -> bool:
        """Whether a worker ended for good by itself."""
        ...

    def check(self) -> None:
        """Raise where the cluster cannot go on."""
        ...

    def state(self, timeout: float = ..., /) -> dict[str, Any]:
        """The master's page, or nothing where it does not answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What one look at a region found."""

    answering: tuple[Listed, ...] = ()
    """Nodes that can host executors, and said so themselves."""
    silent: tuple[str, ...] = ()
    """Nodes that were there before, have not ended, and do not answer."""
    lost: tuple[str, ...] = ()
    """Nodes that have ended for good by themselves, since the run began."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    """By node that has ended by itself and was started again, how often."""

    @property
    def is_silent(self) -> bool:
        """Whether nobody answers of those who should."""
        return bool(self.silent) and not self.answering

    @property
    def idle(self) -> tuple[str, ...]:
        """Nodes that host nothing, the newest first."""
        idle = [node.name for node in self.answering if node.used == 0]
        return tuple(sorted(idle, key=_number, reverse=True))


@dataclass(slots=True, kw_only=True)
class Nodes:
    """The nodes of every region, those that are on their way included."""

    cluster: Cluster
    infrastructure: Infrastructure
    memory: str
    """What each node offers, enough for an executor in each of its slots."""
    _kept: dict[str, list[str]] = field(default_factory=dict)
    """By region, nodes that were asked for and neither released nor lost."""
    _begun: dict[str, int] = field(default_factory=dict)
    """By region, nodes that were ever asked for."""
    _missed: dict[str, int] = field(default_factory=dict)
    """Looks in a row at which a node did not answer, of those that have registered."""
    _listed: dict[str, Listed] = field(default_factory=dict)
    """What the master said when it last answered."""
    _ids: dict[str, str] = field(default_factory=dict)
    """By node, the id under which it was last seen."""
    _restarts: dict[str, int] = field(default_factory=dict)
    _unheard: int = 0
    """Looks in a row at which the master did not answer."""
    _gone: dict[str, list[str]] = field(default_factory=dict)
    """By region, nodes that ended for good by themselves."""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def open(self) -> None:
        """Start the nodes that each region begins with; returns before they have registered."""
        for region in self.infrastructure.regions:
            self._kept[region.name], self._gone[region.name] = [], []
            for _ in range(region.initial_nodes):
                self.acquire(region.name)

    def requested(self, region: str) -> int:
        """Nodes that have been asked for, those that are still to come included."""
        return len(self._kept[region])

    def acquire(self, region: str) -> str:
        """Start one more node; returns its name at once, it counts when it has registered."""
        with self._lock:
            resource = self.resource(region)
            self._begun[region] = self._begun.get(region, 0) + 1
            name = f"{resource.removeprefix(_PREFIX)}-{self._begun[region]}"
            slots = self.infrastructure[region].slots
            offer = Offer(name=name, cores=slots, memory=self.memory, resource=resource)
            self.cluster.add(offer)
            self._kept[region].append(name)
            return name

    def release(self, region: str) -> str | None:
        """Let a node go that hosts nothing, one that is still to come first; None where all
        of them host something or do not answer."""
        with self._lock:
            idle = self.survey()[region].idle
            spare = [*reversed(self._coming(region)), *idle]
            if not spare or self._unheard:  # what the master said before may be so no longer
                return None
            self._kept[region].remove(spare[0])
            self.cluster.release(spare[0])
            return spare[0]

    def survey(self) -> dict[str, Survey]:
        """Look at every region, all nodes asked at once; takes a second or two at the most.

        Raises nothing: a master that is silent leaves every region silent.
        """
        with self._lock:
            self._strike_off()
            here = self._look()
            for node in self._listed.values():
                self._note_restart(node)
            return {
                region: Survey(
                    answering=tuple(here[name] for name in kept if name in here),
                    silent=tuple(n for n in kept if n in self._missed and n not in here),
                    lost=tuple(self._gone[region]),
                    restarts={n: self._restarts[n] for n in kept if n in self._restarts},
                )
                for region, kept in self._kept.items()
            }

    def check(self, homes: Iterable[str]) -> None:
        """Tell where the cluster has ended, or a region that is home to modules has lost all of
        its nodes for good. A region that has lost some has fewer, and the run goes on."""
        self.cluster.check()
        with self._lock:
            self._strike_off()
            for region in homes:
                if self._gone[region] and not self._kept[region]:
                    last = self._gone[region][-1]
                    raise PlantError(
                        f"region {region} has lost all of its nodes, {last} last; "
                        f"read spark/{last}.log in the run folder"
                    )

    def resource(self, region: str) -> str:
        """The name of the resource that executors in a region ask for."""
        return resource_names(self.infrastructure.names())[region]

    def _look(self) -> dict[str, Listed]:
        """The nodes that can host executors, as far as they or the master say.

        Nodes are asked themselves: the master notices a worker's silence only after a minute.
        """
        told = self.cluster.state(PROMPT)
        self._unheard = 0 if told else self._unheard + 1
        self._listed = listed(told) if told else self._listed
        heard = fetch_all(node.page for node in self._listed.values())
        for name in {*self._missed, *self._listed}:
            answers = name in self._listed and heard[self._listed[name].page]
            self._missed[name] = 0 if answers else self._missed.get(name, 0) + 1
        if self._unheard >= _LOOKS:
            return {}
        return {name: n for name, n in self._listed.items() if self._missed[name] < _LOOKS}

    def _note_restart(self, node: Listed) -> None:
        """Count it where it was started again since it was last seen."""
        known, self._ids[node.name] = self._ids.get(node.name, node.id), node.id
        if known != node.id:
            self._restarts[node.name] = self._restarts.get(node.name, 0) + 1

    def _coming(self, region: str) -> list[str]:
        return [name for name in self._kept[region] if name not in self._missed]

    def _strike_off(self) -> None:
        """Count as lost what has ended for good."""
        for region, kept in self._kept.items():
            for name in [name for name in kept if self.cluster.ended(name)]:
                kept.remove(name)
                self._gone[region].append(name)


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
