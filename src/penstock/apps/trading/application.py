"""The trading application of the mpc paper: quotes are routed by symbol, every 25th of a symbol
foresees its price by a parabola through its last 1,000, and candlesticks are published.

The consumer, with the candlesticks of the busiest symbols and where their prices are heading:

>>> rows = {"symbol": ["B", "B"], "ts": [1_000_000, 1_900_000], "oldest": [0, 0],
...         "open": [9.0, 8.0], "high": [9.0, 8.5], "low": [7.0, 8.0], "close": [7.5, 8.0]}
>>> for side in ("bid", "ask"):
...     rows |= {f"{side}_quadratic": [0.0, 0.0], f"{side}_linear": [0.0, 1e-6],
...              f"{side}_constant": [8.0, 8.0], f"{side}_points": [1, 2]}
>>> charts = Candles(length=5.0)
>>> charts.add(pa.RecordBatch.from_pydict(rows))
>>> charts.plain()["symbols"]
[{'symbol': 'B', 'results': 2, 'bars': [[0.0, 9.0, 9.0, 7.0, 8.0]], \
'forecast': {'at': 2.9, 'bid': 10.9, 'ask': 10.9}}]
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from penstock.apps.trading.operator import CANDLE, SCHEMA, SIDES, Memory, to_batch
from penstock.apps.trading.operator import Operator as Evaluate
from penstock.apps.trading.quotes import Quotes
from penstock.apps.trading.series import COLUMNS, UNKNOWN, Arrivals, Floats, Longs, Series
from penstock.apps.trading.window import analyse
from penstock.core.errors import SettingError
from penstock.core.schema import Seconds
from penstock.pipeline.application import Application, Operator, publish
from penstock.query.keyed import Groups, Worked

_AHEAD: Final = 1_000_000
"""Microseconds from a result to the moment that it forecasts."""


class Bar(NamedTuple):
    """One candlestick."""

    open: float
    high: float
    low: float
    close: float

    def then(self, later: "Bar") -> "Bar":
        """Both as one."""
        return Bar(self.open, max(self.high, later.high), min(self.low, later.low), later.close)


class Forecast(NamedTuple):
    """The prices of one symbol at a moment to come, None for a side that has none."""

    at: int
    bid: float | None
    ask: float | None


@dataclass(slots=True)
class Chart:
    """The candlesticks of one symbol by the moment at which they begin, and its latest forecast."""

    forecast: Forecast
    results: int = 0
    bars: dict[int, Bar] = field(default_factory=dict)

    def add(self, start: int, bar: Bar, forecast: Forecast, most: int) -> None:
        """Take in one result, and let go of the oldest bar if there are too many."""
        self.forecast = forecast
        self.results += 1
        self.bars[start] = self.bars[start].then(bar) if start in self.bars else bar
        if len(self.bars) > most:
            del self.bars[min(self.bars)]


@dataclass(kw_only=True)
class Candles:
    """Charts of the results of one run; a batch that comes twice counts twice."""

    length: Seconds = 1.0
    """Seconds of one bar."""
    symbols: int = 8
    """How many symbols are published: those with most results."""
    bars: int = 240
    """Latest bars that are kept of each symbol."""
    _charts: dict[str, Chart] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not self.length >= 1e-3:
            raise SettingError(f"length of a bar must be at least 1 ms, got {self.length:g} s")
        for name in ("symbols", "bars"):
            if getattr(self, name) < 1:
                raise SettingError(
                    f"{name} of candlesticks must be at least 1, got {getattr(self, name)}"
                )

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Take in results, each symbol's in their order."""
        ts, length = _moments(batch, "ts"), round(1e6 * self.length)
        starts = (ts // length * length).tolist()
        bars = zip(*(batch[name].to_pylist() for name in CANDLE), strict=True)
        rows = zip(batch["symbol"].to_pylist(), starts, bars, _forecasts(batch, ts), strict=True)
        for symbol, start, bar, forecast in rows:
            chart = self._charts.setdefault(symbol, Chart(forecast))
            chart.add(start, Bar(*bar), forecast, self.bars)

    def plain(self) -> dict[str, Any]:
        """The busiest symbols for a file: bars are start in seconds, open, high, low, close."""
        busiest = nsmallest(self.symbols, self._charts.items(), key=_rank)
        return {"length": self.length, "symbols": [_plain(*item) for item in busiest]}


def _rank(item: tuple[str, Chart]) -> tuple[int, str]:
    """Most results first, then by name."""
    return -item[1].results, item[0]


def _plain(symbol: str, chart: Chart) -> Mapping[str, Any]:
    bars = [[start / 1e6, *chart.bars[start]] for start in sorted(chart.bars)]
    forecast = chart.forecast._asdict() | {"at": chart.forecast.at / 1e6}
    return {"symbol": symbol, "results": chart.results, "bars": bars, "forecast": forecast}


def _forecasts(batch: pa.RecordBatch | pa.Table, ts: Longs) -> Iterator[Forecast]:
    at = ts + _AHEAD
    x = (at - _moments(batch, "oldest")).astype(np.float64)
    sides = (_ahead(batch, side, x) for side in SIDES)
    return map(Forecast, at.tolist(), *sides)


def _ahead(batch: pa.RecordBatch | pa.Table, side: str, x: Floats) -> list[float | None]:
    """The parabolas of a side, so many microseconds after the oldest quote of their window."""
    names = ("quadratic", "linear", "constant", "points")
    a, b, c, points = (batch[f"{side}_{name}"].to_numpy() for name in names)
    prices = ((a * x + b) * x + c).tolist()
    return [price if n else None for price, n in zip(prices, points.tolist(), strict=True)]


def _moments(batch: pa.RecordBatch | pa.Table, name: str) -> Longs:
    moments: Longs = batch[name].cast(pa.int64()).to_numpy()
    return moments


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
