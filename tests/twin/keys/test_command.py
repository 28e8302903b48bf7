"""`penstock simulate` with keys: the twin of a keyed operator, or a sentence that says why not."""

from pathlib import Path

import pytest

from penstock.cli import main
from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.record import load

ONE = """
step: 1s
duration: 6s
source: {module: quotes, rate: 2000/s}
policy: {name: static, degrees: 3}
modules:
  quotes: {service_time: 1ms, service_cv: 1, keys: 2836, initial_replicas: 2, max_replicas: 4}
"""
TWO = """
step: 1s
duration: 6s
source: {module: split, rate: 10/s}
policy: {name: static}
modules:
  split: {service_time: 1ms}
  quotes: {service_time: 1ms, keys: 10}
streams:
  - {from: split, to: quotes}
"""


def simulate(folder: Path, text: str, *words: str) -> int:
    (folder / "graph.yaml").write_text(text)
    out = ["--quiet", "--out", str(folder / "run")]
    return main(["simulate", str(folder / "graph.yaml"), *out, *words])


def test_a_file_whose_module_has_keys_runs_on_the_twin_with_keys(tmp_path: Path) -> None:
    assert simulate(tmp_path, ONE) == 0
    first, *_, last = (tick.seen for tick in load(tmp_path / "run").ticks)
    assert first.modules["quotes"].waiting_time is not None
    assert first.frequency == 2.0
    assert last.modules["quotes"].running == 3
    assert first.power is not None
    assert last.power is not None
    assert last.power.modelled
    assert last.power.watts > first.power.watts


def test_the_clock_is_the_fastest_that_the_policy_knows_the_voltage_of(tmp_path: Path) -> None:
    text = ONE.replace("{name: static, degrees: 3}", "{name: mpc, voltages: {1.0: 0.8, 3.0: 1.2}}")
    assert simulate(tmp_path, text) == 0
    assert load(tmp_path / "run").ticks[0].seen.frequency == 3.0


def test_a_module_with_keys_runs_among_others_and_in_micro_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, TWO.replace("keys:", "trigger: 1s, overhead: 600ms, keys:")) == 0
    assert capsys.readouterr().err == ""
    *_, last = (tick.seen for tick in load(tmp_path / "run").ticks)
    assert last.modules["quotes"].batch_duration is not None
    assert last.modules["split"].batch_duration is None


def test_more_keys_than_the_twin_holds_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, ONE, "--set", "modules.quotes.keys=100000000000") == 2
    message = "keys of module quotes must be 0 to 10,000,000, got 100,000,000,000"
    assert capsys.readouterr().err.strip().endswith(message)
    with pytest.raises(SettingError, match=message):
        Module(name="quotes", keys=10**11)
