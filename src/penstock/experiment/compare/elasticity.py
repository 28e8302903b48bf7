"""Elasticity as SPEC's research group measures it (Herbst et al.): supply against demand.

Demand is what the twin says the load needs, so it is known and not estimated.

>>> from penstock.experiment.compare.track import Track
>>> import numpy as np
>>> two = Track(at=np.array([1.0, 2.0]), seconds=np.ones(2),
...             running={"m": np.array([1.0, 3.0])}, paid={"m": np.array([1.0, 3.0])})
>>> elasticity(two, {"m": np.array([2.0, 2.0])})
Elasticity(theta_u=25.0, theta_o=25.0, tau_u=50.0, tau_o=50.0)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.experiment.compare.track import Track
from penstock.record.measures import Column


@dataclass(frozen=True, slots=True)
class Elasticity:
    """All in percent; 0 is best."""

    theta_u: float
    """Executors that lacked, as a share of the demand, on average over time."""
    theta_o: float
    """Executors too many, as a share of the demand, on average over time."""
    tau_u: float
    """Share of the time in which some module lacked some."""
    tau_o: float
    """Share of the time in which some module had too many."""


def elasticity(track: Track, demand: Mapping[str, Column]) -> Elasticity:
    """Running executors against the demand of each module, so that no two mistakes cancel out."""
    gap = np.array([track.running[name] - wanted for name, wanted in demand.items()])
    whole = np.sum(list(demand.values()), axis=0)
    under, over = np.maximum(-gap, 0.0), np.maximum(gap, 0.0)
    weights = 100.0 * track.seconds / track.duration
    return Elasticity(
        theta_u=float((under.sum(axis=0) / whole) @ weights),
        theta_o=float((over.sum(axis=0) / whole) @ weights),
        tau_u=float((under > 0).any(axis=0) @ weights),
        tau_o=float((over > 0).any(axis=0) @ weights),
    )
