"""What regions and their nodes came to over a run, and what became of requests for more and fewer.

>>> from penstock.core.signals import Configuration, Decision, Observation, RegionReading
>>> lacking = RegionReading(nodes=2, requested=2, unmet=1)
>>> seen = Observation(at=4.0, step=4.0, modules={}, regions={"dc1": lacking})
>>> more = Configuration(degrees={}, nodes={"dc1": 3})
>>> tick = Tick(seen=seen, decided=Decision(configuration=more, why="no room"), asked=more)
>>> uses([tick])["dc1"]
RegionUse(node_seconds=8.0, acquired=1, released=0, unmet=1, unmet_steps=1, silent_steps=0)
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.signals import Tick
from penstock.record.acts import Change, acts
from penstock.record.measures import (
    Column,
    added,
    held,
    highest,
    integral,
    lowest,
    mean,
    region_column,
    regions,
    steps,
    total,
    whole,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUse:
    """One region over a run. None is unknown."""

    node_seconds: float | None
    """Nodes integrated over time; a step in which it did not answer keeps the number before."""
    acquired: int
    """Nodes that were asked for beyond those that there were."""
    released: int
    """Nodes that were asked to go."""
    unmet: int | None
    """Replicas that found no node with room, over all steps that measured it."""
    unmet_steps: int
    """Steps in which some did."""
    silent_steps: int
    """Steps in which it did not say how many nodes it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCount:
    """Requests of one level by their answer.

    >>> RequestCount(granted=13, refused=1).made
    14
    """

    granted: int
    refused: int

    @property
    def made(self) -> int:
        """Both together."""
        return self.granted + self.refused


def uses(ticks: Sequence[Tick]) -> dict[str, RegionUse]:
    """What each region brought and what it lacked."""
    changes = [act.nodes for act in acts(ticks)]
    return {
        name: _use(ticks, name, [change[name] for change in changes if name in change])
        for name in regions(ticks)
    }


def node_totals(ticks: Sequence[Tick]) -> dict[str, Any]:
    """Nodes of all regions together, by the names that a summary has for them."""
    everywhere = nodes(ticks)
    return {
        "node_seconds_total": integral(everywhere, steps(ticks)),
        "nodes_min": whole(lowest(everywhere)),
        "nodes_mean": mean(everywhere, steps(ticks)),
        "nodes_max": whole(highest(everywhere)),
    }


def nodes(ticks: Sequence[Tick]) -> Column:
    """Nodes of all regions together, a value a step; a gap keeps the value before it."""
    by_region = {name: held(region_column(ticks, name, "nodes")) for name in regions(ticks)}
    return total(by_region, len(ticks))


def requests(ticks: Sequence[Tick]) -> dict[str, RequestCount]:
    """How many requests of each level were granted and refused."""
    made = Counter((r.level, r.granted) for tick in ticks for r in tick.decided.requests)
    return {
        level: RequestCount(granted=made[level, True], refused=made[level, False])
        for level in dict.fromkeys(level for level, _ in made)
    }


def _use(ticks: Sequence[Tick], name: str, changes: Sequence[Change]) -> RegionUse:
    counts, unmet = (region_column(ticks, name, metric) for metric in ("nodes", "unmet"))
    moves = [round(change.after - change.before) for change in changes if change.before is not None]
    return RegionUse(
        node_seconds=integral(held(counts), steps(ticks)),
        acquired=sum(move for move in moves if move > 0),
        released=-sum(move for move in moves if move < 0),
        unmet=whole(added(unmet)),
        unmet_steps=int((unmet > 0).sum()),
        silent_steps=int(np.isnan(counts).sum()),
    )
