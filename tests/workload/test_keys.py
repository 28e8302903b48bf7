"""Shares of keys follow what is published of a trading day."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.workload.keys import names, shares


def carriers(part: float) -> int:
    """Keys that carry this part of a trading day."""
    return sum(carried < part for carried in accumulate(shares(2836).values())) + 1


@pytest.mark.parametrize(("part", "published"), [(0.5, 133), (0.8, 558), (0.9, 924)])
def test_as_many_keys_as_published_carry_a_part_of_the_day(part: float, published: int) -> None:
    assert carriers(part) == pytest.approx(published, rel=0.01)


def test_the_busiest_key_has_its_published_share() -> None:
    assert max(shares(2836).values()) == pytest.approx(0.0287, rel=0.002)


@given(st.integers(1, 5000))
def test_shares_sum_to_one_and_fall(count: int) -> None:
    found = list(shares(count).values())
    assert sum(found) == pytest.approx(1.0)
    assert len(found) == count
    assert found[-1] > 0
    assert all(before > after for before, after in pairwise(found))


def test_no_name_comes_twice_and_tickers_have_at_most_four_letters() -> None:
    found = names(2836)
    assert len(set(found)) == 2836
    assert all(1 <= len(name) <= 4 and name.isalpha() and name.isupper() for name in found)


def test_there_are_names_for_any_number_of_keys() -> None:
    assert len(set(names(100_000))) == 100_000


def test_no_keys_have_no_shares() -> None:
    with pytest.raises(SettingError, match="one key or more, got 0"):
        shares(0)
