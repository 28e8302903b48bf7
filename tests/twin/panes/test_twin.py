"""The twin of preference queries as a plant: what it promises, reports, refuses and keeps."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from math import floor, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.core.interference import Interference
from penstock.core.loop import control
from penstock.core.panes import Panes
from penstock.core.roles import Plant
from penstock.core.signals import Decision, Observation
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.testing import PLANT_CHECKS
from penstock.testing.checking import Check
from penstock.twin import Costs, PaneTwin
from penstock.twin.panes.twin import MOST_WORKERS
from tests.support.twins import chain
from tests.twin.panes.pane_reference import Story, decide, stamps_of, stories, twin_of, two_stages


def sway(seen: Observation) -> Decision:
    """Other workers in both stages at every step."""
    return decide(1 + int(seen.at) % 3, 1 + int(seen.at) % 4)


# A plant


@pytest.mark.parametrize("check", PLANT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("start_up", [0.0, 2.5])
def test_it_does_what_every_plant_promises(
    start_up: float, check: Check[Callable[[], Plant]]
) -> None:
    check(lambda: twin_of(graph=two_stages(start_up=start_up), disorder=0.1))


def busy_twin(seed: int = 7) -> PaneTwin:
    """With everything that a twin can have."""
    return twin_of(
        graph=two_stages(start_up=0.4),
        splitting=SplittingControl(),
        disorder=0.3,
        interference=Interference(processes=1, from_=2.0, until=3.1, slowdown=1.5),
        seed=seed,
        duration=8.0,
    )


def test_the_same_seed_and_decisions_give_the_same_observations() -> None:
    one, other = (list(control(busy_twin(), sway)) for _ in range(2))
    assert one == other
    assert one != list(control(busy_twin(seed=8), sway))


def test_a_copy_in_the_middle_of_a_run_lives_on_alone() -> None:
    twin = busy_twin()
    assert len([tick for tick, _ in zip(control(twin, sway), range(3), strict=False)]) == 3
    copy = deepcopy(twin)
    tried = list(control(copy, sway))
    assert list(control(twin, sway)) == tried
    assert len(tried) == 4  # one tick more was taken from the loop than was kept
    assert np.array_equal(copy.windows(), twin.windows())


def test_a_decision_for_the_workers_that_there_are_changes_nothing() -> None:
    left, kept = twin_of(disorder=0.2), twin_of(disorder=0.2)
    assert list(left.readings()) == [t.seen for t in control(kept, lambda _: decide(2, 2))]


def test_workers_begin_when_they_have_started_and_go_at_once() -> None:
    twin = twin_of(graph=two_stages(start_up=1.5))
    running = []
    for turn, seen in enumerate(twin.readings()):
        running.append((seen.modules["plq"].running, seen.modules["wlq"].running))
        if turn == 0:
            twin.apply(decide(4, 3))
        if turn == 3:
            twin.apply(decide(1, 1))
    assert running == [(2, 2), (2, 2), (4, 3), (4, 3), (1, 1)]


# What it refuses


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"disorder": -1.0}, "disorder of the twin must be 0 s or more and finite, got -1"),
        ({"slack": nan}, "slack of the twin must be 0 s or more and finite, got nan"),
        ({"step": 0.1, "splitting": SplittingControl()}, "sampling period must be at most"),
        ({"step": 0.0}, "step of the twin must be above 0"),
        ({"seed": -1}, "seed of the twin must not be negative, got -1"),
        ({"arrivals": "evn"}, "there is no kind of arrivals 'evn'"),
        ({"graph": two_stages(max_replicas=MOST_WORKERS + 1)}, "must be 4096 or less .* got 4097"),
        ({"rate": np.inf}, "finite rate"),
    ],
)
def test_what_it_cannot_simulate_is_refused_in_a_sentence(wrong: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message) as refusal:
        twin_of(**wrong)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["tuple_time", "task_time", "comparison", "window_comparison"])
@pytest.mark.parametrize("value", [nan, -1e-9, np.inf])
def test_costs_that_are_no_time_are_refused(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=f"{name} of the twin must be 0 s or more, got"):
        Costs(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [("plq",), ("plq", "wlq", "sink")])
def test_a_graph_of_other_than_two_modules_is_refused(names: tuple[str, ...]) -> None:
    graph = chain(*(Module(name=name) for name in names))
    with pytest.raises(SettingError, match=f"got modules {', '.join(names)}; make two modules"):
        twin_of(graph=graph)


def test_the_order_of_the_modules_in_the_file_does_not_matter() -> None:
    plq, wlq = two_stages().modules
    turned = replace(two_stages(), modules=(wlq, plq))
    assert list(twin_of(graph=turned).readings()) == list(twin_of().readings())


def test_a_stream_without_tuples_has_no_load_and_no_windows() -> None:
    twin = twin_of(rate=0.0, splitting=SplittingControl())
    for seen in twin.readings():
        assert seen.modules["plq"].load is None
        assert seen.modules["wlq"].results_rate == 0.0
        assert seen.latency is None
    assert twin.drain() == 5.0
    assert len(twin.windows()) == 0


def test_work_that_takes_no_time_is_done_at_once() -> None:
    twin = twin_of(costs=Costs())
    last = list(twin.readings())[-1]
    assert last.modules["plq"].utilisation == 0.0
    assert last.modules["plq"].backlog == 0.0
    assert last.modules["wlq"].results_rate == 5.0


# What it keeps, whatever comes and whatever is decided


def all_windows(story: Story) -> list[float]:
    """The end of every window up to the pane of the last tuple."""
    panes = Panes.parse(*story.windows)
    newest = stamps_of(story.begin(), story.moments).max(initial=-1.0)
    last = floor(newest * 1e6 / panes.length)
    ends = (panes.end(k) for k in range(last + 1))
    return [end / 1e6 for end in ends if end <= (last + 1) * panes.length]


@settings(max_examples=60)
@given(stories())
def test_every_window_is_done_once_and_not_before_its_end(story: Story) -> None:
    done = story.tell().windows()
    assert np.allclose(np.sort(done[:, 0]), all_windows(story), rtol=0, atol=1e-9)
    assert np.all(done[:, 1] >= done[:, 0] - 1e-9)
    assert np.all(np.diff(done[:, 1]) >= 0)


@settings(max_examples=40)
@given(stories())
def test_every_tuple_is_in_a_part_or_was_dropped(story: Story) -> None:
    totals = story.tell().totals()
    assert totals.tuples == len(story.moments)
    assert totals.kept + totals.dropped == totals.tuples  # Unfiltered: all of a part are kept
    assert totals.received == totals.parts


@settings(max_examples=20)
@given(stories())
def test_merging_changes_no_window_but_when_it_is_done(story: Story) -> None:
    with_merges, without = story.tell(merging=True), story.tell(merging=False)
    one, other = (np.sort(twin.windows()[:, 0]) for twin in (with_merges, without))
    assert np.array_equal(one, other)
    assert without.totals().merges == 0
    assert with_merges.totals().tuples == without.totals().tuples


@settings(max_examples=20)
@given(stories())
def test_one_worker_or_no_splitting_makes_a_part_of_a_pane(story: Story) -> None:
    whole = replace(story, degrees=[(4, 2)]).tell(splitting=None).totals()
    alone = replace(story, degrees=[(1, 2)]).tell().totals()
    assert whole.parts == whole.panes
    assert alone.parts == alone.panes


@settings(max_examples=20)
@given(stories())
def test_a_pane_has_no_more_parts_than_there_are_workers(story: Story) -> None:
    most = max(story.degrees)
    twin = replace(story, degrees=[most]).begin(splitting=None)
    twin._state.clock["threshold"] = 1.0
    for seen in twin.readings():
        splitting = seen.modules["plq"].splitting
        assert splitting is None or 1.0 <= splitting <= most[0]


@settings(max_examples=30)
@given(stories())
def test_what_is_measured_is_possible(story: Story) -> None:
    twin = story.begin()
    for turn, seen in enumerate(twin.readings(), 1):
        for module in seen.modules.values():
            assert module.utilisation is None or 0.0 <= module.utilisation <= 1.0
            assert module.load is None or 0.0 <= module.load < np.inf
            assert module.backlog is not None
            assert module.backlog >= 0.0
        assert seen.latency is None or 0.0 <= seen.latency.p50 <= seen.latency.p99
        twin.apply(decide(*story.degrees[turn % len(story.degrees)]))


@pytest.mark.parametrize("step", [0.25, 0.6, 1.0, 1.1])
def test_tuples_that_came_are_served_wait_or_were_dropped(step: float) -> None:
    """Also where a control step is no multiple of a sampling period."""
    twin = twin_of(rate=900.0, step=step, disorder=0.3)
    came, served = 0.0, 0.0
    for seen in twin.readings():
        plq = seen.modules["plq"]
        assert plq.arrival_rate is not None
        assert plq.processed_rate is not None
        came += plq.arrival_rate * seen.step
        served += plq.processed_rate * seen.step
        assert served + (plq.backlog or 0.0) + twin.totals().dropped == pytest.approx(came)


def test_a_window_ends_before_it_is_done_also_after_the_last_tuple() -> None:
    twin = twin_of(duration=4.9, rate=100.0, costs=Costs())
    list(twin.readings())
    assert twin.drain() >= 5.0
    done = twin.windows()
    assert np.all(done[:, 1] >= done[:, 0])
