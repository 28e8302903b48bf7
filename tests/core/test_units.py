"""Durations and rates as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.units import format_duration, parse_duration, parse_rate

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@given(st.floats(0.001, 8e4), st.sampled_from(sorted(SECONDS)), st.sampled_from(["", " "]))
def test_a_duration_is_its_number_times_its_unit(value: float, unit: str, space: str) -> None:
    assert parse_duration(f"{value!r}{space}{unit}") == pytest.approx(value * SECONDS[unit])


@given(st.floats(0.001, 1e6), st.sampled_from(sorted(SECONDS)))
def test_a_rate_is_its_number_in_its_unit(value: float, unit: str) -> None:
    assert parse_rate(f"{value!r}/{unit}") == pytest.approx(value / SECONDS[unit])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m 30s", 90.0),
        ("1h30m", 5400.0),
        ("1d", 86400.0),
        ("0s", 0.0),
        ("1e3ms", 1.0),
        ("5MIN", 300),
    ],
)
def test_durations_add_up(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("2k/s", 2000.0),
        ("1.5M/s", 1.5e6),
        ("300 rows/s", 300.0),
        ("30/min", 0.5),
        ("inf/s", float("inf")),
        ("0/s", 0.0),
    ],
)
def test_rates_take_prefixes_and_words(text: str, rate: float) -> None:
    assert parse_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize("number", [5, 0, 2.5, "5", " 5 ", "1e3"])
def test_a_bare_number_is_refused(number: object) -> None:
    with pytest.raises(SettingError, match="a duration needs a unit, got"):
        parse_duration(number)
    with pytest.raises(SettingError, match="a rate needs a unit, got"):
        parse_rate(number)


@pytest.mark.parametrize(
    "text",
    ["", "s", "-5s", "5x", "5s5", "5 s s", "5s,3s", "five seconds", "nan", "inf", "nans"],
)
def test_a_text_that_is_no_duration_is_shown(text: str) -> None:
    with pytest.raises(SettingError, match="cannot read the duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["1e999s", "4000d"])
def test_a_duration_is_not_longer_than_ten_years(text: str) -> None:
    with pytest.raises(SettingError, match=f"must be at most 10 years, 3650d, got {text}"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "/s", "-3/s", "3/x", "3", "3 per s", "nan/s", "3/s/s", "nan"])
def test_a_text_that_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="rate"):
        parse_rate(text)


@pytest.mark.parametrize("value", [None, True, ["5s"], {"s": 5}])
def test_what_is_not_even_text_is_refused(value: object) -> None:
    with pytest.raises(SettingError, match="a duration is a text such as 30s"):
        parse_duration(value)
    with pytest.raises(SettingError, match="cannot read the rate"):
        parse_rate(value)


@given(st.floats(1e-6, 1e7))
def test_a_formatted_duration_reads_back_to_three_digits(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=6e-3)
