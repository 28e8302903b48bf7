"""Real runs on a real cluster: nothing is lost, nothing is counted twice, whatever happens."""

import os
import random
import signal
import threading
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.apps.wordcount.application import digest
from penstock.core.errors import PlantError
from penstock.core.signals import Configuration, Decision, Observation
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.spark.plant import SparkPlant
from tests.support.processes import executor_pids, wait_until
from tests.support.spark_runs import expected, settled

pytestmark = pytest.mark.spark

FAST = ("workload=constant:120/s", "step=1s")
SECONDS = 24.0
"""Of the run that is scaled all the time."""


@dataclass
class Outcome:
    seen: list[Observation] = field(default_factory=list)
    changes: int = 0
    during_batches: int = 0
    run_ids: list[set[str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    came: int = 0
    """Executors that ran when there was time for all of them to come."""
    stayed: int = 0
    """Those that were left when there was time for the others to go."""
    left: set[str] = field(default_factory=set)
    """Of Spark's own files, what the run left in its folder."""
    processes: list[int] = field(default_factory=list)
    """Executors that outlived the run."""


def keep_scaling(plant: SparkPlant, outcome: Outcome, stop: threading.Event) -> None:
    """Change the degrees at moments that have nothing to do with batches."""
    chance = random.Random(7)
    degrees = {"splitter": 1, "counter": 1}
    while not stop.wait(chance.uniform(0.6, 1.5)):
        module = chance.choice(list(degrees))
        degrees[module] = chance.choice([n for n in (1, 2, 3) if n != degrees[module]])
        busy = plant.queries[module].query.status["isTriggerActive"]
        plan = Decision(configuration=Configuration(degrees=dict(degrees)), why="forced")
        if plant.apply(plan) is not None:
            outcome.changes += 1
            outcome.during_batches += busy


@pytest.fixture(scope="module")
def forced(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A run that is scaled out and in at random, all the time, in a folder with a relative path."""
    outcome, folder = Outcome(), tmp_path_factory.mktemp("forced")
    file = load("wordcount", [*FAST, f"duration={SECONDS}s"])
    with (
        chdir(folder.parent),
        open_spark(file, master=None, folder=Path(folder.name), duration=SECONDS) as plant,
    ):
        stop = threading.Event()
        scaler = threading.Thread(target=keep_scaling, args=(plant, outcome, stop))
        scaler.start()
        for seen in plant.readings():
            outcome.seen.append(seen)
            outcome.run_ids.append({str(w.query.runId) for w in plant.queries.values()})
        stop.set()
        scaler.join()
        outcome.came = settled(plant, {"splitter": 2, "counter": 3})
        outcome.stayed = settled(plant, {"splitter": 1, "counter": 1})
    outcome.results = plant.results
    outcome.left = {entry.name for entry in (folder / "spark").iterdir()}
    outcome.processes = executor_pids(folder)
    return outcome


def test_scaling_out_and_in_all_the_time_loses_and_doubles_nothing(forced: Outcome) -> None:
    assert forced.changes >= 10
    assert forced.during_batches >= 3
    assert not any(forced.results["rows_waiting"].values())
    truth = expected(forced.results["rows_fed"])
    assert forced.results["rows_fed"] == SECONDS * 120 + 32
    assert forced.results["words_counted"] == truth.total()
    assert forced.results["digest"] == digest(truth)
    assert forced.results["top_words"] == {w: truth[w] for w in forced.results["top_words"]}


def test_no_task_is_lost_to_a_scale_in(forced: Outcome) -> None:
    assert [m.failed_tasks for seen in forced.seen for m in seen.modules.values()] == [0] * (
        2 * len(forced.seen)
    )


def test_no_query_is_restarted(forced: Outcome) -> None:
    assert len({frozenset(ids) for ids in forced.run_ids}) == 1


def test_executors_really_come_and_go(forced: Outcome) -> None:
    assert forced.came == 5
    assert forced.stayed == 2


def test_every_figure_is_measured_and_in_its_range(forced: Outcome) -> None:
    readings = [m for seen in forced.seen for m in seen.modules.values() if m.batch_duration]
    assert readings
    for reading in readings:
        assert reading.processed_rate is not None
        assert reading.processed_rate >= 0
        assert reading.backlog is not None
        assert reading.backlog >= 0
        assert reading.service_time is None or 0.001 < reading.service_time < 0.1
        assert reading.service_cv is None or reading.service_cv >= 0
        assert reading.batch_parts is not None
        assert reading.batch_parts["addBatch"] > 0
    known = [m.utilisation for m in readings if m.utilisation is not None]
    assert known
    assert all(0 <= share <= 1 for share in known)
    arrivals = [s.modules["splitter"].arrival_rate for s in forced.seen[1:]]
    assert np.median([rate for rate in arrivals if rate is not None]) == pytest.approx(120, rel=0.1)
    late = [s.latency for s in forced.seen if s.latency is not None]
    assert late
    assert all(0 < q.p50 <= q.p95 <= q.p99 for q in late)
    states = [s.modules["counter"].state_rows for s in forced.seen]
    assert max(n for n in states if n is not None) <= forced.results["distinct_words"]


def test_it_leaves_logs_and_nothing_else(forced: Outcome) -> None:
    assert forced.left == {"driver.log", "master.log", "worker-1.log", "worker-2.log"}
    assert forced.processes == []


@pytest.mark.slow
def test_killed_executors_and_a_killed_worker_lose_and_double_nothing(tmp_path: Path) -> None:
    file = load("wordcount", [*FAST, "duration=20s", "modules.counter.initial_replicas=2"])
    with open_spark(file, master=None, folder=tmp_path, duration=20.0) as plant:
        before = workers(tmp_path)
        for number, _ in enumerate(plant.readings()):
            if number in (3, 7):
                os.kill(executor_pids(tmp_path)[1], signal.SIGKILL)
            if number == 11:
                os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(workers(tmp_path)) == 2)
        after = workers(tmp_path)
        running = settled(plant, {"splitter": 1, "counter": 2})
    assert before[0] not in after
    assert before[1] in after
    assert running == 3
    truth = expected(plant.results["rows_fed"])
    assert not any(plant.results["rows_waiting"].values())
    assert plant.results["words_counted"] == truth.total()
    assert plant.results["digest"] == digest(truth)


def workers(folder: Path) -> list[int]:
    return executor_pids(folder, "deploy.worker.Worker")


@pytest.mark.slow
def test_a_killed_master_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(PlantError, match=r"the master of the embedded cluster ended .*master.log"):
        run_and_kill_the_master(tmp_path)
    assert executor_pids(tmp_path) == []


def run_and_kill_the_master(folder: Path) -> None:
    file = load("wordcount", [*FAST, "duration=60s"])
    with open_spark(file, master=None, folder=folder, duration=60.0) as plant:
        for number, _ in enumerate(plant.readings()):
            if number == 2:
                os.kill(executor_pids(folder, "deploy.master.Master")[0], signal.SIGKILL)


FOUR = """
pipeline: wordcount
workload: constant:60/s
step: 1s
source: {module: splitter}
modules:
  splitter: {service_time: 1ms, max_replicas: 2, trigger: 1s}
  filter: {service_time: 0.1ms, max_replicas: 2, trigger: 1s}
  counter: {service_time: 0.1ms, max_replicas: 2, trigger: 1s}
  consumer: {service_time: 0.1ms, max_replicas: 2, trigger: 1s}
streams:
  - {from: splitter, to: filter, selectivity: 5}
  - {from: filter, to: counter, selectivity: 0.4}
  - {from: counter, to: consumer}
"""


@pytest.mark.slow
def test_every_operator_can_be_a_module_of_its_own(tmp_path: Path) -> None:
    path, out = tmp_path / "four.yaml", tmp_path / "run"
    path.write_text(FOUR)
    out.mkdir()
    workspace = f"cluster.workspace={tmp_path / 'shared'}"
    file = load(path, [workspace])
    with open_spark(file, master=None, folder=out, duration=8.0) as plant:
        seen = list(plant.readings())
        plan = Configuration(degrees={"counter": 2})
        plant.apply(Decision(configuration=plan, why="to see"))
    assert set(seen[-1].modules) == {"splitter", "filter", "counter", "consumer"}
    truth = expected(plant.results["rows_fed"])
    assert not any(plant.results["rows_waiting"].values())
    assert plant.results["digest"] == digest(truth)
    assert list((tmp_path / "shared").iterdir()) == []
