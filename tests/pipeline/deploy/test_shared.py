"""Two pipelines on one real cluster: divided by what their rows are worth, and by Spark itself."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import load
from penstock.pipeline.settings import PipelineFile
from tests.conftest import Write
from tests.support.processes import executor_pids
from tests.support.spark_runs import SharedSpark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECONDS = 24.0
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


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSpark]:
    """For all of them, since eight executors take their time to start."""
    with SharedSpark.opened(load("shared"), tmp_path_factory.mktemp("spark")) as opened:
        yield opened


def run(
    spark: SharedSpark, file: PipelineFile, folder: Path, seconds: float, kill_at: int | None = None
) -> Run:
    """A run to its end; at a step that was given, an executor dies."""
    outcome = Run()
    with spark.deployed(file, folder, seconds) as plant:
        for number, tick in enumerate(control(plant, build_policy(file))):
            outcome.ticks.append(tick)
            if number == kill_at:
                os.kill(executor_pids(spark.folder)[0], signal.SIGKILL)
    outcome.results = plant.results
    return outcome


def test_a_pipeline_with_state_runs_beside_one_without(
    spark: SharedSpark, tmp_path: Path, write: Write
) -> None:
    """The first to run: it shares fewer executors than the next."""
    file = load(write(MIXED), ["policy=allocation"])
    mixed = run(spark, file, tmp_path / "mixed", seconds=12.0)
    found = mixed.results["pipelines"]
    assert found["fraud"]["payments"] == found["fraud"]["rows_fed"]
    assert not any(mixed.results["rows_waiting"].values())
    assert found["words"]["words_counted"] > 0
    assert (tmp_path / "mixed" / "words" / "top-words.json").is_file()


def check_complete(results: dict[str, Any]) -> None:
    assert not any(results["rows_waiting"].values())
    for name, rate in RATES.items():
        found = results["pipelines"][name]
        assert found["payments"] == found["rows_fed"] == rate * SECONDS + FIRST


def test_cores_follow_the_worth_of_rows_and_nothing_is_lost_with_an_executor(
    spark: SharedSpark, tmp_path: Path
) -> None:
    file = load("shared", SETTINGS)
    divided = run(spark, file, tmp_path / "divided", SECONDS, kill_at=3)
    check_complete(divided.results)
    degrees_by_step = [tick.decided.configuration.degrees for tick in divided.ticks]
    assert all(sum(degrees.values()) <= 8 for degrees in degrees_by_step)
    assert degrees_by_step[-1]["fraud.lookup"] + degrees_by_step[-1]["fraud.score"] > 4
    assert degrees_by_step[-1]["reports.lookup"] + degrees_by_step[-1]["reports.score"] < 4
    file = load("shared", [*SETTINGS, "policy=fair"])
    pooled = run(spark, file, tmp_path / "fair", SECONDS, kill_at=3)
    check_complete(pooled.results)
    assert {tick.seen.pool for tick in pooled.ticks} <= {7, 8}
    assert all(tick.asked is None for tick in pooled.ticks)
    for found in (divided.results["rows_out"], pooled.results["rows_out"]):
        assert 0 < found["fraud.score"] <= RATES["fraud"] * SECONDS
    digests = [
        [run_.results["pipelines"][name]["digest"] for name in RATES] for run_ in (divided, pooled)
    ]
    assert digests[0] == digests[1]
