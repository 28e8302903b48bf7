"""Candlesticks of an application that publishes some: open, high, low and close of each stretch.

A bar that rises is hollow and one that falls is filled, so that nobody needs to see the colours.

>>> bars = [[0.0, 9.0, 9.5, 8.0, 8.5], [5.0, 8.5, 9.0, 8.5, 9.0], [10.0, 9.0, 9.0, 7.0, 7.0]]
>>> told = {"length": 5.0, "symbols": [{"symbol": "B", "results": 3, "bars": bars}]}
>>> [found] = sticks({"candlesticks": told})
>>> found.symbol, found.bars[0].rises, found.bars[1].rises
('B', False, True)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import floor
from typing import Any, Final

NAME: Final = "candlesticks"
_MOST: Final = 60
"""Bars across a chart; more would be hairlines on a phone."""
_TOGETHER: Final = (1, 2, 3, 4, 6, 12, 24, 36, 60, 120, 180, 240, 360, 720)
"""Bars that are drawn as one: of five seconds, up to an hour in round lengths."""

_LARGEST: Final = 1e15
"""From which digits would be lost; NaN is not below it either."""


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


def sticks(results: Mapping[str, object]) -> tuple[Sticks, ...]:
    """The candlesticks among the results of an application; none where nothing looks like it."""
    try:
        told: Any = results[NAME]
        length = float(told["length"])
        found = [_symbol(item, length) for item in told["symbols"]] if length > 0 else []
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple(found)


def _symbol(item: Mapping[str, Any], length: float) -> Sticks:
    ahead = item.get("forecast") or {}
    bars = sorted((_bar(prices) for prices in item["bars"] if _known(prices)), key=_start)
    return Sticks(
        symbol=str(item["symbol"]),
        results=int(item["results"]),
        length=length,
        bars=tuple(bars),
        ahead={side: float(ahead[side]) for side in ("bid", "ask") if _known([ahead.get(side)])},
    )


def _bar(prices: Sequence[float]) -> Bar:
    start, first, high, low, last = map(float, prices)
    return Bar(
        start=start, open=first, high=max(high, first, last), low=min(low, first, last), close=last
    )


def _known(numbers: Iterable[float | None]) -> bool:
    return all(number is not None and abs(number) < _LARGEST for number in numbers)


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
