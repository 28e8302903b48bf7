"""Micro-batches on the twin, worked out by hand."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Configuration, Decision, Latency, Observation
from penstock.twin import Twin
from tests.support.twins import Constant

Array = NDArray[np.float64]


def batched(**settings: Any) -> Module:
    return Module(name="batch", **{"trigger": 1.0, "service_time": 0.1} | settings)


def watch(module: Module, rows: float, *, step: float = 1.0, until: float) -> list[Observation]:
    """Four rows a second, at 0.25, 0.5, 0.75 and so on."""
    graph = FlowGraph(source=module.name, modules=(module,))
    twin = Twin(graph, Constant(4.0, rows=rows), step=step, duration=until, arrivals="even")
    return list(twin.readings())


def assert_latency(latency: Latency | None, *, p50: float, p95: float) -> None:
    assert latency is not None
    assert (latency.p50, latency.p95) == pytest.approx((p50, p95))


def test_a_batch_takes_what_waits_at_the_trigger_and_releases_it_together() -> None:
    """Rows until 1.0; from then on two rounds of 0.1 s on two servers, and 0.3 s more."""
    first, second = watch(batched(overhead=0.3, initial_replicas=2), rows=4, until=2.0)
    assert first.modules["batch"].backlog == 4.0
    assert first.modules["batch"].service_time is None
    module = second.modules["batch"]
    assert module.batch_duration == pytest.approx(0.5)
    assert module.processed_rate == 4.0
    assert first.modules["batch"].utilisation is None  # the batch began as the step ended
    assert module.utilisation == pytest.approx(0.2 / 1.5)  # of each server, until the batch ended
    assert_latency(module.latency, p50=0.75, p95=1.25)  # ages 0.5, 0.75, 1.0 and 1.25


def test_results_leave_at_the_same_moment() -> None:
    seen = watch(batched(overhead=0.35), rows=4, step=0.1, until=3.0)
    left = {round(s.at, 1): s.modules["batch"].processed_rate for s in seen}
    assert {at: rate for at, rate in left.items() if rate} == {1.8: pytest.approx(40.0)}


def test_a_trigger_without_rows_opens_no_batch() -> None:
    seen = watch(batched(), rows=4, until=5.0)
    assert [s.modules["batch"].batch_duration for s in seen] == [
        None,
        pytest.approx(0.4),
        None,
        None,
        None,
    ]


def test_a_batch_that_overran_is_followed_at_once() -> None:
    """From 1.0 to 2.92 with four rows, to 5.14 with the seven until 2.75, to 6.76 with the last."""
    seen = watch(batched(overhead=1.52), rows=12, step=0.1, until=9.0)
    ended = {round(s.at, 1): s.modules["batch"] for s in seen if s.modules["batch"].batch_duration}
    assert list(ended) == [3.0, 5.2, 6.8]
    assert ended[3.0].batch_duration == pytest.approx(1.92)
    assert ended[5.2].batch_duration == pytest.approx(2.22)
    assert_latency(ended[5.2].latency, p50=5.14 - 2.0, p95=5.14 - 1.25)


def test_a_batch_in_time_is_followed_at_the_next_trigger() -> None:
    seen = watch(batched(overhead=0.15), rows=12, step=0.1, until=6.0)
    ended = [round(s.at, 1) for s in seen if s.modules["batch"].batch_duration]
    assert ended == [1.6, 2.6, 3.6]


def test_after_an_overrun_without_rows_the_next_trigger_is_a_multiple_again() -> None:
    """The first batch ends at 2.95 with nothing waiting; a row at 3.2 is taken at 4.0."""

    class Late(Constant):
        def times(self, index: Array) -> Array:
            return np.where(index < 4, (index + 1) / 4, 3.2)

        def arrivals(self, at: Array) -> Array:
            return np.where(at >= 3.2, 5.0, np.minimum(at * 4, 4.0))

    graph = FlowGraph(source="batch", modules=(batched(overhead=1.55),))
    twin = Twin(graph, Late(4.0), step=0.1, duration=8.0, arrivals="even")
    ended = [round(s.at, 1) for s in twin.readings() if s.modules["batch"].batch_duration]
    assert ended == [3.0, 5.7]


def test_a_source_takes_no_more_rows_in_a_batch_than_its_buffer_holds() -> None:
    seen = watch(batched(service_time=0.01, buffer=3), rows=8, until=5.0)
    assert [s.modules["batch"].processed_rate for s in seen] == [0.0, 3.0, 3.0, 2.0, 0.0]
    assert [s.modules["batch"].backlog for s in seen] == [4.0, 5.0, 2.0, 0.0, 0.0]


def test_a_chain_of_batches_passes_results_on_at_the_next_trigger() -> None:
    """Committed at 1.5 by the first, taken at 2.0 by the second, committed at 2.4."""
    graph = FlowGraph(
        source="first",
        modules=(
            Module(name="first", service_time=0.1, trigger=1.0, overhead=0.1),
            Module(name="second", service_time=0.1, trigger=1.0),
        ),
        streams=(Stream(origin="first", target="second"),),
    )
    twin = Twin(graph, Constant(4.0, rows=4), step=1.0, duration=3.0, arrivals="even")
    *_, last = twin.readings()
    assert_latency(last.latency, p50=2.4 - 0.75, p95=2.4 - 0.25)


def test_rows_done_at_the_same_moment_go_on_in_the_order_in_which_they_were_begun() -> None:
    """Four rows are done at 1.1; then one after another takes a second."""
    graph = FlowGraph(
        source="batch",
        modules=(batched(initial_replicas=4), Module(name="next", service_time=1.0)),
        streams=(Stream(origin="batch", target="next"),),
    )
    twin = Twin(graph, Constant(4.0, rows=4), step=1.0, duration=6.0, arrivals="even")
    ages = [seen.latency.p50 for seen in twin.readings() if seen.latency]
    assert ages == pytest.approx([2.1 - 0.25, 3.1 - 0.5, 4.1 - 0.75, 5.1 - 1.0])


def test_a_batch_waits_for_room_before_the_next_one() -> None:
    """Six results released at 1.06 towards a station that takes one a second, with room for one."""
    graph = FlowGraph(
        source="batch",
        modules=(
            Module(name="batch", service_time=0.01, trigger=1.0),
            Module(name="slow", service_time=1.0, buffer=1),
        ),
        streams=(Stream(origin="batch", target="slow"),),
    )
    twin = Twin(graph, Constant(6.0, rows=12), step=0.5, duration=14.5, arrivals="even")
    seen = list(twin.readings())
    durations = {s.at: s.modules["batch"].batch_duration for s in seen}
    finished = {at: duration for at, duration in durations.items() if duration}
    # The last of six has room when four have been served; the next six then wait for their turn.
    assert finished == {5.5: pytest.approx(4.06), 11.5: pytest.approx(6.0)}
    assert max(s.modules["slow"].backlog or 0.0 for s in seen) == 2.0
    assert sum(s.modules["slow"].processed_rate or 0.0 for s in seen) * 0.5 == 12.0


def test_servers_that_start_in_the_middle_of_a_batch_help_with_it() -> None:
    """Ten rows of 1 s from second 1: one server takes two, then five share eight in two rounds."""
    graph = FlowGraph(
        source="batch",
        modules=(Module(name="batch", service_time=1.0, trigger=1.0, start_up=2.0),),
    )
    twin = Twin(graph, Constant(10.0, rows=10), step=1.0, duration=8.0, arrivals="even")
    durations = []
    for seen in twin.readings():
        durations.append(seen.modules["batch"].batch_duration)
        if seen.at == 1.0:
            degrees = {"batch": 5}
            twin.apply(Decision(configuration=Configuration(degrees=degrees), why="help"))
    assert [duration for duration in durations if duration] == [pytest.approx(4.0)]


def test_scale_in_during_a_batch_loses_no_row() -> None:
    graph = FlowGraph(
        source="batch",
        modules=(Module(name="batch", service_time=0.3, trigger=1.0, initial_replicas=4),),
    )
    twin = Twin(graph, Constant(8.0, rows=8), step=1.1, duration=11.0, arrivals="even")
    finished = []
    for seen in twin.readings():
        finished.append(seen.modules["batch"].processed_rate)
        if seen.at == 1.1:
            degrees = {"batch": 1}
            twin.apply(Decision(configuration=Configuration(degrees=degrees), why="fewer"))
    # Four rows at 1.3 by all servers, then one after another: 1.0 + 5 * 0.3 = 2.5.
    assert [round(rate * 1.1) for rate in finished if rate] == [8]
    assert finished[2]
    assert twin.totals()["batch"].batch_duration == pytest.approx(1.5)


def test_a_batch_takes_no_more_than_its_servers_may_take_on() -> None:
    """Of eight rows at 2.0, two servers take two each; the rest waits for the trigger at 4.0."""
    module = batched(trigger=2.0, max_batch=0.2, initial_replicas=2)
    for seen in watch(module, rows=8, step=3.0, until=6.0):
        assert seen.modules["batch"].batch_duration == pytest.approx(0.2)
        assert seen.modules["batch"].processed_rate == pytest.approx(4 / 3)


def test_tasks_keep_every_server_busy_beyond_its_rows() -> None:
    """Two rounds of 0.1 s on two servers, 0.15 s more of both, and 0.3 s of neither."""
    module = batched(overhead=0.3, task_overhead=0.15, initial_replicas=2)
    _, seen = watch(module, rows=4, until=2.0)
    assert seen.modules["batch"].batch_duration == pytest.approx(0.65)
    assert seen.modules["batch"].utilisation == pytest.approx(0.35 / 1.65)


def test_overheads_scatter_about_their_mean() -> None:
    module = batched(service_time=0.0, overhead=0.2, task_overhead=0.1, overhead_cv=0.5)
    seen = watch(module, rows=1e6, until=4000.0)
    durations = [s.modules["batch"].batch_duration for s in seen]
    taken = np.array([duration for duration in durations if duration is not None])
    assert taken.mean() == pytest.approx(0.3, rel=0.03)
    assert taken.std() / taken.mean() == pytest.approx(0.5, rel=0.1)


def test_new_servers_lengthen_their_first_batch() -> None:
    """The second server comes into the batch at 2 s; the one at 3 s is the first it is part of."""
    module = batched(overhead=0.1, warm_up=0.5)
    graph = FlowGraph(source="batch", modules=(module,))
    twin = Twin(graph, Constant(4.0, rows=1e6), step=1.0, duration=6.0, arrivals="even")
    taken = []
    for seen in twin.readings():
        taken.append(seen.modules["batch"].batch_duration)
        degrees = {"batch": 2 if seen.at >= 2 else 1}
        twin.apply(Decision(configuration=Configuration(degrees=degrees), why="-"))
    expected = [None, 0.5, 0.3, 0.3 + 0.5, 0.3, 0.3]
    assert taken == [None if at is None else pytest.approx(at) for at in expected]


def test_utilisation_is_unknown_in_the_middle_of_a_batch() -> None:
    """A batch from 1.0 to 3.4: the steps within it know nothing, and the one with its end all."""
    seen = watch(batched(overhead=2.0), rows=4, until=5.0)
    utilisations = [s.modules["batch"].utilisation for s in seen]
    assert utilisations[:3] == [None, None, None]
    assert utilisations[3] == pytest.approx(0.4 / 3.4)
    assert utilisations[4] == 0.0
