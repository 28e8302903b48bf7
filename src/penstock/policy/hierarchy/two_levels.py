"""Both levels together: replicas by one policy, nodes by another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, Request


@dataclass
class TwoLevels:
    """Decides for modules as one policy does, and for regions as another.

    Regions come first, so that who decides for modules knows the room that new nodes bring.

    >>> from penstock.core.regions import Infrastructure, Region
    >>> from penstock.core.signals import ModuleReading, RegionReading
    >>> from penstock.policy import Threshold
    >>> from penstock.policy.nodes import SimpleNodes
    >>> policy = TwoLevels(Threshold(), SimpleNodes(Infrastructure(regions=(Region(name="dc1"),))))
    >>> now = Observation(
    ...     at=1, step=1,
    ...     modules={"count": ModuleReading(utilisation=0.9, running=2)},
    ...     regions={"dc1": RegionReading(nodes=3, idle=2)},
    ... )
    >>> policy(now).why
    'count 90 % busy, above 75 %: 2 -> 3; nodes: dc1 keeps its 3 nodes, 2 idle'
    """

    application: Policy
    infrastructure: Policy
    slots: Mapping[str, int] = field(default_factory=dict)
    """By region, replicas that a node can host."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What both decide, the application with the room that the regions will have."""
        other = self.infrastructure(seen)
        one = self.application(with_room(seen, other.requests, self.slots))
        return replace(
            one,
            configuration=_merged(one.configuration, other.configuration),
            why=f"{one.why}; nodes: {other.why}",
            proposed=_proposed(one, other),
            expects={**one.expects, **other.expects},
            requests=(*one.requests, *other.requests),
        )


def with_room(
    seen: Observation, requests: Iterable[Request], slots: Mapping[str, int]
) -> Observation:
    """The observation with the slots of nodes that were granted, and without those given up.

    >>> from penstock.core.signals import RegionReading
    >>> full = Observation(at=1, step=1, modules={}, regions={"dc1": RegionReading(free=0)})
    >>> more = Request(
    ...     level="infrastructure", manager="dc1", change=1, why="", granted=True, answer=""
    ... )
    >>> with_room(full, [more], {"dc1": 2}).regions["dc1"].free
    2
    """
    change = {r.manager: r.change * slots.get(r.manager, 0) for r in requests if r.granted}
    regions = {
        name: reading
        if reading.free is None or name not in change
        else replace(reading, free=max(reading.free + change[name], 0))
        for name, reading in seen.regions.items()
    }
    return replace(seen, regions=regions)


def _merged(replicas: Configuration, nodes: Configuration) -> Configuration:
    return replace(replicas, nodes=nodes.nodes)


def _proposed(one: Decision, other: Decision) -> Configuration | None:
    if one.proposed is None and other.proposed is None:
        return None
    return _merged(one.proposed or one.configuration, other.proposed or other.configuration)
