"""Energy counters, in a folder that looks like the kernel's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.machine import Powercap
from penstock.spark.machine.sysfs import Counter
from tests.spark.machine.machine_tree import package, put, zone


def found(root: Path) -> Powercap:
    meter = Powercap.find(root)
    assert meter is not None
    return meter


def count(root: Path, **microjoules: int | str) -> None:
    """Set counters: `p0` a package, `p0_core` its cores."""
    for name, value in microjoules.items():
        number, _, core = name.removeprefix("p").partition("_")
        folder = f"intel-rapl:{number}:0" if core else f"intel-rapl:{number}"
        put(root / "class/powercap" / folder, {"energy_uj": str(value)})


def test_reports_watts_of_packages_and_of_their_cores(tmp_path: Path) -> None:
    package(tmp_path, 0)
    package(tmp_path, 1)
    meter, before = found(tmp_path), found(tmp_path).read()
    count(tmp_path, p0=60_000_000, p0_core=40_000_000, p1=30_000_000, p1_core=10_000_000)
    assert meter.watts(before, meter.read(), seconds=2.0) == {
        "package-0": 30.0,
        "package-0/core": 20.0,
        "package-1": 15.0,
        "package-1/core": 5.0,
    }
    assert meter.total(before, meter.read(), seconds=2.0) == 25.0


def test_packages_are_added_up_where_not_all_tell_their_cores_apart(tmp_path: Path) -> None:
    package(tmp_path, 0)
    package(tmp_path, 1, core=False)
    meter, before = found(tmp_path), found(tmp_path).read()
    count(tmp_path, p0=60_000_000, p0_core=40_000_000, p1=30_000_000)
    assert meter.total(before, meter.read(), seconds=1.0) == 90.0


def test_memory_graphics_and_the_whole_board_are_not_processors(tmp_path: Path) -> None:
    package(tmp_path, 0)
    zone(tmp_path, "intel-rapl:1", {"name": "psys", "energy_uj": "5"})
    zone(tmp_path, "intel-rapl:0:2", {"name": "uncore", "energy_uj": "5"})
    zone(tmp_path, "intel-rapl-mmio:0", {"name": "package-0", "energy_uj": "5"})
    zone(tmp_path, "intel-rapl:x", {"name": "package-7", "energy_uj": "5"})
    zone(tmp_path, "intel-rapl:2", {"name": None, "energy_uj": "5"})
    zone(tmp_path, "intel-rapl:3:0", {"name": "core", "energy_uj": "5"})
    assert found(tmp_path).read() == {"package-0": 0, "package-0/core": 0}


def test_a_machine_without_counters_has_no_meter(tmp_path: Path) -> None:
    assert Powercap.find(tmp_path) is None


def test_a_counter_that_was_full_starts_again(tmp_path: Path) -> None:
    package(tmp_path, 0, core=False)
    meter = found(tmp_path)
    count(tmp_path, p0=990_000_000)
    before = meter.read()
    count(tmp_path, p0=20_000_000)
    assert meter.total(before, meter.read(), seconds=1.0) == pytest.approx(30.0)


@given(
    start=st.integers(0, 10**9 - 1),
    steps=st.lists(st.integers(0, 5 * 10**8), min_size=1, max_size=20),
)
def test_no_energy_is_lost_however_often_the_counter_is_full(start: int, steps: list[int]) -> None:
    counter = Counter(name="package-0", folder=Path("/nowhere"), most=10**9)
    at = start
    for step in steps:
        after = (at + step) % 10**9
        assert counter.between(at, after) == step
        at = after


@pytest.mark.parametrize("value", ["", "12x", "-1", "nan", "1e9", "0x10"])
def test_a_reading_that_makes_no_sense_is_unknown_and_not_nought(
    tmp_path: Path, value: str
) -> None:
    package(tmp_path, 0)
    package(tmp_path, 1)
    meter, before = found(tmp_path), found(tmp_path).read()
    count(tmp_path, p0_core=value, p1_core=40_000_000)
    assert "package-0/core" not in meter.read()
    assert meter.watts(before, meter.read(), seconds=1.0)["package-1/core"] == 40.0
    assert meter.total(before, meter.read(), seconds=1.0) is None


def test_a_reading_cut_short_is_no_counter_that_was_full(tmp_path: Path) -> None:
    package(tmp_path, 0, core=False)
    meter = found(tmp_path)
    count(tmp_path, p0=312_345_678)
    before = meter.read()
    count(tmp_path, p0=312)
    assert meter.total(before, meter.read(), seconds=1.0) is None


def test_a_counter_that_does_not_tell_when_it_is_full_is_not_guessed(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", {"name": "package-0", "energy_uj": "100"})
    meter, before = found(tmp_path), found(tmp_path).read()
    count(tmp_path, p0=40_000_100)
    assert meter.total(before, meter.read(), seconds=1.0) == 40.0
    assert meter.total(meter.read(), before, seconds=1.0) is None


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_no_time_no_power(tmp_path: Path, seconds: float) -> None:
    package(tmp_path, 0)
    meter = found(tmp_path)
    assert meter.watts(meter.read(), meter.read(), seconds=seconds) == {}
    assert meter.total(meter.read(), meter.read(), seconds=seconds) is None


def test_a_counter_that_cannot_be_opened_is_left_out(tmp_path: Path) -> None:
    package(tmp_path, 0)
    secret = tmp_path / "class/powercap/intel-rapl:0/energy_uj"
    secret.unlink()
    secret.mkdir()  # cannot be read, not even by root
    assert sorted(found(tmp_path).read()) == ["package-0/core"]
