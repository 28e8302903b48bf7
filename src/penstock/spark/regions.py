"""The infrastructure level of the Spark plant: the nodes of each region, read and resized."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.core.regions import Region
from penstock.core.signals import ModuleReading, RegionReading
from penstock.spark.cluster.nodes import Nodes, RegionStatus


@dataclass(slots=True, kw_only=True)
class Regions:
    """The regions of a run, and what was decided about them."""

    nodes: Nodes
    placement: Mapping[str, str]
    """By module, the region that hosts its executors."""
    wanted: dict[str, int] = field(default_factory=dict)
    """By region, nodes that the last decision wanted; before any, those it started with."""
    _refused: dict[str, str] = field(default_factory=dict)
    """By region, why a release was not carried out."""
    _reported: dict[str, set[str]] = field(default_factory=dict)
    """By region, the troubles of its nodes when it was last read."""

    def __post_init__(self) -> None:
        """Want what the regions were started with."""
        for region in self.known():
            self.wanted.setdefault(region.name, region.initial_nodes)

    def known(self) -> tuple[Region, ...]:
        """The regions, and what each may have."""
        return self.nodes.infrastructure.regions

    def resources(self) -> dict[str, str]:
        """By module, the resource that its executors request to be placed in their region."""
        return {module: self.nodes.resource(region) for module, region in self.placement.items()}

    def want(self, nodes: Mapping[str, int]) -> dict[str, int]:
        """Acquire and release nodes until so many are requested; returns what changed.

        Only nodes without executors are released. If there are too few of those, fewer are released
        than was decided, the next reading says so, and a later decision may try again.
        """
        before = {name: self.nodes.requested(name) for name in nodes}
        self.wanted.update(nodes)
        for name, count in nodes.items():
            while self.nodes.requested(name) < count:
                self.nodes.acquire(name)
            while self.nodes.requested(name) > count:
                if self.nodes.release(name) is None:
                    self._refused[name] = "no node was released, because none is idle"
                    break
        after = {name: self.nodes.requested(name) for name in nodes}
        return {name: count for name, count in after.items() if count != before[name]}

    def check(self) -> None:
        """Raise if the cluster, or every node of a region with modules, has ended."""
        self.nodes.check(set(self.placement.values()))

    def read(self, modules: Mapping[str, ModuleReading]) -> dict[str, RegionReading]:
        """The reading of every region in this step, given those of the modules."""
        status = self.nodes.poll()
        readings = {}
        for region in self.known():
            hosted = [m for name, m in modules.items() if self.placement.get(name) == region.name]
            readings[region.name] = self._read(region, status[region.name], hosted)
        return readings

    def _read(
        self, region: Region, seen: RegionStatus, modules: list[ModuleReading]
    ) -> RegionReading:
        reading = RegionReading(
            wanted=self.wanted[region.name],
            requested=self.nodes.requested(region.name),
            trouble=self._trouble(region.name, seen),
        )
        if seen.is_silent:
            return reading
        slots = sum(node.cores for node in seen.answering)
        hosted = sum(node.used for node in seen.answering)
        return replace(
            reading,
            nodes=len(seen.answering),
            idle=len(seen.idle),
            free=slots - hosted,
            replicas=hosted,
            utilisation=mean_utilisation(modules),
            unmet=unmet(modules, slots),
        )

    def _trouble(self, name: str, seen: RegionStatus) -> str | None:
        """That no node answers, or else new troubles, each reported once: decisions about a region
        with one stuck node go on."""
        if seen.is_silent:
            verb = "does" if len(seen.silent) == 1 else "do"
            return f"{', '.join(seen.silent)} {verb} not answer"
        wrong = {f"{node} ended for good" for node in seen.lost}
        wrong |= {f"{node} does not answer" for node in seen.silent}
        wrong |= {f"{node} {_restarted(times)}" for node, times in seen.restarts.items()}
        news = sorted(wrong - self._reported.get(name, set()))
        self._reported[name] = wrong
        refused = self._refused.pop(name, None)
        return "; ".join([*news, *([refused] if refused else [])]) or None


def unmet(modules: list[ModuleReading], slots: int) -> int:
    """Executors that a region's modules want beyond the slots of its present nodes.

    They count in every step in which they are missing, whenever they were requested. Nodes that are
    still starting do not count.

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
    total = sum(running for _, running in shares)
    return sum(share * running for share, running in shares) / total if total else None


def _restarted(times: int) -> str:
    return "ended and was restarted" + (f", {times} times in all" if times > 1 else "")
