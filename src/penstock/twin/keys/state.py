"""All that the twin of a keyed operator knows at one moment, for compiled code to change in place.

The state of a key is at one replica after another; each stay is a *visit*. A routing table that
gives a key to another replica opens a visit there, and rows of the key belong to it from then on.
The state moves on when the splitter has closed the visit before and all rows of that have been
served, so rows of a key are served in order whatever the tables do.

Rows and visits are indices into arrays; those that are free, and the lanes that others stand in,
are linked lists threaded through them.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import PlantError
from penstock.core.graph import Module
from penstock.twin.observing import BUCKETS, TOTALS
from penstock.twin.sources import clipped_mean, law_of
from penstock.twin.state import CHANCE, LANE, MOST_ROWS, NOBODY, Array

MP: Final = 0
R_BLK: Final = 1
S_BLK: Final = 2
PROTOCOLS: Final = {"mp": MP, "r-blk": R_BLK, "s-blk": S_BLK}
"""How keys move (mpc, Sections 4.2.2 and 5.2.2)."""

ROW_OF_KEY: Final = 0
MOVE_OUT: Final = 1
"""No more rows of this visit come."""
MOVE_IN: Final = 2
"""Nothing behind this is served before the state of this visit has come."""

POOL: Final = np.dtype([("free", "i8"), ("spare", "i8")])  # the first that is free, and how many

CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("since", "f8"),  # the totals cover the time until then
        ("cursor", "i8"),  # next of the arrivals in hand
        ("rows", POOL),
        ("visits", POOL),
        ("protocol", "i8"),
        ("migration_time", "f8"),
        ("hand_out_time", "f8"),
        ("buffer", "f8"),  # rows that can wait before one replica
        ("pace", "f8"),  # seconds for a second of work at the reference frequency
        ("input", LANE),  # rows that the splitter has not taken yet
        ("held", LANE),  # rows of moving keys that the splitter keeps, under S-BLK
        ("handing", "i8"),  # whether the splitter hands those out, and takes no other
        ("hand_due", "f8"),  # when it hands out the next; inf where that replica is full
        ("transit", LANE),  # visits whose state is on its way, in the order in which it arrives
        ("away", "i8"),  # visits whose state has not come yet
        ("moved", "i8"),  # states that have come, since the start
        ("active", "i8"),  # replicas that the table routes to
        ("existing", "i8"),  # and those that have rows left from earlier tables
        ("span", "i8"),  # replicas that have ever been
        ("busy", "i8"),
        ("mean", "f8"),  # seconds of work of the next row, and how it scatters
        ("cv", "f8"),
        ("law", "i8"),
        ("unit", "f8"),
        ("service_chance", CHANCE),
        ("key_chance", CHANCE),
        ("latest", "f8"),  # when the last row came
        ("gaps", "i8"),  # between rows that came in this step
        ("gap_mean", "f8"),
        ("gap_spread", "f8"),  # sum of their squared deviations
        ("written", "i8"),  # rows in the journal
        ("totals", TOTALS),
    ]
)

REPLICA: Final = np.dtype(
    [
        ("queue", LANE),  # rows and messages, as the splitter sent them
        ("ready", LANE),  # rows whose state came after them; they are served first
        ("waiting", "i8"),  # rows in the queue
        ("left", "i8"),  # rows that were routed here and are not done
        ("serving", "i8"),
    ]
)

KEY: Final = np.dtype(
    [
        ("mean", "f8"),  # seconds of work of a row at the reference frequency
        ("limit", "f8"),  # of the alias method: a draw above it means the alias
        ("alias", "i8"),
        ("visit", "i8"),  # that its rows belong to now
        ("moved", "i8"),  # whether the table that is being put in force moves it
        ("held", "i8"),  # its rows that the splitter keeps
        ("arrived", "i8"),  # rows that came in this step
        ("served", "i8"),  # rows that were done in this step
        ("work", "f8"),  # and their seconds of work
    ]
)

VISIT: Final = np.dtype(
    [
        ("key", "i8"),
        ("replica", "i8"),
        ("here", "i8"),  # whether the state has come
        ("closed", "i8"),  # whether the last row has come
        ("left", "i8"),  # rows of the visit that are not done
        ("pending", LANE),  # rows that came before the state did
        ("arrives", "f8"),  # when the state does, once it is on its way
        ("onward", "i8"),  # the key's next visit
        ("next", "i8"),  # in transit, or of those that are free
    ]
)

ROW: Final = np.dtype(
    [
        ("kind", "i8"),
        ("number", "i8"),
        ("key", "i8"),
        ("visit", "i8"),
        ("arrived", "f8"),
        ("work", "f8"),
        ("begun", "f8"),
        ("next", "i8"),
    ]
)

ENTRY: Final = np.dtype(
    [
        ("number", "i8"),  # in the order of arrival, from 0
        ("key", "i8"),
        ("replica", "i8"),
        ("arrived", "f8"),
        ("begun", "f8"),
        ("done", "f8"),
    ]
)
"""What a journal says of a row that was served."""


class State(NamedTuple):
    """The arrays; compiled code takes them as one."""

    clock: Array
    """One record."""
    replicas: Array
    done: NDArray[np.float64]
    """By replica, when it is done with its row; inf while it has none."""
    keys: Array
    visits: Array
    rows: Array
    ages: NDArray[np.float64]
    """By bucket, how many rows left in this step, and the seconds of their latency."""
    journal: Array
    """Rows served in this step, up to `clock.written`; empty where nobody asked for one."""


# The state of a keyed operator at time zero, and more room when it runs short.


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
