"""The compiled part of the window operator: a parabola for every window, in closed form.

A parabola is linear in its coefficients, so least squares needs no iteration. The time axis is
centred, and the parabola is put together from polynomials that are orthogonal on the points of the
window, whose scale then does not matter. Sums of powers would be faster and lose every digit where
a quiet symbol has one quote hours before the others.

Every window is worked out from its own quotes alone and in their order, so that a result has the
same bits however the stream was cut into batches. All of it is in one file, because the machine
code kept on disk is compiled again only when the file of the called function has changed.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.apps.trading.series import ColumnArrays, Flags, Floats, Ints, Longs
from penstock.model.compiling import compiled, entry, inlined, require_compiler

require_compiler("trading", extra="apps")

RoomArrays = tuple[NDArray[Any], ...]

BID, ASK = 0, 1
KEY, ROW, ORDINAL, OLDEST, BID_POINTS, ASK_POINTS = range(6)
"""Whole numbers of a result, by column."""
OPEN, HIGH, LOW, CLOSE = range(6, 10)
"""Its prices, after three coefficients for each side."""
FACTS: Final = 6
VALUES: Final = 10
_LEAST: Final = 1e-12
"""What the curved part must have, in proportion, to be more than an error of rounding."""


class Columns(NamedTuple):
    """The columns of a `Series`."""

    starts: Longs
    ts: Longs
    bid: Floats
    ask: Floats
    bid_size: Ints
    ask_size: Ints


class Rows(NamedTuple):
    """Room for the quotes of one key, old and fresh, and for what is averaged of them."""

    ts: Longs
    price: Floats
    """By side and row."""
    present: Flags
    """Likewise: whether there is such a side."""
    run: Longs
    """The run that a row belongs to: rows in a row within the same interval of the clock."""
    first: Longs
    """The first row of each run, and where the next one would begin."""
    start: Longs
    """When the interval of each run begins."""
    weight: Longs
    """By side and run, like what follows: the rows that have this side."""
    time: Floats
    """The average moment, in microseconds since the interval began."""
    level: Floats
    """The average price."""
    x: Floats
    """The points of one side of one window: microseconds since its oldest quote, and price."""
    y: Floats


@entry
def slide_windows(
    old: ColumnArrays,
    counts: Longs,
    new: ColumnArrays,
    window: int,
    slide: int,
    resolution: int,
    room: RoomArrays,
    facts: Longs,
    values: Floats,
) -> int:
    """Write a result for every `slide`-th quote of each key; how many there are."""
    # Named tuples are made here, as code on disk that takes them cannot outlive their names.
    before, fresh, rows, results = Columns(*old), Columns(*new), Rows(*room), 0
    for key in range(counts.size):
        first = slide - counts[key] % slide
        size = fresh.starts[key + 1] - fresh.starts[key]
        if size < first:
            continue
        known, averaged = _load(before, key, rows, 0), 0
        _find_runs(rows, _load(fresh, key, rows, known), resolution)
        for reached in range(first, size + 1, slide):
            end = known + reached
            begin = max(end - window, 0)
            facts[results, KEY] = key
            facts[results, ROW] = fresh.starts[key] + reached - 1
            facts[results, ORDINAL] = (counts[key] + reached) // slide
            averaged = _average_runs(rows, begin, end, averaged)
            _evaluate(rows, begin, end, facts[results], values[results])
            _candle(rows, end - slide, end, values[results])
            results += 1
    return results


@compiled
def _load(columns: Columns, key: int, rows: Rows, at: int) -> int:
    """Copy the quotes of a key, from `at` on; where the next would go."""
    for row in range(columns.starts[key], columns.starts[key + 1]):
        rows.ts[at] = columns.ts[row]
        rows.price[BID, at] = columns.bid[row]
        rows.price[ASK, at] = columns.ask[row]
        rows.present[BID, at] = columns.bid_size[row] > 0
        rows.present[ASK, at] = columns.ask_size[row] > 0
        at += 1
    return at


@compiled
def _find_runs(rows: Rows, size: int, resolution: int) -> None:
    """Say of the first `size` rows which follow each other in the same interval."""
    run, last = -1, 0
    for row in range(size):
        cell = rows.ts[row] // resolution
        if run < 0 or cell != last:
            run, last = run + 1, cell
            rows.first[run] = row
            rows.start[run] = cell * resolution
        rows.run[row] = run
    rows.first[run + 1] = size


@compiled
def _average_runs(rows: Rows, begin: int, end: int, averaged: int) -> int:
    """Average the runs of a window, of which so many are done; how many then are, whole.

    The window may begin or end within a run, of which only its own rows count.
    """
    first, last = rows.run[begin], rows.run[end - 1]
    _average(rows, first, begin, min(rows.first[first + 1], end))
    for run in range(max(averaged, first + 1), last + 1):
        _average(rows, run, rows.first[run], min(rows.first[run + 1], end))
    return int(last)


@compiled
def _average(rows: Rows, run: int, begin: int, end: int) -> None:
    """Average moment and price of some rows of a run, each side by itself."""
    for side in (BID, ASK):
        count, time, price = 0, 0, 0.0
        for row in range(begin, end):
            if rows.present[side, row]:
                count += 1
                time += rows.ts[row] - rows.start[run]
                price += rows.price[side, row]
        rows.weight[side, run] = count
        rows.time[side, run] = time / max(count, 1)
        rows.level[side, run] = price / max(count, 1)


@compiled
def _evaluate(rows: Rows, begin: int, end: int, facts: Longs, values: Floats) -> None:
    """Both parabolas of one window."""
    oldest = rows.ts[begin]
    for row in range(begin + 1, end):
        oldest = min(oldest, rows.ts[row])
    facts[OLDEST] = oldest
    first, last = rows.run[begin], rows.run[end - 1]
    for side in (BID, ASK):
        facts[BID_POINTS + side] = _fit(rows, side, first, last, oldest, values)


@compiled
def _fit(rows: Rows, side: int, first: int, last: int, oldest: int, values: Floats) -> int:
    """Write the three coefficients, zero where the points allow none; how many points there are.

    With d = x - centre, the terms 1, d and d * d - skew * d - spread are orthogonal.
    """
    slope, curve, skew, spread = 0.0, 0.0, 0.0, 0.0
    size, centre, level = _points(rows, side, first, last, oldest)
    if size > 1:
        slope, skew, spread = _line(rows.x, rows.y, size, centre, level)
    if size > 2:
        curve = _curve(rows.x, rows.y, size, centre, level, slope, skew, spread)
    steep = slope - curve * skew
    values[3 * side] = curve
    values[3 * side + 1] = steep - 2.0 * curve * centre
    values[3 * side + 2] = level - curve * spread - centre * (steep - curve * centre)
    return size


@compiled
def _points(rows: Rows, side: int, first: int, last: int, oldest: int) -> tuple[int, float, float]:
    """Lay out the averages of a side, without runs that lack it; how many, and their middle."""
    size, across, up = 0, 0.0, 0.0
    for run in range(first, last + 1):
        rows.x[size] = rows.start[run] - oldest + rows.time[side, run]
        rows.y[size] = rows.level[side, run]
        if rows.weight[side, run] > 0:
            across += rows.x[size]
            up += rows.y[size]
            size += 1
    return size, across / max(size, 1), up / max(size, 1)


@inlined
def _line(
    x: Floats, y: Floats, size: int, centre: float, level: float
) -> tuple[float, float, float]:
    squares, cubes, along = 0.0, 0.0, 0.0
    for i in range(size):
        d = x[i] - centre
        squares += d * d
        cubes += d * d * d
        along += d * (y[i] - level)
    if squares == 0.0:  # quotes let in out of order can be two points of one moment
        return 0.0, 0.0, 0.0
    return along / squares, cubes / squares, squares / size


@inlined
def _curve(
    x: Floats,
    y: Floats,
    size: int,
    centre: float,
    level: float,
    slope: float,
    skew: float,
    spread: float,
) -> float:
    squares, along = 0.0, 0.0
    for i in range(size):
        d = x[i] - centre
        bend = d * d - skew * d - spread
        squares += bend * bend
        along += bend * (y[i] - level - slope * d)
    return along / squares if np.sqrt(squares) > _LEAST * size * spread else 0.0


@compiled
def _candle(rows: Rows, begin: int, end: int, values: Floats) -> None:
    """First, highest, lowest and last price of these quotes."""
    price = _price(rows, begin)
    values[OPEN] = values[HIGH] = values[LOW] = price
    for row in range(begin + 1, end):
        price = _price(rows, row)
        values[HIGH] = max(values[HIGH], price)
        values[LOW] = min(values[LOW], price)
    values[CLOSE] = price


@inlined
def _price(rows: Rows, row: int) -> float:
    """Midway between bid and ask, or the side that there is."""
    if not rows.present[BID, row]:
        return float(rows.price[ASK, row])
    if not rows.present[ASK, row]:
        return float(rows.price[BID, row])
    return float(0.5 * (rows.price[BID, row] + rows.price[ASK, row]))
