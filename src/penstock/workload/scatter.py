"""Rows that come at random: counts of a Poisson process whose rate changes at given moments.

>>> curve = scatter(np.array([0.0, 10.0]), np.array([0.0, 500.0]), slot=0.02, until=20.0, seed=1)
>>> curve.arrivals(np.array([10.0, 20.0])).tolist()
[0.0, 4994.0]
"""

from math import ceil

import numpy as np

from penstock.core.roles import Workload
from penstock.workload.curve import Curve, Floats


def drawn(workload: Workload) -> bool:
    """Whether a workload's own curve already says when each row comes, chance included.

    Where it does, a simulation takes the rows as they come; drawing a Poisson process about its
    rate would add noise that is not the workload's. A kind of your own says so with a class
    attribute `drawn = True`.

    >>> from penstock.workload import parse
    >>> drawn(parse("poisson:300/s")), drawn(parse("constant:300/s"))
    (True, False)
    """
    return bool(getattr(workload, "drawn", False))


def scatter(starts: Floats, rates: Floats, *, slot: float, until: float, seed: int) -> Curve:
    """A Poisson process with these rates from these moments on, counted by slot.

    Slots are cut where the rate changes, so the counts are exact whatever the moments are. Counts
    are drawn from left to right: a longer curve begins with the very same numbers.
    """
    slots = ceil(until / slot)
    edges: Floats = np.arange(slots + 1, dtype=np.float64) * slot
    if len(starts) > 1:
        edges = np.union1d(edges, starts[starts < edges[-1]])
    level = rates[np.searchsorted(starts, edges[:-1], side="right") - 1]
    counts = stream(seed, 1).poisson(level * np.diff(edges)).astype(np.float64)
    return Curve.counted(edges=edges, counts=counts)


def stream(seed: int, number: int) -> np.random.Generator:
    """One of several streams of chance that have nothing to do with each other."""
    return np.random.default_rng([seed, number])
