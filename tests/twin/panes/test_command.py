"""`penstock simulate preference`: the twin of panes, and what it says before and after."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import main
from penstock.core.signals import Observation
from penstock.record import load

FUZZY = ("--policy", "fuzzy", "--workload", "map:1000", "--duration", "20s")


def simulate(folder: Path, *words: str) -> int:
    return main(["simulate", "preference", "--quiet", "--out", str(folder), *words])


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def readings(folder: Path) -> list[Observation]:
    return [tick.seen for tick in load(folder).ticks]


def test_both_levels_run_on_the_twin_and_their_report_reports_both_stages(tmp_path: Path) -> None:
    assert simulate(tmp_path / "run", *FUZZY) == 0
    found = summary(tmp_path / "run")
    assert 0.0 < found["load_mean"]["plq"] < 2.0
    assert 0.0 < found["load_mean"]["wlq"] < 1.0
    assert found["splitting_mean"]["plq"] >= 1.0
    assert 2.0 < found["results_rate_mean"]["wlq"] <= 5.0  # the first windows take both triggers
    report = (tmp_path / "run" / "report.html").read_text()
    for word in ("load", "parts", "windows"):
        assert word in report


def test_a_summary_on_the_terminal_names_loads_parts_and_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "run")]
    assert main(["simulate", "preference", *FUZZY, *out]) == 0
    captured = capsys.readouterr()
    stages = next(line for line in (captured.out + captured.err).splitlines() if "stages" in line)
    assert "load of plq" in stages
    assert "parts a pane" in stages
    assert "windows/s" in stages


def test_simulating_it_does_not_load_spark(tmp_path: Path) -> None:
    words = ["simulate", "preference", "--quiet", "--out", str(tmp_path / "run"), *FUZZY]
    code = (
        "import sys; from penstock.cli import main; "
        f"failed = main({words!r}); sys.exit(failed or 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    words = ("--policy", "fuzzy", "--workload", "constant:700/s", "--duration", "12s")
    for name, seed in (("one", "3"), ("same", "3"), ("other", "4")):
        assert simulate(tmp_path / name, *words, "--seed", seed) == 0
    one, same, other = (readings(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same != other


def test_panes_are_split_only_under_a_policy_that_splits(tmp_path: Path) -> None:
    """With rows that keep two workers busy, and for long enough to know the sizes of panes."""
    stream = ("--workload", "constant:1800/s", "--duration", "12s")
    policies = {"split": "{name: fuzzy}", "whole": "{name: fuzzy, split: false}"}
    for name, policy in policies.items():
        words = ("--set", f"policy={policy}", "--set", "modules.plq.min_replicas=2")
        assert simulate(tmp_path / name, *stream, *words) == 0
    split, whole = (summary(tmp_path / name)["splitting_mean"]["plq"] for name in policies)
    assert whole == 1.0
    assert split > 1.1


def test_interference_in_the_file_reaches_the_twin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stretch = "interference={processes: 2, from: 8s, until: 16s, slowdown: 1.5}"
    words = ["--policy", "static", "--workload", "constant:600/s", "--duration", "20s"]
    words += ["--set", "modules.plq.trigger=0s", "--set", stretch]
    assert simulate(tmp_path / "run", *words) == 0
    assert capsys.readouterr().err == ""  # that it is left out would be said here
    times = [seen.modules["plq"].service_time or 0.0 for seen in readings(tmp_path / "run")]
    relative = [time / times[0] for time in times]
    assert relative == pytest.approx([1.0, 1.0, 1.5, 1.5, 1.0], rel=0.02)


def test_comparisons_in_the_file_make_larger_parts_slower(tmp_path: Path) -> None:
    words = ("--policy", "static", "--workload", "constant:600/s", "--duration", "8s")
    for name, each in (("free", "0s"), ("dear", "10us")):
        assert simulate(tmp_path / name, *words, "--set", f"query.comparison={each}") == 0
    free, dear = (readings(tmp_path / name)[-1] for name in ("free", "dear"))
    for name in ("plq", "wlq"):
        one, other = free.modules[name].service_time, dear.modules[name].service_time
        assert (other or 0.0) > 1.1 * (one or 0.0) > 0.0


def test_a_sampling_period_longer_than_a_step_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--set", "policy={name: fuzzy, sampling: 5s}", "--set", "step=4s")
    assert simulate(tmp_path / "run", *words) == 2
    assert "sampling" in capsys.readouterr().err


def test_what_the_twin_leaves_out_of_the_query_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        w
        for s in ("kind=top-delta", "comparison=1us", "drop_rate=0.05")
        for w in ("--set", f"query.{s}")
    ]
    assert simulate(tmp_path / "run", "--duration", "8s", *words) == 0
    output = capsys.readouterr().err
    assert output == "penstock: the twin leaves out kind of query and drop_rate of query\n"


def test_tuples_that_came_too_late_are_reported_and_waited_for_no_longer_than_the_file_says(
    tmp_path: Path,
) -> None:
    late = ("--workload", "poisson:500/s", "--duration", "20s", "--set", "source.disorder=10s")
    assert simulate(tmp_path / "one", *late) == 0
    assert simulate(tmp_path / "two", *late, "--set", "query.max_slack=1s") == 0
    patient, hasty = summary(tmp_path / "one"), summary(tmp_path / "two")
    assert 0 < patient["results"]["late_tuples"] < hasty["results"]["late_tuples"]
    assert hasty["latency"]["p50"] < patient["latency"]["p50"]
