"""Micro-batches from Spark's progress events, which tell the time of day and no executors."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.experiment.fit import fit
from penstock.experiment.fit.batches import aligned, events, micro_batches
from penstock.record import Run, load
from penstock.spark.progress import parse_progress
from tests.spark.test_progress import EVENT
from tests.support.fit_recordings import pipeline, written

BEGAN = datetime(2026, 3, 1, 9, 31, 7, tzinfo=UTC).timestamp()
"""When the run began; no file says so."""
COUNTER = """
step: 2s
duration: 120s
workload: {kind: constant, rate: 100/s}
policy: {name: static, degrees: 2}
source: {module: count}
modules: {count: {service_time: 1ms, trigger: 1s, max_replicas: 4}}
"""


def event(ended: float, duration: float, rows: int, service: float) -> dict[str, Any]:
    started = datetime.fromtimestamp(BEGAN + ended - duration, tz=UTC)
    return {
        "name": "count",
        "timestamp": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "numInputRows": rows,
        "durationMs": {"addBatch": 9, "triggerExecution": round(duration * 1000)},
        "observedMetrics": {
            "penstock": {
                "rows": rows,
                "service": service * rows,
                "service_squared": 1.25 * service**2 * rows,
            }
        },
    }


def spark_run(path: Path, *, task: float = 0.2, overhead: float = 0.3, first: float = 0.0) -> Run:
    """A batch a second for two minutes, 4 ms a row, one executor and then two.

    The first batch of the second executor takes so much longer.
    """
    random = np.random.default_rng(1)
    recorded, ticks = [], []
    for step in range(60):
        replicas = 1 if step < 30 else 2
        durations, busy, total = [], 0.0, 0
        for batch in range(2):
            rows = int(random.integers(60, 140))
            beyond = (task + overhead) * float(np.exp(random.normal(0, 0.2)))
            new = first if (step, batch) == (30, 1) else 0.0
            lasted = round(rows / replicas * 0.004 + beyond + new, 3)
            recorded.append(event(2 * step + batch + 1.0 - 0.03, lasted, rows, 0.004))
            durations.append(lasted)
            busy += rows * 0.004 + replicas * beyond * task / (task + overhead)
            total += rows
        reading = ModuleReading(
            arrival_rate=total / 2,
            processed_rate=total / 2,
            backlog=0.0,
            utilisation=min(busy / (2 * replicas), 1.0),
            batch_duration=sum(durations) / 2,
            service_time=0.004,
            running=replicas,
            requested=replicas,
        )
        seen = Observation(at=2.0 * step + 2, step=2.0, modules={"count": reading})
        same = Decision(configuration=Configuration(degrees={"count": replicas}), why="enough")
        ticks.append(Tick(seen=seen, decided=same, asked=None))
    return written(pipeline(COUNTER), ticks, path, events=tuple(json.dumps(e) for e in recorded))


def test_the_beginning_of_the_run_is_found(tmp_path: Path) -> None:
    run = spark_run(tmp_path)
    assert aligned(events(run.path)["count"], run.ticks, "count") == pytest.approx(BEGAN, abs=0.05)


def test_batches_know_their_rows_and_their_executors(tmp_path: Path) -> None:
    run = spark_run(tmp_path)
    batches = micro_batches(run, run.settings.graph["count"])
    assert len(batches) == 120
    assert all(batch.count == 1 for batch in batches)
    assert {batch.replicas for batch in batches if batch.at < 60} == {1}
    assert {batch.replicas for batch in batches if batch.at > 64} == {2}


def test_overheads_and_their_scatter_are_found(tmp_path: Path) -> None:
    fitted = fit(spark_run(tmp_path)).file.graph["count"]
    assert fitted.service_time == pytest.approx(0.004, rel=0.01)
    assert fitted.service_cv == pytest.approx(0.5, rel=0.01)
    assert fitted.task_overhead == pytest.approx(0.2, rel=0.1)
    assert fitted.overhead == pytest.approx(0.3, rel=0.1)
    assert fitted.overhead_cv == pytest.approx(0.2, rel=0.25)


def test_the_first_batch_of_a_new_executor_counts_apart(tmp_path: Path) -> None:
    slow = spark_run(tmp_path, first=2.5).settings.graph["count"]
    fitted = fit(load(tmp_path)).file.graph["count"]
    assert slow.warm_up == 0
    assert fitted.warm_up == pytest.approx(2.5, rel=0.1)
    assert fitted.overhead + fitted.task_overhead == pytest.approx(0.5, rel=0.05)
    assert fitted.overhead_cv == pytest.approx(0.2, rel=0.25)


def test_what_is_no_event_is_passed_over(tmp_path: Path) -> None:
    run = spark_run(tmp_path)
    whole = events(run.path)["count"]
    idle = json.dumps({"name": "count", "timestamp": "2026-03-01T09:31:00.000Z", "durationMs": {}})
    odd = ["[]", '"text"', "{}", '{"durationMs": 3}', idle, '{"name": "count", "durat']
    with (run.path / "progress.jsonl").open("a") as file:
        file.write("\n".join(odd))
    events.cache_clear()
    assert events(run.path) == {"count": whole}


def test_events_that_no_step_agrees_with_are_left_alone(tmp_path: Path) -> None:
    run = spark_run(tmp_path)
    modules = [t.seen.modules["count"] for t in run.ticks]
    odd = [replace(m, batch_duration=(m.batch_duration or 0) + 0.0123) for m in modules]
    ticks = tuple(
        replace(t, seen=replace(t.seen, modules={"count": m}))
        for t, m in zip(run.ticks, odd, strict=True)
    )
    batches = micro_batches(replace(run, ticks=ticks), run.settings.graph["count"])
    assert len(batches) == 60  # one for each step
    assert all(batch.count != 1 for batch in batches)


def test_fit_and_run_read_an_event_alike(tmp_path: Path) -> None:
    whole = {**EVENT, "name": "count", "numInputRows": 60}
    (tmp_path / "progress.jsonl").write_text(json.dumps(whole) + "\n")
    assert events(tmp_path) == {"count": (parse_progress(whole),)}
