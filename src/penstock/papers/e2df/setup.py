"""The word count of the e2df paper, the three data centres that it runs in, and its load.

The graph and the places (Section 8.1):

>>> graph().visits()
{'splitter': 1.0, 'filter': 5.0, 'counter': 2.0, 'consumer': 2.0}
>>> places().delay("dc1", "dc2"), places()["dc3"].max_slots
(0.002, 100)

The load (Fig. 3) has two humps a day; no data of it were published. Means by the hour are joined by
straight lines; a slow and a fast noise make no two days alike:

>>> day = rates(1440, seed=1)
>>> day.size, bool(day.min() >= 0), bool(day.max() <= MOST)
(1440, True, True)
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.regions import Infrastructure, Region

SERVICE_RATE: Final = 330.0
"""Tuples a second that a replica serves."""
MAX_REPLICAS: Final = 20
MAX_NODES: Final = 50
SLOTS: Final = 2
LIMIT: Final = 0.060
"""Seconds of response time that were promised."""
STATIC_NODES: Final = 12
SLOT: Final = 60.0
"""Seconds between two decisions."""
SLOTS_OF_THE_PAPER: Final = 100_000
DELAYS: Final = {"dc1-dc2": 0.002, "dc1-dc3": 0.002, "dc2-dc3": 0.001}
PLACEMENT: Final = {"splitter": "dc1", "filter": "dc2", "counter": "dc3", "consumer": "dc3"}
"""The paper says only that all replicas of an operator are in one region."""
SELECTIVITIES: Final = (("splitter", "filter", 5.0), ("filter", "counter", 0.4))


def graph() -> FlowGraph:
    """Four operators in a row: five words a sentence, of which 60 % are dropped."""
    ways = (*SELECTIVITIES, ("counter", "consumer", 1.0))
    return FlowGraph(
        source="splitter",
        modules=tuple(_operator(name) for name in PLACEMENT),
        streams=tuple(Stream(origin=a, target=b, selectivity=s) for a, b, s in ways),
    )


def places(nodes: int = 1) -> Infrastructure:
    """Three regions with so many nodes at the start."""
    return Infrastructure(
        regions=tuple(
            Region(name=name, max_nodes=MAX_NODES, min_nodes=0, initial_nodes=nodes, slots=SLOTS)
            for name in ("dc1", "dc2", "dc3")
        ),
        delays=DELAYS,
    )


def _operator(name: str) -> Module:
    return Module(
        name=name,
        service_time=1 / SERVICE_RATE,
        max_replicas=MAX_REPLICAS,
        region=PLACEMENT[name],
    )


Floats = NDArray[np.float64]

HOURS: Final = (
    *(326.0, 242.0, 183.0, 134.0, 99.0, 75.0, 148.0, 270.0, 360.0, 389.0, 372.0, 372.0),
    *(403.0, 398.0, 413.0, 415.0, 365.0, 396.0, 505.0, 532.0, 494.0, 468.0, 455.0, 400.0),
)
"""Rows a second at each full hour."""
MOST: Final = 600.0
SLOW: Final = 0.12
"""Standard deviation of the noise that lasts, as a share of the mean."""
FAST: Final = 0.04
"""Standard deviation of the noise that is drawn anew every minute."""
MEMORY: Final = 0.97
"""How much of the slow noise is left after a minute."""


def rates(slots: int, seed: int) -> Floats:
    """Rows a second in each of so many minutes."""
    random = np.random.default_rng(seed)
    slow = _remembering(random.standard_normal(slots))
    fast = random.standard_normal(slots)
    noise = 1 + SLOW * slow + FAST * fast
    clipped: Floats = np.clip(daily(slots) * noise, 0, MOST)
    return clipped


def daily(slots: int) -> Floats:
    """The pattern without noise.

    >>> daily(91)[[0, 60, 90]].tolist()
    [326.0, 242.0, 212.5]
    """
    hours = np.arange(slots) / 60
    pattern: Floats = np.interp(hours % 24, np.arange(25), (*HOURS, HOURS[0]))
    return pattern


def _remembering(shocks: Floats) -> Floats:
    """A first-order autoregression of unit variance."""
    noise = np.empty_like(shocks)
    last = 0.0
    for at, shock in enumerate(shocks):
        last = shock if at == 0 else MEMORY * last + np.sqrt(1 - MEMORY**2) * shock
        noise[at] = last
    return noise
