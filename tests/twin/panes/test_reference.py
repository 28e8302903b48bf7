"""The twin of preference queries against a plain simulation of the paper, and against theory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.panes import Panes
from penstock.core.signals import Observation
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.twin import Costs, PaneTwin
from tests.support.twins import SEEDS, assert_agrees
from tests.twin.panes.pane_reference import (
    Given,
    Reference,
    Story,
    decide,
    stamps_of,
    stories,
    twin_of,
    two_stages,
)


def close(expected: Any) -> Any:
    return pytest.approx(expected, rel=1e-9, abs=1e-9)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A story, and the thresholds that are set at the ends of its steps where nothing else is."""

    story: Story
    thresholds: Sequence[float] = (inf,)

    def reference(self) -> Reference:
        given = self.story.settings
        return Reference(
            self.story.moments,
            stamps_of(self.story.begin(), self.story.moments),
            panes=Panes.parse(*self.story.windows),
            costs=given["costs"],
            workers=self.story.degrees[0],
            most=4,
            merging=given["merging"],
            slack=given["slack"],
            control=given["splitting"],
        )

    def compare(self) -> PaneTwin:
        """Both side by side; says how the twin ended."""
        twin, reference = self.story.begin(), self.reference()
        for turn, seen in enumerate(twin.readings(), 1):
            reference.run_until(seen.at)
            agree(seen, reference)
            agree_in_total(twin, reference)
            degrees = self.story.degrees[turn % len(self.story.degrees)]
            twin.apply(decide(*degrees))
            reference.resize(*degrees)
            if self.story.settings["splitting"] is None:
                threshold = self.thresholds[turn % len(self.thresholds)]
                twin._state.clock["threshold"] = reference.threshold = threshold
        twin.drain()
        reference.drain()
        agree_in_total(twin, reference)
        agree_on_windows(twin, reference)
        return twin


def agree(seen: Observation, reference: Reference) -> None:
    """On what a step of one sampling period measured."""
    plq, wlq = seen.modules["plq"], seen.modules["wlq"]
    load = reference.sample(seen.step)
    assert plq.load == (None if isnan(load) else close(load))
    assert plq.backlog == reference.waiting()
    assert wlq.backlog == reference.after.pending()


def agree_in_total(twin: PaneTwin, reference: Reference) -> None:
    totals, expected = twin.totals(), reference.totals()
    assert {name: getattr(totals, name) for name in expected} == expected


def agree_on_windows(twin: PaneTwin, reference: Reference) -> None:
    expected = np.array(sorted(reference.after.windows)).reshape(-1, 2)
    found = np.array(sorted(twin.windows().tolist())).reshape(-1, 2)
    assert found == close(expected)
    assert twin.totals().busy_seconds == close(reference.after.busy_seconds)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    story = draw(stories())
    costs = Costs(
        tuple_time=story.settings["costs"].tuple_time / 2,
        comparison=story.settings["costs"].tuple_time / 20,
        task_time=draw(st.sampled_from([0.0, 0.001, 0.02])),
        window_comparison=draw(st.sampled_from([0.0, 1e-5, 1e-3])),
        dimensions=draw(st.sampled_from([1, 2, 8])),
    )
    thresholds = st.lists(st.sampled_from([1.0, 4.0, 20.0, inf]), min_size=1, max_size=4)
    changed = replace(story, settings=story.settings | {"costs": costs})
    return Case(story=changed, thresholds=draw(thresholds))


# The reference


@settings(max_examples=200)
@given(cases())
def test_it_does_what_a_plain_simulation_of_the_paper_does(case: Case) -> None:
    case.compare()


def story(
    moments: Sequence[float], *degrees: tuple[int, int], windows: str = "200ms", **others: Any
) -> Story:
    """Tuples at these moments, in windows that do not overlap."""
    usual: dict[str, Any] = {
        "splitting": None,
        "merging": True,
        "disorder": 0.0,
        "slack": 0.0,
        "costs": Costs(),
    }
    return Story(
        moments=np.array(moments),
        windows=(windows, windows),
        settings=usual | others,
        degrees=degrees,
    )


def test_panes_without_a_tuple_make_windows_without_tasks() -> None:
    twin = Case(story=story([0.1, 2.5], (1, 1))).compare()
    assert len(twin.windows()) == 13
    assert twin.totals().updates == 2


def test_a_tuple_on_the_border_of_two_panes_is_in_the_second() -> None:
    """Where 43 times 0.2 divided by 0.2 is less than 43, too."""
    moments = np.arange(1.0, 51.0) * 0.2
    twin = twin_of(
        windows=("200ms", "200ms"),
        workload=Given(moments),
        duration=10.0,
        arrivals="even",
        costs=Costs(),
    )
    list(twin.readings())
    twin.drain()
    assert twin.totals().updates == 50  # a part for each tuple: no pane has two


def test_a_worker_that_leaves_with_all_of_a_pane_leaves_no_window_behind() -> None:
    """Its part comes before the pane is closed, and no other part comes after (Alg. 4, line 10)."""
    slow: dict[str, Any] = {"slack": 0.3, "costs": Costs(tuple_time=0.01, task_time=0.01)}
    moments = [0.01, 0.02, 0.21, 0.22, 0.41, 0.61, 0.81, 1.01, 1.21, 1.41]
    twin = Case(story=story(moments, (2, 1), (1, 1), **slow)).compare()
    assert len(twin.windows()) == 8


def test_parts_that_are_sent_at_one_moment_come_in_the_order_of_their_panes() -> None:
    """After a pause a punctuation closes many panes at once; the first two are put in first."""
    given: dict[str, Any] = {"slack": 1.0, "costs": Costs(task_time=0.05)}
    twin = Case(story=story([0.1, 0.3, 0.5, 0.7, 0.9, 2.5], (1, 2), **given)).compare()
    done = {round(end, 3): at for end, at in twin.windows()}
    assert done[0.2] == done[0.4] < done[0.6] == done[0.8] < done[1.0]


def test_a_part_of_a_later_pane_may_come_long_before_those_of_earlier_ones() -> None:
    """A worker that begins late is done at once, while the first still has all panes to do."""
    burst = np.linspace(0.0, 2.7, 300)
    given: dict[str, Any] = {"costs": Costs(tuple_time=0.03, task_time=0.001)}
    steps = [(1, 2)] * 10 + [(2, 2)] * 3
    moments = [*burst, *np.linspace(2.75, 2.99, 5)]
    twin = Case(story=story(moments, *steps, windows="100ms", **given)).compare()
    assert len(twin.windows()) == 30


@pytest.mark.parametrize("seed", range(20))
def test_a_tuple_that_takes_longer_than_a_period_makes_no_boundless_load(seed: int) -> None:
    """All of a period is spent on it, but for a rounding error, and none is done."""
    moments = np.sort(np.random.default_rng(seed).random(10) * 3.0).tolist()
    twin = story(moments, (2, 1), costs=Costs(tuple_time=0.45)).begin()
    twin._state.clock["threshold"] = 1.0
    assert max(seen.modules["plq"].load or 0.0 for seen in twin.readings()) < 20.0


def test_the_first_pane_may_have_more_tuples_than_any_other() -> None:
    """Tuples cannot be older than the stream, so that late ones are all of its first moment."""
    given: dict[str, Any] = {
        "disorder": 2.0,
        "slack": 2.0,
        "costs": Costs(comparison=1e-6, task_time=0.01),
    }
    Case(story=story(np.linspace(0.0, 2.99, 6000).tolist(), (1, 1), **given)).compare()


# Theory


def settled(seed: int, load: float, **others: Any) -> tuple[PaneTwin, list[Observation]]:
    """Ten seconds of one worker in each stage, at 1 ms for a tuple, looked at 200 times."""
    costs = Costs(tuple_time=0.001, task_time=0.01)
    usual: dict[str, Any] = {"graph": two_stages(1, 1), "costs": costs, "windows": ("1s", "500ms")}
    twin = twin_of(rate=1000.0 * load, seed=seed, duration=10.0, step=0.05, **(usual | others))
    return twin, list(twin.readings())[4:]


def mean(values: list[float | None]) -> float:
    return float(np.mean(np.array(values, np.float64)))


def test_tuples_at_one_worker_are_those_of_an_md1() -> None:
    """By Pollaczek and Khinchine; utilisation is the rate times the service time."""
    load = 0.6
    runs = [[seen.modules["plq"] for seen in settled(seed, load)[1]] for seed in SEEDS]
    expected = load + load**2 / (2 * (1 - load))
    assert_agrees([mean([plq.backlog for plq in run]) for run in runs], expected, 0.06)
    assert_agrees([mean([plq.utilisation for plq in run]) for run in runs], load, 0.01)


@pytest.mark.parametrize("workers", [1, 3, 4])
def test_panes_that_are_split_evenly_load_workers_by_the_rate(workers: int) -> None:
    """The least load that a control can reach (ppq, Prop. 1)."""
    twin = twin_of(
        rate=600.0,
        graph=two_stages(workers),
        costs=Costs(tuple_time=0.001),
        arrivals="even",
        step=0.25,
    )
    twin._state.clock["threshold"] = 1.0
    loads = [seen.modules["plq"].load for seen in twin.readings()]
    assert mean(loads) == pytest.approx(600.0 * 0.001 / workers, rel=0.01)


def test_a_worker_that_gets_all_tuples_has_the_load_of_a_single_one() -> None:
    """Without splitting more workers help no pane: the reason for the inner level (Fig. 10)."""
    costs = Costs(tuple_time=0.001)
    few, many = (
        twin_of(rate=3000.0, graph=two_stages(n), costs=costs, arrivals="even", step=0.25)
        for n in (4, 16)
    )
    loads = [
        mean([seen.modules["plq"].load for seen in list(twin.readings())[4:]])
        for twin in (few, many)
    ]
    assert loads[0] == pytest.approx(loads[1], rel=0.2)
    assert min(loads) > 1.0


def test_the_window_stage_is_as_busy_as_its_tasks_take() -> None:
    """Utilisation law: tasks a second, times what one takes, by the workers."""
    twin, readings = settled(1, 0.5, graph=two_stages(1, 3))
    totals = twin.totals()
    assert totals.tasks * 0.01 == pytest.approx(totals.busy_seconds, abs=0.031)
    share = totals.tasks * 0.01 / (3 * 10.0)
    assert mean([seen.modules["wlq"].utilisation for seen in readings]) == pytest.approx(
        share, rel=0.05
    )
    assert totals.worker_seconds == pytest.approx(3 * 10.0)


def test_parts_that_wait_follow_from_how_long_they_wait() -> None:
    """Little's law. Windows of one pane: its part waits while tasks of others are done."""
    task = 0.015
    moments = np.arange(100.0) * 0.01 + 0.005
    twin = twin_of(
        windows=("10ms", "10ms"),
        workload=Given(moments),
        arrivals="even",
        step=0.001,
        duration=1.0,
        graph=two_stages(1, 1),
        costs=Costs(task_time=task),
    )
    backlog = mean([seen.modules["wlq"].backlog for seen in twin.readings()])
    twin.drain()
    done = twin.windows()
    came = np.append(moments[1:], 1.0)[: len(done)]  # the next tuple closes a pane
    began = done[:, 1] - task
    waited = np.clip(np.minimum(began, 1.0) - came, 0.0, None)
    assert backlog == pytest.approx(waited.sum(), rel=0.01)


def test_a_control_splits_panes_until_the_load_is_at_its_setpoint() -> None:
    """Three workers could serve twice what comes, but only if panes are split."""
    graph = two_stages(3, 4)
    costs = Costs(tuple_time=0.001)
    given: dict[str, Any] = {"graph": graph, "costs": costs, "duration": 40.0, "arrivals": "even"}
    split = twin_of(rate=1500.0, splitting=SplittingControl(), **given)
    loads = [seen.modules["plq"].load for seen in list(split.readings())[10:]]
    assert mean(loads) == pytest.approx(0.9, abs=0.15)
    assert 1.0 < split.totals().parts / split.totals().panes < 3.0
