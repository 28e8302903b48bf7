"""Candlesticks are drawn as they were, told apart without colours, and few enough to be seen."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.record import RunFolder, summarise
from penstock.report.candles import Bar, Sticks, candle_data, fitted, sticks
from tests.support.reports import EVIL, demo, read
from tests.support.reports import settings as run_settings

NOON = 1_800_014_400.0  # at noon in Greenwich
RISING, FALLING = [NOON, 10.0, 13.0, 9.0, 12.0], [NOON + 5, 12.0, 12.5, 8.0, 11.0]


def published(*bars: list[Any], **other: Any) -> dict[str, Any]:
    chart = {"symbol": "B", "results": 9, "bars": list(bars), "forecast": None, **other}
    return {"candlesticks": {"length": 5.0, "symbols": [chart]}}


def data(*bars: list[Any], offset: float = 0.0, **other: Any) -> dict[str, Any]:
    return candle_data(sticks(published(*bars, **other)), offset)


def test_the_script_gets_every_bar_and_the_forecast() -> None:
    made = data(RISING, FALLING, forecast={"at": NOON + 10, "bid": 10.0, "ask": 10.5})
    [figure] = made["figures"]
    assert figure["title"] == "B, 9 results"
    assert [list(bar) for bar in figure["sticks"]["bars"]] == [RISING, FALLING]
    assert figure["sticks"]["ahead"] == {"bid": 10.0, "ask": 10.5}
    assert (figure["x"]["from"], figure["x"]["to"]) == (NOON, NOON + 10)
    assert (made["bar"], made["ahead"]) == ("5 s", True)


def test_a_forecast_with_one_side_has_one_mark() -> None:
    made = data(RISING, forecast={"at": NOON, "bid": None, "ask": 12.0})
    assert made["figures"][0]["sticks"]["ahead"] == {"ask": 12.0}
    assert not data(RISING)["ahead"]


def test_a_bar_that_lacks_a_price_is_left_out() -> None:
    [chart] = sticks(published(RISING, [NOON + 5, None, 12.0, 8.0, 11.0], FALLING))
    assert len(chart.bars) == 2


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        "in the file",
        [],
        {},
        {"length": 5.0},
        {"length": 0, "symbols": [{}]},
        {"length": 5.0, "symbols": 3},
        {"length": 5.0, "symbols": ["B"]},
        {"length": 5.0, "symbols": [{"symbol": "B", "results": 1, "bars": [[1.0, 2.0]]}]},
        {"length": 5.0, "symbols": [{"symbol": "B", "results": 1, "bars": [["a"] * 5]}]},
        {"length": 5.0, "symbols": [{"symbol": "B", "results": 1, "bars": [], "forecast": 7}]},
        {"length": 5.0, "symbols": []},
    ],
)
def test_what_does_not_look_like_candlesticks_is_a_result_like_others(odd: object) -> None:
    assert sticks({"candlesticks": odd}) == ()
    assert candle_data((), 0.0) == {}


def test_times_are_those_of_the_place_of_the_run() -> None:
    assert data(RISING, offset=7200.0)["figures"][0]["x"]["offset"] == 7200.0


prices = st.floats(0.01, 1e6)
bars = st.lists(st.tuples(st.integers(0, 5000), prices, prices, prices, prices), min_size=1)


def charts(rows: list[tuple[int, float, float, float, float]]) -> tuple[Sticks, ...]:
    unique = {start: rest for start, *rest in rows}
    return sticks(published(*([NOON + 5 * start, *rest] for start, rest in unique.items())))


@settings(deadline=None)  # a busy machine is no failure
@given(bars)
def test_fewer_bars_keep_the_first_the_last_and_every_extreme(
    rows: list[tuple[int, float, float, float, float]],
) -> None:
    [full] = charts(rows)
    [slim] = fitted([full])
    assert len(slim.bars) <= 61
    assert slim.length >= full.length
    assert (slim.bars[0].open, slim.bars[-1].close) == (full.bars[0].open, full.bars[-1].close)
    assert max(bar.high for bar in slim.bars) == max(bar.high for bar in full.bars)
    assert min(bar.low for bar in slim.bars) == min(bar.low for bar in full.bars)
    assert [bar.start for bar in slim.bars] == sorted({bar.start for bar in slim.bars})


def test_charts_of_one_page_have_bars_of_one_length() -> None:
    def chart(count: int) -> Sticks:
        made = tuple(
            Bar(start=5.0 * n, open=1.0, high=2.0, low=1.0, close=2.0) for n in range(count)
        )
        return Sticks(symbol="B", results=count, length=5.0, bars=made, ahead={})

    long, short = fitted([chart(240), chart(1)])
    assert (len(long.bars), long.length, short.length) == (60, 20.0, 20.0)


def test_the_page_of_a_run_shows_the_charts_instead_of_the_numbers(tmp_path: Path) -> None:
    results = {**published(RISING, FALLING, symbol=EVIL), "windows": 9}
    ticks = demo(3)
    started = datetime(2027, 1, 15, 14, tzinfo=timezone(timedelta(hours=2)))
    with RunFolder.create(tmp_path / "run", run_settings(started=started)) as folder:
        for tick in ticks:
            folder.write(tick)
        folder.finish(replace(summarise(ticks, None), results=results))
    page = read(tmp_path / "run")
    assert "Candlesticks" in page.text("h2")
    [chart] = [figure for figure in page.figures if "sticks" in figure]
    assert EVIL in chart["title"]
    assert chart["x"]["offset"] == 7200.0
    assert page.all("img") == []
    assert "candlesticks" not in page.text("dt")
    assert "windows" in page.text("dt")


def test_a_page_without_candlesticks_has_no_room_for_them(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", run_settings()) as folder:
        folder.finish(summarise([], None))
    page = read(tmp_path / "run")
    assert "Candlesticks" not in page.text("h2")
