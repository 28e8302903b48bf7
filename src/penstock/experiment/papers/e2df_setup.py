"""The word count of the e2df paper and the three data centres that it runs in (Section 8.1).

>>> graph().visits()
{'splitter': 1.0, 'filter': 5.0, 'counter': 2.0, 'consumer': 2.0}
>>> places().delay("dc1", "dc2"), places()["dc3"].max_slots
(0.002, 100)
"""

from typing import Final

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
