"""Workers of a standalone cluster, and regions as named groups of them: nodes that come and go.

A worker of a region offers a custom resource that is named after the region, one address for each
slot. An executor that requests the resource is placed in the region, and the address that it gets
names its node: a node of region dc1 is a worker named dc1-1, dc1-2 and so on; numbers are never
reused.
"""

import json
import re
import threading
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from penstock.core.errors import PlantError
from penstock.core.regions import Infrastructure

QUICK_TIMEOUT: Final = 1.0
"""Seconds in which a healthy daemon answers, on a busy machine too."""
_MAX_CONCURRENT: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpec:
    """A worker's cores and memory, and the resource that marks its region."""

    name: str
    cores: int
    memory: str
    resource: str | None = None
    """None without regions."""

    def arguments(self) -> list[str]:
        """Command-line arguments of the worker.

        >>> WorkerSpec(name="worker-1", cores=8, memory="8g").arguments()
        ['--cores', '8', '--memory', '8g']
        """
        return ["--cores", str(self.cores), "--memory", self.memory]

    def options(self, folder: Path) -> list[str]:
        """Options of the worker's JVM; writes the list of its slots into `folder`."""
        if self.resource is None:
            return []
        slots = folder / f"{self.name}.slots.json"
        addresses = [f"{self.name}/{slot}" for slot in range(1, self.cores + 1)]
        resource = {"componentName": "spark.worker", "resourceName": self.resource}
        slots.write_text(json.dumps([{"id": resource, "addresses": addresses}]))
        return [
            f"-Dspark.worker.resource.{self.resource}.amount={self.cores}",
            f"-Dspark.worker.resourcesFile={slots}",
            "-Dspark.decommission.enabled=true",  # or the decommission signal would kill it
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """A worker as the master lists it."""

    name: str
    cores: int
    used: int
    """Cores that executors have, those that are still starting included."""
    page: str
    """Its own status page."""
    id: str = ""
    """Changes with every restart."""


def live_workers(status: Mapping[str, Any]) -> dict[str, WorkerStatus]:
    """By name, the workers that take executors, from the master's status; only those of regions.

    >>> worker = {
    ...     "state": "ALIVE", "cores": 2, "coresused": 1, "webuiaddress": "http://127.0.0.1:8081",
    ...     "resources": {"region_dc1": {"addresses": ["dc1-1/1", "dc1-1/2"]}},
    ... }
    >>> live_workers({"workers": [worker, {**worker, "state": "DEAD"}]})["dc1-1"].used
    1
    """
    alive = [worker for worker in status.get("workers", ()) if worker["state"] == "ALIVE"]
    named = {node_of(worker["resources"]): worker for worker in alive}
    return {
        name: WorkerStatus(
            name=name,
            cores=worker["cores"],
            used=worker["coresused"],
            page=f"{worker['webuiaddress']}/json/",
            id=str(worker.get("id", "")),
        )
        for name, worker in named.items()
        if name is not None
    }


def node_of(resources: Mapping[str, Any]) -> str | None:
    """The node that slots belong to, from their addresses; None without any.

    >>> node_of({"region_dc1": {"name": "region_dc1", "addresses": ["dc1-2/1"]}})
    'dc1-2'
    """
    addresses = [a for resource in resources.values() for a in resource["addresses"]]
    return addresses[0].rpartition("/")[0] if addresses else None


def resource_names(regions: Iterable[str]) -> dict[str, str]:
    """By region, a resource name that Spark accepts, all different.

    >>> resource_names(["dc1", "eu-west", "eu.west"])
    {'dc1': 'region_dc1', 'eu-west': 'region_eu_west', 'eu.west': 'region_eu_west_2'}
    """
    names: dict[str, str] = {}
    for region in regions:
        plain = f"region_{re.sub('[^A-Za-z0-9]', '_', region)}"
        name, number = plain, 1
        while name in names.values():
            number += 1
            name = f"{plain}_{number}"
        names[region] = name
    return names


def fetch(page: str, timeout: float = QUICK_TIMEOUT) -> dict[str, Any]:
    """The JSON status page of a daemon; empty when it does not answer in time."""
    try:
        with urllib.request.urlopen(page, timeout=timeout) as answer:  # noqa: S310  # our own
            status: dict[str, Any] = json.load(answer)
            return status
    except (OSError, ValueError):
        return {}


def fetch_all(pages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Status pages, fetched concurrently: one that hangs delays no other."""
    urls = list(pages)
    if not urls:
        return {}
    with ThreadPoolExecutor(min(len(urls), _MAX_CONCURRENT)) as pool:
        return dict(zip(urls, pool.map(fetch, urls), strict=True))


_PREFIX: Final = "region_"
_MAX_MISSED: Final = 2
"""Polls in a row without an answer after which a daemon counts as stuck; a busy one may be late."""


class Cluster(Protocol):
    """What nodes need of the cluster that they are workers of."""

    def add(self, worker: WorkerSpec, /) -> None:
        """Start a worker; returns at once."""
        ...

    def release(self, name: str, /) -> None:
        """Decommission a worker; returns at once."""
        ...

    def ended(self, name: str, /) -> bool:
        """Whether a worker has ended by itself and is not restarted."""
        ...

    def check(self) -> None:
        """Raise if a required daemon has ended."""
        ...

    def state(self, timeout: float = ..., /) -> dict[str, Any]:
        """The master's status, empty if it does not answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionStatus:
    """The nodes of a region, as just polled."""

    answering: tuple[WorkerStatus, ...] = ()
    """Nodes that answer and can host executors."""
    silent: tuple[str, ...] = ()
    """Nodes that had registered, have not ended, and do not answer."""
    lost: tuple[str, ...] = ()
    """Nodes that have ended by themselves since the start of the run."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    """By node, how often it was restarted."""

    @property
    def is_silent(self) -> bool:
        """Whether no node answers."""
        return bool(self.silent) and not self.answering

    @property
    def idle(self) -> tuple[str, ...]:
        """Nodes that host nothing, the newest first."""
        idle = [node.name for node in self.answering if node.used == 0]
        return tuple(sorted(idle, key=_number, reverse=True))


@dataclass(slots=True, kw_only=True)
class Nodes:
    """The nodes of every region, those that are starting included."""

    cluster: Cluster
    infrastructure: Infrastructure
    memory: str
    """What each node offers, enough for an executor in each of its slots."""
    _requested: dict[str, list[str]] = field(default_factory=dict)
    """By region, nodes that were requested and neither released nor lost."""
    _started: dict[str, int] = field(default_factory=dict)
    """By region, nodes that were ever started."""
    _missed: dict[str, int] = field(default_factory=dict)
    """Of nodes that have registered, polls in a row without an answer."""
    _workers: dict[str, WorkerStatus] = field(default_factory=dict)
    """As the master last listed them."""
    _ids: dict[str, str] = field(default_factory=dict)
    """By node, its last known id."""
    _restarts: dict[str, int] = field(default_factory=dict)
    _master_missed: int = 0
    """Polls in a row without an answer of the master."""
    _lost: dict[str, list[str]] = field(default_factory=dict)
    """By region, nodes that ended by themselves."""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def open(self) -> None:
        """Start the nodes that each region begins with; returns before they have registered."""
        for region in self.infrastructure.regions:
            self._requested[region.name], self._lost[region.name] = [], []
            for _ in range(region.initial_nodes):
                self.acquire(region.name)

    def requested(self, region: str) -> int:
        """Nodes that have been requested, those that are starting included."""
        return len(self._requested[region])

    def acquire(self, region: str) -> str:
        """Start one more node; returns its name before it has registered."""
        with self._lock:
            resource = self.resource(region)
            self._started[region] = self._started.get(region, 0) + 1
            name = f"{resource.removeprefix(_PREFIX)}-{self._started[region]}"
            slots = self.infrastructure[region].slots
            self.cluster.add(
                WorkerSpec(name=name, cores=slots, memory=self.memory, resource=resource)
            )
            self._requested[region].append(name)
            return name

    def release(self, region: str) -> str | None:
        """Release a node without executors, one that is still starting first; None where every
        node hosts some or does not answer."""
        with self._lock:
            idle = self.poll()[region].idle
            spare = [*reversed(self._starting(region)), *idle]
            if not spare or self._master_missed:  # the last known state may be out of date
                return None
            self._requested[region].remove(spare[0])
            self.cluster.release(spare[0])
            return spare[0]

    def poll(self) -> dict[str, RegionStatus]:
        """The state of every region, all nodes polled at once; takes two seconds at most.

        Raises nothing: if the master does not answer, every region is silent.
        """
        with self._lock:
            self._drop_ended()
            here = self._poll_workers()
            for node in self._workers.values():
                self._note_restart(node)
            return {
                region: RegionStatus(
                    answering=tuple(here[name] for name in kept if name in here),
                    silent=tuple(n for n in kept if n in self._missed and n not in here),
                    lost=tuple(self._lost[region]),
                    restarts={n: self._restarts[n] for n in kept if n in self._restarts},
                )
                for region, kept in self._requested.items()
            }

    def check(self, regions: Iterable[str]) -> None:
        """Raise if the cluster has ended, or a region that hosts modules has lost all of its nodes.
        A region that has lost only some of them goes on with the rest."""
        self.cluster.check()
        with self._lock:
            self._drop_ended()
            for region in regions:
                if self._lost[region] and not self._requested[region]:
                    last = self._lost[region][-1]
                    raise PlantError(
                        f"region {region} has lost all of its nodes, {last} last; "
                        f"read spark/{last}.log in the run folder"
                    )

    def resource(self, region: str) -> str:
        """The name of the resource that executors in a region request."""
        return resource_names(self.infrastructure.names())[region]

    def _poll_workers(self) -> dict[str, WorkerStatus]:
        """The nodes that can host executors.

        Each node is polled itself: the master notices a silent worker only after a minute.
        """
        state = self.cluster.state(QUICK_TIMEOUT)
        self._master_missed = 0 if state else self._master_missed + 1
        self._workers = live_workers(state) if state else self._workers
        answers = fetch_all(node.page for node in self._workers.values())
        for name in {*self._missed, *self._workers}:
            answered = name in self._workers and answers[self._workers[name].page]
            self._missed[name] = 0 if answered else self._missed.get(name, 0) + 1
        if self._master_missed >= _MAX_MISSED:
            return {}
        return {name: n for name, n in self._workers.items() if self._missed[name] < _MAX_MISSED}

    def _note_restart(self, node: WorkerStatus) -> None:
        """Count a restart where its id has changed."""
        known, self._ids[node.name] = self._ids.get(node.name, node.id), node.id
        if known != node.id:
            self._restarts[node.name] = self._restarts.get(node.name, 0) + 1

    def _starting(self, region: str) -> list[str]:
        return [name for name in self._requested[region] if name not in self._missed]

    def _drop_ended(self) -> None:
        """Move nodes that have ended to those that are lost."""
        for region, kept in self._requested.items():
            for name in [name for name in kept if self.cluster.ended(name)]:
                kept.remove(name)
                self._lost[region].append(name)


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
