"""The trading operator against the reference: any rows, cut into any batches."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.apps.trading.operator import Memory, Operator
from penstock.apps.trading.quotes import Quotes
from penstock.apps.trading.series import Arrivals
from penstock.core.errors import SettingError, UserError
from tests.support.market_reference import Row, Trader, in_batches, reference, same, to_rows

SMALL = Operator(window=12, slide=4)
BAD_PRICES = (None, math.nan, math.inf, -math.inf, 0.0, -5.0)
BAD_SIZES = (None, -1)
GAPS = (-2000, -1, 0, 0, 1, 300, 999, 1000, 1000, 40_000, 5_000_000, 3_600_000_000)
"""From ties to hours, in microseconds, and now and then backwards."""
START = 1_700_000_000_000_000


def stream(seed: int, length: int, bad: float) -> list[Row]:
    """Quotes of three symbols with every fault that there is."""
    chance = np.random.default_rng(seed)
    ts = START + np.cumsum(chance.choice(GAPS, length))
    return [row(chance, number, int(moment), bad) for number, moment in enumerate(ts)]


def row(chance: np.random.Generator, number: int, ts: int, bad: float) -> Row:
    def one_of(good: Any, faults: tuple[Any, ...]) -> Any:
        return faults[chance.integers(len(faults))] if chance.random() < bad else good

    good: dict[str, Any] = {
        "number": one_of(number, (number - 1, number - 3, None)),
        "symbol": one_of("BBC"[chance.integers(3)], ("", None, "D")),
        "ts": one_of(ts, (None,)),
    }
    for side in ("bid", "ask"):
        good[side] = one_of(float(chance.integers(10_000, 20_000)) / 100, BAD_PRICES)
        good[f"{side}_size"] = one_of(int(chance.choice((0, 1, 7, 200))), BAD_SIZES)
    return good


streams = st.builds(
    stream, st.integers(0, 2**32), st.integers(0, 150), st.sampled_from([0.0, 0.02, 0.2])
)


def cut(rows: list[Row], places: list[float]) -> list[int]:
    return sorted(int(place * len(rows)) for place in places)


def made(quotes: Quotes, begin: int, end: int, gap: float) -> list[Row]:
    """Rows of the source, so many microseconds apart."""
    index = np.arange(begin, end)
    columns = {"ts": (index * gap).astype(np.int64)}
    rows: list[Row] = pa.RecordBatch.from_pydict({**columns, **quotes.columns(index)}).to_pylist()
    return rows


@settings(max_examples=150)
@given(streams, st.sampled_from([0, 1, 5000]))
@example(stream(seed=1, length=2000, bad=0.02), 0)
@example(stream(seed=2, length=2000, bad=0.02), 5000)
def test_finds_what_the_reference_finds(rows: list[Row], lateness: int) -> None:
    trader = Trader(window=12, slide=4, lateness=lateness)
    wanted = trader.run(rows)
    found, refused = in_batches(rows, [], Operator(window=12, slide=4, lateness=lateness))
    assert refused == trader.refused
    assert len(found) == len(wanted)
    assert all(map(same, found, wanted))


@settings(max_examples=60)
@given(streams, st.lists(st.floats(0, 1), max_size=12))
def test_a_cut_into_batches_changes_no_bit(rows: list[Row], places: list[float]) -> None:
    assert in_batches(rows, cut(rows, places), SMALL) == in_batches(rows, [], SMALL)


@pytest.mark.parametrize("gap", [0.0, 30.0, 700.0, 2e6])
def test_full_windows_agree_with_the_reference(gap: float) -> None:
    rows = made(Quotes(seed=2, symbols=2), 0, 4000, gap)
    found, refused = in_batches(rows, [17, 900, 901, 3000], Operator())
    wanted = reference(rows)
    assert len(found) == len(wanted) > 150
    assert all(same(a, b, tolerance=1e-9) for a, b in zip(found, wanted, strict=True))
    assert sum(refused.values()) == 0


def test_one_row_a_batch_is_as_good_as_all_at_once() -> None:
    rows = made(Quotes(seed=3, symbols=2), 0, 300, 400.0)
    assert in_batches(rows, list(range(1, 300)), Operator()) == in_batches(rows, [], Operator())


def test_a_result_comes_with_every_25th_quote_also_while_the_window_fills() -> None:
    rows = made(Quotes(symbols=1), 0, 1100, 1000.0)
    found, _ = in_batches(rows, [], Operator())
    assert [result["ordinal"] for result in found] == list(range(1, 45))
    assert [result["number"] for result in found] == list(range(24, 1100, 25))
    assert [result["oldest"] for result in found][-5:] == [0, 25_000, 50_000, 75_000, 100_000]


def test_refused_rows_do_not_count_towards_a_result() -> None:
    quotes = Quotes(seed=4, symbols=3, faults={"malformed": 0.2, "duplicate": 0.2, "empty": 0.1})
    rows = made(quotes, 0, 3000, 500.0)
    trader = Trader()
    wanted = trader.run(rows)
    found, refused = in_batches(rows, [1000], Operator())
    assert refused == trader.refused
    assert all(map(same, found, wanted))
    assert min(refused[reason] for reason in ("malformed", "duplicate", "empty")) > 200


def test_a_symbol_never_seen_begins_a_window_of_its_own() -> None:
    rows = made(Quotes(seed=5, symbols=1, faults={"stranger": 0.9}), 0, 3000, 500.0)
    found, refused = in_batches(rows, [700, 2000], Operator())
    assert len({result["symbol"] for result in found}) > 40
    assert sum(refused.values()) == 0


def test_a_batch_without_rows_changes_nothing() -> None:
    came = Arrivals.of(to_rows([]))
    step = Operator()(Memory.empty(0), came)
    assert (came.symbols, len(step.results.ts), sum(step.refused.values())) == ((), 0, 0)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_rows_may_come_in_chunks_and_other_types(kind: pa.DataType) -> None:
    batch = to_rows(made(Quotes(symbols=3), 0, 60, 1000.0))
    symbols = batch["symbol"].cast(kind)
    table = pa.Table.from_batches([batch.set_column(2, "symbol", symbols)] * 2)
    came, plain = Arrivals.of(table), Arrivals.of(pa.concat_batches([batch] * 2))
    assert came.symbols == plain.symbols
    assert came.number.tolist() == plain.number.tolist()
    assert came.quotes.ts.tolist() == plain.quotes.ts.tolist()


def test_columns_of_nothing_but_nulls_are_malformed_rows() -> None:
    batch = to_rows(made(Quotes(symbols=1), 0, 3, 1.0))
    nothing = pa.table({name: pa.nulls(3) for name in batch.schema.names})
    assert Operator()(Memory.empty(1), Arrivals.of(nothing)).refused["malformed"] == 3


def test_a_batch_without_a_column_is_refused() -> None:
    with pytest.raises(
        UserError, match="quotes need a column number; the batch has ts, symbol, bid"
    ):
        Arrivals.of(pa.table({"ts": [1], "symbol": ["B"], "bid": [1.0]}))


def test_memory_of_other_symbols_is_refused() -> None:
    came = Arrivals.of(to_rows(made(Quotes(symbols=1), 0, 3, 1.0)))
    with pytest.raises(UserError, match="memory of 2 symbols for rows of 1"):
        Operator()(Memory.empty(2), came)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"slide": 0}, "slide of the window must be between 1 and its length 1000, got 0"),
        ({"slide": 1001}, "between 1 and its length 1000, got 1001"),
        ({"window": 0}, "between 1 and its length 0, got 25"),
        ({"resolution": 0}, "resolution must be one microsecond or more, got 0"),
        ({"lateness": -1}, "lateness must not be negative, got -1"),
    ],
)
def test_windows_that_cannot_be_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Operator(**wrong)
