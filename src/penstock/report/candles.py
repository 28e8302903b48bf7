"""Candlesticks of an application that publishes some: open, high, low and close of each stretch.

A bar that rises is hollow and one that falls is filled, so that colours are not needed.

>>> bars = [[0.0, 9.0, 9.5, 8.0, 8.5], [5.0, 8.5, 9.0, 8.5, 9.0], [10.0, 9.0, 9.0, 7.0, 7.0]]
>>> published = {"length": 5.0, "symbols": [{"symbol": "B", "results": 3, "bars": bars}]}
>>> [chart] = sticks({"candlesticks": published})
>>> chart.symbol, chart.bars[0].rises, chart.bars[1].rises
('B', False, True)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import floor
from typing import Any, Final

from penstock.core.words import count_of, duration
from penstock.record.codec import FieldError, reader

NAME: Final = "candlesticks"
_MOST: Final = 60
"""Bars across a chart; more would be hairlines on a phone."""
_TOGETHER: Final = (1, 2, 3, 4, 6, 12, 24, 36, 60, 120, 180, 240, 360, 720)
"""Bars that are drawn as one: of five seconds, up to an hour in round lengths."""

_LARGEST: Final = 1e15
"""Prices from which digits would be lost."""
_NUMBERS: Final = 5
"""Of a bar: start, open, high, low, close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The prices of one stretch of time."""

    start: float
    """Seconds since 1970."""
    open: float
    high: float
    low: float
    close: float

    @property
    def rises(self) -> bool:
        """Whether it closes no lower than it opened."""
        return self.close >= self.open


@dataclass(frozen=True, slots=True, kw_only=True)
class Sticks:
    """The candlesticks of one symbol."""

    symbol: str
    results: int
    """Of which they are made."""
    length: float
    """Seconds of one bar."""
    bars: tuple[Bar, ...]
    ahead: Mapping[str, float]
    """The `bid` and the `ask` that are foreseen, each where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Symbol:
    """As an application publishes it; a price that is unknown is None."""

    symbol: str
    results: int
    bars: tuple[tuple[float | None, ...], ...]
    forecast: Mapping[str, float | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Published:
    length: float
    symbols: tuple[_Symbol, ...]


def sticks(results: Mapping[str, object]) -> tuple[Sticks, ...]:
    """The candlesticks among the results of an application; none where nothing looks like it."""
    try:
        published = reader(_Published)(results.get(NAME))
    except FieldError:
        return ()
    bars = (bar for symbol in published.symbols for bar in symbol.bars)
    whole = published.length > 0 and all(len(bar) == _NUMBERS for bar in bars)
    if not whole:
        return ()
    return tuple(_sticks(symbol, published.length) for symbol in published.symbols)


def _sticks(one: _Symbol, length: float) -> Sticks:
    known = [prices for prices in map(_known, one.bars) if len(prices) == _NUMBERS]
    ahead = one.forecast or {}
    sides = {side: _known([ahead.get(side)]) for side in ("bid", "ask")}
    return Sticks(
        symbol=one.symbol,
        results=one.results,
        length=length,
        bars=tuple(sorted(map(_bar, known), key=_start)),
        ahead={side: price for side, prices in sides.items() for price in prices},
    )


def _bar(prices: Sequence[float]) -> Bar:
    start, first, high, low, last = prices
    return Bar(
        start=start, open=first, high=max(high, first, last), low=min(low, first, last), close=last
    )


def _known(numbers: Iterable[float | None]) -> list[float]:
    return [n for n in numbers if n is not None and abs(n) < _LARGEST]


def _start(bar: Bar) -> float:
    return bar.start


def fitted(charts: Sequence[Sticks]) -> tuple[Sticks, ...]:
    """The same prices in so few bars that each can be seen, equally long in all charts.

    >>> bars = tuple(Bar(start=t, open=t, high=t + 2, low=t, close=t + 1) for t in range(90))
    >>> chart = Sticks(symbol="B", results=90, length=1.0, bars=bars, ahead={})
    >>> [slim] = fitted([chart])
    >>> slim.length, len(slim.bars), slim.bars[1]
    (2.0, 45, Bar(start=2.0, open=2, high=5, low=2, close=4))
    """
    starts = [bar.start for chart in charts for bar in chart.bars]
    if not starts:
        return tuple(charts)
    length = charts[0].length
    slots = (max(starts) - min(starts)) / length + 1
    doubled = (_TOGETHER[-1] * 2**power for power in range(1, 64))
    choices = (*_TOGETHER, *doubled)
    together = next((k for k in choices if slots / k <= _MOST), choices[-1])
    return tuple(_joined(chart, length * together) for chart in charts)


def _joined(chart: Sticks, length: float) -> Sticks:
    groups = groupby(chart.bars, lambda bar: floor(bar.start / length + 1e-9))
    bars = tuple(_one(slot * length, tuple(group)) for slot, group in groups)
    return replace(chart, length=length, bars=bars)


def _one(start: float, bars: Sequence[Bar]) -> Bar:
    return Bar(
        start=start,
        open=bars[0].open,
        high=max(bar.high for bar in bars),
        low=min(bar.low for bar in bars),
        close=bars[-1].close,
    )


def candle_data(charts: Sequence[Sticks], offset: float) -> dict[str, Any]:
    """The charts as figures that share their time, with the words of their key; empty without any.

    Times of day are those of a place so many seconds ahead of UTC.
    """
    if not charts:
        return {}
    slim = fitted(charts)
    spans = [(bar.start, bar.start + chart.length) for chart in slim for bar in chart.bars]
    start, end = min(spans, default=(0.0, 1.0))[0], max(spans, default=(0.0, 1.0))[1]
    time = {"scale": "day", "from": start, "to": end, "offset": offset}
    return {
        "bar": duration(slim[0].length),
        "ahead": any(chart.ahead for chart in slim),
        "figures": [_figure(chart, time) for chart in slim],
    }


def _figure(chart: Sticks, time: Mapping[str, object]) -> dict[str, Any]:
    bars = [(bar.start, bar.open, bar.high, bar.low, bar.close) for bar in chart.bars]
    return {
        "title": f"{chart.symbol}, {count_of(chart.results, 'result')}",
        "unit": "",
        "group": "candles",
        "x": time,
        "sticks": {"length": chart.length, "bars": bars, "ahead": chart.ahead},
    }
