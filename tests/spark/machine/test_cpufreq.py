"""The frequency of processors, read and set in a folder that looks like the kernel's."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError, PlantError, SettingError
from penstock.spark.machine import Cpufreq
from penstock.spark.machine.sysfs import in_order, write
from tests.spark.machine.machine_tree import USERSPACE, cpu, limits, put, said, without_privileges

speeds = st.integers(1_200_000, 2_000_000)


def found(root: Path) -> Cpufreq:
    clock = Cpufreq.find(root)
    assert clock is not None
    return clock


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everyone may look into; those of pytest are the owner's alone."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_reports_the_frequencies_in_gigahertz_from_the_lowest(tmp_path: Path) -> None:
    cpu(tmp_path, 0)
    clock = found(tmp_path)
    assert clock.frequencies == (1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0)
    assert (clock.governors, clock.limits) == (("ondemand",), (1.2, 2.0))


def test_reports_only_frequencies_that_every_processor_has(tmp_path: Path) -> None:
    cpu(tmp_path, 0, {"scaling_available_frequencies": "1200000 1600000 2000000"})
    cpu(tmp_path, 1, {"scaling_available_frequencies": "1600000 2000000"})
    cpu(tmp_path, 10, {"scaling_available_frequencies": "1600000 1800000 2000000"})
    assert found(tmp_path).frequencies == (1.6, 2.0)


def test_steps_by_a_tenth_where_the_driver_reports_only_the_ends(tmp_path: Path) -> None:
    cpu(
        tmp_path,
        0,
        {
            "scaling_available_frequencies": None,
            "cpuinfo_min_freq": "1150000",
            "cpuinfo_max_freq": "1499000",
        },
    )
    assert found(tmp_path).frequencies == (1.2, 1.3, 1.4)


def test_a_machine_without_cpufreq_has_no_clock(tmp_path: Path) -> None:
    assert Cpufreq.find(tmp_path / "nowhere") is None
    put(tmp_path / "devices/system/cpu/cpu0", {"online": "1"})
    assert Cpufreq.find(tmp_path) is None


@pytest.mark.parametrize("rubbish", ["", "fast slow", "-5 0", "12", "²²", "99999999999999"])
def test_frequencies_that_make_no_sense_are_not_offered(tmp_path: Path, rubbish: str) -> None:
    cpu(
        tmp_path,
        0,
        {"scaling_available_frequencies": f"{rubbish} 1600000", "scaling_cur_freq": "x"},
    )
    assert found(tmp_path).frequencies == (1.6,)
    assert found(tmp_path).frequency is None


def test_bytes_that_are_no_text_are_as_good_as_no_file(tmp_path: Path) -> None:
    policy = cpu(tmp_path, 0)
    (policy / "scaling_available_frequencies").write_bytes(b"\xff\xfe1600000")
    assert len(found(tmp_path).frequencies) == 9


def test_holds_every_processor_at_the_frequency_and_puts_the_limits_back(tmp_path: Path) -> None:
    one, other = cpu(tmp_path, 0), cpu(tmp_path, 1, {"scaling_min_freq": "1300000"})
    with found(tmp_path) as clock:
        clock.set(1.6)
        assert limits(one) == limits(other) == ("1600000", "1600000")
        assert clock.frequency == 1.6
        clock.set(1.8)
        assert clock.limits == (1.8, 1.8)
    assert limits(one) == ("1200000", "2000000")
    assert limits(other) == ("1300000", "2000000")
    assert said(one, "scaling_governor") == ("ondemand",)


def set_and_fail(clock: Cpufreq, error: type[BaseException]) -> None:
    clock.set(1.2)
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_puts_the_limits_back_when_the_block_fails(
    tmp_path: Path, error: type[BaseException]
) -> None:
    policy = cpu(tmp_path, 0)
    with pytest.raises(error), found(tmp_path) as clock:
        set_and_fail(clock, error)
    assert limits(policy) == ("1200000", "2000000")


def test_uses_the_governor_userspace_where_there_are_no_limits(tmp_path: Path) -> None:
    policy = cpu(tmp_path, 0, USERSPACE)
    with found(tmp_path) as clock:
        clock.set(1.5)
        assert said(policy, "scaling_governor", "scaling_setspeed") == ("userspace", "1500000")
        assert clock.frequency == 1.5
        assert clock.limits is None
    assert said(policy, "scaling_governor") == ("ondemand",)
    assert not (policy / "scaling_min_freq").exists()


def test_puts_back_the_speed_that_userspace_had_set(tmp_path: Path) -> None:
    mine = {"scaling_governor": "userspace", "scaling_setspeed": "1300000"}
    policy = cpu(tmp_path, 0, {**USERSPACE, **mine})
    with found(tmp_path) as clock:
        clock.set(2.0)
    assert said(policy, "scaling_governor", "scaling_setspeed") == ("userspace", "1300000")


def test_processors_that_share_a_clock_are_set_once(tmp_path: Path) -> None:
    shared = put(tmp_path / "devices/system/cpu/cpufreq/policy0", {})
    original = cpu(tmp_path, 0)
    for file in original.iterdir():
        file.rename(shared / file.name)
    original.rmdir()
    for number in (0, 1):
        folder = put(tmp_path / f"devices/system/cpu/cpu{number}", {})
        (folder / "cpufreq").symlink_to("../cpufreq/policy0")
    with found(tmp_path) as clock:
        clock.set(1.4)
        assert limits(shared) == ("1400000", "1400000")
    assert limits(shared) == ("1200000", "2000000")


def test_a_processor_that_is_offline_is_left_alone(tmp_path: Path) -> None:
    cpu(tmp_path, 0)
    asleep = cpu(tmp_path, 1, {"scaling_available_frequencies": "1600000"})
    put(asleep.parent, {"online": "0"})
    with found(tmp_path) as clock:
        assert len(clock.frequencies) == 9
        clock.set(1.3)
        assert limits(asleep) == ("1200000", "2000000")
        put(asleep.parent, {"online": "1"})
        clock.set(1.6)
        assert limits(asleep) == ("1600000", "1600000")
    assert limits(asleep) == ("1200000", "2000000")


def test_a_processor_that_went_away_is_no_reason_to_leave_the_others(tmp_path: Path) -> None:
    gone, stays = cpu(tmp_path, 0), cpu(tmp_path, 1)
    with found(tmp_path) as clock:
        clock.set(1.3)
        gone.rename(tmp_path / "unplugged")
    assert limits(stays) == ("1200000", "2000000")
    assert not gone.exists()


def test_without_limits_in_force_it_runs_as_the_fastest_processor_does(tmp_path: Path) -> None:
    cpu(tmp_path, 0, {"scaling_cur_freq": "1212345"})
    cpu(tmp_path, 1, {"scaling_cur_freq": "1787654"})
    cpu(tmp_path, 2, {"scaling_cur_freq": None})
    assert found(tmp_path).frequency == 1.8


@pytest.mark.parametrize("ghz", [1.25, 2.1, 0.0, -1.0, float("nan"), float("inf"), 1600000.0])
def test_refuses_a_frequency_that_the_machine_lacks(tmp_path: Path, ghz: float) -> None:
    policy = cpu(tmp_path, 0)
    with pytest.raises(SettingError, match=r"cannot run at .* GHz; choose one of 1\.2, .*, 2$"):
        found(tmp_path).set(ghz)
    assert limits(policy) == ("1200000", "2000000")


def test_without_permission_it_says_that_root_is_needed(public: Path) -> None:
    policy = cpu(public, 0)
    for file in policy.iterdir():
        file.chmod(0o444)
    with without_privileges(), pytest.raises(FileError) as refusal, found(public) as clock:
        clock.set(1.6)
    assert str(refusal.value) == (
        f"setting the CPU frequency needs root, and {policy.resolve()}/scaling_min_freq cannot be "
        "written; run as root or leave the frequency alone"
    )
    assert limits(policy) == ("1200000", "2000000")


def test_a_value_that_could_not_be_put_back_is_not_overwritten(tmp_path: Path) -> None:
    policy = cpu(tmp_path, 0, {"scaling_min_freq": "12000\0"})
    with pytest.raises(PlantError, match=r"scaling_min_freq says .*, which could not be put back"):
        found(tmp_path).set(1.6)
    assert limits(policy) == ("12000\0", "2000000")


def test_writing_creates_nothing_that_is_not_there(tmp_path: Path) -> None:
    assert not write(tmp_path / "scaling_max_freq", "1600000")
    assert not (tmp_path / "scaling_max_freq").exists()


def test_a_processor_that_cannot_be_held_says_so(tmp_path: Path) -> None:
    cpu(tmp_path, 0, {"scaling_min_freq": None})
    with pytest.raises(PlantError, match="neither limits nor the governor userspace"):
        found(tmp_path).set(1.6)


def test_a_write_that_the_kernel_refuses_is_reported_in_a_sentence(tmp_path: Path) -> None:
    policy = cpu(tmp_path, 0, USERSPACE)
    (policy / "scaling_setspeed").unlink()
    (policy / "scaling_setspeed").mkdir()  # refuses every write, even root's
    with pytest.raises(FileError, match=r"the kernel refused '1600000' for .*setspeed: Is a dir"):
        found(tmp_path).set(1.6)


def unrestorable(root: Path) -> Cpufreq:
    """A clock that was set, and one of whose files will take no more."""
    one, other = cpu(root, 0), cpu(root, 1)
    clock = found(root)
    clock.set(1.6)
    (one / "scaling_max_freq").unlink()
    (one / "scaling_max_freq").mkdir()
    assert limits(other) == ("1600000", "1600000")
    return clock


def test_puts_back_all_that_it_can_and_reports_what_is_left_to_do(tmp_path: Path) -> None:
    clock = unrestorable(tmp_path)
    with pytest.raises(PlantError, match=r"could not be put back: set .*max_freq to 2000000$"):
        clock.restore()
    assert limits(tmp_path / "devices/system/cpu/cpu1/cpufreq") == ("1200000", "2000000")
    clock.restore()


def test_a_failure_to_put_back_does_not_hide_what_ended_the_block(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as ended, unrestorable(tmp_path):
        raise KeyboardInterrupt
    assert "could not be put back" in ended.value.__notes__[0]


@given(st.tuples(speeds, speeds), st.tuples(speeds, speeds))
def test_the_lower_limit_is_never_above_the_higher_one(
    before: tuple[int, int], after: tuple[int, int]
) -> None:
    low, high = sorted(after)
    limits = dict(zip(("scaling_min_freq", "scaling_max_freq"), sorted(before), strict=True))
    for name, value in in_order(str(low), str(high), rises=high > max(before)):
        limits[name] = int(value)
        assert limits["scaling_min_freq"] <= limits["scaling_max_freq"]
    assert limits == {"scaling_min_freq": low, "scaling_max_freq": high}
