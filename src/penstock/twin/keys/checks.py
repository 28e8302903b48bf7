"""What the twin of a keyed operator cannot simulate, refused before it starts."""

from collections.abc import Mapping
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.routing import Routing
from penstock.core.settings import near
from penstock.core.units import format_duration
from penstock.model.keyed import too_many_keys
from penstock.twin.keys.state import PROTOCOLS
from penstock.workload.keys import shares

MOST_REPLICAS = 1024
"""The event loop looks at every replica for every row."""


def refusal(graph: FlowGraph) -> str | None:
    """Why no twin simulates a graph in which modules have keys; None where one does, or none has.

    >>> graph = FlowGraph(source="quotes", modules=(Module(name="quotes", keys=9),))
    >>> refusal(graph) is None
    True
    """
    if not any(module.keys for module in graph.modules):
        return None
    try:
        check_module(only_module(graph))
    except SettingError as error:
        return str(error)
    return None


def shortfall(graph: FlowGraph) -> str | None:
    """What the twin leaves out of a module with keys that runs in micro-batches; None of others.

    >>> quotes = Module(name="quotes", keys=9, trigger=2.0, overhead=0.6)
    >>> shortfall(FlowGraph(source="quotes", modules=(quotes,)))
    'the twin serves keyed rows one by one: latencies leave out micro-batches (trigger 2 s, \
overhead 600 ms)'
    """
    keyed = [module for module in graph.modules if module.keys]
    settings = ("trigger", "overhead", "task_overhead", "warm_up")
    times = [(n, getattr(m, n)) for m in keyed for n in settings]
    known = ", ".join(f"{name} {format_duration(value)}" for name, value in times if value)
    if not known:
        return None
    return f"the twin serves keyed rows one by one: latencies leave out micro-batches ({known})"


def only_module(graph: FlowGraph) -> Module:
    """The one module of the graph."""
    if len(graph.modules) != 1:
        keyed = next((module.name for module in graph.modules if module.keys), graph.source)
        raise SettingError(
            f"module {keyed} has keys, and the twin simulates a module with keys only by itself, "
            f"not among {len(graph.modules)}; make one module of them, "
            "or give it a graph of its own"
        )
    return graph.modules[0]


def shares_of(module: Module, given: Mapping[str, float] | None) -> Mapping[str, float]:
    """The share of each key that was given, or else usual ones for as many keys as there are."""
    if given is None and not module.keys:
        raise SettingError(
            f"module {module.name} has no keys to route by; set its keys, or give shares"
        )
    if given is not None and module.keys not in (0, len(given)):
        raise SettingError(
            f"module {module.name} has {module.keys} keys, and shares are given of {len(given)}; "
            "give a share of each"
        )
    if given is None and (why := too_many_keys(module)):
        raise SettingError(why)
    return shares(module.keys) if given is None else given


def check_module(module: Module) -> None:
    """Refuse what replicas with keys of their own cannot do."""
    if module.scaling != "ideal":
        raise SettingError(
            f"replicas of module {module.name} have keys of their own, and then scaling must be "
            f"ideal, got {module.scaling}"
        )
    if module.max_replicas > MOST_REPLICAS:
        raise SettingError(
            f"max_replicas of module {module.name} must be {MOST_REPLICAS} or less on the twin "
            f"of a module with keys, got {module.max_replicas}"
        )


def first_table(module: Module, given: Routing | None) -> Routing:
    """The table that the run begins with."""
    table = given or Routing(replicas=module.initial_replicas)
    if table.replicas != module.initial_replicas:
        raise SettingError(
            f"the first routing table is for {table.replicas} replicas, and module {module.name} "
            f"begins with {module.initial_replicas}; make them equal"
        )
    return table


def weights(given: Mapping[str, float]) -> NDArray[np.float64]:
    """The shares as numbers that something can be drawn by; they need not sum to 1."""
    for key, share in given.items():
        if not (isfinite(share) and share >= 0):
            raise SettingError(f"share of key {key!r} must be 0 or more, got {share}")
    found = np.array(list(given.values()), np.float64)
    if not found.sum() > 0:
        raise SettingError(f"one of the {len(found)} keys must have a share above 0")
    return found


def means(
    service_times: Mapping[str, float], keys: tuple[str, ...], otherwise: float
) -> NDArray[np.float64]:
    """Seconds that a row of each key takes."""
    strangers = service_times.keys() - set(keys)
    if strangers:
        stranger = min(strangers)
        raise SettingError(f"key {stranger!r} has a service time and no share; give it a share")
    for key, seconds in service_times.items():
        if not 0 <= seconds < inf:
            raise SettingError(f"service time of key {key!r} must be 0 or more, got {seconds}")
    return np.array([service_times.get(key, otherwise) for key in keys], np.float64)


def check_migration(migration: str, migration_time: float, hand_out_time: float) -> None:
    """Refuse protocols that there are not, and times that cannot be."""
    if migration not in PROTOCOLS:
        raise SettingError(
            f"there is no migration protocol {migration!r}{near(migration, tuple(PROTOCOLS))}"
        )
    for name, value in (("migration_time", migration_time), ("hand_out_time", hand_out_time)):
        if not 0 <= value < inf:
            raise SettingError(f"{name} of the twin must be 0 or more and finite, got {value}")


def check_frequency(frequency: float | None, reference: float | None) -> None:
    """Refuse a clock that stands still, and one that nothing is known about."""
    for value in (frequency, reference):
        if value is not None and not 0 < value < inf:
            raise SettingError(f"a clock frequency must be above 0 GHz, got {value:g}")
    if frequency is not None and reference is None:
        raise SettingError(
            f"the twin cannot be set to {frequency:g} GHz, for its service times belong to no "
            "frequency; give it one at the start"
        )
