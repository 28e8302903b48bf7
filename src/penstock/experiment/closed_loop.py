"""Both levels of control over a pipeline in regions, for as many slots as months have minutes.

What `control(RegionTwin(...), TwoLevels(...))` does slot by slot in Python, compiled as a whole:
the same decisions, without the sentences.

>>> from penstock.experiment.papers.e2df_setup import graph, places
>>> course = play(graph(), places(), np.full(50, 400.0), Levels(application="threshold"), seed=1)
>>> int(course.replicas[0]), int(course.replicas[-1])
(4, 19)
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.core.settings import near
from penstock.policy.learning.costs import check_pace, check_weights
from penstock.policy.learning.levels import check_levels, check_quantum

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

APPLICATIONS: Final = {"threshold": 0, "rl": 1}
INFRASTRUCTURES: Final = {"static": 0, "simple": 1, "rl": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What decides at either level; the defaults are those of the e2df paper, Section 8."""

    application: str = "rl"
    """`threshold` or `rl`."""
    infrastructure: str = "rl"
    """`static`, `simple` or `rl`."""
    demand_weight: float = 0.7
    """Of an unmet request beside the cost of nodes, which has the rest."""
    idle_nodes: int = 2
    """That `simple` keeps in every region."""
    max_utilisation: float = 0.75
    scale_in_factor: float = 0.75
    reconfiguration_weight: float = 1 / 3
    performance_weight: float = 1 / 3
    resource_weight: float = 1 / 3
    bound: float = 0.011
    """Seconds of an operator's response time beyond which it pays."""
    levels: int = 10
    """Into which arrival rates are divided."""
    peak: float = 650.0
    """Rows a second at the source that the levels span."""
    quantum: float = 0.1
    """Of utilisation, as region managers see it."""
    discount: float = 0.99
    learning_rate: float = 0.1
    prior: float = 1.0
    """How often a level counts as having stayed as it was, before anything was seen."""

    def __post_init__(self) -> None:
        """Refuse a policy that there is not, and what nothing can be learned with."""
        for name, known in (
            ("application", APPLICATIONS),
            ("infrastructure", INFRASTRUCTURES),
        ):
            given = getattr(self, name)
            if given not in known:
                raise SettingError(f"there is no {name} policy {given!r}{near(given, known)}")
        self._check_learning("a closed loop")

    def _check_learning(self, of: str) -> None:
        weights = ("reconfiguration_weight", "performance_weight", "resource_weight")
        check_weights({name: getattr(self, name) for name in weights}, of=of)
        demand = self.demand_weight
        check_weights({"demand_weight": demand, "its rest": 1 - demand}, of=of)
        check_pace(self.discount, self.learning_rate, of=of)
        check_levels(self.levels, of=of)
        check_quantum(self.quantum, of=of)
        for name in ("bound", "peak", "prior"):
            if not getattr(self, name) > 0:
                raise SettingError(f"{name} of {of} must be above 0, got {getattr(self, name):g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How it went, with one value for each slot."""

    response: Floats
    """Mean seconds that a row took; inf where an operator was overloaded."""
    replicas: Ints
    nodes: Ints
    reconfigured: NDArray[np.bool_]
    """Whether an operator got or lost a replica at the end of the slot."""
    unmet: Ints
    """Replicas that found no slot at the end of it."""
    costs: Floats
    """By slot and region: e2df, Expr. 1."""


def play(
    graph: FlowGraph, places: Infrastructure, rates: Floats, levels: Levels, *, seed: int
) -> Course:
    """Every slot with its rate of rows a second at the source."""
    from penstock.experiment import closed_loop_building as building
    from penstock.experiment.closed_loop_engine import turn
    from penstock.plant.twin.regions_nodes import first_nodes

    nodes, tracks = first_nodes(graph, places), building.tracks(rates.size, len(places.regions))
    turn(
        nodes,
        building.work(graph, places, levels),
        building.rules(levels),
        building.memory(graph, places, nodes),
        building.operator_tables(graph, levels),
        building.region_tables(places, levels),
        rates,
        np.random.default_rng(seed).random((rates.size, len(graph.modules))),
        tracks,
    )
    return Course(
        response=tracks.response,
        replicas=tracks.replicas,
        nodes=tracks.nodes,
        reconfigured=tracks.reconfigured.astype(bool),
        unmet=tracks.unmet,
        costs=tracks.costs,
    )
