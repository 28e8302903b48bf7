"""How often each key comes, where only the number of keys is known.

Few keys carry most rows, as on a stock exchange. The law is Zipf's with an offset for its head and
a cut-off for its tail, fitted to what is published of a trading day with 2,836 symbols (mpc,
Section 5.1): the largest has 2.87 % of the quotes, 133 have half of them, 924 have 90 %.

>>> day = shares(2836)
>>> list(day)[:3], f"{max(day.values()):.4f}", f"{sum(day.values()):.6f}"
(['B', 'C', 'D'], '0.0287', '1.000000')
"""

from collections.abc import Iterator, Mapping
from itertools import count as count_up
from itertools import islice, product
from typing import Final

import numpy as np

from penstock.core.errors import SettingError

_EXPONENT: Final = 0.7394
_OFFSET: Final = 1.3756
"""Ranks by which the busiest keys are less busy than Zipf's law says."""
_CUT_OFF: Final = 0.44828
"""Where the tail breaks off, as a share of the keys."""
_STEEPNESS: Final = 1.5622
"""How sharply it does."""

_CONSONANTS: Final = "BCDFGHJKLMNPRSTVWXYZ"
_VOWELS: Final = "AEIOU"


def shares(count: int) -> Mapping[str, float]:
    """The share of the rows that each of `count` keys has, the busiest first.

    >>> {key: round(share, 3) for key, share in shares(4).items()}
    {'B': 0.676, 'C': 0.238, 'D': 0.069, 'F': 0.017}
    """
    if count < 1:
        raise SettingError(f"shares are of one key or more, got {count}")
    ranks = np.arange(1.0, count + 1.0)
    weights = (ranks + _OFFSET) ** -_EXPONENT * np.exp(
        -((ranks / (_CUT_OFF * count)) ** _STEEPNESS)
    )
    return dict(zip(names(count), (weights / weights.sum()).tolist(), strict=True))


def names(count: int) -> tuple[str, ...]:
    """As many ticker symbols, the same ones every time, none longer than it must be.

    >>> names(2836)[:2], names(2836)[20:22], names(2836)[-1]
    (('B', 'C'), ('BA', 'BE'), 'CIFA')
    """
    return tuple(islice(_words(), count))


def _words() -> Iterator[str]:
    """Consonants and vowels in turn: B, C, ... BA, BE, ... BAB, BAC, ..."""
    for length in count_up(1):
        letters = [_VOWELS if place % 2 else _CONSONANTS for place in range(length)]
        yield from map("".join, product(*letters))
