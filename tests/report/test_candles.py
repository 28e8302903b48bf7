"""Candlesticks are drawn as they were, told apart without colours, and few enough to be seen."""

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.record import RunFolder, summarise
from penstock.report.candles import Bar, Sticks, fitted, section, sticks
from penstock.report.plot import HEIGHT, WIDTH
from tests.support.reports import EVIL, Page, demo, read
from tests.support.reports import settings as run_settings

NOON = 1_800_014_400.0  # at noon in Greenwich
RISING, FALLING = [NOON, 10.0, 13.0, 9.0, 12.0], [NOON + 5, 12.0, 12.5, 8.0, 11.0]


def published(*bars: list[Any], **other: Any) -> dict[str, Any]:
    chart = {"symbol": "B", "results": 9, "bars": list(bars), "forecast": None, **other}
    return {"candlesticks": {"length": 5.0, "symbols": [chart]}}


def drawn(*bars: list[Any], **other: Any) -> Page:
    return Page(section(sticks(published(*bars, **other)), offset=0.0))


def numbers(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", path)]


def test_a_bar_that_rises_is_hollow_and_one_that_falls_is_filled() -> None:
    page = drawn(RISING, FALLING)
    assert (len(page.all("path", "up")), len(page.all("path", "down"))) == (1, 1)
    assert "rising" in page.text("p")
    assert "falling" in page.text("p")


def test_a_bar_reaches_from_its_lowest_to_its_highest_price() -> None:
    page = drawn(RISING, FALLING)  # on an axis from 8 to 13
    [path] = page.all("path", "up")
    x, high, top, _, bottom, low, *_ = numbers(path["d"])
    scale = HEIGHT / 5
    assert [high, top, bottom, low] == [0, 1 * scale, 3 * scale, 4 * scale]
    assert x == WIDTH / 4
    assert "12:00:00 open 10, high 13, low 9, close 12" in page.text("title")


def test_a_bar_that_closes_where_it_opened_is_a_line_across() -> None:
    [path] = drawn([NOON, 10.0, 13.0, 9.0, 10.0]).all("path", "up")
    _, _, top, _, bottom, *_ = numbers(path["d"])
    assert top == bottom


def test_what_is_foreseen_is_marked_and_told() -> None:
    page = drawn(RISING, FALLING, forecast={"at": NOON + 10, "bid": 10.0, "ask": 10.5})
    [bid], [ask] = page.all("path", "bid"), page.all("path", "ask")
    (x, y, _), (_, above, _) = numbers(bid["d"]), numbers(ask["d"])
    assert x > WIDTH
    assert (y, above) == (3 * HEIGHT / 5, 2.5 * HEIGHT / 5)
    assert "bid 10.0" in page.text("li")
    assert "ask 10.5" in page.text("li")
    assert "foreseen" in page.text("p")


def test_a_forecast_with_one_side_has_one_mark() -> None:
    page = drawn(RISING, forecast={"at": NOON, "bid": None, "ask": 12.0})
    assert page.all("path", "bid") == []
    assert len(page.all("path", "ask")) == 1
    assert "foreseen" not in drawn(RISING).text("p")


def test_a_wild_forecast_does_not_flatten_the_bars() -> None:
    page = drawn(RISING, FALLING, forecast={"at": NOON, "bid": 1e6, "ask": -1e6})
    [bid], [ask], [up] = (page.all("path", kind) for kind in ("bid", "ask", "up"))
    assert numbers(bid["d"])[1] == 0
    assert numbers(ask["d"])[1] == HEIGHT
    assert numbers(up["d"])[1] == 0
    assert page.text("li").count("off the scale") == 2


@pytest.mark.parametrize("price", [0.0, 9.5, 1e-7, 450_000.0, -3.0])
def test_one_price_only_lies_in_the_middle(price: float) -> None:
    page = drawn([NOON, price, price, price, price])
    [path] = page.all("path", "up")
    assert numbers(path["d"])[1] == pytest.approx(HEIGHT / 2)
    assert numbers(path["d"])[0] == WIDTH / 2
    labels = [text for tag, text in page.texts if tag == "span"]
    assert len(set(labels)) == len(labels)


def test_a_price_is_told_with_a_digit_more_than_its_axis() -> None:
    page = drawn([NOON, 30.5, 30.7, 30.1, 30.2], forecast={"bid": 30.6, "ask": 0.1 + 0.2})
    assert "30.20" not in page.text("span")
    assert "bid 30.60" in page.text("li")
    assert "ask 0.30, off the scale" in page.text("li")


def test_a_symbol_without_bars_says_so() -> None:
    page = drawn(forecast={"at": NOON, "bid": 9.0, "ask": 9.0})
    assert "no bars" in page.text("p")
    assert "off the scale" not in page.text("li")
    assert page.all("path", "bid") == []
    both = published(RISING)
    both["candlesticks"]["symbols"].append({"symbol": "C", "results": 0, "bars": []})
    assert "no bars" in Page(section(sticks(both), 0.0)).text("p")


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
    assert section((), 0.0) == ""


def test_times_are_those_of_the_place_of_the_run() -> None:
    chart = sticks(published(RISING, FALLING))
    assert "14:00:00" in section(chart, offset=7200.0)
    assert "12:00:00" not in section(chart, offset=7200.0)


def test_a_run_over_midnight_goes_on_at_zero() -> None:
    late = [[NOON + 43_195 + 5 * n, 1.0, 2.0, 1.0, 2.0] for n in range(3)]
    labels = drawn(*late).text("span")
    assert "23:59:55" in labels
    assert "0:00:05" in labels
    assert "24:" not in labels


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


@settings(deadline=None)  # a busy machine is no failure
@given(bars, st.none() | st.floats(-1e9, 1e9))
def test_every_shape_lies_within_its_chart(
    rows: list[tuple[int, float, float, float, float]], bid: float | None
) -> None:
    found = [replace(chart, ahead={} if bid is None else {"bid": bid}) for chart in charts(rows)]
    page = Page(section(found, offset=0.0))
    for path in page.all("path", "up") + page.all("path", "down"):
        x, high, top, _, bottom, low, left, _, broad, *_ = numbers(path["d"])
        assert 0 <= high <= top <= bottom <= low <= HEIGHT
        assert 0 <= left <= x <= left + broad + 0.1 <= WIDTH + 0.3
        assert broad > 0
    for path in page.all("path", "bid"):
        assert 0 <= numbers(path["d"])[1] <= HEIGHT


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
    assert EVIL in page.text("h3")
    assert "14:00:00 open 10" in page.text("title")
    assert page.all("img") == []
    assert "candlesticks" not in page.text("dt")
    assert "windows" in page.text("dt")
    assert ".pane" in page.text("style")


def test_a_page_without_candlesticks_has_no_room_for_them(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", run_settings()) as folder:
        folder.finish(summarise([], None))
    page = read(tmp_path / "run")
    assert "Candlesticks" not in page.text("h2")
    assert ".pane" not in page.text("style")
