"""What is made of Spark's reports; no Spark is needed to say."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark import rates
from penstock.spark.backend import Executor, RunningTask
from penstock.spark.progress import LEVELS, Batch, parse_progress
from penstock.spark.rates import Occupancy

EVENT: dict[str, Any] = {
    "batchId": 7,
    "timestamp": "2026-01-01T00:00:10.000Z",
    "durationMs": {"addBatch": 600, "commitOffsets": 50, "triggerExecution": 800},
    "stateOperators": [{"numRowsTotal": 40}, {"numRowsTotal": 2}],
    "sources": [{"latestOffset": {"rows": 900}, "endOffset": {"rows": 850}}],
    "observedMetrics": {
        "penstock": {"rows": 50, "service": 0.5, "service_squared": 0.01, "created": [1.0] * 23}
    },
}
IDLE: dict[str, Any] = {
    "batchId": 8,
    "timestamp": "2026-01-01T00:00:11.000Z",
    "durationMs": {"latestOffset": 1, "triggerExecution": 2},
    "stateOperators": [],
    "sources": [{"latestOffset": {"rows": 900}, "endOffset": {"rows": 900}}],
    "observedMetrics": {},
}


def executor(name: str, busy: float = 0.0, *, active: bool = True, tasks: int = 0) -> Executor:
    return Executor(
        id=name,
        profile=0,
        active=active,
        cores=1,
        active_tasks=tasks,
        completed_tasks=0,
        failed_tasks=0,
        busy=busy,
    )


def batch(rows: int, created: list[float], ended: float) -> Batch:
    event = json.loads(json.dumps(EVENT))
    event["observedMetrics"]["penstock"] |= {"rows": rows, "created": created}
    parsed = parse_progress(event)
    return Batch(
        **{f: getattr(parsed, f) for f in Batch.__dataclass_fields__ if f != "started"},
        started=ended - parsed.duration,
    )


def test_an_event_is_read_in_seconds_and_rows() -> None:
    seen = parse_progress(EVENT)
    assert (seen.number, seen.duration, seen.rows, seen.arrived, seen.read) == (
        7,
        0.8,
        50,
        900,
        850,
    )
    assert seen.parts == {"addBatch": 0.6, "commitOffsets": 0.05}
    assert seen.state_rows == 42
    assert not seen.idle


def test_what_an_event_lacks_is_none_and_never_zero() -> None:
    seen = parse_progress({"batchId": 0, "timestamp": "2026-01-01T00:00:00.000Z"})
    assert (seen.rows, seen.service, seen.created, seen.arrived, seen.read) == (None,) * 5
    assert seen.state_rows is None


def test_an_idle_event_is_no_batch() -> None:
    assert parse_progress(IDLE).idle


def test_offsets_of_other_sources_are_unknown_rather_than_wrong() -> None:
    event = {**EVENT, "sources": [{"latestOffset": {"logOffset": 12}, "endOffset": "x"}]}
    seen = parse_progress(event)
    assert (seen.arrived, seen.read) == (None, None)


def test_service_time_and_its_variation() -> None:
    mean, cv = rates.service([parse_progress(EVENT)])
    assert mean == pytest.approx(0.01)
    assert cv == pytest.approx(1.0)


def test_no_rows_no_service_time() -> None:
    assert rates.service([parse_progress(IDLE)]) == (None, None)
    assert rates.latency([parse_progress(IDLE)]) is None
    assert rates.mean_parts([]) is None


def test_latency_is_from_creation_to_the_end_of_the_batch() -> None:
    created = [100.0 + level for level in LEVELS]  # evenly over one second
    found = rates.latency([batch(100, created, ended=102.0)])
    assert found is not None
    assert (found.p50, found.p95, found.p99) == pytest.approx((1.5, 1.95, 1.99), abs=0.02)


def test_a_batch_counts_for_latency_by_its_rows() -> None:
    old, new = batch(1000, [0.0] * 23, ended=10.0), batch(10, [0.0] * 23, ended=1.0)
    found = rates.latency([old, new])
    assert found is not None
    assert found.p50 == pytest.approx(10.0)


@given(st.lists(st.floats(0, 5), min_size=200, max_size=300), st.integers(1, 4))
def test_quantiles_of_merged_batches_are_those_of_all_rows(ages: list[float], parts: int) -> None:
    ended = 1000.0
    chunks = np.array_split(np.array(ages), parts)
    batches = [
        batch(len(chunk), np.quantile(ended - chunk, LEVELS).tolist(), ended) for chunk in chunks
    ]
    found = rates.latency(batches)
    assert found is not None
    low, high = np.quantile(ages, [0.40, 0.60])
    assert low - 0.3 <= found.p50 <= high + 0.3
    assert found.p50 <= found.p95 <= found.p99 <= max(ages) + 1e-6


def test_busy_share_counts_tasks_under_way() -> None:
    before = Occupancy.of([executor("1")], [], 100.0)
    tasks = [RunningTask(executor="1", launched=101.0)]
    after = Occupancy.of([executor("1", tasks=1)], tasks, 110.0)
    assert after.share_since(before, ["1"]) == pytest.approx(0.9)


def test_a_task_is_counted_once_when_it_ends() -> None:
    tasks = [RunningTask(executor="1", launched=98.0)]
    before = Occupancy.of([executor("1")], tasks, 100.0)
    after = Occupancy.of([executor("1", busy=4.0)], [], 110.0)  # it took 4 s, 2 of them before
    assert after.share_since(before, ["1"]) == pytest.approx(0.2)


def test_an_executor_that_has_just_come_does_not_count() -> None:
    before = Occupancy.of([executor("1")], [], 100.0)
    after = Occupancy.of([executor("1", busy=5.0), executor("2")], [], 110.0)
    assert after.share_since(before, ["1", "2"]) == pytest.approx(0.5)


def test_with_nobody_to_ask_the_busy_share_is_unknown() -> None:
    before = Occupancy.of([], [], 100.0)
    assert Occupancy.of([executor("2")], [], 110.0).share_since(before, ["2"]) is None


def test_the_parser_does_not_load_spark() -> None:
    code = "import sys, penstock.spark.progress; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
