"""What the policies of regions share: one manager for each, and what it says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Configuration, Decision, Observation, RegionReading
from penstock.policy.common.degrees import sentence

Judge = Callable[[Region, RegionReading, int], "Verdict"]
"""Judges a region by its reading and the nodes in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The nodes that one region is to have, and why."""

    region: str
    why: str
    before: int | None = None
    after: int | None = None

    @property
    def changes(self) -> bool:
        """Whether it asks for more or fewer."""
        return self.before != self.after


def nodes_in_force(seen: Observation) -> dict[str, int]:
    """By region, the nodes that were asked for; those that are there where that is unknown.

    >>> reading = RegionReading(nodes=2, requested=3)
    >>> nodes_in_force(Observation(at=1, step=1, modules={}, regions={"dc1": reading}))
    {'dc1': 3}
    """
    found = {
        name: reading.nodes if reading.requested is None else reading.requested
        for name, reading in seen.regions.items()
    }
    return {name: count for name, count in found.items() if count is not None}


def held(region: str, nodes: int, why: str) -> Verdict:
    """A region that keeps its nodes.

    >>> held("dc1", 1, "1 idle").why
    'dc1 keeps its 1 node, 1 idle'
    """
    told = f"{region} keeps its {counted(nodes)}, {why}"
    return Verdict(region=region, before=nodes, after=nodes, why=told)


def moved(region: str, before: int, after: int, why: str) -> Verdict:
    """A region that gets more nodes or fewer.

    >>> moved("dc1", 2, 3, "0 idle, fewer than 2").why
    'dc1 2 -> 3 nodes: 0 idle, fewer than 2'
    """
    told = f"{region} {before} -> {counted(after)}: {why}"
    return Verdict(region=region, before=before, after=after, why=told)


def silent(region: str, reading: RegionReading | None, nodes: int | None) -> Verdict | None:
    """What there is to say of a region that does not answer, or is in trouble; None of others."""
    reading = reading or RegionReading()
    if reading.answers and reading.trouble is None:
        return None
    keeps = "it keeps what it has" if nodes is None else f"it keeps its {counted(nodes)}"
    if not reading.answers:
        because = f" ({reading.trouble})" if reading.trouble else ""
        why = f"{region} does not answer{because}, {keeps}"
    else:
        why = f"{region} is in trouble ({reading.trouble}), {keeps}"
    return Verdict(region=region, before=nodes, after=nodes, why=why)


def decide(
    infrastructure: Infrastructure, seen: Observation, remembered: dict[str, int], judge: Judge
) -> Decision:
    """A verdict on each region as one decision, changes told first.

    A region that does not answer keeps what it was last known to have, and is not asked for
    anything.
    """
    if not seen.regions:
        return _conclude([], seen.regions)
    now = nodes_in_force(seen)
    remembered |= now
    verdicts = []
    for region in infrastructure.regions:
        reading = seen.regions.get(region.name)
        verdict = silent(region.name, reading, remembered.get(region.name))
        if verdict is None and reading is not None:
            verdict = judge(region, reading, now[region.name])
        verdicts += [verdict] if verdict else []
    return _conclude(verdicts, seen.regions)


def counted(nodes: int) -> str:
    """So many nodes, in words."""
    return f"{nodes} node{'s' * (nodes != 1)}"


def _conclude(verdicts: list[Verdict], regions: Mapping[str, RegionReading]) -> Decision:
    told = sorted(verdicts, key=lambda verdict: not verdict.changes)
    asked = [v for v in verdicts if v.region in regions and regions[v.region].answers]
    return Decision(
        configuration=Configuration(
            degrees={}, nodes={v.region: v.after for v in asked if v.after is not None}
        ),
        why=sentence((verdict.why for verdict in told), otherwise="no region was seen"),
    )
