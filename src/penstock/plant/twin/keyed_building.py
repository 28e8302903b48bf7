"""The state of a keyed operator at time zero, and more room when it runs short."""

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import PlantError
from penstock.core.graph import Module
from penstock.plant.twin.buckets import BUCKETS
from penstock.plant.twin.building import MOST_ROWS
from penstock.plant.twin.keyed_state import CLOCK, ENTRY, KEY, PROTOCOLS, REPLICA, ROW, VISIT, State
from penstock.plant.twin.laws import clipped_mean, law_of
from penstock.plant.twin.state import NOBODY, Array


def build(
    module: Module,
    shares: NDArray[np.float64],
    means: NDArray[np.float64],
    owners: NDArray[np.int64],
    seed: np.random.SeedSequence,
    *,
    law: str,
    migration: str,
    times: Mapping[str, float],
) -> State:
    """No row anywhere, and every key with the replica that the first table gives it to."""
    state = State(
        clock=np.zeros(1, CLOCK),
        replicas=np.zeros(module.max_replicas, REPLICA),
        done=np.full(module.max_replicas, inf),
        keys=np.zeros(len(shares), KEY),
        visits=np.zeros(len(shares), VISIT),
        rows=np.zeros(0, ROW),
        ages=np.zeros((1, BUCKETS, 2)),
        journal=np.zeros(0, ENTRY),
    )
    _equip(state.clock[0], module, seed, law)
    state.clock["protocol"] = PROTOCOLS[migration]
    for name, seconds in times.items():
        state.clock[name] = seconds
    state.replicas["serving"] = NOBODY
    state.keys["mean"], state.keys["visit"] = means, np.arange(len(shares))
    state.keys["limit"], state.keys["alias"] = alias_table(shares)
    _house(state.visits, owners)
    return more_rows(state, 1024)


def alias_table(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Limits and aliases by which a key is drawn at once (Walker, 1977).

    Each of n places has room for a share of 1/n. A key with less shares its place with one that has
    more, its alias.

    >>> limits, aliases = alias_table(np.array([0.5, 0.125, 0.375]))
    >>> limits.tolist(), aliases.tolist()
    ([1.0, 0.375, 0.5], [0, 2, 0])
    """
    limits, aliases = shares / shares.sum() * len(shares), np.arange(len(shares))
    small = [k for k, room in enumerate(limits.tolist()) if room < 1.0]
    large = [k for k, room in enumerate(limits.tolist()) if room >= 1.0]
    while small and large:
        little, much = small.pop(), large[-1]
        aliases[little] = much
        limits[much] -= 1.0 - limits[little]
        if limits[much] < 1.0:
            small.append(large.pop())
    limits[small + large] = 1.0  # what is left over is rounding
    return limits, aliases


def more_rows(state: State, wanted: int) -> State:
    """The same state with room for as many rows, and twice as many as it had."""
    clock, old = state.clock[0], len(state.rows)
    size = max(2 * old, old + wanted)
    if size > MOST_ROWS:
        raise PlantError(
            f"more than {old} rows wait after {clock['now']:g} s, and the twin holds at most "
            f"{MOST_ROWS}; lower the rate, or let the module have more replicas"
        )
    return state._replace(rows=_grown(state.rows, size, clock["rows"]))


def more_visits(state: State, wanted: int) -> State:
    """The same state with room for as many visits, and twice as many as it had."""
    old = len(state.visits)
    size = max(2 * old, old + wanted)
    return state._replace(visits=_grown(state.visits, size, state.clock[0]["visits"]))


def more_journal(state: State) -> State:
    """The same state with a journal twice as long."""
    journal = np.zeros(max(2 * len(state.journal), 1024), ENTRY)
    journal[: len(state.journal)] = state.journal
    return state._replace(journal=journal)


def _equip(clock: Any, module: Module, seed: np.random.SeedSequence, law: str) -> None:
    cv = module.service_cv
    clock["cv"], clock["law"] = cv, law_of(cv, law)
    clock["unit"] = clipped_mean(cv) if law == "normal" or cv == 0 else 1.0 / cv**2
    clock["totals"]["nominal"] = module.service_time
    clock["service_chance"], clock["key_chance"] = seed.generate_state(2, np.uint64)
    clock["buffer"] = module.buffer
    clock["pace"] = 1.0
    clock["hand_due"] = inf
    clock["active"] = clock["existing"] = clock["span"] = module.initial_replicas
    clock["rows"]["free"] = clock["visits"]["free"] = NOBODY


def _house(visits: Array, owners: NDArray[np.int64]) -> None:
    """Each key's state is with its first owner."""
    visits["key"], visits["replica"] = np.arange(len(owners)), owners
    visits["here"], visits["onward"] = 1, NOBODY


def _grown(old: Array, size: int, pool: Any) -> Array:
    made: Array = np.zeros(size, old.dtype)
    made[: len(old)] = old
    made["next"][len(old) :] = np.arange(len(old) + 1, size + 1)
    made["next"][-1] = pool["free"]
    pool["free"] = len(old)
    pool["spare"] += size - len(old)
    return made
