"""Candlesticks of the busiest symbols, and where their prices are heading: the consumer.

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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.apps.trading.operator import CANDLE, SIDES
from penstock.apps.trading.series import Floats, Longs
from penstock.core.errors import SettingError
from penstock.core.schema import Seconds

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
