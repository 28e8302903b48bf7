"""What a worker offers to executors, and how Spark is told.

A worker of a region offers a custom resource that is named after the region, one address for each
slot. An executor that asks for the resource is placed in the region, and the address that it gets
tells the node that it runs on.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A worker's cores and memory, and the resource that marks its region."""

    name: str
    cores: int
    memory: str
    resource: str | None = None
    """None where there are no regions."""

    def arguments(self) -> list[str]:
        """For the command line of the worker.

        >>> Offer(name="worker-1", cores=8, memory="8g").arguments()
        ['--cores', '8', '--memory', '8g']
        """
        return ["--cores", str(self.cores), "--memory", self.memory]

    def options(self, folder: Path) -> list[str]:
        """For the worker's JVM; writes the list of its slots below `folder`."""
        if self.resource is None:
            return []
        slots = folder / f"{self.name}.slots.json"
        slots.write_text(json.dumps([self._slots()]))
        return [
            f"-Dspark.worker.resource.{self.resource}.amount={self.cores}",
            f"-Dspark.worker.resourcesFile={slots}",
            "-Dspark.decommission.enabled=true",  # or the signal to leave would kill it
        ]

    def _slots(self) -> dict[str, object]:
        return {
            "id": {"componentName": "spark.worker", "resourceName": self.resource},
            "addresses": [f"{self.name}/{slot}" for slot in range(1, self.cores + 1)],
        }


def resource_names(regions: Iterable[str]) -> dict[str, str]:
    """A name that Spark takes for a resource, for each region, no two the same.

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


def quoted(options: Iterable[str]) -> str:
    r"""Options as Spark's launcher reads them, whatever a path is made of.

    >>> quoted(["-Da=1", "-Dfile=/my runs/x"])
    '"-Da=1" "-Dfile=/my runs/x"'
    """
    escaped = (option.replace("\\", "\\\\").replace('"', '\\"') for option in options)
    return " ".join(f'"{option}"' for option in escaped)
