"""The compiled loop makes the decisions of the ordinary one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.loop import control
from penstock.core.regions import Infrastructure
from penstock.core.roles import Policy
from penstock.core.signals import Tick
from penstock.guard import Clamp
from penstock.papers.e2df.closed_loop import Levels, play
from penstock.papers.e2df.experiment import SLOT, graph, places, rates
from penstock.policy import Threshold
from penstock.policy.hierarchy import (
    Accept,
    ApplicationManager,
    Conflicts,
    InfrastructureManager,
    TwoLevels,
)
from penstock.policy.nodes import SimpleNodes, StaticNodes
from penstock.policy.rl.learners import Rl
from penstock.policy.rl.nodes import LearnedNodes
from penstock.twin import SlotTwin

Floats = NDArray[np.float64]

APPLICATIONS: dict[str, Callable[[], Policy]] = {
    "threshold": Threshold,
    "rl": lambda: Rl(graph(), bound=0.011, peak=650.0, sweeps=1, catch_up=None),
}
REGIONS: dict[str, Callable[[Infrastructure], Policy]] = {
    "static": StaticNodes,
    "simple": SimpleNodes,
    "rl": lambda where: LearnedNodes(where, sweeps=1, assume_idle=False),
}


@dataclass
class BySlot:
    """Rows at a rate of their own in every slot."""

    rates: Floats

    def rate(self, at: Floats) -> Floats:
        """The rate of the slot that each moment is in."""
        found: Floats = self.rates[(at // SLOT).astype(int)]
        return found

    def arrivals(self, at: Floats) -> Floats:
        """Straight lines from slot to slot."""
        edges, total = self._edges()
        return np.interp(at, edges, total)

    def times(self, index: Floats) -> Floats:
        """The inverse of it."""
        edges, total = self._edges()
        return np.interp(index, total, edges)

    def _edges(self) -> tuple[Floats, Floats]:
        total: Floats = np.append(0.0, np.cumsum(self.rates * SLOT))
        edges: Floats = SLOT * np.arange(total.size, dtype=np.float64)
        return edges, total


def turned(application: str, infrastructure: str, load: Floats, seed: int) -> list[Tick]:
    """The ordinary loop."""
    where = places(12 if infrastructure == "static" else 1)
    most = {module.name: module.max_replicas for module in graph().modules}
    replicas = ApplicationManager(
        Clamp(APPLICATIONS[application](), high=most),
        Conflicts(),
        graph=graph(),
        infrastructure=where,
    )
    nodes = InfrastructureManager(REGIONS[infrastructure](where), Accept(), infrastructure=where)
    slots = {region.name: region.slots for region in where.regions}
    plant = SlotTwin(graph(), where, BySlot(load), step=SLOT, duration=SLOT * load.size, seed=seed)
    return list(control(plant, TwoLevels(replicas, nodes, slots)))


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("infrastructure", REGIONS)
def test_the_compiled_loop_decides_as_the_ordinary_one(
    application: str, infrastructure: str
) -> None:
    load = rates(1200, seed=3)
    levels = Levels(application=application, infrastructure=infrastructure)
    course = play(graph(), places(12 if infrastructure == "static" else 1), load, levels, seed=5)
    ticks = turned(application, infrastructure, load, seed=5)
    seen = [tick.seen for tick in ticks]
    assert course.replicas.tolist() == [now.running for now in seen]
    # a region that has just acted is read with the next slot
    shown = [sum(region.nodes or 0 for region in now.regions.values()) for now in seen[1:]]
    assert course.nodes[:-1].tolist() == shown
    unmet = [sum(region.unmet or 0 for region in now.regions.values()) for now in seen[1:]]
    assert course.unmet[:-1].tolist() == unmet
    response = np.array([now.latency.p50 if now.latency else np.nan for now in seen])
    assert np.minimum(course.response, SLOT * load.size) == pytest.approx(response, rel=1e-9)
