"""Micro-batches of a preference query, against what they must come to."""

from typing import Any

import numpy as np
import pytest

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.panes import Panes
from penstock.core.regions import Infrastructure, Region
from penstock.twin import PaneTwin
from penstock.workload import Constant

TRIGGER, OVERHEAD = 2.0, 0.6
BATCHES: dict[str, Any] = {"trigger": TRIGGER, "overhead": OVERHEAD}


def query(rate: float = 50.0, batches: dict[str, Any] = BATCHES, **given: Any) -> PaneTwin:
    plq = {"service_time": 0.0} | given.pop("plq", {})
    graph = FlowGraph(
        source="plq",
        modules=(
            Module(name="plq", region="dc1", **(plq | batches)),
            Module(name="wlq", region="dc2", **batches),
        ),
        streams=(Stream(origin="plq", target="wlq"),),
    )
    usual: dict[str, Any] = {
        "step": 4.0,
        "duration": 60.0,
        "arrivals": "even",
        "panes": Panes.parse("1s", "1s"),
    }
    return PaneTwin(graph, Constant(rate), **(usual | given))


def late(twin: PaneTwin) -> list[float]:
    """Seconds from the end of each window to its result."""
    for _ in twin.readings():
        pass
    done = twin.windows()
    return [round(float(result - end), 9) for end, result in done]


def test_a_window_waits_for_a_trigger_of_both_stages() -> None:
    """A pane ends at a trigger, with the tuple that closes it, or in mid-interval, a second before
    one. The window stage takes it at its next trigger."""
    through = TRIGGER + OVERHEAD
    found = late(query())
    assert set(found) == {through, 1.0 + through}
    assert np.mean(found) == pytest.approx(0.5 + through, abs=0.05)


def test_work_and_overhead_of_tasks_lengthen_the_batch() -> None:
    twin = query(plq={"service_time": 0.004, "task_overhead": 0.25})
    readings = [seen.modules["plq"] for seen in twin.readings()]
    length = 50 * TRIGGER * 0.004 + 0.25 + OVERHEAD
    assert [r.batch_duration for r in readings[1:]] == pytest.approx([length] * len(readings[1:]))
    busy = (50 * TRIGGER * 0.004 + 0.25) / TRIGGER
    assert np.mean([r.utilisation for r in readings[1:]]) == pytest.approx(busy, rel=0.02)


def test_the_same_windows_are_done_with_and_without_batches() -> None:
    def ends(batches: dict[str, Any]) -> list[float]:
        twin = query(300.0, batches, disorder=0.4, slack=0.4, panes=Panes.parse("1s", "200ms"))
        for _ in twin.readings():
            pass
        twin.drain()
        return sorted(float(end) for end, _ in twin.windows())

    assert ends(BATCHES) == ends({})


def test_a_batch_takes_no_more_tuples_than_its_workers_may_and_the_rest_is_backlog() -> None:
    twin = query(100.0, plq={"service_time": 0.01, "max_batch": 1.0})
    last = [seen.modules["plq"] for seen in twin.readings()][-1]
    assert last.batch_duration == pytest.approx(100 * 0.01 + OVERHEAD)
    # 100 tuples every 2 s, where 200 come
    assert last.backlog == pytest.approx(60.0 * (100 - 50), rel=0.05)
    assert last.arrival_rate == pytest.approx(100.0)


def test_stages_in_regions_are_apart_and_workers_need_nodes() -> None:
    regions = (Region(name="dc1"), Region(name="dc2"))
    places = Infrastructure(regions=regions, delays={"dc1-dc2": 0.25})
    near, far = (late(query(batches={}, places=where)) for where in (None, places))
    assert np.subtract(far[: len(near)], near[: len(far)]) == pytest.approx(0.25)
