"""Candlesticks as small charts that share their time: shapes in an SVG that stretches, words
around it that do not."""

from collections.abc import Iterable, Sequence
from html import escape
from math import floor
from typing import Final

from penstock.report.candles import Bar, Sticks, fitted
from penstock.report.plot import HEIGHT, WIDTH, x_labels, y_labels
from penstock.report.scales import Axis, duration, narrow_axis, time_axis

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
    return f"{chart.results:,} result{'s' * (chart.results != 1)}"


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
