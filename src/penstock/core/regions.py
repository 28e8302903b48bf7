"""Where replicas run: regions with nodes that come and go, and how far they are from each other.

>>> near, far = Region(name="dc1"), Region(name="dc2", max_nodes=4)
>>> places = Infrastructure(regions=(near, far), delays={"dc1-dc2": 0.002})
>>> places.delay("dc2", "dc1"), places.delay("dc1", "dc1"), places["dc2"].max_slots
(0.002, 0.0, 8)
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.schema import Bounds, Natural, checked
from penstock.core.settings import near

MOST: Final = 10_000
"""Nodes of a region and slots of a node; with billions, what is known of each fills the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("region {self.name}")
class Region:
    """Nodes that are close to each other; on Spark, a named group of workers."""

    name: str
    max_nodes: Annotated[int, Bounds(least=1, most=MOST)] = 50
    """Most nodes that are acquired."""
    initial_nodes: Natural = 1
    """Nodes at the start of a run; in a file `min_nodes` unless given."""
    min_nodes: Natural = 1
    """Nodes that are never given up."""
    slots: Annotated[int, Bounds(least=1, most=MOST)] = 2
    """Replicas that one node can host."""

    def __post_init__(self) -> None:
        """Refuse a region that could host nothing."""
        if not 0 <= self.min_nodes <= self.initial_nodes <= self.max_nodes:
            raise SettingError(
                f"region {self.name} needs 0 <= min_nodes <= initial_nodes <= max_nodes, "
                f"got {self.min_nodes}, {self.initial_nodes}, {self.max_nodes}",
                fields=("min_nodes", "initial_nodes", "max_nodes"),
            )

    @property
    def max_slots(self) -> int:
        """Replicas that all of its nodes can host together."""
        return self.max_nodes * self.slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """Every region, and how long a row takes from one to another."""

    regions: tuple[Region, ...]
    delays: Mapping[str, float] = field(default_factory=dict)
    """Seconds between two regions, written as `dc1-dc2`; the same both ways, 0 where not given."""

    def __post_init__(self) -> None:
        """Refuse regions of the same name, and delays between regions that do not exist."""
        if not self.regions:
            raise SettingError("infrastructure needs at least one region, got none")
        for name, count in Counter(self.names()).items():
            if count > 1:
                raise SettingError(f"region {name} is given {count} times; keep one")
        for pair, delay in self.delays.items():
            self._check_delay(pair, delay)

    def __getitem__(self, name: str) -> Region:
        """The region of that name."""
        for region in self.regions:
            if region.name == name:
                return region
        raise SettingError(f"there is no region {name!r}{near(name, self.names())}")

    def names(self) -> tuple[str, ...]:
        """Every region's name, in the order of the file."""
        return tuple(region.name for region in self.regions)

    def delay(self, origin: str, target: str) -> float:
        """Seconds that a row takes between two regions; none within one."""
        if origin == target:
            return 0.0
        there = self.delays.get(f"{origin}-{target}")
        return self.delays.get(f"{target}-{origin}", 0.0) if there is None else there

    def _check_delay(self, pair: str, delay: float) -> None:
        pairs = [(a, b) for a in self.names() for b in self.names() if a != b]
        meant = [(a, b) for a, b in pairs if f"{a}-{b}" == pair]
        if not meant:
            known = {f"{a}-{b}" for a, b in pairs}
            why = f"there is no pair of regions {pair!r}{near(pair, known)}"
            raise SettingError(why, path=("delays", pair))
        if len(meant) > 1:
            both = " or ".join(f"from {a} to {b}" for a, b in meant)
            why = f"delay {pair} may be {both}; give the regions other names"
            raise SettingError(why, path=("delays", pair))
        if not 0 <= delay < float("inf"):
            why = f"delay {pair} must be 0s or more and finite, got {delay:g}s"
            raise SettingError(why, path=("delays", pair))
        origin, target = meant[0]
        if f"{target}-{origin}" in self.delays and self.delays[f"{target}-{origin}"] != delay:
            raise SettingError(
                f"delay {pair} is {delay:g}s and {target}-{origin} is "
                f"{self.delays[f'{target}-{origin}']:g}s; a delay is the same both ways, keep one",
                path=("delays", pair),
            )


def check_nodes(nodes: Mapping[str, int], known: Iterable[Region]) -> None:
    """Refuse nodes of regions that are not there, and more or fewer than a region may have.

    >>> check_nodes({"dc1": 9}, [Region(name="dc1", max_nodes=8)])
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: region dc1 may have 1 to 8 nodes, got 9
    """
    regions = {region.name: region for region in known}
    for name, count in nodes.items():
        if name not in regions:
            raise SettingError(f"there is no region {name!r} to resize{near(name, regions)}")
        region = regions[name]
        if not region.min_nodes <= count <= region.max_nodes:
            raise SettingError(
                f"region {name} may have {region.min_nodes} to {region.max_nodes} nodes, "
                f"got {count}"
            )
