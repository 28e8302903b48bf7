"""Quotes that never end: quote number i is always the same quote.

Symbols come as often as on an exchange, few of them with most of the quotes. Prices are between 100
and 200: each symbol rises and falls in a wave of its own, with noise around it, and its bid is not
always below its ask. Sizes are 0 to 200, where 0 means that there is no such side.

>>> first = Quotes(seed=1).columns(np.arange(2))
>>> first["symbol"].to_pylist(), first["bid_size"].to_pylist()
(['YU', 'F'], [70, 195])

`faults` spoils a share of them on purpose:

>>> bad = Quotes(faults={"empty": 1.0}).columns(np.arange(2))
>>> bad["bid_size"].to_pylist(), bad["ask_size"].to_pylist()
([0, 0], [0, 0])
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.core.chance import uniform
from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.workload.keys import shares

FAULTS: Final = ("malformed", "duplicate", "empty", "stranger")
_MALFORMED, _DUPLICATE, _EMPTY, _STRANGER = range(len(FAULTS))
STRANGERS: Final = tuple(f"NEW{number}" for number in range(50))
"""Symbols that are on no list."""
NAMELESS: Final = ("", None)
"""Symbols that are none."""
_BACK: Final = 1000
"""How far back a duplicate reaches, at most."""
_PRICES: Final = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0])

Columns = dict[str, NDArray[Any]]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

SYMBOLS: Final = 2836
"""Traded on the published day."""
_LOWEST, _HIGHEST = 100.0, 200.0
_NOISE: Final = 10.0
"""Most by which a price departs from its symbol's wave."""
_SHORTEST, _LONGEST = 200_000.0, 2_000_000.0
"""Quotes of all symbols together that a wave takes, at least and at most."""
_SIZES: Final = 201
_PURPOSES: Final = 9
_SYMBOL, _BID, _ASK, _BID_SIZE, _ASK_SIZE, _PHASE, _PERIOD, _FAULT, _KIND = range(_PURPOSES)


@dataclass(frozen=True)
class Quotes:
    """What the rows of the trading pipeline hold."""

    seed: int = 0
    symbols: int = SYMBOLS
    faults: Mapping[str, float] = field(default_factory=dict)
    """Share of the quotes that have a fault, by its name; none unless given.

    A stranger is a good quote of a symbol that is on no list. Late quotes come of a feed with
    `disorder`.
    """

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if self.seed < 0:
            raise SettingError(f"seed of quotes must not be negative, got {self.seed}")
        if self.symbols < 1:
            raise SettingError(f"quotes need at least one symbol, got {self.symbols}")
        for name, share in self.faults.items():
            if name not in FAULTS:
                raise SettingError(f"quotes have no fault {name!r}{near(name, FAULTS)}")
            if not 0.0 <= share <= 1.0:
                raise SettingError(f"share of {name} quotes must be in [0, 1], got {share}")
        if (total := sum(self.faults.values())) > 1.0:
            raise SettingError(f"faults must be at most all quotes, got {total:g}")

    @property
    def schema(self) -> str:
        """A quote with its number."""
        return "number long, symbol string, bid double, bid_size int, ask double, ask_size int"

    def columns(self, index: Longs) -> dict[str, pa.Array]:
        """The quotes with these numbers."""
        number = self._shown(index) if self.faults else index
        rows = self._good(number)
        if self.faults:
            rows = self._spoiled(rows, self._fault(number), self._chance(number, _KIND))
        return {
            "number": pa.array(number, pa.int64()),
            "symbol": _pool(self.symbols).take(pa.array(rows["symbol"], pa.int64())),
            "bid": pa.array(rows["bid"], pa.float64()),
            "bid_size": pa.array(rows["bid_size"], pa.int32()),
            "ask": pa.array(rows["ask"], pa.float64()),
            "ask_size": pa.array(rows["ask_size"], pa.int32()),
        }

    def _good(self, index: Longs) -> Columns:
        """Without faults; symbols by rank."""
        symbol = np.searchsorted(_reached(self.symbols), self._chance(index, _SYMBOL), side="right")
        pace, phase = _waves(self.seed, self.symbols)
        swing: Floats = np.sin(index * pace[symbol] + phase[symbol])
        wave = 0.5 * (_LOWEST + _HIGHEST) + (0.5 * (_HIGHEST - _LOWEST) - _NOISE) * swing
        return {
            "symbol": symbol,
            "bid": wave + _NOISE * (2.0 * self._chance(index, _BID) - 1.0),
            "bid_size": (_SIZES * self._chance(index, _BID_SIZE)).astype(np.int32),
            "ask": wave + _NOISE * (2.0 * self._chance(index, _ASK) - 1.0),
            "ask_size": (_SIZES * self._chance(index, _ASK_SIZE)).astype(np.int32),
        }

    def _shown(self, index: Longs) -> Longs:
        """The number of the quote that each row shows: an earlier one, if it is a duplicate.

        A duplicate of a duplicate would be the first of its number; such a row is left as it is.
        """
        back = 1 + (_BACK * self._chance(index, _KIND)).astype(np.int64)
        earlier = np.where(self._fault(index) == _DUPLICATE, np.maximum(index - back, 0), index)
        return np.where(self._fault(earlier) == _DUPLICATE, index, earlier)

    def _fault(self, index: Longs) -> Longs:
        """The fault of each quote; len(FAULTS) for none."""
        reached = np.cumsum([self.faults.get(name, 0.0) for name in FAULTS])
        return np.searchsorted(reached, self._chance(index, _FAULT), side="right")

    def _spoiled(self, rows: Columns, fault: Longs, lots: Floats) -> Columns:
        """The columns with their faults."""
        stranger, empty, bad = fault == _STRANGER, fault == _EMPTY, fault == _MALFORMED
        thrice = 3 * lots % 1.0
        new = self.symbols + (len(STRANGERS) * lots).astype(np.int64)
        none = self.symbols + len(STRANGERS) + (len(NAMELESS) * thrice).astype(np.int64)
        nameless, priced = bad & (lots < 1 / 3), bad & (lots >= 2 / 3)
        price = _PRICES[(len(_PRICES) * thrice).astype(np.int64)]
        # a bad price is a fault only on a side that there is
        bid_size = np.where(priced, np.maximum(rows["bid_size"], 1), rows["bid_size"])
        ask_size = np.where(bad & ~nameless & ~priced, -1, rows["ask_size"])
        return {
            "symbol": np.where(stranger, new, np.where(nameless, none, rows["symbol"])),
            "bid": np.where(priced, price, rows["bid"]),
            "ask": rows["ask"],
            "bid_size": np.where(empty, 0, bid_size),
            "ask_size": np.where(empty, 0, ask_size),
        }

    def _chance(self, index: Longs, purpose: int) -> Floats:
        return _chance(index, self.seed, purpose)


def _chance(index: Longs, seed: int, purpose: int) -> Floats:
    return uniform(index, _PURPOSES * seed + purpose)


@cache
def _pool(symbols: int) -> pa.Array:
    """Symbols by rank, and after them STRANGERS and NAMELESS."""
    return pa.array([*shares(symbols), *STRANGERS, *NAMELESS], pa.string())


@cache
def _reached(symbols: int) -> Floats:
    """Below which lot each symbol ends; the last takes what rounding leaves."""
    reached: Floats = np.cumsum(list(shares(symbols).values()))
    return reached[:-1]


@cache
def _waves(seed: int, symbols: int) -> tuple[Floats, Floats]:
    """How fast each symbol rises and falls, in radians a quote, and where it begins."""
    ranks = np.arange(symbols)
    length = _SHORTEST + (_LONGEST - _SHORTEST) * _chance(ranks, seed, _PERIOD)
    return 2.0 * np.pi / length, 2.0 * np.pi * _chance(ranks, seed, _PHASE)
