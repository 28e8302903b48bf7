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
from html import escape
from itertools import groupby
from math import floor
from typing import Final

from penstock.core.words import count_of, duration
from penstock.record.codec import FieldError, reader
from penstock.report.plot import HEIGHT, WIDTH, x_labels, y_labels
from penstock.report.scales import Axis, narrow_axis, time_axis

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
        told = reader(_Published)(results.get(NAME))
    except FieldError:
        return ()
    bars = (bar for symbol in told.symbols for bar in symbol.bars)
    whole = told.length > 0 and all(len(bar) == _NUMBERS for bar in bars)
    return tuple(_sticks(symbol, told.length) for symbol in told.symbols) if whole else ()


def _sticks(told: _Symbol, length: float) -> Sticks:
    known = [prices for prices in map(_known, told.bars) if len(prices) == _NUMBERS]
    ahead = told.forecast or {}
    sides = {side: _known([ahead.get(side)]) for side in ("bid", "ask")}
    return Sticks(
        symbol=told.symbol,
        results=told.results,
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


# Candlesticks as small charts that share their time: shapes in an SVG that stretches, words
# around it that do not.


_BODY: Final = 0.7
"""Of the room of a bar."""
_BROADEST: Final = WIDTH / 30
_BESIDE: Final = WIDTH * 1.02
"""Where a forecast stands: after all bars, at the height of its price."""
_LABELS: Final = 5
_DAY: Final = 86400.0


def section(charts: Sequence[Sticks], offset: float) -> str:
    """The charts under their heading; nothing where there are none.

    Times of day are those of a place so many seconds ahead of UTC.
    """
    if not charts:
        return ""
    slim = fitted(charts)
    time = _time(slim, offset)
    figures = "".join(_figure(chart, time, offset) for chart in slim)
    return f'<section class="candles"><h2>Candlesticks</h2>{_key(slim)}{figures}</section>\n'


def _key(charts: Sequence[Sticks]) -> str:
    ahead = (
        ' At the right edge, what is foreseen: <i class="bid"></i> bid, <i class="ask"></i> ask.'
        if any(chart.ahead for chart in charts)
        else ""
    )
    return (
        f'<p class="key">{duration(charts[0].length)} a bar: <i class="up"></i> rising, '
        f'<i class="down"></i> falling.{ahead}</p>'
    )


def _figure(chart: Sticks, time: Axis, offset: float) -> str:
    prices = _prices(chart)
    digits = _digits(prices) + 1  # a price is told more exactly than the axis
    longest = max(len(label) for _, label in prices.labels)
    return (
        f"<figure><figcaption><h3>{escape(chart.symbol)} <small>{_made_of(chart)}</small></h3>"
        f"<ul>{_ahead(chart, prices, digits)}</ul></figcaption>"
        f'<div class="pane" style="--chars:{longest}" role="img" '
        f'aria-label="{escape(_spoken(chart, offset, digits))}">'
        f'<div class="y">{y_labels(prices) if chart.bars else ""}</div>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f"{_grid(prices)}{''.join(_stick(chart, bar, time, prices, offset) for bar in chart.bars)}"
        f"{_dots(chart, prices)}</svg>{_empty(chart)}"
        f'<div class="x">{x_labels(time) if chart.bars else ""}</div></div></figure>\n'
    )


def _digits(prices: Axis) -> int:
    """Behind the point of every label."""
    return len(prices.labels[0][1].partition(".")[2])


def _time(charts: Iterable[Sticks], offset: float) -> Axis:
    """From the first bar to the end of the last, labelled at round times of day."""
    bars = [(bar.start, bar.start + chart.length) for chart in charts for bar in chart.bars]
    start, end = min(bars, default=(0.0, 1.0))[0], max(bars, default=(0.0, 1.0))[1]
    midnight = floor((start + offset) / _DAY) * _DAY - offset
    moments = [at for at, _ in time_axis(start - midnight, end - midnight, most=_LABELS).labels]
    labels = tuple((at + midnight, time_of_day(at)) for at in moments)
    return Axis(start, end, labels, "")


def time_of_day(at: float) -> str:
    """Seconds since midnight as a clock on the wall shows them.

    >>> time_of_day(18_550), time_of_day(86_400 + 61.5)
    ('5:09:10', '0:01:01.5')
    """
    thousandths = round(1000 * at) % round(1000 * _DAY)
    seconds, fraction = divmod(thousandths, 1000)
    shown = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{shown}.{fraction:03}".rstrip("0") if fraction else shown


def _prices(chart: Sticks) -> Axis:
    """An axis for all bars, and for a forecast that is not further off than they are apart."""
    lows, highs = [bar.low for bar in chart.bars], [bar.high for bar in chart.bars]
    if not chart.bars:
        return narrow_axis(0.0, 1.0)
    low, high = min(lows), max(highs)
    room = high - low or abs(high) / 50
    near = [price for price in chart.ahead.values() if low - room <= price <= high + room]
    return narrow_axis(min([low, *near]), max([high, *near]))


def _stick(chart: Sticks, bar: Bar, time: Axis, prices: Axis, offset: float) -> str:
    """Thin from the lowest to the highest price, broad from the first to the last."""
    middle = WIDTH * time.share(bar.start + chart.length / 2)
    room = WIDTH * (time.share(bar.start + chart.length) - time.share(bar.start))
    broad = min(_BODY * room, _BROADEST)
    high, top, bottom, low = (
        _height(prices, price)
        for price in (bar.high, max(bar.open, bar.close), min(bar.open, bar.close), bar.low)
    )
    return (
        f'<path class="{"up" if bar.rises else "down"}" d="M{middle:.1f} {high:.1f}V{top:.1f}'
        f"M{middle:.1f} {bottom:.1f}V{low:.1f}M{middle - broad / 2:.1f} {top:.1f}h{broad:.1f}"
        f'V{bottom:.1f}h{-broad:.1f}z"><title>{_words(bar, offset)}</title></path>'
    )


def _height(prices: Axis, price: float) -> float:
    return HEIGHT * (1 - prices.share(price))


def _words(bar: Bar, offset: float) -> str:
    return (
        f"{time_of_day((bar.start + offset) % _DAY)} open {bar.open:.6g}, high {bar.high:.6g}, "
        f"low {bar.low:.6g}, close {bar.close:.6g}"
    )


def _dots(chart: Sticks, prices: Axis) -> str:
    """A ring for the ask and in it, where they are close, a dot for the bid; a forecast beyond the
    axis stands at its end."""
    if not chart.bars:
        return ""
    places = {side: _height(prices, _within(prices, at)) for side, at in chart.ahead.items()}
    shapes = (("ask", "ask"), ("hole", "ask"), ("bid", "bid"))
    return "".join(
        f'<path class="{shape}" d="M{_BESIDE:.0f} {places[side]:.1f}h0"/>'
        for shape, side in shapes
        if side in places
    )


def _within(prices: Axis, price: float) -> float:
    return min(max(price, prices.low), prices.high)


def _ahead(chart: Sticks, prices: Axis, digits: int) -> str:
    """What is foreseen, in numbers."""
    return "".join(
        f'<li><i class="{side}"></i>{side} {price:,.{digits}f}'
        f"{', off the scale' if chart.bars and price != _within(prices, price) else ''}</li>"
        for side, price in chart.ahead.items()
    )


def _made_of(chart: Sticks) -> str:
    return count_of(chart.results, "result")


def _spoken(chart: Sticks, offset: float, digits: int) -> str:
    if not chart.bars:
        return f"{chart.symbol}: no bars"
    first, last = chart.bars[0], chart.bars[-1]
    since = time_of_day((first.start + offset) % _DAY)
    return (
        f"{chart.symbol}: {len(chart.bars)} bars since {since}, from {first.open:,.{digits}f} "
        f"to {last.close:,.{digits}f}"
    )


def _empty(chart: Sticks) -> str:
    return "" if chart.bars else '<p class="empty">no bars</p>'


def _grid(prices: Axis) -> str:
    across = "".join(f"M0 {_height(prices, price):.1f}h{WIDTH}" for price, _ in prices.labels)
    return f'<path class="grid" d="{across}"/>'
