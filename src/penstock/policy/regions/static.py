"""Never acquires and never releases."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Decision, Observation, RegionReading
from penstock.policy.regions.answering import Verdict, counted, decide, held


@dataclass
class StaticNodes:
    """Keeps the nodes that it was given; a region without any keeps what it has.

    >>> from penstock.core.signals import RegionReading
    >>> policy = StaticNodes(Infrastructure(regions=(Region(name="dc1"),)), nodes=12)
    >>> now = Observation(at=1, step=1, modules={}, regions={"dc1": RegionReading(nodes=1)})
    >>> policy(now).configuration.nodes, policy(now).why
    ({'dc1': 12}, 'dc1 is set to 12 nodes')
    """

    infrastructure: Infrastructure
    nodes: int | Mapping[str, int] | None = None
    """Of every region, or by region."""
    _remembered: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse more nodes than a region can have, or fewer than it keeps."""
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

    def _judge(self, region: Region, _: RegionReading, nodes: int) -> Verdict:
        given = self._given(region.name)
        if given is None:
            return held(region.name, nodes, "as it was told nothing else")
        why = f"{region.name} is set to {counted(given)}"
        return Verdict(region=region.name, before=nodes, after=given, why=why)

    def _given(self, region: str) -> int | None:
        return self.nodes.get(region) if isinstance(self.nodes, Mapping) else self.nodes
