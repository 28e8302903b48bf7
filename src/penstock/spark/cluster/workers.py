"""Workers of a standalone cluster: what one offers to executors, and what the daemons report.

A worker of a region offers a custom resource that is named after the region, one address for each
slot. An executor that requests the resource is placed in the region, and the address that it gets
names its node.
"""

import json
import re
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
