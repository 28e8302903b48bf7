"""The preference pipeline on a real cluster: two modules, each with executors of its own."""

import json
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
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.query.kernels import skyline

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RATE, SECONDS, FIRST = 400, 24.0, 32
SETTINGS = (
    f"workload=constant:{RATE}/s",
    "query={window: 1s, slide: 200ms, dimensions: 4, slack: 400ms}",
    "policy=static",
    "modules.plq.initial_replicas=2",
    "modules.wlq.initial_replicas=2",
    "guards=[]",
    "modules.plq.service_time=0s",
    "modules.wlq.service_time=0s",
)


@dataclass
class Run:
    ticks: list[Tick] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    page: dict[str, Any] = field(default_factory=dict)
    start: float = 0.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    outcome, folder = Run(), tmp_path_factory.mktemp("preference")
    file = load("preference", SETTINGS)
    with open_spark(file, master=None, folder=folder, duration=SECONDS) as plant:
        outcome.start = float((folder / "spark" / "data" / "start-plq").read_text())
        outcome.ticks = list(control(plant, build_policy(file)))
    outcome.results, outcome.page = plant.results, json.loads((folder / PAGE).read_text())
    return outcome


def test_the_newest_window_has_exactly_its_best_tuples(run: Run) -> None:
    numbers = np.arange(FIRST, run.results["rows_fed"])
    late = 0.4 * uniform(numbers, 1)
    came = load("preference", SETTINGS).workload.times((numbers - FIRST).astype(np.float64))
    created = ((run.start + came - late) * 1e6).astype(np.int64)
    begin, end = (
        round(datetime.fromisoformat(run.page[edge]).timestamp() * 1e6) for edge in ("start", "end")
    )
    inside = numbers[(created >= begin) & (created < end)]
    rows = Tuples(seed=1, dimensions=4).columns(inside)
    points = np.column_stack([rows[name].to_numpy() for name in ("a1", "a2", "a3", "a4")])
    best = inside[skyline(points)]
    assert run.page["tuples"] == len(best)
    assert {row["number"] for row in run.page["best"]} <= set(best.tolist())


def test_every_window_that_is_complete_came_out(run: Run) -> None:
    assert not any(run.results["rows_waiting"].values())
    assert run.results["windows"] == pytest.approx(5 * SECONDS, abs=15)
    assert run.results["window_latency_seconds"]["p50"] > 0.4


def test_both_modules_are_measured(run: Run) -> None:
    for module in ("plq", "wlq"):
        readings = [tick.seen.modules[module] for tick in run.ticks]
        assert any(reading.utilisation is not None for reading in readings)
        assert any(reading.latency is not None for reading in readings)
        assert readings[-1].running == 2


def test_recorded_tuples_run_too(tmp_path: Path) -> None:
    path = tmp_path / "game.csv"
    path.write_text("x,y\n" + "\n".join(f"{i % 7},{(i * 5) % 11}" for i in range(77)))
    settings = [
        f"query={{kind: top-delta, delta: 3, tuples: {path}, slack: 400ms}}",
        *SETTINGS[2:],
        "workload=constant:300/s",
    ]
    file = load("preference", settings)
    with open_spark(file, master=None, folder=tmp_path / "run", duration=12.0) as plant:
        list(control(plant, build_policy(file)))
    newest = plant.results["newest_window"]
    assert newest["tuples"] == 3
    assert {(row["x"], row["y"]) for row in newest["best"]} == {(0.0, 0.0)}
