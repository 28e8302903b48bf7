"""The consumer: bars of the busiest symbols, and their forecasts."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.apps.trading.application import Candles
from penstock.apps.trading.operator import SCHEMA, to_batch
from penstock.apps.trading.series import Series
from penstock.apps.trading.window import analyse
from penstock.core.errors import SettingError

SECOND = 1_000_000


def results(symbol: str, moments: list[int], prices: list[float]) -> pa.RecordBatch:
    """One result for each moment, whose candle is flat."""
    fresh = Series.of(ts=moments, bid=prices, ask=prices)
    found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh, window=4, slide=1)
    return to_batch(found, [symbol], found.row)


def bars(charts: Candles) -> Any:
    return charts.plain()["symbols"][0]["bars"]


def test_results_of_one_stretch_make_one_bar() -> None:
    charts = Candles(length=5.0)
    charts.add(results("B", [0, 2 * SECOND, 4 * SECOND, 5 * SECOND], [10, 14, 8, 9]))
    assert bars(charts) == [[0.0, 10.0, 14.0, 8.0, 8.0], [5.0, 9.0, 9.0, 9.0, 9.0]]


@given(st.lists(st.integers(100, 200), min_size=1, max_size=30), st.integers(0, 30))
def test_a_cut_into_batches_changes_no_bar(prices: list[int], cut: int) -> None:
    moments = list(range(0, 300_000 * len(prices), 300_000))
    whole, parts = Candles(), Candles()
    batch = results("B", moments, [float(price) for price in prices])
    whole.add(batch)
    parts.add(batch[:cut])
    parts.add(batch[cut:])
    assert whole.plain() == parts.plain()


def test_only_the_busiest_symbols_are_published_and_the_name_breaks_ties() -> None:
    charts = Candles(symbols=2)
    for symbol, count in (("D", 2), ("C", 3), ("B", 2), ("F", 1)):
        charts.add(results(symbol, list(range(count)), [10.0] * count))
    assert [chart["symbol"] for chart in charts.plain()["symbols"]] == ["C", "B"]


def test_only_the_latest_bars_are_kept() -> None:
    charts = Candles(bars=3)
    charts.add(results("B", [n * SECOND for n in range(10)], [float(n + 1) for n in range(10)]))
    assert [bar[0] for bar in bars(charts)] == [7.0, 8.0, 9.0]


def test_forecasts_the_price_one_second_after_the_last_result() -> None:
    charts = Candles()
    charts.add(results("B", [n * SECOND for n in range(4)], [10.0, 11.0, 14.0, 19.0]))
    forecast = charts.plain()["symbols"][0]["forecast"]
    assert forecast["at"] == 4.0
    assert (forecast["bid"], forecast["ask"]) == pytest.approx((26.0, 26.0))


def test_a_side_without_quotes_has_no_forecast() -> None:
    fresh = Series.of(ts=[1], bid=[10.0], ask=[np.nan], ask_size=0)
    found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh, window=1, slide=1)
    charts = Candles()
    charts.add(to_batch(found, ["B"], found.row))
    forecast = charts.plain()["symbols"][0]["forecast"]
    assert (forecast["bid"], forecast["ask"]) == (10.0, None)


def test_what_is_published_goes_into_a_file() -> None:
    charts = Candles()
    charts.add(results("B", [1, 2], [10.0, 11.0]))
    assert json.loads(json.dumps(charts.plain(), allow_nan=False)) == charts.plain()


def test_nothing_makes_no_bar() -> None:
    charts = Candles()
    charts.add(results("B", [], []))
    assert charts.plain() == {"length": 1.0, "symbols": []}


def test_results_have_the_columns_of_their_schema() -> None:
    types = {
        "long": pa.int64(),
        "string": pa.string(),
        "double": pa.float64(),
        "int": pa.int32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }
    pairs = [column.split() for column in SCHEMA.split(", ")]
    wanted = pa.schema([(name, types[kind]) for name, kind in pairs])
    assert results("B", [1], [10.0]).schema == wanted
    assert results("B", [], []).schema == wanted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 0.0}, "length of a bar must be at least 1 ms, got 0 s"),
        ({"length": float("nan")}, "length of a bar must be at least 1 ms, got nan s"),
        ({"symbols": 0}, "symbols of candlesticks must be at least 1, got 0"),
        ({"bars": 0}, "bars of candlesticks must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Candles(**settings)
