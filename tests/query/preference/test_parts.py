"""Parts of panes as tables: what is kept, what merges, and what the answer is, exactly."""

from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.query.preference.criterion import Criterion, Preference, Skyline, TopDelta
from penstock.query.preference.parts import Columns, answer, decode, encode, merge, reduce
from penstock.query.preference.tuples import Groups, points, usable

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.sampled_from("xy")),
    min_size=1,
    max_size=40,
)
COLUMNS = Columns(on=("a", "b", "c"), maximise=frozenset({"b"}), by=("key",))
CUTS = st.lists(st.integers(0, 40), max_size=4)


def table(rows: list[tuple[int, int, int, str]]) -> pa.Table:
    a, b, c, key = zip(*rows, strict=True)
    return pa.table({"a": a, "b": b, "c": c, "key": key, "id": range(len(rows))}).append_column(
        "ts", pa.array(range(len(rows)), pa.timestamp("us"))
    )


def kept(whole: pa.Table, criterion: Criterion) -> pa.Table:
    return whole.take(reduce(whole, np.zeros(whole.num_rows, np.int64), COLUMNS, criterion))


def parts_of(whole: pa.Table, cuts: list[int], criterion: Criterion) -> list[pa.Table]:
    edges = sorted({0, whole.num_rows, *(cut for cut in cuts if cut < whole.num_rows)})
    pieces = [whole.slice(a, b - a) for a, b in pairwise(edges)]
    return [kept(piece.combine_chunks(), criterion) for piece in pieces]


def better(p: Any, q: Any) -> list[bool]:
    """By dimension: no worse; the last says whether it is better somewhere."""
    mine, yours = (p["a"], -p["b"], p["c"]), (q["a"], -q["b"], q["c"])
    no_worse = [x <= y for x, y in zip(mine, yours, strict=True)]
    return [*no_worse, any(x < y for x, y in zip(mine, yours, strict=True))]


def factor(q: Any, rows: list[Any]) -> int:
    found = (better(p, q) for p in rows if p["key"] == q["key"])
    return max((sum(no_worse) if some else 0 for *no_worse, some in found), default=0)


@given(ROWS, CUTS, st.randoms(use_true_random=False))
def test_the_skyline_does_not_depend_on_how_rows_were_cut_and_shuffled(
    rows: list[tuple[int, int, int, str]], cuts: list[int], random: Any
) -> None:
    whole = table(rows)
    every = whole.to_pylist()
    expected = {row["id"] for row in every if factor(row, every) < 3}
    shuffled = whole.take(random.sample(range(len(rows)), len(rows)))
    found = answer(parts_of(shuffled, cuts, Skyline()), COLUMNS, Skyline())
    assert set(found["id"].to_pylist()) == expected
    assert found.equals(answer([kept(whole, Skyline())], COLUMNS, Skyline()))


@given(ROWS, CUTS, st.integers(1, 9), st.randoms(use_true_random=False))
def test_top_delta_has_the_lowest_factors_and_ties_by_value(
    rows: list[tuple[int, int, int, str]], cuts: list[int], delta: int, random: Any
) -> None:
    whole, criterion = table(rows), TopDelta(delta)
    every = whole.to_pylist()
    ranked = sorted(
        every,
        key=lambda r: (r["key"], factor(r, every), r["a"], -r["b"], r["c"], r["ts"], r["id"]),
    )
    expected = [
        (row["id"], factor(row, every))
        for key in "xy"
        for row in [r for r in ranked if r["key"] == key][:delta]
    ]
    shuffled = whole.take(random.sample(range(len(rows)), len(rows)))
    found = answer(parts_of(shuffled, cuts, criterion), COLUMNS, criterion)
    factors = found["dominance_factor"].to_pylist()
    assert list(zip(found["id"].to_pylist(), factors, strict=True)) == expected


def test_top_delta_fills_up_with_dominated_rows_of_any_part() -> None:
    columns = Columns(on=("a",))
    first = pa.table({"a": [5, 6, 7, 8], "ts": pa.array(range(4), pa.timestamp("us"))})
    other = pa.table({"a": [0], "ts": pa.array([9], pa.timestamp("us"))})
    criterion = TopDelta(3)
    parts = [
        t.take(reduce(t, np.zeros(t.num_rows, np.int64), columns, criterion))
        for t in (first, other)
    ]
    found = answer(parts, columns, criterion)
    assert found["a"].to_pylist() == [0, 5, 6]
    assert found["dominance_factor"].to_pylist() == [0, 1, 1]


def nearer(p: Any, q: Any) -> bool:
    return bool(abs(p[0] - 2) < abs(q[0] - 2))


@given(ROWS, CUTS)
def test_a_custom_preference_merges_as_it_defines(
    rows: list[tuple[int, int, int, str]], cuts: list[int]
) -> None:
    def both(left: Any, right: Any) -> Any:
        values = np.concatenate([left, right])[:, 0]
        return np.flatnonzero(abs(values - 2) == abs(values - 2).min())

    whole = table(rows)
    expected = {
        row["id"]
        for row in whole.to_pylist()
        if abs(row["a"] - 2)
        == min(abs(other["a"] - 2) for other in whole.to_pylist() if other["key"] == row["key"])
    }
    for criterion in (Preference(nearer), Preference(nearer, both)):
        found = answer(parts_of(whole, cuts, criterion), COLUMNS, criterion)
        assert set(found["id"].to_pylist()) == expected


def test_merging_calls_the_user_s_function_with_both_results() -> None:
    seen: list[tuple[list[float], list[float]]] = []

    def both(left: Any, right: Any) -> Any:
        seen.append((left[:, 0].tolist(), right[:, 0].tolist()))
        return np.array([0])

    tables = [pa.table({"a": [value], "ts": [0]}) for value in (3.0, 1.0, 2.0)]
    made = merge(tables, Columns(on=("a",)), Preference(nearer, both))
    assert seen == [([3.0], [1.0]), ([3.0], [2.0])]
    assert made["a"].to_pylist() == [3.0]


@pytest.mark.parametrize("places", [[True, True], [0, 0], [-1], [2], [0.9], [[0]], "x"])
def test_merging_takes_nothing_but_places_of_rows(places: Any) -> None:
    tables = [pa.table({"a": [value], "ts": [0]}) for value in (3.0, 1.0)]
    with pytest.raises(SettingError, match="merge must return"):
        merge(tables, Columns(on=("a",)), Preference(nearer, lambda _p, _q: places))


@pytest.mark.parametrize("dominates", [lambda p: True, lambda p, q: 1 / 0, lambda p, q: p < q])
def test_a_function_that_cannot_be_asked_is_refused(dominates: Any) -> None:
    with pytest.raises(SettingError, match="dominates failed on two arrays of 3 zeros"):
        Preference(dominates).try_out(3)


@given(st.randoms(use_true_random=False))
def test_ties_that_differ_in_nested_columns_only_are_cut_the_same_way(random: Any) -> None:
    order = random.sample(range(8), 8)
    rows = pa.table({"a": [1] * 8, "ts": [0] * 8, "deep": [[place] for place in order]})
    found = answer([rows], Columns(on=("a",)), TopDelta(2))
    assert found["deep"].to_pylist() == [[0], [1]]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**62, 2**62 + 1, -(2**63)]),
        pa.array([Decimal("1.0000000000000000001"), Decimal("1.0000000000000000002"), Decimal(0)]),
        pa.array([1.5, 2.5, -1.0], pa.float32()),
        pa.array([3, 4, 0], pa.int8()),
    ],
)
def test_numbers_of_any_type_keep_their_order(values: pa.Array) -> None:
    rows = pa.table({"v": values})
    up = points(rows, ("v",), frozenset())[:, 0]
    down = points(rows, ("v",), frozenset({"v"}))[:, 0]
    assert up[2] < up[0] < up[1]
    assert down[2] > down[0] > down[1]


def test_rows_without_a_value_or_a_time_cannot_be_compared() -> None:
    rows = pa.table({"ts": [1, 2, None, 4], "x": [1, None, 3, 4], "y": [1.0, 1.0, 1.0, np.nan]})
    assert usable(rows, ("x", "y"), "ts").to_pylist() == [True, False, False, False]


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_groups_hold_their_rows_in_order(codes: list[int]) -> None:
    given_codes = np.array(codes, np.int64)
    groups = Groups.of(given_codes)
    found = [
        groups.order[a:b].tolist()
        for a, b in zip(groups.starts[:-1], groups.starts[1:], strict=True)
    ]
    assert found == [np.flatnonzero(given_codes == c).tolist() for c in sorted(set(codes))]


def test_a_table_comes_back_from_bytes_with_its_types() -> None:
    rows = pa.table({"a": pa.array([1], pa.int8()), "b": [{"x": [1, None]}], "c": [None]})
    assert decode(encode(rows)).equals(rows)


@pytest.mark.parametrize("delta", [0, -1, 2.5, True, "7"])
def test_refuses_a_delta_that_is_no_count(delta: Any) -> None:
    with pytest.raises(SettingError, match="delta must be"):
        TopDelta(delta)


def test_refuses_a_preference_that_cannot_be_called() -> None:
    with pytest.raises(SettingError, match="dominates must be a function of two tuples, got 3"):
        Preference(3)  # type: ignore[arg-type]
