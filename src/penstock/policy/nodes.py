"""How many nodes each region is to have: the local policies of the **e2df** paper, Section 6.

| kind | decides |
|---|---|
| `static` | nothing: every region keeps its nodes, or those it was given |
| `simple` | one node more or fewer, so that a few are always idle |
| `rl` | what costs least in the long run by what was learned |

Each is a policy that decides for nodes alone; `penstock.policy.hierarchy` puts it beside one that
decides for modules. A region that does not answer keeps what it has, and the others go on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.regions import Infrastructure
from penstock.core.schema import Natural, checked
from penstock.core.signals import Decision, Observation
from penstock.core.words import count_of
from penstock.policy.common.nodes import RegionState, decide
from penstock.policy.common.verdict import Verdict


@dataclass
@checked("policy simple of infrastructure")
class SimpleNodes:
    """Acquires a node where too few are idle, and releases one where too many are.

    Nodes that are still to come count as idle ones (e2df, Section 6.1).

    >>> from penstock.core.regions import Region
    >>> from penstock.core.signals import RegionReading
    >>> policy = SimpleNodes(Infrastructure(regions=(Region(name="dc1"),)))
    >>> now = RegionReading(nodes=3, idle=1)
    >>> policy(Observation(at=1, step=1, modules={}, regions={"dc1": now})).why
    'dc1 3 -> 4 nodes: 1 idle, fewer than 2'
    """

    infrastructure: Infrastructure
    idle: Natural = 2
    """Nodes of every region that are to host nothing."""
    _remembered: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, seen: Observation, /) -> Decision:
        """One node more or fewer in each region, or none."""
        return decide(self.infrastructure, seen, self._remembered, self._judge)

    def _judge(self, region: RegionState) -> Verdict:
        idle, coming, nodes = region.reading.idle, max(region.coming, 0), region.nodes
        if idle is None:
            return region.hold("idle nodes unknown")
        text = f"{idle} idle" + (f" and {coming} to come" if coming else "")
        if idle + coming < self.idle:
            if nodes >= region.region.max_nodes:
                return region.hold(f"{text}, but it cannot have more")
            return region.move(nodes + 1, f"{text}, fewer than {self.idle}")
        if idle > self.idle:
            if nodes <= region.region.min_nodes:
                return region.hold(f"{text}, but it must not have fewer")
            return region.move(nodes - 1, f"{text}, more than {self.idle}")
        return region.hold(text)


@dataclass
@checked("policy static of infrastructure")
class StaticNodes:
    """Keeps the nodes that it was given; a region without any keeps what it has.

    >>> from penstock.core.regions import Region
    >>> from penstock.core.signals import RegionReading
    >>> policy = StaticNodes(Infrastructure(regions=(Region(name="dc1"),)), nodes=12)
    >>> now = Observation(at=1, step=1, modules={}, regions={"dc1": RegionReading(nodes=1)})
    >>> policy(now).configuration.nodes, policy(now).why
    ({'dc1': 12}, 'dc1 is set to 12 nodes')
    """

    infrastructure: Infrastructure
    nodes: Natural | Mapping[str, Natural] | None = None
    """Of every region, or by region."""
    _remembered: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for region in self.infrastructure.regions:
            given = self._given(region.name)
            if given is not None and not region.min_nodes <= given <= region.max_nodes:
                raise SettingError(
                    f"nodes of policy static of infrastructure must be {region.min_nodes} to "
                    f"{region.max_nodes} in region {region.name}, got {given}"
                )

    def __call__(self, seen: Observation, /) -> Decision:
        """The same as ever."""
        return decide(self.infrastructure, seen, self._remembered, self._judge)

    def _judge(self, region: RegionState) -> Verdict:
        name = region.region.name
        given = self._given(name)
        if given is None:
            return region.hold("no number is set")
        why = f"{name} is set to {count_of(given, 'node')}"
        return Verdict(name=name, before=region.nodes, after=given, why=why)

    def _given(self, region: str) -> int | None:
        return self.nodes.get(region) if isinstance(self.nodes, Mapping) else self.nodes
