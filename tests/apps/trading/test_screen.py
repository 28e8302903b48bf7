"""Which quotes are refused, and as what."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.apps.trading.operator import REASONS, Screened, screen
from penstock.apps.trading.series import UNKNOWN, Arrivals
from penstock.core.errors import SettingError
from tests.support.market_reference import Row, to_rows

GOOD: Row = {
    "number": 5,
    "symbol": "B",
    "ts": 1000,
    "bid": 100.0,
    "bid_size": 1,
    "ask": 101.0,
    "ask_size": 1,
}
NOW = 10_000


def judge(rows: Sequence[Row], *, lateness: int = 0, last: int = UNKNOWN) -> Screened:
    came = Arrivals.of(to_rows(rows))
    unknown = np.full(len(came.symbols), UNKNOWN)
    return screen(came, last=np.full_like(unknown, last), newest=unknown, lateness=lateness)


def reasons(judged: Screened) -> dict[str, int]:
    return {reason: count for reason, count in judged.refused.items() if count}


@pytest.mark.parametrize(
    "fault",
    [
        {"symbol": None},
        {"symbol": ""},
        {"number": None},
        {"ts": None},
        {"bid": None},
        {"bid": math.nan},
        {"ask": math.inf},
        {"ask": -math.inf},
        {"bid": 0.0},
        {"bid": -100.0},
        {"bid": 1e300},
        {"bid_size": -1},
        {"ask_size": -200},
        {"bid_size": None},
        {"symbol": None, "bid_size": 0, "ask_size": 0},
    ],
)
def test_malformed_rows_are_refused(fault: dict[str, Any]) -> None:
    assert reasons(judge([{**GOOD, **fault}])) == {"malformed": 1}


@pytest.mark.parametrize("price", [None, math.nan, math.inf, -1.0, 0.0])
def test_the_price_of_a_side_that_is_not_there_may_be_anything(price: float | None) -> None:
    assert judge([{**GOOD, "bid": price, "bid_size": 0}]).accepted.all()


def test_a_quote_without_a_side_is_empty_whatever_its_prices() -> None:
    empty = {**GOOD, "bid": math.nan, "bid_size": 0, "ask_size": 0}
    assert reasons(judge([empty])) == {"empty": 1}


def test_a_number_that_was_accepted_is_a_duplicate_and_so_are_those_below() -> None:
    rows = [{**GOOD, "number": number} for number in (5, 5, 4, 6, 6)]
    judged = judge(rows)
    assert judged.accepted.tolist() == [True, False, False, True, False]
    assert reasons(judged) == {"duplicate": 3}
    assert reasons(judge([GOOD], last=5)) == {"duplicate": 1}


def test_a_refused_row_does_not_use_up_its_number_or_its_moment() -> None:
    bad = {**GOOD, "bid": -1.0, "number": 99, "ts": 99_000}
    assert judge([bad, GOOD]).accepted.tolist() == [False, True]


def test_an_older_quote_is_late_and_one_of_the_same_moment_is_not() -> None:
    rows = [{**GOOD, "number": n, "ts": ts} for n, ts in enumerate((NOW, NOW - 1, NOW, NOW + 1))]
    judged = judge(rows)
    assert judged.accepted.tolist() == [True, False, True, True]
    assert reasons(judged) == {"late": 1}


def test_lateness_is_counted_from_the_newest_quote() -> None:
    moments = (NOW, NOW - 50, NOW - 51, NOW + 10, NOW - 40, NOW - 41)
    rows = [{**GOOD, "number": n, "ts": ts} for n, ts in enumerate(moments)]
    judged = judge(rows, lateness=50)
    assert judged.accepted.tolist() == [True, True, False, True, True, False]
    assert judged.newest.tolist() == [NOW + 10]


def test_symbols_are_judged_apart() -> None:
    rows = [GOOD, {**GOOD, "symbol": "C", "ts": 1}, {**GOOD, "symbol": "C", "number": 6, "ts": 0}]
    judged = judge(rows)
    assert judged.accepted.tolist() == [True, True, False]
    assert (judged.last.tolist(), judged.newest.tolist()) == ([5, 5], [1000, 1])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-1, 1)), max_size=40),
    st.integers(0, 40),
)
def test_every_row_is_accepted_or_counted_however_the_batch_is_cut(
    drawn: list[tuple[int, int, int]], cut: int
) -> None:
    rows = [{**GOOD, "number": n, "ts": ts, "bid_size": size} for n, ts, size in drawn]
    judged = judge(rows)
    first = Arrivals.of(to_rows(rows[:cut]))
    start = np.full(len(first.symbols), UNKNOWN)
    half = screen(first, last=start, newest=start)
    assert set(judged.refused) == set(REASONS)
    assert judged.accepted.sum() + sum(judged.refused.values()) == len(rows)
    if rows[:cut] and rows[cut:]:
        rest = screen(Arrivals.of(to_rows(rows[cut:])), last=half.last, newest=half.newest)
        parts = np.concatenate((half.accepted, rest.accepted))
        assert np.array_equal(parts, judged.accepted)


def test_a_state_of_other_keys_than_the_rows_have_is_refused() -> None:
    known = np.full(1, UNKNOWN)
    with pytest.raises(ValueError, match="each of the 0 symbols, got 1 and 1"):
        screen(Arrivals.of(to_rows([])), last=known, newest=known)


def test_a_negative_lateness_is_refused() -> None:
    with pytest.raises(SettingError, match="lateness must not be negative, got -1"):
        judge([GOOD], lateness=-1)
