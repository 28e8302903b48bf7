"""What a plant asks of the machine: this one as far as it goes, or one that is only thought."""

from pathlib import Path

import pytest

from penstock.core.errors import SettingError
from penstock.core.signals import Power
from penstock.model.power import VOLTAGES, VoltageTable, power
from penstock.spark.machine import Machine, ModelledMachine, Processors, Reading
from tests.spark.machine.machine_tree import cpu, limits, package, put


def watts(processors: Processors, replicas: int = 4) -> Power | None:
    """Over a second in which nothing changes."""
    before = processors.read(at=10.0, replicas=replicas)
    return processors.power(before, processors.read(at=11.0, replicas=replicas))


def test_a_machine_with_a_meter_measures(tmp_path: Path) -> None:
    package(tmp_path, 0)
    machine = Machine.find(tmp_path)
    before = machine.read(at=10.0, replicas=4)
    put(tmp_path / "class/powercap/intel-rapl:0:0", {"energy_uj": "63000000"})
    now = machine.read(at=12.0, replicas=4)
    assert machine.power(before, now) == Power(watts=31.5, modelled=False)


def test_a_machine_without_a_meter_is_modelled_and_says_so(tmp_path: Path) -> None:
    cpu(tmp_path, 0)
    with Machine.find(tmp_path) as machine:
        machine.set(1.6)
        assert watts(machine) == Power(watts=power(4, 1.6), modelled=True)


def test_a_meter_that_cannot_be_read_is_modelled_and_says_so(tmp_path: Path) -> None:
    package(tmp_path, 0)
    put(tmp_path / "class/powercap/intel-rapl:0:0", {"energy_uj": "rubbish"})
    assert watts(Machine.find(tmp_path)) == Power(watts=power(4, 2.0), modelled=True)


def test_a_frequency_without_a_voltage_has_no_power(tmp_path: Path) -> None:
    cpu(tmp_path, 0)
    with Machine.find(tmp_path, voltages=VoltageTable({1.2: 0.85, 2.0: 1.05})) as machine:
        machine.set(1.6)
        assert watts(machine) is None


def test_a_machine_sets_its_clock_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    policy = cpu(tmp_path, 0)
    with Machine.find(tmp_path) as machine:
        assert machine.frequencies == VOLTAGES.frequencies
        machine.set(1.4)
        assert machine.frequency == 1.4
        assert limits(policy) == ("1400000", "1400000")
    assert limits(policy) == ("1200000", "2000000")


def test_looking_changes_nothing(tmp_path: Path) -> None:
    policy = cpu(tmp_path, 0)
    package(tmp_path, 0)
    before = {file: file.stat().st_mtime_ns for file in policy.iterdir()}
    with Machine.find(tmp_path) as machine:
        watts(machine)
    assert {file: file.stat().st_mtime_ns for file in policy.iterdir()} == before


def test_a_machine_without_cpufreq_offers_no_frequency_and_refuses_one(tmp_path: Path) -> None:
    with Machine.find(tmp_path) as machine:
        assert (machine.frequencies, machine.frequency) == ((), None)
        with pytest.raises(
            SettingError, match=r"no cpufreq, so it cannot be set to 1\.6 GHz; leav"
        ):
            machine.set(1.6)
        assert watts(machine) == Power(watts=power(4, 2.0), modelled=True)


def test_a_modelled_machine_runs_at_the_frequency_that_was_set() -> None:
    processors = ModelledMachine()
    assert processors.frequency == 2.0
    assert watts(processors, replicas=12) == Power(watts=power(12, 2.0), modelled=True)
    processors.set(1.2)
    assert processors.read(at=0.0, replicas=3) == Reading(at=0.0, replicas=3, frequency=1.2)
    assert watts(processors, replicas=12) == Power(watts=power(12, 1.2), modelled=True)


def test_power_is_that_of_what_ran_until_now() -> None:
    processors = ModelledMachine()
    before = processors.read(at=0.0, replicas=1)
    processors.set(1.2)
    measured = processors.power(before, processors.read(at=1.0, replicas=6))
    assert measured == Power(watts=power(6, 1.2), modelled=True)


def test_a_modelled_machine_refuses_a_frequency_that_its_table_lacks() -> None:
    with pytest.raises(SettingError, match=r"has nothing for 2\.4 GHz"):
        ModelledMachine().set(2.4)
    with pytest.raises(SettingError, match=r"has nothing for 2\.4 GHz"):
        ModelledMachine(frequency=2.4)


def test_this_machine_can_be_looked_at() -> None:
    machine = Machine.find()
    measured = watts(machine)
    assert measured is None or measured.watts >= 0.0
    assert machine.frequency is None or machine.frequency in machine.frequencies
