"""Two pipelines on one real cluster: divided by what their rows are worth, and by Spark itself."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from tests.conftest import Write
from tests.support.processes import executor_pids

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECONDS = 30.0
FIRST = 32
RATES = {"fraud": 25, "reports": 6}
TIMES = {"fraud": "100ms", "reports": "200ms"}
SETTINGS = (
    "step=3s",
    *(f"pipelines.{name}.workload=constant:{rate}/s" for name, rate in RATES.items()),
    *(
        f"pipelines.{name}.modules.{module}.service_time={time}"
        for name, time in TIMES.items()
        for module in ("lookup", "score")
    ),
)
"""Rows that are few and take long: together they need more than the eight executors."""
MIXED = """\
cores: 5
step: 2s
pipelines:
  words: {pipeline: wordcount, workload: constant:40/s}
  fraud:
    pipeline: enrichment
    weight: 5
    workload: constant:20/s
    source: {module: lookup}
    modules: {lookup: {service_time: 5ms, trigger: 1s}, score: {service_time: 5ms, trigger: 1s}}
    streams: [{from: lookup, to: score}]
"""


@dataclass
class Run:
    ticks: list[Tick] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)


def run(file_or_name: str | Path, folder: Path, *settings: str, kill_at: int | None = None) -> Run:
    """A run to its end; at a step that was given, an executor dies."""
    outcome = Run()
    file = load(file_or_name, settings)
    with open_spark(file, master=None, folder=folder, duration=SECONDS) as plant:
        for number, tick in enumerate(control(plant, build_policy(file))):
            outcome.ticks.append(tick)
            if number == kill_at:
                os.kill(executor_pids(folder)[0], signal.SIGKILL)
    outcome.results = plant.results
    return outcome


def check_complete(results: dict[str, Any]) -> None:
    assert not any(results["rows_waiting"].values())
    for name, rate in RATES.items():
        found = results["pipelines"][name]
        assert found["payments"] == found["rows_fed"] == rate * SECONDS + FIRST


def test_cores_follow_the_worth_of_rows_and_nothing_is_lost_with_an_executor(
    tmp_path: Path,
) -> None:
    divided = run("shared", tmp_path / "divided", *SETTINGS, kill_at=4)
    check_complete(divided.results)
    degrees_by_step = [tick.decided.configuration.degrees for tick in divided.ticks]
    assert all(sum(degrees.values()) <= 8 for degrees in degrees_by_step)
    assert degrees_by_step[-1]["fraud.lookup"] + degrees_by_step[-1]["fraud.score"] > 4
    assert degrees_by_step[-1]["reports.lookup"] + degrees_by_step[-1]["reports.score"] < 4
    pooled = run("shared", tmp_path / "fair", *SETTINGS, "policy=fair", kill_at=4)
    check_complete(pooled.results)
    assert {tick.seen.pool for tick in pooled.ticks} <= {7, 8}
    assert all(tick.asked is None for tick in pooled.ticks)
    for found in (divided.results["rows_out"], pooled.results["rows_out"]):
        assert 0 < found["fraud.score"] <= RATES["fraud"] * SECONDS
    digests = [
        [run_.results["pipelines"][name]["digest"] for name in RATES] for run_ in (divided, pooled)
    ]
    assert digests[0] == digests[1]


def test_a_pipeline_with_state_runs_beside_one_without(tmp_path: Path, write: Write) -> None:
    mixed = run(write(MIXED), tmp_path / "mixed", "policy=allocation")
    found = mixed.results["pipelines"]
    assert found["fraud"]["payments"] == found["fraud"]["rows_fed"]
    assert not any(mixed.results["rows_waiting"].values())
    assert found["words"]["words_counted"] > 0
    assert (tmp_path / "mixed" / "words" / "top-words.json").is_file()
