"""Nobody gets what another has just been given."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from penstock.core.signals import Observation
from penstock.policy.hierarchy.rule import Answer, Proposal, granted


@dataclass
class Conflicts:
    """Grants no more replicas in a region than it has room for, the busiest module first.

    The first request in a region is granted even where there is no room, if only for one replica:
    only a request that finds none tells the region that it needs a node. What gives replicas up is
    granted always, and so are nodes, for which regions do not compete (e2df, Section 7.3).

    >>> from penstock.core.signals import RegionReading
    >>> now = Observation(at=1, step=1, modules={}, regions={"dc3": RegionReading(nodes=2, free=1)})
    >>> def wish(module, busy):
    ...     return Proposal(level="application", manager=module, before=2, change=1, why="busy",
    ...                     region="dc3", load=busy)
    >>> rule = Conflicts()
    >>> asked = rule.prioritise([wish("counter", 0.8), wish("consumer", 0.9)], now)
    >>> [(a.proposal.manager, a.granted, a.why) for a in rule.accept(asked, now)]
    [('consumer', 1, 'dc3 has room for it'), ('counter', 0, 'no room is left in dc3')]
    """

    def prioritise(self, proposals: Sequence[Proposal], _: Observation, /) -> list[Proposal]:
        """The one with most to do for its replicas first; of equals, the first in the graph."""
        return sorted(proposals, key=_idleness)

    def accept(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Answer]:
        """As many as there is room for."""
        left: dict[str, int] = {}
        return [self._judge(proposal, seen, left) for proposal in proposals]

    def follow_up(self, _: Sequence[Answer], __: Observation, /) -> str | None:
        """Nothing."""
        return None

    def _judge(self, wish: Proposal, seen: Observation, left: dict[str, int]) -> Answer:
        if not wish.grows:
            return granted(wish, "giving up is always granted")
        if wish.level != "application" or wish.region is None:
            return granted(wish, "nobody else wants the same")
        first, region = wish.region not in left, wish.region
        reading = seen.regions.get(region)
        if reading is None or reading.free is None:
            return granted(wish, f"it is unknown how much room {region} has")
        room = left.get(region, reading.free)
        given = min(wish.change, max(room, 1) if first else room)
        left[region] = max(room - given, 0)
        why = _because(given, wish, room, region)
        return Answer(proposal=wish, granted=given, why=why, roomless=room == 0 and given > 0)


def _because(given: int, wish: Proposal, room: int, region: str) -> str:
    if given > room:
        return f"{region} has no room, and is to know that it is wanted"
    if given == wish.change:
        return f"{region} has room for it"
    return f"no {'more ' * (given > 0)}room is left in {region}"


def _idleness(proposal: Proposal) -> float:
    busy = proposal.load
    return 1.0 if busy is None or isnan(busy) else -busy
