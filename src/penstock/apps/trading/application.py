"""The trading application of the mpc paper: quotes are routed by symbol, every 25th of a symbol
foresees its price by a parabola through its last 1,000, and candlesticks are published.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from penstock.apps.trading.candles import Candles
from penstock.apps.trading.operator import SCHEMA, Memory, to_batch
from penstock.apps.trading.operator import Operator as Evaluate
from penstock.apps.trading.quotes import Quotes
from penstock.apps.trading.series import COLUMNS, UNKNOWN, Arrivals, Series
from penstock.apps.trading.window import analyse
from penstock.pipeline.application import Application, Operator, publish
from penstock.query.keyed import Groups, Worked

PAGE: Final = "candlesticks.json"
_QUOTE: Final = np.dtype(
    [
        ("number", "i8"),
        ("ts", "i8"),
        ("bid", "f8"),
        ("ask", "f8"),
        ("bid_size", "i4"),
        ("ask_size", "i4"),
    ]
)
_NOTHING: Final = np.empty(0, np.int64)
_RESULT: Final = to_batch(analyse(Series.empty(0), _NOTHING, Series.empty(0)), [], _NOTHING).schema


@dataclass(frozen=True)
class Algotrader:
    """Evaluates the window of each symbol; the state of a symbol is its window."""

    key: str = "symbol"
    dtype: np.dtype[Any] = _QUOTE
    results: pa.Schema = _RESULT
    evaluate: Evaluate = field(default_factory=Evaluate)

    @property
    def keep(self) -> int:
        """A window."""
        return self.evaluate.window

    def __call__(self, past: Groups, counts: NDArray[np.int64], fresh: Groups) -> Worked:
        """Screen fresh quotes, and evaluate the windows that they complete."""
        memory = Memory(
            counts=counts,
            last=_last(past, "number"),
            newest=_last(past, "ts"),
            history=_series(past),
        )
        number = np.ascontiguousarray(fresh.rows["number"])
        rows = Arrivals(symbols=fresh.keys, number=number, quotes=_series(fresh))
        step = self.evaluate(memory, rows)
        return Worked(
            results=to_batch(step.results, fresh.keys, step.number),
            triggers=step.triggers,
            kept=step.screened.accepted,
            refused=step.refused,
        )


def _series(groups: Groups) -> Series:
    columns = {name: np.ascontiguousarray(groups.rows[name]) for name in COLUMNS}
    return Series(offsets=groups.offsets, **columns)


def _last(past: Groups, column: str) -> NDArray[np.int64]:
    """Of each symbol the column of its last quote; unknown where it has none."""
    last = np.full(len(past.keys), UNKNOWN, np.int64)
    known = np.diff(past.offsets) > 0
    last[known] = past.rows[column][past.offsets[1:][known] - 1]
    return last


@dataclass(slots=True)
class Candlesticks:
    """Publishes the candlesticks of the busiest symbols in a file, replaced after every batch.

    A batch that comes again after a failure is known by its number, and not counted twice.
    """

    folder: Path
    candles: Candles = field(default_factory=lambda: Candles(length=5.0))
    windows: int = 0
    _digest: int = 0
    _last: int = -1

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take in a batch that Spark has."""
        self.take(batch.toArrow(), number)

    def take(self, results: pa.Table, number: int) -> None:
        """Take in results, and publish."""
        if number <= self._last:
            return
        self._last = number
        self.windows += results.num_rows
        self._digest ^= digest(results)
        self.candles.add(results)
        publish(self.candles.plain(), self.folder / PAGE)

    def results(self) -> dict[str, Any]:
        """How many windows were evaluated, a digest of them all, and the candlesticks."""
        return {
            "windows": self.windows,
            "digest": f"{self._digest:016x}",
            "candlesticks": self.candles.plain(),
        }


def digest(results: pa.Table) -> int:
    """A number that two sets of results share only if each symbol had the same windows, in
    whatever batches and order they came.

    >>> rows = pa.table({"symbol": ["B", "C"], "ordinal": [1, 2], "number": [24, 50]})
    >>> digest(rows) == digest(rows.slice(1)) ^ digest(rows.slice(0, 1)) != digest(rows.slice(1))
    True
    """
    mixed = 0
    columns = (results[name].to_pylist() for name in ("symbol", "ordinal", "number"))
    for row in zip(*columns, strict=True):
        mixed ^= int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=8).digest())
    return mixed


def compile_kernel() -> None:
    """Have the machine code of the window operator on disk, from where every executor takes it."""
    rows = np.zeros(50, _QUOTE)
    rows["number"], rows["ts"] = np.arange(50), 1000 * np.arange(1, 51)
    rows["bid"] = rows["bid_size"] = 1
    trader, offsets = Algotrader(), np.array([0, 50])
    nothing = Groups.of({"B": rows[:0]}, _QUOTE)
    trader(nothing, np.zeros(1, np.int64), Groups(keys=("B",), offsets=offsets, rows=rows))


TRADING: Final = Application(
    rows=Quotes,
    prepare=compile_kernel,
    operators={
        "algotrader": Operator(keyed=Algotrader(), schema=f"{SCHEMA}, done long"),
        "consumer": Operator(schema=f"{SCHEMA}, done long"),
    },
    consumer=Candlesticks,
)
