"""The arrays that the search for a skyline writes on: compiled code makes none."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.query.kernels.given import Floats, Longs
from penstock.query.kernels.sieve import BITS, LANES, LEVELS, SAMPLE, WORDS, Rows


class Room(NamedTuple):
    """What the search writes on, for groups up to a size.

    Numba's cache sees the types of the fields and not their names: if two of one type change
    places, the machine code that lies there must go.
    """

    rows: Rows
    """Those still in question."""
    spare: Rows
    heights: NDArray[np.uint32]
    places: NDArray[np.uint16]
    """By row and dimension: the mask of its level, counted through all dimensions."""
    low: Floats
    """By dimension: where the scale begins, and how much one unit counts."""
    scale: Floats
    levels: Floats
    """By dimension: the values that part one level from the next."""
    sample: Floats
    counts: Longs
    filling: Longs
    """By mask: the word that is being filled."""
    filled: Longs
    """By mask and number: the full words of the block."""
    hits: Longs
    block: Floats
    """By number in the block: the coordinates."""


def room(largest: int, dimensions: int) -> Room:
    """Room for groups of up to so many rows."""
    lanes = -(-dimensions // LANES) * LANES
    return Room(
        rows=np.empty(largest, np.uint32),
        spare=np.empty(largest, np.uint32),
        heights=np.empty(largest, np.uint32),
        places=np.empty((largest, lanes), np.uint16),
        low=np.empty(dimensions),
        scale=np.empty(dimensions),
        levels=np.empty((dimensions, LEVELS)),
        sample=np.empty(SAMPLE),
        counts=np.empty(256, np.int64),
        filling=np.empty((dimensions, LEVELS), np.int64),
        filled=np.empty((lanes * LEVELS, WORDS), np.int64),
        hits=np.empty(WORDS, np.int64),
        block=np.empty((WORDS * BITS, dimensions)),
    )
