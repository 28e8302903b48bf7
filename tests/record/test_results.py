"""Results read well in a line, whatever an application leaves."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.record import Summary, summarise
from penstock.record.results import format_value, refusals, results


def with_results(**given_: object) -> Summary:
    return replace(summarise([], None), results=given_)


def words(**given_: object) -> dict[str, str]:
    return {name: text for name, _, text in results(with_results(**given_))}


def test_rows_refused_are_reported_by_module_and_reason_the_most_frequent_first() -> None:
    refused = {"trader": {"malformed": 0, "late": 2, "duplicate": 1300}, "other": {"empty": 1}}
    assert words(rows_refused=refused) == {
        "rows refused": "1,302 by trader: 1,300 duplicate, 2 late; 1 by other: 1 empty"
    }


@pytest.mark.parametrize("refused", [{}, {"trader": {}}, {"trader": {"late": 0, "empty": 0}}])
def test_where_no_row_was_refused_that_is_said(refused: dict[str, dict[str, int]]) -> None:
    assert words(rows_refused=refused) == {"rows refused": "none"}


@pytest.mark.parametrize("odd", [7, [1, 2], {"trader": 7}, {"trader": {"late": "many"}}, None])
def test_refusals_of_another_shape_are_reported_as_they_are(odd: object) -> None:
    assert with_results(rows_refused=odd).refused is None
    assert words(rows_refused=odd) == {"rows refused": format_value(odd)}


def test_what_the_drain_left_is_reported_elsewhere() -> None:
    assert words(rows_waiting={"trader": 3}, rows_fed=5000) == {"rows fed": "5,000"}
    assert words(rows_waiting=3) == {"rows waiting": "3"}


def test_a_result_without_anything_in_it_is_none() -> None:
    assert words(top=[], names={}, text="") == {"top": "none", "names": "none", "text": "none"}


counts = st.dictionaries(st.text(max_size=5), st.integers(0, 10**9), max_size=4)


@given(st.dictionaries(st.text(max_size=5), counts, max_size=4))
def test_every_refused_row_is_counted_once(refused: dict[str, dict[str, int]]) -> None:
    shown = refusals(refused)
    some = [sum(of.values()) for of in refused.values() if any(of.values())]
    assert (shown == "none") == (not some)
    for count in some:
        assert f"{count:,} by " in shown


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(json_values)
def test_any_value_can_be_described(value: Any) -> None:
    assert isinstance(format_value(value), str)


def test_a_count_keeps_all_its_digits() -> None:
    assert format_value(2**53 + 1) == "9,007,199,254,740,993"
    assert format_value(10**400).startswith("10,000,000")
