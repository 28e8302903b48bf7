"""The recognition service on a real cluster: five modules, a fork and a join, executors of each."""

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.core.loop import control
from penstock.core.signals import Observation
from penstock.pipeline.compose import build_policy
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.spark.plant import SparkPlant
from tests.support.processes import PATIENCE, executor_pids

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SETTINGS = (
    "policy={name: incentive, rounding: up}",
    "workload=constant:6/s",
    "step=2s",
    "modules.edge-detector.service_time=30ms",
    "modules.recognizer.service_time=250ms",
    "modules.recognizer.max_replicas=2",
)
SECONDS = 16.0


@dataclass
class Run:
    seen: list[Observation] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    before: dict[str, set[str]] = field(default_factory=dict)
    after: dict[str, set[str]] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


def executors_by_module(plant: SparkPlant) -> dict[str, set[str]]:
    """The executors of each module that take tasks now."""
    running = plant.actuator.running(plant.actuator.backend.executors())
    return {
        module: {executor.id for executor in executors} for module, executors in running.items()
    }


def await_executors(plant: SparkPlant, sizes: dict[str, int]) -> None:
    give_up = time.monotonic() + PATIENCE
    while (
        now := {name: len(executors) for name, executors in executors_by_module(plant).items()}
    ) != sizes:
        assert time.monotonic() < give_up, f"there were {now} executors, not {sizes}"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The policy lets the recogniser grow, and an executor dies while images are under way."""
    outcome, folder = Run(), tmp_path_factory.mktemp("recognition")
    file = load("recognition", SETTINGS)
    with open_spark(file, master=None, folder=folder, duration=SECONDS) as plant:
        outcome.before, first = executors_by_module(plant), executor_pids(folder)
        for number, tick in enumerate(control(plant, build_policy(file))):
            outcome.seen.append(tick.seen)
            outcome.reasons.append(tick.decided.why)
            if number == 3:
                os.kill(first[0], signal.SIGKILL)
        await_executors(plant, {**dict.fromkeys(outcome.before, 1), "recognizer": 2})
        outcome.after = executors_by_module(plant)
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
    everyone = [executor for executors in run.before.values() for executor in executors]
    assert len(everyone) == len(set(everyone)) == 5


def test_the_policy_lets_the_bottleneck_grow_and_says_why(run: Run) -> None:
    assert any("recognizer 1 -> 2" in why for why in run.reasons)
    assert not any(
        f"{name} 1 -> 2" in why for why in run.reasons for name in ("dispatcher", "edge")
    )


def test_only_the_killed_executor_is_replaced(run: Run) -> None:
    """The policy may have given back the recogniser's first executor and taken another."""
    gone = {module: executors - run.after[module] for module, executors in run.before.items()}
    others = [executor for module in gone if module != "recognizer" for executor in gone[module]]
    assert len(others) + bool(gone["recognizer"]) >= 1
    assert len(others) <= 1


def test_an_image_takes_at_least_its_service_time(run: Run) -> None:
    """As far as it was measured: on a busy machine a module may report in no step."""
    least = {"recognizer": 0.25, "edge-detector": 0.03, "denoiser-1": 0.06}
    times = {name: [seen.modules[name].service_time for seen in run.seen] for name in least}
    measured = {name: [t for t in of if t is not None] for name, of in times.items()}
    assert any(measured.values())
    for name, known in measured.items():
        assert all(t >= 0.99 * least[name] for t in known)
