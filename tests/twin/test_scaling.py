"""Servers come after their start-up delay and leave gracefully."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Configuration, Decision, ModuleReading
from penstock.model.scalability import scalability
from penstock.twin import Twin

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Flood:
    """That many rows at the start, and no more."""

    rows: int

    def rate(self, at: Array) -> Array:
        return np.zeros_like(at)

    def arrivals(self, at: Array) -> Array:
        return np.where(at > 0, float(self.rows), 0.0)

    def times(self, index: Array) -> Array:
        return np.where(index < self.rows, 0.0, np.inf)


def decide(degree: int) -> Decision:
    return Decision(configuration=Configuration(degrees={"only": degree}), why="the test says so")


def run(
    decisions: dict[float, int], *, rows: int = 1000, until: float = 60.0, **settings: Any
) -> dict[float, ModuleReading]:
    """Readings by time, with a step of a second and what is decided when."""
    graph = FlowGraph(source="only", modules=(Module(name="only", **settings),))
    twin = Twin(graph, Flood(rows), step=1.0, duration=until, arrivals="even")
    seen: dict[float, ModuleReading] = {}
    for reading in twin.readings():
        seen[reading.at] = reading.modules["only"]
        if reading.at in decisions:
            twin.apply(decide(decisions[reading.at]))
    return seen


def degrees(reading: ModuleReading) -> tuple[int | None, int | None, int | None]:
    return reading.wanted, reading.requested, reading.running


def test_a_server_asked_for_works_after_its_start_up() -> None:
    seen = run({10.0: 3}, service_time=0.25, start_up=5.5)
    assert degrees(seen[10.0]) == (1, 1, 1)
    assert degrees(seen[15.0]) == (3, 3, 1)
    assert degrees(seen[16.0]) == (3, 3, 3)
    assert seen[15.0].processed_rate == 4.0
    assert seen[17.0].processed_rate == 12.0


def test_without_start_up_a_server_works_at_once() -> None:
    seen = run({10.0: 2}, service_time=0.25)
    assert seen[11.0].processed_rate == pytest.approx(8.0, abs=1.0)
    assert degrees(seen[11.0]) == (2, 2, 2)


def test_a_start_up_that_ends_with_the_step_is_seen() -> None:
    seen = run({10.0: 2}, service_time=0.25, start_up=2.0)
    assert seen[11.0].running == 1
    assert seen[12.0].running == 2


def test_a_busy_server_that_is_sent_away_finishes_its_row() -> None:
    seen = run({5.0: 1}, service_time=10.0, initial_replicas=3)
    assert degrees(seen[6.0]) == (1, 1, 1)
    assert seen[10.0].utilisation == 1.0
    finished = sum(reading.processed_rate or 0.0 for at, reading in seen.items() if at < 20.0)
    assert finished == 3.0  # all three rows of the first round, at second 10
    assert seen[20.0].processed_rate == 1.0  # and one of the second


def test_idle_servers_leave_at_once() -> None:
    seen = run({5.0: 1}, rows=1, service_time=50.0, initial_replicas=3)
    assert degrees(seen[6.0]) == (1, 1, 1)
    assert seen[5.0].utilisation == pytest.approx(1 / 3)
    assert seen[6.0].utilisation == pytest.approx(1.0)


def test_servers_that_have_not_started_are_cancelled_first() -> None:
    seen = run({5.0: 5, 8.0: 3, 9.0: 2}, service_time=0.5, initial_replicas=2, start_up=10.0)
    assert degrees(seen[6.0]) == (5, 5, 2)
    assert degrees(seen[9.0]) == (3, 3, 2)
    assert all(reading.running == 2 for reading in seen.values())
    assert seen[60.0].processed_rate == 4.0


def test_the_newest_of_those_starting_are_cancelled() -> None:
    seen = run({5.0: 2, 9.0: 3, 10.0: 2}, service_time=0.5, start_up=10.0)
    assert (seen[14.0].running, seen[15.0].running, seen[20.0].running) == (1, 2, 2)


def test_a_server_that_leaves_does_not_come_back_when_more_are_asked_for() -> None:
    seen = run({1.0: 1, 2.0: 2}, service_time=10.0, initial_replicas=2, start_up=3.0)
    assert degrees(seen[3.0]) == (2, 2, 1)
    assert degrees(seen[5.0]) == (2, 2, 2)


def test_servers_never_exceed_those_that_exist_while_many_come_and_go() -> None:
    """Each round sends away nineteen busy servers and asks for as many more."""
    swings = {float(at): 20 if at % 2 else 1 for at in range(1, 40)}
    seen = run(swings, service_time=100.0, rows=5000, until=300.0, initial_replicas=20)
    assert all(0.0 <= (reading.utilisation or 0.0) <= 1.0 for reading in seen.values())
    assert seen[300.0].running == 20
    assert sum(reading.processed_rate or 0.0 for reading in seen.values()) > 400.0


def test_what_is_wanted_beyond_the_bounds_is_not_requested() -> None:
    seen = run(
        {1.0: 99, 2.0: 1}, service_time=0.5, min_replicas=2, initial_replicas=2, max_replicas=4
    )
    assert degrees(seen[2.0]) == (99, 4, 4)
    assert degrees(seen[3.0]) == (1, 2, 2)


def test_apply_returns_what_was_asked_for_and_none_where_nothing_changed() -> None:
    graph = FlowGraph(source="only", modules=(Module(name="only", max_replicas=4),))
    twin = Twin(graph, Flood(0), step=1.0, duration=1.0)
    assert twin.apply(decide(3)) == Configuration(degrees={"only": 3})
    assert twin.apply(decide(3)) is None
    assert twin.apply(decide(9)) == Configuration(degrees={"only": 4})
    assert twin.apply(decide(7)) is None


def test_modules_that_a_decision_does_not_name_stay_as_they_are() -> None:
    graph = FlowGraph(source="only", modules=(Module(name="only", initial_replicas=3),))
    twin = Twin(graph, Flood(0), step=1.0, duration=1.0)
    nothing = Decision(configuration=Configuration(degrees={}), why="nothing to do")
    assert twin.apply(nothing) is None
    (seen,) = twin.readings()
    assert seen.running == 3


@pytest.mark.parametrize(
    "scaling",
    [
        {"scaling": "ideal"},
        {"scaling": "saturating", "best_replicas": 3.0},
        {"scaling": "minimum", "best_replicas": 2.5},
        {"scaling": "measured", "speedup": (1.0, 1.9, 2.5, 2.4)},
    ],
    ids=lambda scaling: scaling["scaling"],
)
@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_a_station_has_results_as_often_as_its_scalability_says(
    scaling: dict[str, Any], degree: int
) -> None:
    module = Module(name="only", **scaling)
    share = scalability(module).share(degree)
    seen = run({}, rows=15_000, service_time=0.04, initial_replicas=degree, **scaling)
    rate = sum(reading.processed_rate or 0.0 for reading in seen.values()) / 60.0
    assert rate == pytest.approx(1.0 / (0.04 * share), rel=0.01)
    assert seen[30.0].service_time == pytest.approx(degree * share * 0.04)
    assert seen[30.0].utilisation == pytest.approx(1.0)


def test_rows_take_as_long_as_at_the_degree_in_force_when_they_are_begun() -> None:
    """Four servers serve a row in twice the time of two, since two are as fast as it gets."""
    seen = run({4.0: 4}, service_time=10.0, scaling="saturating", best_replicas=2.0, until=40.0)
    finished = {at: reading.processed_rate for at, reading in seen.items()}
    # the first row keeps its 10 s; those begun at 4 s take 20, and the one begun at 10 s too
    assert {at for at, rate in finished.items() if rate} == {10.0, 24.0, 30.0}
    assert finished[24.0] == 3.0


def test_rows_begun_after_servers_were_sent_away_are_as_fast_as_at_the_lower_degree() -> None:
    seen = run(
        {4.0: 2},
        service_time=10.0,
        initial_replicas=4,
        scaling="saturating",
        best_replicas=2.0,
        until=40.0,
    )
    # four rows of 20 s, of which two servers leave with theirs; then rows of 10 s, two at a time
    assert {at: rate for at, rate in seen_rates(seen).items() if rate} == {
        20.0: 4.0,
        30.0: 2.0,
        40.0: 2.0,
    }


def test_a_server_that_starts_later_changes_the_pace_when_it_is_ready() -> None:
    seen = run(
        {1.0: 2},
        service_time=1.0,
        start_up=4.5,
        scaling="minimum",
        best_replicas=1.0,
        until=20.0,
    )
    # share(2) is 1.25: two servers take 2.5 s for a row each
    assert [seen[at].processed_rate for at in (2.0, 3.0, 4.0, 5.0, 6.0)] == [1.0] * 5
    assert seen[14.0].service_time == pytest.approx(2.5)


def seen_rates(seen: dict[float, ModuleReading]) -> dict[float, float | None]:
    return {at: reading.processed_rate for at, reading in seen.items()}
