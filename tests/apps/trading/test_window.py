"""The window operator: parabolas of least squares, exact where they are hard to find."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from penstock.apps.trading.series import Series, concatenate, trim
from penstock.apps.trading.window import Results, analyse
from penstock.core.errors import SettingError

HOUR = 3_600_000_000
MILLISECOND = 1000
PRICES = st.integers(10_000, 20_000).map(lambda cents: cents / 100)


def whole(
    ts: ArrayLike, bid: ArrayLike, bid_size: ArrayLike = 1, *, ask_size: ArrayLike = 1
) -> Results:
    """The one result of a window that has just these quotes."""
    size = len(np.asarray(ts))
    fresh = Series.of(ts=ts, bid=bid, ask=bid, bid_size=bid_size, ask_size=ask_size)
    return analyse(Series.empty(1), np.zeros(1, np.int64), fresh, window=size, slide=size)


def exact(x: list[int], y: list[float]) -> list[Fraction]:
    """The normal equations in fractions: constant, linear and quadratic coefficient."""
    points = [(Fraction(a), Fraction(b)) for a, b in zip(x, y, strict=True)]
    table = [
        [sum((a ** (i + j) for a, _ in points), Fraction()) for j in range(3)]
        + [sum((a**i * b for a, b in points), Fraction())]
        for i in range(3)
    ]
    for i in range(3):
        table[i] = [value / table[i][i] for value in table[i]]
        for j in range(3):
            if j != i:
                table[j] = [b - table[j][i] * a for a, b in zip(table[i], table[j], strict=True)]
    return [row[3] for row in table]


def fitted(found: Results, x: list[int]) -> NDArray[np.float64]:
    return np.polyval(found.parabola("bid")[0], np.array(x, float))


@given(
    st.lists(st.tuples(st.integers(1, 10**7), PRICES), min_size=3, max_size=60),
    st.sampled_from([0, 1_700_000_000_000_000, -5_000_000_000]),
)
def test_finds_the_parabola_of_least_squares(quotes: list[tuple[int, float]], start: int) -> None:
    x = np.cumsum([0, *(gap + MILLISECOND for gap, _ in quotes[1:])]).tolist()
    y = [price for _, price in quotes]
    c, b, a = exact(x, y)
    wanted = [float(a * n * n + b * n + c) for n in x]
    found = whole([start + n for n in x], y)
    assert found.oldest[0] == start
    assert fitted(found, x) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("away", [HOUR, 3 * HOUR, 24 * HOUR])
def test_one_quote_hours_before_the_others_costs_no_accuracy(away: int) -> None:
    x = [0, *range(away, away + 200_000 * MILLISECOND, 800 * MILLISECOND)]
    y = [150.0, *(100 + 50 * np.random.default_rng(1).random(len(x) - 1))]
    c, b, a = exact(x, y)
    wanted = [float(a * n * n + b * n + c) for n in x]
    assert fitted(whole(x, y), x) == pytest.approx(wanted, rel=1e-7)


def test_a_parabola_is_found_again() -> None:
    t = np.arange(1000) * 2 * MILLISECOND
    found = whole(HOUR + t, 120 + 3e-5 * t - 1.1e-11 * t**2)
    assert found.parabola("bid")[0] == pytest.approx([-1.1e-11, 3e-5, 120], rel=1e-9)
    assert found.points("bid").tolist() == [1000]


def test_quotes_of_one_millisecond_count_as_one() -> None:
    ties = whole([0, 10, 20, 5_000, 9_000], [100, 101, 105, 110, 120])
    alone = whole([10, 5_000, 9_000], [102, 110, 120])
    assert ties.points("bid").tolist() == [3]
    assert fitted(ties, [10, 5_000, 9_000]) == pytest.approx(fitted(alone, [0, 4_990, 8_990]))


def test_a_millisecond_is_one_of_the_clock() -> None:
    assert whole([999, 1000, 1999, 2000], [1, 2, 3, 4]).points("bid").tolist() == [3]
    assert whole([-1, 0], [1, 2]).points("bid").tolist() == [2]


def test_a_side_of_size_zero_does_not_count() -> None:
    t = np.arange(20) * MILLISECOND
    there = np.arange(20) % 3 > 0
    found = whole(t, np.where(there, 100 + t / 1e3, np.nan), there)
    assert found.points("bid").tolist() == [there.sum()]
    assert found.parabola("bid")[0] == pytest.approx([0, 1e-3, 100], abs=1e-9)
    assert found.points("ask").tolist() == [20]


@pytest.mark.parametrize(
    ("ts", "bid", "wanted"),
    [
        ([7, 7, 7], [100, 104, 105], [0, 0, 103]),
        ([0, 300, 600], [100, 104, 105], [0, 0, 103]),
        ([0, 0, 2000], [100, 102, 105], [0, 0.002, 101]),
        ([5], [150], [0, 0, 150]),
        ([3000, 1000, 3000], [100, 102, 104], [0, 0, 102]),
        ([3000, 0, 3000], [100, 101, 104], [0, 1 / 3000, 101]),
    ],
)
def test_too_few_points_give_a_level_or_a_line(
    ts: list[int], bid: list[float], wanted: list[float]
) -> None:
    assert whole(ts, bid).parabola("bid")[0] == pytest.approx(wanted)


def test_a_side_that_is_never_there_has_zeros_and_no_forecast() -> None:
    found = whole([1, 2000, 3000], [100, 101, 102], ask_size=0)
    assert found.parabola("ask").tolist() == [[0.0, 0.0, 0.0]]
    assert (found.points("bid").tolist(), found.points("ask").tolist()) == ([3], [0])
    assert np.isnan(found.at("ask", found.ts)).all()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1000, 0, 1, 1000, 10**6, 10**10, 10**14]), PRICES, st.integers(0, 1)
        ),
        min_size=1,
        max_size=40,
    )
)
def test_never_gives_what_is_no_number(quotes: list[tuple[int, float, int]]) -> None:
    gaps, prices, sizes = zip(*quotes, strict=True)
    found = whole(np.cumsum(gaps), prices, sizes)
    assert np.isfinite(found.values).all()


def test_candles_are_of_the_middle_or_of_the_only_side() -> None:
    fresh = Series.of(
        ts=[1, 2, 3, 4],
        bid=[10, 20, np.nan, 14],
        ask=[12, np.nan, 9, 16],
        bid_size=[1, 1, 0, 1],
        ask_size=[1, 0, 1, 1],
    )
    found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh, window=4, slide=4)
    assert found.candle.tolist() == [[11.0, 20.0, 9.0, 15.0]]


def test_keys_know_nothing_of_each_other() -> None:
    chance = np.random.default_rng(3)
    series = [
        Series.of(ts=np.cumsum(chance.integers(0, 3000, size)), bid=prices, ask=prices + 1)
        for size in (130, 0, 24, 75)
        for prices in [chance.uniform(100, 200, size)]
    ]
    both = analyse(Series.empty(4), np.zeros(4, np.int64), concatenate(series))
    alone = [analyse(Series.empty(1), np.zeros(1, np.int64), one) for one in series]
    assert both.key.tolist() == [0] * 5 + [3] * 3
    assert both.row.tolist() == [24, 49, 74, 99, 124, 178, 203, 228]
    assert np.array_equal(both.values, np.concatenate([one.values for one in alone]))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 12))
def test_trimming_keeps_the_latest(old: int, new: int, window: int) -> None:
    one, two = list(range(old)), list(range(old, old + new))
    history, fresh = (Series.of(ts=ts, bid=ts, ask=ts) for ts in (one, two))
    kept = trim(concatenate((history, fresh)), concatenate((fresh, history)), window)
    latest = [(one + two)[-window:], (two + one)[-window:]]
    assert kept.lengths.tolist() == [len(part) for part in latest]
    assert kept.ts.tolist() == latest[0] + latest[1]
    assert kept.bid.tolist() == kept.ts.tolist()


@pytest.mark.parametrize(("count", "known"), [(30, 29), (5000, 999), (3, 4)])
def test_a_history_that_does_not_fit_its_count_is_refused(count: int, known: int) -> None:
    history = Series.of(ts=range(known), bid=[1] * known, ask=[1] * known)
    with pytest.raises(SettingError, match=f"key 0 has had {count} quotes.*got {known}"):
        analyse(history, np.array([count]), Series.empty(1))


def test_arrays_that_cannot_be_written_to_are_as_good() -> None:
    bid = np.arange(25.0)
    bid.setflags(write=False)
    fresh = Series.of(ts=range(0, 50_000, 2000), bid=bid, ask=np.arange(50.0)[::2])
    found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh)
    assert found.parabola("bid")[0] == pytest.approx([0, 5e-4, 0], abs=1e-9)
    assert found.parabola("ask")[0] == pytest.approx([0, 1e-3, 0], abs=1e-9)
