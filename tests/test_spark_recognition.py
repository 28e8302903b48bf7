"""The recognition service on a real cluster: five modules, a fork and a join, executors of each."""

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.core.signals import Configuration, Decision, Observation
from penstock.pipeline.file import load
from penstock.pipeline.launch import open_spark
from penstock.plant.spark.plant import SparkPlant
from tests.test_spark_run import executor_pids

pytestmark = pytest.mark.spark

SETTINGS = (
    "policy=static",
    "workload=constant:6/s",
    "step=2s",
    "modules.edge-detector.service_time=30ms",
    "modules.recognizer.service_time=60ms",
)
SECONDS = 16.0


@dataclass
class Run:
    seen: list[Observation] = field(default_factory=list)
    before: dict[str, set[str]] = field(default_factory=dict)
    after: dict[str, set[str]] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


def crews(plant: SparkPlant) -> dict[str, set[str]]:
    """The executors of each module that take tasks now."""
    running = plant.actuator.running(plant.actuator.backend.executors())
    return {module: {executor.id for executor in crew} for module, crew in running.items()}


def await_crew(plant: SparkPlant, module: str, size: int) -> None:
    give_up = time.monotonic() + 120
    while len(crews(plant)[module]) != size:
        assert time.monotonic() < give_up, f"{module} never had {size} executors"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The recogniser grows by one, and one of the executors dies in the middle of it all."""
    outcome, folder = Run(), tmp_path_factory.mktemp("recognition")
    file = load("recognition", SETTINGS)
    with open_spark(file, master=None, folder=folder, duration=SECONDS) as plant:
        outcome.before = crews(plant)
        for number, seen in enumerate(plant.readings()):
            outcome.seen.append(seen)
            if number == 1:
                grown = Configuration(degrees={"recognizer": 2})
                plant.apply(Decision(configuration=grown, why="to see"))
        await_crew(plant, "recognizer", 2)
        outcome.after = crews(plant)
        os.kill(executor_pids(folder)[0], signal.SIGKILL)
    outcome.results = plant.results
    return outcome


def test_every_image_is_recognised_exactly_once(run: Run) -> None:
    assert run.results["rows_fed"] == 6 * SECONDS + 32
    assert not any(run.results["rows_waiting"].values())
    assert run.results["images"] == run.results["rows_fed"]


def test_what_is_recognised_is_right(run: Run) -> None:
    assert run.results["accuracy"] >= 0.9
    assert run.results["noise_accuracy"] >= 0.95


def test_both_ways_are_taken(run: Run) -> None:
    for module in ("denoiser-1", "denoiser-2"):
        rates = [seen.modules[module].processed_rate for seen in run.seen]
        assert sum(rate for rate in rates if rate is not None) > 0


def test_each_module_has_executors_of_its_own(run: Run) -> None:
    everyone = [executor for crew in run.before.values() for executor in crew]
    assert len(everyone) == len(set(everyone)) == 5


def test_one_module_grows_and_the_others_keep_theirs(run: Run) -> None:
    assert len(run.after["recognizer"]) == 2
    assert run.before["recognizer"] < run.after["recognizer"]
    for module in run.before.keys() - {"recognizer"}:
        assert run.after[module] == run.before[module]


def test_an_image_takes_at_least_its_service_time(run: Run) -> None:
    for name, least in (("recognizer", 0.06), ("edge-detector", 0.03), ("denoiser-1", 0.06)):
        times = [seen.modules[name].service_time for seen in run.seen]
        measured = [t for t in times if t is not None]
        assert measured
        assert min(measured) >= least * 0.99
