"""The twin of a graph with one module whose rows are routed by key."""

from collections.abc import Mapping
from typing import Any

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Workload
from penstock.core.routing import Routing
from penstock.twin.keys.tables import KeySettings
from penstock.twin.twin import Twin


class KeyedTwin(Twin):
    """A graph with one module whose rows are routed by key (mpc, Sections 2 and 4).

    Each row has a key, drawn by `shares`, and waits in the queue of the replica that the routing
    table gives the key to. When a table changes, states of keys move, each in `migration_time`
    seconds once the rows before it in its old owner's queue are served. By the module's protocol,
    or by `migration`, rows of such keys wait at the new owner while others go on (`mp`); or the new
    owner serves nothing until its keys have come (`r-blk`); or the splitter keeps those rows until
    all keys have come, and then hands them out, each in `hand_out_time` seconds, before it takes
    any other (`s-blk`). The other settings are those of `KeySettings` and of `Twin`.

    With a `buffer`, so many rows can wait before each replica, and the splitter waits for room.
    With micro-batches the splitter takes rows at a trigger, by the table in force then. Rows that
    wait at a replica stay there when the degree grows, as in the paper.

    The mean latency of a step is `waiting_time + service_time`; `latency` has its quantiles. Rows
    have the same keys and times whatever is decided.

    >>> from penstock.core.signals import Configuration, Decision
    >>> from penstock.workload import Constant
    >>> quotes = Module(name="quotes", service_time=0.004, keys=2, initial_replicas=2)
    >>> twin = KeyedTwin(
    ...     FlowGraph(source="quotes", modules=(quotes,)),
    ...     Constant(100.0),
    ...     step=10.0,
    ...     duration=20.0,
    ...     shares={"AAPL": 0.75, "MSFT": 0.25},
    ...     routing=Routing(replicas=2, owners={"AAPL": 0, "MSFT": 1}),
    ...     arrivals="even",
    ... )
    >>> together = Configuration(degrees={"quotes": 1})
    >>> for seen in twin.readings():
    ...     asked = twin.apply(Decision(configuration=together, why="one is enough"))
    ...     reading = seen.modules["quotes"]
    ...     print(f"{seen.at:g} s: {reading.utilisation:.0%} busy, {reading.keys.rates}")
    10 s: 20% busy, {'AAPL': 74.9, 'MSFT': 25.1}
    20 s: 40% busy, {'AAPL': 74.1, 'MSFT': 25.9}
    >>> twin.moved
    1
    """

    def __init__(
        self,
        graph: FlowGraph,
        workload: Workload,
        *,
        shares: Mapping[str, float] | None = None,
        service_times: Mapping[str, float] | None = None,
        routing: Routing | None = None,
        migration: str | None = None,
        migration_time: float = 0.0,
        hand_out_time: float = 0.0,
        **twin: Any,
    ) -> None:
        keys = KeySettings(
            shares=shares,
            service_times=service_times,
            routing=routing,
            migration=migration,
            migration_time=migration_time,
            hand_out_time=hand_out_time,
        )
        super().__init__(graph, workload, keys={_keyed_module(graph).name: keys}, **twin)


def _keyed_module(graph: FlowGraph) -> Module:
    """The one module with keys, or the one that there is."""
    keyed = [module for module in graph.modules if module.keys] or list(graph.modules)
    if len(keyed) != 1:
        raise SettingError(
            f"the settings of keys belong to one module, and there are {len(keyed)}: "
            f"{', '.join(module.name for module in keyed)}; give `Twin` the `keys` of each"
        )
    return keyed[0]
