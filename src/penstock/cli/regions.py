"""Regions and their nodes as a terminal shows them; one that does not answer says so."""

from typing import Final

from penstock.cli.words import UNKNOWN, number, percent
from penstock.core.signals import Observation, RegionReading

COLUMNS: Final = (
    "region",
    "nodes wanted\n/requested /running",
    "idle",
    "unmet",
    "busy",
    "trouble",
)
BY_WEIGHT: Final = (0, 1, 3, 2, 5, 4)
"""Columns in the order in which a narrow terminal gets them."""
NO_ANSWER: Final = "no answer"


def line(seen: Observation) -> str:
    """Every region of a step in a line, nothing where there are none.

    >>> regions = {"dc1": RegionReading(nodes=2, idle=1, unmet=0, wanted=3, requested=3)}
    >>> regions["dc2"] = RegionReading(trouble="its manager is gone")
    >>> line(Observation(at=2, step=2, modules={}, regions=regions))
    'dc1: nodes 3/3/2, idle 1, unmet 0, busy - | dc2: no answer, its manager is gone'
    """
    return " | ".join(f"{name}: {_told(region)}" for name, region in seen.regions.items())


def cells(region: RegionReading) -> tuple[str, ...]:
    """What the table shows of a region."""
    return (
        nodes(region),
        number(region.idle),
        number(region.unmet),
        percent(region.utilisation),
        region.trouble or "",
    )


def nodes(region: RegionReading) -> str:
    """Nodes wanted, requested and running, or that the region does not answer.

    >>> nodes(RegionReading(nodes=2, wanted=3, requested=3)), nodes(RegionReading(wanted=3))
    ('3/3/2', 'no answer')
    """
    if not region.answers:
        return NO_ANSWER
    counts = (region.wanted, region.requested, region.nodes)
    return "/".join(UNKNOWN if count is None else str(count) for count in counts)


def _told(region: RegionReading) -> str:
    told = (
        f"nodes {nodes(region)}, idle {number(region.idle)}, unmet {number(region.unmet)}, "
        f"busy {percent(region.utilisation)}"
    )
    known = told if region.answers else NO_ANSWER
    return f"{known}, {region.trouble}" if region.trouble else known
