"""Verdicts on the nodes of each region, and one decision from all of them."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Configuration, Decision, Observation, RegionReading
from penstock.core.words import count_of
from penstock.policy.common.verdict import Verdict


def nodes_in_force(seen: Observation) -> dict[str, int]:
    """By region, the nodes that were asked for; those that are there where that is unknown.

    >>> reading = RegionReading(nodes=2, requested=3)
    >>> nodes_in_force(Observation(at=1, step=1, modules={}, regions={"dc1": reading}))
    {'dc1': 3}
    """
    counts = {n: r.nodes if r.requested is None else r.requested for n, r in seen.regions.items()}
    return {name: count for name, count in counts.items() if count is not None}


@dataclass(frozen=True, slots=True)
class RegionState:
    """A region to be judged: what was measured, and the nodes in force.

    >>> dc1 = RegionState(Region(name="dc1"), RegionReading(), 2)
    >>> dc1.hold("1 idle").why, dc1.move(3, "0 idle, fewer than 2").why
    ('dc1 keeps its 2 nodes, 1 idle', 'dc1 2 -> 3 nodes: 0 idle, fewer than 2')
    """

    region: Region
    reading: RegionReading
    nodes: int

    @property
    def coming(self) -> int:
        """Nodes asked for that are not there yet; 0 where that is unknown."""
        return 0 if self.reading.nodes is None else self.nodes - self.reading.nodes

    def hold(self, why: str) -> Verdict:
        """It keeps its nodes."""
        return self._verdict(self.nodes, f"keeps its {count_of(self.nodes, 'node')}, {why}")

    def move(self, after: int, why: str) -> Verdict:
        """It gets more nodes or fewer."""
        return self._verdict(after, f"{self.nodes} -> {count_of(after, 'node')}: {why}")

    def _verdict(self, after: int, why: str) -> Verdict:
        name = self.region.name
        return Verdict(name=name, before=self.nodes, after=after, why=f"{name} {why}")


def unavailable(region: str, reading: RegionReading | None, nodes: int | None) -> Verdict | None:
    """What there is to say of a region that does not answer, or is in trouble; None of others."""
    reading = reading or RegionReading()
    if reading.answers and reading.trouble is None:
        return None
    keeps = "it keeps what it has" if nodes is None else f"it keeps its {count_of(nodes, 'node')}"
    because = f" ({reading.trouble})" if reading.trouble else ""
    fails = "reports a problem" if reading.answers else "does not answer"
    why = f"{region} {fails}{because}, {keeps}"
    return Verdict(name=region, before=nodes, after=nodes, why=why)


def decide(
    infrastructure: Infrastructure,
    seen: Observation,
    remembered: dict[str, int],
    judge: Callable[[RegionState], Verdict],
) -> Decision:
    """A verdict on each region as one decision, changes first.

    A region that does not answer keeps what it was last known to have, and is not asked for
    anything.
    """
    now = nodes_in_force(seen)
    remembered |= now
    verdicts = []
    for region in infrastructure.regions if seen.regions else ():
        reading = seen.regions.get(region.name)
        verdict = unavailable(region.name, reading, remembered.get(region.name))
        if verdict is None and reading is not None:
            verdict = judge(RegionState(region, reading, now[region.name]))
        verdicts += [verdict] if verdict else []
    asked = [v for v in verdicts if v.name in seen.regions and seen.regions[v.name].answers]
    worded = sorted(verdicts, key=lambda verdict: not verdict.changes)
    return Decision(
        configuration=Configuration(
            degrees={}, nodes={v.name: v.after for v in asked if v.after is not None}
        ),
        why="; ".join(verdict.why for verdict in worded) or "no region was seen",
    )
