"""Quotes spoiled on purpose, to see what becomes of them.

>>> from penstock.pipeline.market.quotes import Quotes
>>> bad = Quotes(faults={"empty": 1.0}).columns(np.arange(2))
>>> bad["bid_size"].to_pylist(), bad["ask_size"].to_pylist()
([0, 0], [0, 0])
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.settings import near

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
