"""The preference pipeline on a real cluster: two modules, each with executors of its own.

Both levels are at work: panes are split and executors come, and nothing is lost when one of them
is killed.
"""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.apps.preference.application import PAGE
from penstock.apps.preference.tuples import Tuples
from penstock.core.chance import uniform
from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import load
from penstock.query.kernels import skyline
from penstock.query.preference.splitting import Split, Splitting
from penstock.spark.plant import SparkPlant
from tests.support.processes import executor_pids
from tests.support.spark_runs import SharedSpark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RATE, SECONDS, FIRST, MOST = 1000, 40.0, 32, 3
SETTINGS = (
    f"workload=constant:{RATE}/s",
    "query={window: 1s, slide: 200ms, dimensions: 4, slack: 400ms}",
    "policy=fuzzy",
    "guards=[]",
    "slo.latency_p95=100ms",  # less than the slack: no window can be in time
    "step=2s",
    f"modules.plq.max_replicas={MOST}",
    "modules.plq.initial_replicas=2",
    "modules.wlq.service_time=0s",
)


@dataclass
class Run:
    ticks: list[Tick] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    """What was in force at each step."""
    pages: list[dict[str, Any]] = field(default_factory=list)
    """The newest window at each step, and at the end."""
    results: dict[str, Any] = field(default_factory=dict)
    start: float = 0.0


def kill_one(folder: Path) -> None:
    """End an executor of the pane stage, whose profile is the only one but Spark's own."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in executor_pids(folder)}
    own = [pid for pid, command in commands.items() if "--resourceProfileId\x000" not in command]
    os.kill(own[0], signal.SIGKILL)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSpark]:
    folder = tmp_path_factory.mktemp("preference")
    with SharedSpark.opened(load("preference", SETTINGS), folder) as opened:
        yield opened


def steps(plant: SparkPlant, run: Run, folder: Path) -> Iterator[int]:
    """Drive the plant, noting at each step what is seen beside it."""
    splitting = Splitting(path=folder / "data" / "splitting", workers=MOST)
    policy = build_policy(load("preference", SETTINGS))
    for number, seen in enumerate(plant.readings()):
        decided = policy(seen)
        run.ticks.append(Tick(seen=seen, decided=decided, asked=plant.apply(decided)))
        run.splits.append(splitting.read())
        if (folder / PAGE).exists():
            run.pages.append(json.loads((folder / PAGE).read_text()))
        yield number


@pytest.fixture(scope="module")
def run(spark: SharedSpark, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The first run of the session: an executor that is killed is one of its own."""
    outcome, folder = Run(), tmp_path_factory.mktemp("levels")
    with spark.deployed(load("preference", SETTINGS), folder, SECONDS) as plant:
        outcome.start = float((folder / "data" / "start-plq").read_text())
        for number in steps(plant, outcome, folder):
            if number == 5:
                kill_one(spark.folder)
    outcome.results = plant.results
    outcome.pages.append(json.loads((folder / PAGE).read_text()))
    return outcome


def best_of(run: Run, page: dict[str, Any]) -> set[int]:
    """The numbers of the best tuples of a window, by the kernel alone."""
    numbers = np.arange(FIRST, run.results["rows_fed"])
    came = load("preference", SETTINGS).workload.times((numbers - FIRST).astype(np.float64))
    created = run.start + came - 0.4 * uniform(numbers, 1)
    micros = (created * 1e6).astype(np.int64)
    begin, end = (
        round(datetime.fromisoformat(page[edge]).timestamp() * 1e6) for edge in ("start", "end")
    )
    inside = numbers[(micros >= begin) & (micros < end)]
    rows = Tuples(seed=1, dimensions=4).columns(inside)
    points = np.column_stack([rows[name].to_numpy() for name in ("a1", "a2", "a3", "a4")])
    return set(inside[skyline(points)].tolist())


def test_every_window_has_exactly_its_best_tuples_however_panes_were_split(run: Run) -> None:
    begun = [p for p in run.pages if datetime.fromisoformat(p["start"]).timestamp() > run.start]
    assert len({page["start"] for page in begun}) >= 3
    for page in begun:
        best = best_of(run, page)
        assert page["tuples"] == len(best)
        assert {row["number"] for row in page["best"]} <= best


def test_nothing_is_lost_to_an_executor_that_was_killed(run: Run) -> None:
    assert run.results["rows_fed"] == RATE * SECONDS + FIRST
    assert not any(run.results["rows_waiting"].values())
    assert run.results["windows"] == pytest.approx(5 * SECONDS, abs=15)


def test_windows_that_came_late_are_reported(run: Run) -> None:
    assert run.results["late_windows"] == run.results["windows"]
    assert run.results["window_latency_seconds"]["p50"] > 0.4


def test_the_load_and_the_splitting_of_both_stages_are_measured(run: Run) -> None:
    plq = [tick.seen.modules["plq"] for tick in run.ticks]
    wlq = [tick.seen.modules["wlq"] for tick in run.ticks]
    assert max(reading.load or 0.0 for reading in plq) > 0.3
    assert max(reading.load or 0.0 for reading in wlq) > 0.0
    assert max(reading.results_rate or 0.0 for reading in wlq) > 1.0
    parts = [reading.splitting for reading in plq if reading.splitting is not None]
    assert parts
    assert 1.0 <= min(parts) <= max(parts) <= MOST
    for readings in (plq, wlq):
        assert any(reading.utilisation is not None for reading in readings)
        assert any(reading.latency is not None for reading in readings)


def test_the_inner_level_acts_without_the_outer_one(run: Run) -> None:
    """The threshold moves between steps at which executors stay as they are."""
    thresholds = [split.threshold for split in run.splits]
    assert any(threshold is not None for threshold in thresholds)
    assert len(set(thresholds)) >= 3
    assert all(1 <= split.workers <= MOST for split in run.splits)


def test_recorded_tuples_run_too(spark: SharedSpark, tmp_path: Path) -> None:
    path = tmp_path / "game.csv"
    path.write_text("x,y\n" + "\n".join(f"{i % 7},{(i * 5) % 11}" for i in range(77)))
    settings = [
        f"query={{kind: top-delta, delta: 3, tuples: {path}, slack: 400ms}}",
        "workload=constant:300/s",
        "policy=static",
        "guards=[]",
        *(f"modules.{module}.service_time=0s" for module in ("plq", "wlq")),
        "modules.wlq.initial_replicas=2",
    ]
    file = load("preference", settings)
    with spark.deployed(file, tmp_path / "run", duration=8.0) as plant:
        ticks = list(control(plant, build_policy(file)))
    newest = plant.results["newest_window"]
    assert newest["tuples"] == 3
    assert {(row["x"], row["y"]) for row in newest["best"]} == {(0.0, 0.0)}
    held = ticks[-1].seen.modules
    assert {name: reading.running for name, reading in held.items()} == {"plq": 2, "wlq": 2}
