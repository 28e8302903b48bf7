"""All that the simulation knows at one moment, as records that compiled code changes in place.

A row is an index into `rows`. It is free, or stands in a lane, or is served: a lane is a linked
list, and the rows that a station serves are a heap, both threaded through the rows themselves.
Stations are numbered so that each comes after those that feed it.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.plant.twin.totals import TOTALS

NOBODY: Final = -1
"""No row, or no station."""

IDLE: Final = 0
"""No micro-batch is open; the station's next moment is the trigger."""
OPEN: Final = 1
"""A micro-batch is being served or released."""

Array = np.ndarray[Any, Any]


def _sources() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return f"{crc32(b''.join(file.read_bytes() for file in files)):08x}"


CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("source", "i8"),
        ("cursor", "i8"),  # next of the arrivals in hand
        ("free", "i8"),  # first row that is free
        ("spare", "i8"),  # rows that are free
        ("reserve", "i8"),  # rows that one event may need
        ("blocked", "i8"),  # rows that are blocked anywhere
        ("services", "i8"),  # begun so far
        # Numba compares only the file of the function that it loads from disk. A layout named
        # after all our sources keeps it from loading machine code of an older version.
        (f"sources_{_sources()}", "i8"),
    ]
)

CHANCE: Final = np.dtype([("state", "u8")])  # where a stream of random numbers stands

LANE: Final = np.dtype([("first", "i8"), ("last", "i8"), ("count", "i8")])

STATION: Final = np.dtype(
    [
        ("index", "i8"),
        ("mean", "f8"),  # seconds that the next row takes, at the degree in force
        ("cv", "f8"),
        ("law", "i8"),  # how service times scatter
        ("unit", "f8"),  # what a draw of that law is divided by, to have the mean 1
        ("buffer", "f8"),
        ("share", "f8"),  # rows that one server takes on in a micro-batch, at most
        ("trigger", "f8"),
        ("overhead", "f8"),
        ("task_overhead", "f8"),
        ("overhead_sigma", "f8"),  # of the logarithm of both
        ("warm_up", "f8"),
        ("crew", "i8"),  # servers that have taken part in a micro-batch
        ("fresh", "i8"),  # whether the open micro-batch is the first of some server
        ("whole", "i8"),  # output rows for each row: so many,
        ("fraction", "f8"),  # and one more with this probability
        ("first_way", "i8"),
        ("last_way", "i8"),  # exclusive
        ("service_chance", CHANCE),
        ("way_chance", CHANCE),
        ("due", "f8"),  # when something next happens here
        ("since", "f8"),  # the totals cover the time until then
        ("servers", "i8"),  # all that exist, those that leave after their row included
        ("leaving", "i8"),
        ("busy", "i8"),
        ("holding", "i8"),  # servers that are blocked
        ("first_done", "i8"),  # root of the heap of rows that are served
        ("waiting", LANE),  # rows in the buffer
        ("blocked", LANE),  # rows of other stations that found the buffer full, in that order
        ("taken", LANE),  # rows of the open micro-batch that no server has taken yet
        ("results", LANE),  # rows of the open micro-batch that are done, to be released with it
        ("phase", "i8"),
        ("moment", "f8"),  # when the micro-batch next does something
        ("tick", "i8"),  # number of the next trigger
        ("opened", "f8"),
        ("closed_busy", "f8"),  # busy and all server-seconds when the last micro-batch ended
        ("closed_servers", "f8"),
        ("unfinished", "i8"),  # rows of the open micro-batch that are not done
        ("totals", TOTALS),
    ]
)

WAY: Final = np.dtype([("target", "i8"), ("share", "f8")])  # share: of this way and those before it

ROW: Final = np.dtype(
    [
        ("created", "f8"),
        ("entered", "f8"),
        ("service", "f8"),
        ("done", "f8"),
        ("order", "i8"),  # services begun before this one
        ("next", "i8"),  # in its lane; while it is served, the left child in the heap
        ("right", "i8"),
        ("left", "i8"),  # output rows not yet placed
        ("way", "i8"),  # station that the next of them goes to
        ("home", "i8"),  # station that the row is at
    ]
)


class State(NamedTuple):
    """The arrays, in the order in which compiled code takes them."""

    clock: Array
    """One record."""
    stations: Array
    ways: Array
    """From each station to the next ones, station after station."""
    rows: Array
    ages: NDArray[np.float64]
    """By station and bucket, how many rows left in this step, and the seconds of their latency."""
