"""A few idle nodes, always: e2df, Section 6.1."""

from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Decision, Observation, RegionReading
from penstock.policy.regions.answering import Verdict, decide, held, moved


@dataclass
class SimpleNodes:
    """Acquires a node where too few are idle, and releases one where too many are.

    Nodes that are still to come count as idle ones.

    >>> from penstock.core.signals import RegionReading
    >>> policy = SimpleNodes(Infrastructure(regions=(Region(name="dc1"),)))
    >>> now = RegionReading(nodes=3, idle=1)
    >>> policy(Observation(at=1, step=1, modules={}, regions={"dc1": now})).why
    'dc1 3 -> 4 nodes: 1 idle, fewer than 2'
    """

    infrastructure: Infrastructure
    idle: int = 2
    """Nodes of every region that are to host nothing."""
    _remembered: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse fewer than none."""
        if self.idle < 0:
            raise SettingError(
                f"idle of policy simple of infrastructure must be 0 or more, got {self.idle}"
            )

    def __call__(self, seen: Observation, /) -> Decision:
        """One node more or fewer in each region, or none."""
        return decide(self.infrastructure, seen, self._remembered, self._judge)

    def _judge(self, region: Region, reading: RegionReading, nodes: int) -> Verdict:
        name, idle = region.name, reading.idle
        if idle is None:
            return held(name, nodes, "its idle nodes are unknown")
        coming = max(nodes - (reading.nodes or 0), 0)
        told = f"{idle} idle" + (f" and {coming} to come" if coming else "")
        if idle + coming < self.idle:
            if nodes >= region.max_nodes:
                return held(name, nodes, f"{told}, but it cannot have more")
            return moved(name, nodes, nodes + 1, f"{told}, fewer than {self.idle}")
        if idle > self.idle:
            if nodes <= region.min_nodes:
                return held(name, nodes, f"{told}, but it must not have fewer")
            return moved(name, nodes, nodes - 1, f"{told}, more than {self.idle}")
        return held(name, nodes, told)
