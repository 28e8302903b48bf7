"""The infrastructure level of the Spark plant: regions that are read and resized by decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.regions import Region
from penstock.core.signals import ModuleReading, RegionReading
from penstock.spark.cluster.nodes import Nodes, Survey


@dataclass(slots=True, kw_only=True)
class Regions:
    """What the plant knows of its regions, and what was decided about them."""

    nodes: Nodes
    homes: Mapping[str, str]
    """By module, the region that hosts its executors."""
    wanted: dict[str, int] = field(default_factory=dict)
    """By region, nodes that the last decision wanted; what it began with, before one did."""
    _refused: dict[str, str] = field(default_factory=dict)
    """By region, why a release was not carried out."""
    _told: dict[str, set[str]] = field(default_factory=dict)
    """By region, what was wrong with its nodes when it was last read."""

    def __post_init__(self) -> None:
        """Regions begin with what they were started with."""
        for region in self.known():
            self.wanted.setdefault(region.name, region.initial_nodes)

    def known(self) -> tuple[Region, ...]:
        """The regions, and what each may have."""
        return self.nodes.infrastructure.regions

    def resources(self) -> dict[str, str]:
        """By module, the resource that its executors ask for to be placed in their region."""
        return {module: self.nodes.resource(region) for module, region in self.homes.items()}

    def want(self, nodes: Mapping[str, int]) -> dict[str, int]:
        """Acquire and release until as many nodes are asked for; returns what changed.

        A node is released only where it hosts nothing. Where none does, fewer are released than
        was decided, the next reading says so, and a later decision may ask again.
        """
        before = {name: self.nodes.requested(name) for name in nodes}
        self.wanted.update(nodes)
        for name, count in nodes.items():
            self._resize(name, count)
        after = {name: self.nodes.requested(name) for name in nodes}
        return {name: count for name, count in after.items() if count != before[name]}

    def check(self) -> None:
        """Raise where the cluster, or every node of a region with modules, has ended for good."""
        self.nodes.check(set(self.homes.values()))

    def read(self, modules: Mapping[str, ModuleReading]) -> dict[str, RegionReading]:
        """What this step measured of every region, given what it measured of the modules."""
        found = self.nodes.survey()
        return {
            region.name: self._read(region, found[region.name], self._at_home(region, modules))
            for region in self.known()
        }

    def _resize(self, name: str, count: int) -> None:
        while self.nodes.requested(name) < count:
            self.nodes.acquire(name)
        while self.nodes.requested(name) > count:
            if self.nodes.release(name) is None:
                self._refused[name] = "no node was released, because none is idle"
                return

    def _at_home(self, region: Region, modules: Mapping[str, ModuleReading]) -> list[ModuleReading]:
        return [m for name, m in modules.items() if self.homes.get(name) == region.name]

    def _read(self, region: Region, seen: Survey, modules: list[ModuleReading]) -> RegionReading:
        asked = RegionReading(
            wanted=self.wanted[region.name],
            requested=self.nodes.requested(region.name),
            trouble=self._trouble(region.name, seen),
        )
        if seen.is_silent:
            return asked
        slots = sum(node.cores for node in seen.answering)
        hosted = sum(node.used for node in seen.answering)
        return RegionReading(
            nodes=len(seen.answering),
            idle=len(seen.idle),
            free=slots - hosted,
            replicas=hosted,
            utilisation=mean_utilisation(modules),
            unmet=unmet(modules, slots),
            wanted=asked.wanted,
            requested=asked.requested,
            trouble=asked.trouble,
        )

    def _trouble(self, name: str, seen: Survey) -> str | None:
        """What is wrong: while nobody answers that, and else the news, each told once, so that a
        region with one stuck node can still be decided about."""
        if seen.is_silent:
            return f"{', '.join(seen.silent)} {_verb(seen.silent)} not answer"
        wrong = {f"{node} ended for good" for node in seen.lost}
        wrong |= {f"{node} does not answer" for node in seen.silent}
        wrong |= {f"{node} {_again(times)}" for node, times in seen.restarts.items()}
        news = sorted(wrong - self._told.get(name, set()))
        self._told[name] = wrong
        refused = self._refused.pop(name, None)
        return "; ".join([*news, *([refused] if refused else [])]) or None


def unmet(modules: list[ModuleReading], slots: int) -> int:
    """Executors that a region's modules want beyond the slots of the nodes that it has now.

    It counts in every step in which they are lacking, whether they were asked for in that step or
    before it. Nodes that are still to come do not count as room.

    >>> unmet([ModuleReading(wanted=3), ModuleReading(wanted=2)], slots=4)
    1
    """
    return max(sum(module.wanted or 0 for module in modules) - slots, 0)


def mean_utilisation(modules: list[ModuleReading]) -> float | None:
    """Mean busy share of running executors, over the modules that reported in this step.

    >>> busy, idle = ModuleReading(utilisation=0.9, running=2), ModuleReading(running=1)
    >>> mean_utilisation([busy, idle]), mean_utilisation([idle])
    (0.9, None)
    """
    known = [(m.utilisation, m.running) for m in modules if m.utilisation is not None]
    shares = [(share, running) for share, running in known if running]
    running_in_all = sum(running for _, running in shares)
    if not running_in_all:
        return None
    return sum(share * running for share, running in shares) / running_in_all


def _again(times: int) -> str:
    return "ended and was started again" + (f", {times} times by now" if times > 1 else "")


def _verb(names: tuple[str, ...]) -> str:
    return "does" if len(names) == 1 else "do"
