"""The quotes of the trading pipeline: the same for ever, and as often as on an exchange."""

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from penstock.apps.trading.operator import Memory, Operator
from penstock.apps.trading.quotes import Quotes
from penstock.apps.trading.series import Arrivals
from penstock.core.errors import SettingError
from penstock.spark.source import RowMaker
from penstock.workload.keys import shares

ALL = {"malformed": 0.1, "duplicate": 0.1, "empty": 0.1, "stranger": 0.1}


def batch(quotes: Quotes, begin: int, end: int) -> pa.RecordBatch:
    maker: RowMaker = quotes
    return pa.RecordBatch.from_pydict(maker.columns(np.arange(begin, end)))


def refused(quotes: Quotes, rows: int) -> Counter[str]:
    made = batch(quotes, 0, rows)
    came = Arrivals.of(made.append_column("ts", pa.array(np.arange(rows))))
    return +Counter(Operator()(Memory.empty(len(came.symbols)), came).refused)


@pytest.mark.parametrize("quotes", [Quotes(seed=3), Quotes(seed=3, faults=ALL)])
def test_a_quote_is_the_same_however_a_batch_is_cut(quotes: Quotes) -> None:
    parts = [batch(quotes, 0, 5), batch(quotes, 5, 2000)]
    assert str(pa.Table.from_batches(parts).to_pylist()) == str(batch(quotes, 0, 2000).to_pylist())


def test_quotes_survive_the_journey_to_another_process() -> None:
    quotes = Quotes(seed=4, symbols=20, faults=ALL)
    copy = pickle.loads(pickle.dumps(quotes))  # noqa: S301
    assert copy == quotes
    assert str(batch(copy, 0, 50)) == str(batch(quotes, 0, 50))


def test_columns_are_those_of_the_schema() -> None:
    types = {"long": pa.int64(), "string": pa.string(), "double": pa.float64(), "int": pa.int32()}
    pairs = [column.split() for column in Quotes().schema.split(", ")]
    wanted = pa.schema([(name, types[kind]) for name, kind in pairs])
    assert batch(Quotes(), 0, 3).schema == wanted
    assert batch(Quotes(faults=ALL), 0, 0).schema == wanted


def test_prices_and_sizes_stay_in_their_bounds_and_reach_them() -> None:
    made = batch(Quotes(seed=1), 0, 200_000)
    for side in ("bid", "ask"):
        prices, sizes = made[side].to_numpy(), made[f"{side}_size"].to_numpy()
        assert 100.0 <= prices.min() < 101.0 < 199.0 < prices.max() <= 200.0
        assert (sizes.min(), sizes.max()) == (0, 200)


def test_symbols_come_as_often_as_their_shares_say() -> None:
    rows = 200_000
    came = Counter(batch(Quotes(seed=2), 0, rows)["symbol"].to_pylist())
    for symbol, share in list(shares(2836).items())[:50]:
        assert abs(came[symbol] - rows * share) < 5 * np.sqrt(rows * share)


def test_a_symbol_rises_and_falls_slowly() -> None:
    made = batch(Quotes(seed=1, symbols=1), 0, 2000)
    bid = made["bid"].to_numpy()
    assert abs(bid[:1000].mean() - bid[1000:].mean()) < 2.0
    far = batch(Quotes(seed=1, symbols=1), 0, 2_000_000)["bid"].to_numpy()
    assert np.ptp(far.reshape(-1, 1000).mean(axis=1)) > 70.0


def test_seeds_differ() -> None:
    assert not batch(Quotes(seed=1), 0, 20).equals(batch(Quotes(seed=2), 0, 20))


@pytest.mark.parametrize("fault", ["malformed", "empty"])
def test_faults_are_what_they_are_called(fault: str) -> None:
    assert refused(Quotes(faults={fault: 1.0}), 3000) == {fault: 3000}


def test_duplicates_repeat_an_earlier_quote_word_for_word() -> None:
    quotes = Quotes(seed=5, faults={"duplicate": 0.2})
    rows = batch(quotes, 0, 5000).to_pylist()
    again = [(i, row) for i, row in enumerate(rows) if row["number"] != i]
    assert 0.12 < len(again) / 5000 < 0.2
    assert all(row["number"] < i and rows[row["number"]] == row for i, row in again)
    natural = refused(Quotes(seed=5), 5000)["empty"]
    assert refused(quotes, 5000)["duplicate"] >= len(again) - natural


def test_strangers_are_on_no_list() -> None:
    names = set(batch(Quotes(faults={"stranger": 1.0}), 0, 500)["symbol"].to_pylist())
    assert len(names) > 10
    assert not names & set(shares(2836))


def test_no_quote_has_a_fault_unless_asked() -> None:
    assert refused(Quotes(), 20_000).keys() <= {"empty"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed of quotes must not be negative, got -1"),
        ({"symbols": 0}, "quotes need at least one symbol, got 0"),
        ({"faults": {"malformd": 0.1}}, "no fault 'malformd'; did you mean 'malformed'"),
        ({"faults": {"empty": 1.5}}, r"share of empty quotes must be in \[0, 1\], got 1.5"),
        ({"faults": {"empty": 0.6, "stranger": 0.6}}, "faults must be at most all quotes, got 1.2"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Quotes(**settings)  # type: ignore[arg-type]
