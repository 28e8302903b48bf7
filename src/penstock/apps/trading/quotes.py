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
_MALFORMED, DUPLICATE, _EMPTY, _STRANGER = range(len(FAULTS))
STRANGERS: Final = tuple(f"NEW{number}" for number in range(50))
"""Symbols that are on no list."""
NAMELESS: Final = ("", None)
"""Symbols that are none."""
_BACK: Final = 1000
"""How far back a duplicate reaches, at most."""
_PRICES: Final = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0])

Columns = dict[str, NDArray[Any]]


def check(faults: Mapping[str, float]) -> None:
    """Refuse shares that cannot be."""
    for name, share in faults.items():
        if name not in FAULTS:
            raise SettingError(f"quotes have no fault {name!r}{near(name, FAULTS)}")
        if not 0.0 <= share <= 1.0:
            raise SettingError(f"share of {name} quotes must be in [0, 1], got {share}")
    if sum(faults.values()) > 1.0:
        raise SettingError(f"faults must be at most all quotes, got {sum(faults.values()):g}")


def kinds(faults: Mapping[str, float], lots: NDArray[np.float64]) -> NDArray[np.int64]:
    """The fault of each row, by its lot; len(FAULTS) for none."""
    reached = np.cumsum([faults.get(name, 0.0) for name in FAULTS])
    return np.searchsorted(reached, lots, side="right")


def origins(
    index: NDArray[np.int64], fault: NDArray[np.int64], lots: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The number of the quote that each row shows: an earlier one, if it is a duplicate."""
    earlier = np.maximum(index - 1 - (_BACK * lots).astype(np.int64), 0)
    return np.where(fault == DUPLICATE, earlier, index)


def spoil(
    rows: Columns, fault: NDArray[np.int64], lots: NDArray[np.float64], symbols: int
) -> Columns:
    """Put the faults into columns; the pool of symbols goes on with STRANGERS and NAMELESS."""
    stranger, empty, bad = fault == _STRANGER, fault == _EMPTY, fault == _MALFORMED
    new = symbols + (len(STRANGERS) * lots).astype(np.int64)
    none = symbols + len(STRANGERS) + (len(NAMELESS) * (3 * lots % 1.0)).astype(np.int64)
    nameless, priced = bad & (lots < 1 / 3), bad & (lots >= 2 / 3)
    price = _PRICES[(len(_PRICES) * (3 * lots % 1.0)).astype(np.int64)]
    return {
        "symbol": np.where(stranger, new, np.where(nameless, none, rows["symbol"])),
        "bid": np.where(priced, price, rows["bid"]),
        "ask": rows["ask"],
        "bid_size": _sizes(rows["bid_size"], priced, empty),
        "ask_size": np.where(bad & ~nameless & ~priced, -1, np.where(empty, 0, rows["ask_size"])),
    }


def _sizes(
    sizes: NDArray[Any], priced: NDArray[np.bool_], empty: NDArray[np.bool_]
) -> NDArray[Any]:
    """A bad price is a fault only on a side that there is."""
    return np.where(empty, 0, np.where(priced, np.maximum(sizes, 1), sizes))


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
        check(self.faults)

    @property
    def schema(self) -> str:
        """A quote with its number."""
        return "number long, symbol string, bid double, bid_size int, ask double, ask_size int"

    def columns(self, index: Longs) -> dict[str, pa.Array]:
        """The quotes with these numbers."""
        if not self.faults:
            return _arrow(index, self._good(index), _pool(self.symbols))
        shown, fault = self._faults(index)
        rows = spoil(self._good(shown), fault, self._chance(shown, _KIND), self.symbols)
        return _arrow(shown, rows, _pool(self.symbols))

    def _good(self, index: Longs) -> Columns:
        """Without faults; symbols by rank."""
        symbol = np.searchsorted(_reached(self.symbols), self._chance(index, _SYMBOL), side="right")
        wave = self._wave(index, symbol)
        return {
            "symbol": symbol,
            "bid": wave + _NOISE * (2.0 * self._chance(index, _BID) - 1.0),
            "bid_size": (_SIZES * self._chance(index, _BID_SIZE)).astype(np.int32),
            "ask": wave + _NOISE * (2.0 * self._chance(index, _ASK) - 1.0),
            "ask_size": (_SIZES * self._chance(index, _ASK_SIZE)).astype(np.int32),
        }

    def _wave(self, index: Longs, symbol: Longs) -> Floats:
        """Where the price of each symbol is, but for noise."""
        pace, phase = _waves(self.seed, self.symbols)
        swing: Floats = np.sin(index * pace[symbol] + phase[symbol])
        return 0.5 * (_LOWEST + _HIGHEST) + (0.5 * (_HIGHEST - _LOWEST) - _NOISE) * swing

    def _faults(self, index: Longs) -> tuple[Longs, Longs]:
        """The number that each row shows, and the fault that the quote of this number has.

        A duplicate of a duplicate would be the first of its number; such a row is left as it is.
        """
        lots = self._chance(index, _KIND)
        earlier = origins(index, self._fault(index), lots)
        shown = np.where(self._fault(earlier) == DUPLICATE, index, earlier)
        return shown, self._fault(shown)

    def _fault(self, index: Longs) -> Longs:
        return kinds(self.faults, self._chance(index, _FAULT))

    def _chance(self, index: Longs, purpose: int) -> Floats:
        return _chance(index, self.seed, purpose)


def _chance(index: Longs, seed: int, purpose: int) -> Floats:
    return uniform(index, _PURPOSES * seed + purpose)


def _arrow(number: Longs, rows: Columns, pool: pa.Array) -> dict[str, pa.Array]:
    return {
        "number": pa.array(number, pa.int64()),
        "symbol": pool.take(pa.array(rows["symbol"], pa.int64())),
        "bid": pa.array(rows["bid"], pa.float64()),
        "bid_size": pa.array(rows["bid_size"], pa.int32()),
        "ask": pa.array(rows["ask"], pa.float64()),
        "ask_size": pa.array(rows["ask_size"], pa.int32()),
    }


@cache
def _pool(symbols: int) -> pa.Array:
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
