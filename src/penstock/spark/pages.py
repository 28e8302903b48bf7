"""What Spark's daemons say of themselves on their web pages, within bounds of time."""

import json
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

PROMPT: Final = 1.0
"""Seconds in which a daemon that is well answers, on a busy machine too."""
_AT_ONCE: Final = 32


def fetch(page: str, timeout: float = PROMPT) -> dict[str, Any]:
    """What a page says; nothing where it does not answer in time."""
    try:
        with urllib.request.urlopen(page, timeout=timeout) as answer:  # noqa: S310  # our own
            told: dict[str, Any] = json.load(answer)
            return told
    except (OSError, ValueError):
        return {}


def fetch_all(pages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What pages say, all asked at once: one that is stuck holds up no other."""
    asked = list(pages)
    if not asked:
        return {}
    with ThreadPoolExecutor(min(len(asked), _AT_ONCE)) as pool:
        return dict(zip(asked, pool.map(fetch, asked), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A worker as the master lists it."""

    name: str
    cores: int
    used: int
    """Cores that executors have, those that are still starting included."""
    page: str
    """Where it speaks for itself."""
    id: str = ""
    """Another one each time that it is started."""


def listed(told: Mapping[str, Any]) -> dict[str, Listed]:
    """The workers that take executors, of those whose slots carry a name.

    >>> worker = {
    ...     "state": "ALIVE", "cores": 2, "coresused": 1, "webuiaddress": "http://127.0.0.1:8081",
    ...     "resources": {"region_dc1": {"addresses": ["dc1-1/1", "dc1-1/2"]}},
    ... }
    >>> listed({"workers": [worker, {**worker, "state": "DEAD"}]})["dc1-1"].used
    1
    """
    alive = [worker for worker in told.get("workers", ()) if worker["state"] == "ALIVE"]
    named = {node_of(worker["resources"]): worker for worker in alive}
    return {
        name: Listed(
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
    """The node that slots belong to, from their addresses; None where they have none.

    >>> node_of({"region_dc1": {"name": "region_dc1", "addresses": ["dc1-2/1"]}})
    'dc1-2'
    """
    addresses = [a for resource in resources.values() for a in resource["addresses"]]
    return addresses[0].rpartition("/")[0] if addresses else None
