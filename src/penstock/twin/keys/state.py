"""What a station knows of its keys, for compiled code to change in place.

The state of a key is at one replica after another; each stay is a *visit*. A routing table that
gives a key to another replica opens a visit there, and rows of the key belong to it from then on.
The state moves on when the splitter has closed the visit before and all rows of that have been
served, so rows of a key are served in order whatever the tables do.
"""

from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.twin.records import CHANCE, INDEX, LANE, NO_INDEX, Array

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

KEYED: Final = np.dtype(
    [
        ("keys", "i8"),  # 0 where any server serves any row
        ("first_key", "i8"),
        ("first_replica", "i8"),
        ("protocol", "i8"),
        ("migration_time", "f8"),
        ("hand_out_time", "f8"),
        ("key_chance", CHANCE),
        ("held", LANE),  # rows of moving keys that the splitter keeps, under S-BLK
        ("handing", "i8"),  # whether the splitter hands those out, and takes no other
        ("hand_due", "f8"),  # when it hands out the next; inf where that replica is full
        ("transit", LANE),  # visits whose state is on its way, in the order in which it arrives
        ("away", "i8"),  # visits whose state has not come yet
        ("moved", "i8"),  # states that have come, since the start
        ("active", "i8"),  # replicas that the table routes to
        ("span", "i8"),  # replicas that have ever been
        ("latest", "f8"),  # when the last row came
        ("gaps", "i8"),  # between rows that came in this step
        ("gap_mean", "f8"),
        ("gap_spread", "f8"),  # sum of their squared deviations
    ]
)
"""Of a station."""

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
        ("alias", INDEX),
        ("visit", INDEX),  # that its rows belong to now
        ("moved", "i4"),  # whether the table that is being put in force moves it
        ("held", "i4"),  # its rows that the splitter keeps
        ("arrived", "i8"),  # rows that came in this step
        ("served", "i8"),  # rows that were done in this step
        ("work", "f8"),  # and their seconds of work
    ],
    align=True,
)

VISIT: Final = np.dtype(
    [
        ("key", INDEX),
        ("replica", INDEX),
        ("here", "i4"),  # whether the state has come
        ("closed", "i4"),  # whether the last row has come
        ("left", "i4"),  # rows of the visit that are not done
        ("pending", LANE),  # rows that came before the state did
        ("arrives", "f8"),  # when the state does, once it is on its way
        ("onward", INDEX),  # the key's next visit
        ("next", INDEX),  # in transit, or of those that are free
    ],
    align=True,
)

TAG: Final = np.dtype(
    [("kind", "i4"), ("key", INDEX), ("visit", INDEX), ("number", "i8"), ("begun", "f8")],
    align=True,
)
"""What a row has beside its times where a station has keys; the number counts arrivals."""

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
"""What a journal says of a row that was done."""


def equip(station: Any, keys: Array, means: NDArray[np.float64], shares: Any, first: int) -> None:
    """Write down which keys a station has, how rows have them, and what each takes."""
    keyed = station["keyed"]
    keyed["keys"], keyed["first_key"], keyed["hand_due"] = len(keys), first, inf
    keys["mean"], keys["visit"] = means, np.arange(first, first + len(keys))
    keys["limit"], keys["alias"] = alias_table(shares)


def settle(visits: Array, owners: NDArray[np.int64], first: int) -> None:
    """Each key's state is with its first owner."""
    visits["key"], visits["replica"] = np.arange(first, first + len(owners)), owners
    visits["here"], visits["onward"] = 1, NO_INDEX


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
