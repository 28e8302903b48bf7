"""Results as rows, to be sent on: one for each window, with its symbol.

>>> from penstock.pipeline.market.series import Series
>>> from penstock.pipeline.market.window import analyse
>>> import numpy as np
>>> ramp = np.arange(25)
>>> fresh = Series.of(ts=1000 * ramp, bid=100 + ramp, ask=101 + ramp)
>>> found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh)
>>> row = to_batch(found, ["B"], number=found.row).to_pylist()[0]
>>> row["symbol"], row["ordinal"], row["number"], row["bid_points"], row["close"]
('B', 1, 24, 25, 124.5)
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from penstock.pipeline.market.series import Longs
from penstock.pipeline.market.window import Results

_COEFFICIENTS: Final = ("quadratic", "linear", "constant")
SIDES: Final = ("bid", "ask")
CANDLE: Final = ("open", "high", "low", "close")
SCHEMA: Final = ", ".join(
    (
        "symbol string, ordinal long, number long, ts timestamp, oldest timestamp",
        *(f"{side}_{name} double" for side in SIDES for name in _COEFFICIENTS),
        *(f"{side}_points int" for side in SIDES),
        *(f"{name} double" for name in CANDLE),
    )
)
"""The columns, as Spark writes them."""
_MOMENT: Final = pa.timestamp("us", "UTC")


def to_batch(results: Results, symbols: Sequence[str], number: Longs) -> pa.RecordBatch:
    """The results with the names of their keys and the number of the quote that set each off."""
    names = pa.array(symbols, pa.string()).take(pa.array(results.key))
    columns = {
        "symbol": names,
        "ordinal": pa.array(results.ordinal),
        "number": pa.array(number, pa.int64()),
        "ts": pa.array(results.ts, _MOMENT),
        "oldest": pa.array(results.oldest, _MOMENT),
        **dict(_prices(results)),
    }
    return pa.RecordBatch.from_pydict(columns)


def _prices(results: Results) -> Iterator[tuple[str, pa.Array]]:
    for side in SIDES:
        for name, values in zip(_COEFFICIENTS, results.parabola(side).T, strict=True):
            yield f"{side}_{name}", pa.array(values)
    for side in SIDES:
        yield f"{side}_points", pa.array(results.points(side), pa.int32())
    for name, values in zip(CANDLE, results.candle.T, strict=True):
        yield name, pa.array(values)
