"""Verdicts on the nodes of each region, and one decision from all of them."""

from collections.abc import Callable, Mapping

from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Configuration, Decision, Observation, RegionReading
from penstock.core.words import count_of
from penstock.policy.common.sentences import sentence
from penstock.policy.common.verdict import Verdict, changes_first

Judge = Callable[[Region, RegionReading, int], Verdict]
"""Judges a region by its reading and the nodes in force."""


def nodes_in_force(seen: Observation) -> dict[str, int]:
    """By region, the nodes that were asked for; those that are there where that is unknown.

    >>> reading = RegionReading(nodes=2, requested=3)
    >>> nodes_in_force(Observation(at=1, step=1, modules={}, regions={"dc1": reading}))
    {'dc1': 3}
    """
    counts = {
        name: reading.nodes if reading.requested is None else reading.requested
        for name, reading in seen.regions.items()
    }
    return {name: count for name, count in counts.items() if count is not None}


def held(region: str, nodes: int, why: str) -> Verdict:
    """A region that keeps its nodes.

    >>> held("dc1", 1, "1 idle").why
    'dc1 keeps its 1 node, 1 idle'
    """
    text = f"{region} keeps its {count_of(nodes, 'node')}, {why}"
    return Verdict(name=region, before=nodes, after=nodes, why=text)


def moved(region: str, before: int, after: int, why: str) -> Verdict:
    """A region that gets more nodes or fewer.

    >>> moved("dc1", 2, 3, "0 idle, fewer than 2").why
    'dc1 2 -> 3 nodes: 0 idle, fewer than 2'
    """
    text = f"{region} {before} -> {count_of(after, 'node')}: {why}"
    return Verdict(name=region, before=before, after=after, why=text)


def unavailable(region: str, reading: RegionReading | None, nodes: int | None) -> Verdict | None:
    """What there is to say of a region that does not answer, or is in trouble; None of others."""
    reading = reading or RegionReading()
    if reading.answers and reading.trouble is None:
        return None
    keeps = "it keeps what it has" if nodes is None else f"it keeps its {count_of(nodes, 'node')}"
    if not reading.answers:
        because = f" ({reading.trouble})" if reading.trouble else ""
        why = f"{region} does not answer{because}, {keeps}"
    else:
        why = f"{region} reports a problem ({reading.trouble}), {keeps}"
    return Verdict(name=region, before=nodes, after=nodes, why=why)


def decide(
    infrastructure: Infrastructure, seen: Observation, remembered: dict[str, int], judge: Judge
) -> Decision:
    """A verdict on each region as one decision, changes first.

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
        verdict = unavailable(region.name, reading, remembered.get(region.name))
        if verdict is None and reading is not None:
            verdict = judge(region, reading, now[region.name])
        verdicts += [verdict] if verdict else []
    return _conclude(verdicts, seen.regions)


def _conclude(verdicts: list[Verdict], regions: Mapping[str, RegionReading]) -> Decision:
    asked = [v for v in verdicts if v.name in regions and regions[v.name].answers]
    return Decision(
        configuration=Configuration(
            degrees={}, nodes={v.name: v.after for v in asked if v.after is not None}
        ),
        why=sentence((v.why for v in changes_first(verdicts)), otherwise="no region was seen"),
    )
