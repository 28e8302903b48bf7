"""Runs of the recognition service: nothing piles up, and sharing a twin changes nothing."""

import json
from importlib import resources

import numpy as np
import pytest

from penstock.cli import main
from penstock.core.loop import control
from penstock.core.signals import Configuration, Decision
from penstock.model import FlowModel
from penstock.papers.game.experiment import (
    EQUILIBRIUM,
    STEP,
    WORKLOADS,
    Case,
    Course,
    gossip_errors,
    images,
    incentives,
    inter_arrivals,
    open_service,
    play_case,
    player,
    service,
)
from penstock.twin import Twin

SLOW = {"cyclic": [(200, 400)], "trend": [(0, 300)], "rwalk": [(0, 100), (400, 550)]}
"""Game, Section 6.2: steps in which both strategies decide alike."""


def test_the_service_is_that_of_table_iii() -> None:
    modules = service().modules
    assert [m.service_time for m in modules] == [0.1, 2.48, 3.66, 7.80, 14.44]
    assert [m.max_replicas for m in modules] == [1, 8, 8, 32, 32]
    assert [m.price for m in modules] == [0.00483] * 3 + [0.0177] * 2
    assert {m.delay_cost for m in modules} == {0.5}
    assert {m.service_cv for m in modules} == {0.3}
    assert list(service().visits().values()) == [1.0, 0.5, 0.5, 1.0, 1.0]


def test_the_file_of_the_service_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """Check values of the closed forms, for images that come as fast as they can."""
    file = str(resources.files("penstock.papers.game") / "game.yaml")
    for policy, cost in (("nash", 3.0785), ("social", 2.4894)):
        assert main(["plan", file, "--policy", policy, "--rate", "100/s", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["cost"]["total"] == pytest.approx(cost, abs=5e-5)


def test_what_cannot_enter_in_its_step_is_gone_and_still_counted_as_arrived() -> None:
    """With one core each, the recogniser takes an image every 14.4 s and 0.47 s apart they come."""
    twin = open_service("rwalk", 1, 20)
    gaps = inter_arrivals("rwalk", 1, 20)
    for step, seen in enumerate(twin.readings()):
        source = seen.modules["dispatcher"]
        assert source.arrival_rate == pytest.approx(1.0 / gaps[step], rel=0.05)
        # the step's own images wait outside, and none of an earlier step
        assert (source.backlog or 0.0) <= 1.1 * 300.0 / gaps[step] + 50
    assert twin.turned_away == pytest.approx(np.sum(300.0 / gaps), rel=0.1)


def test_images_turned_away_in_a_fast_phase_do_not_come_back_in_a_slow_one() -> None:
    """Once there are cores enough, no more leave than come."""
    twin = open_service("cyclic", 1, 6)  # the fast phases are at both ends
    gaps = inter_arrivals("cyclic", 1, 6)
    readings = twin.readings()
    held_up = next(readings)
    assert (held_up.modules["dispatcher"].backlog or 0.0) > 100
    enough = {"dispatcher": 1, "denoiser-1": 8, "denoiser-2": 8, "edge-detector": 32}
    configuration = Configuration(degrees={**enough, "recognizer": 32})
    twin.apply(Decision(configuration=configuration, why="to catch up"))
    next(readings)  # in which what waits within the service leaves
    for step, seen in enumerate(readings, start=2):
        left = seen.modules["recognizer"].processed_rate
        assert left == pytest.approx(1.0 / gaps[step], rel=0.06)


@pytest.mark.parametrize("strategy", ["nash", "incentive", "social"])
def test_a_shared_twin_brings_each_strategy_what_it_would_have_had_alone(strategy: str) -> None:
    """The same degrees as its policy chooses in a run of its own."""
    case = Case(workload="rwalk", seed=3, steps=40)
    shared = play_case(case)[strategy]
    alone = open_service(case.workload, case.seed, case.steps)
    policy = player(strategy)
    first = FlowModel.of(service(), inter_arrival=float(inter_arrivals("rwalk", 3, 40)[0]))
    begin = Configuration(degrees=policy.plan(first).rounded)
    alone.apply(Decision(configuration=begin, why="as in the shared run"))
    ticks = list(control(alone, policy))
    running = [[m.running for m in tick.seen.modules.values()] for tick in ticks]
    assert shared.degrees.tolist() == running
    assert shared.images == pytest.approx(
        [300.0 * (tick.seen.modules["recognizer"].processed_rate or 0.0) for tick in ticks]
    )


def test_real_agents_decide_as_those_whose_exchange_is_computed(course: Course) -> None:
    talking = player("incentive", agents_up_to=32)
    for model, plan in list(zip(course.models, course.plans, strict=True))[::10]:
        said = talking.plan(model)
        assert (said.rounded, said.messages, said.rounds) == (
            plan.rounded,
            plan.messages,
            plan.rounds,
        )


@pytest.fixture(scope="module")
def course() -> Course:
    return play_case(Case(workload="rwalk", seed=1, steps=60, strategies=("nash", "incentive")))[
        "incentive"
    ]


def test_no_module_has_more_replicas_than_it_wishes_for_at_its_incentive(course: Course) -> None:
    """Game, `idealDegree` of Alg. 2."""
    paid = incentives(course)
    for model, plan, shares in zip(course.models, course.plans, paid, strict=True):
        assert shares[:3].max() == 0.0
        for name, share in zip(plan.replicas, shares, strict=True):
            module = model.modules[name]
            if not module.fixed:
                preferred = module.ideal(module.price * (1.0 - share))
                assert plan.replicas[name] <= preferred * (1.0 + 1e-9)


def test_gossip_gets_closer_with_every_few_iterations(course: Course) -> None:
    errors = gossip_errors(course.models)
    assert np.all(errors[5:] < errors[:-5])


def test_the_parts_of_a_course_fit_together(course: Course) -> None:
    steps = 60
    assert course.degrees.shape == course.cost.shape == course.efficiency.shape == (steps, 5)
    assert len(course.plans) == len(course.models) == len(course.rounds) == steps
    prices = np.array([m.price for m in service().modules])
    assert course.cost == pytest.approx(0.5 * course.inter_departure + prices * course.degrees)
    assert np.all(course.efficiency <= 1.0)
    assert course.degrees[:, 0].tolist() == [1.0] * steps


@pytest.mark.parametrize("workload", WORKLOADS)
def test_phases_are_slow_and_fast_where_the_paper_says(workload: str) -> None:
    """On average over the seeds, but for steps at the edge of a phase."""
    gaps = np.stack([inter_arrivals(workload, seed) for seed in range(100)]).mean(axis=0)
    slow = np.array([any(a <= k < b for a, b in SLOW[workload]) for k in range(600)])
    assert np.mean(gaps[slow] > EQUILIBRIUM) > 0.93
    assert np.mean(gaps[~slow] < EQUILIBRIUM) > 0.97
    assert gaps[slow].mean() > EQUILIBRIUM > 0.65 > gaps[~slow].mean()


@pytest.mark.parametrize("workload", WORKLOADS)
def test_each_seed_is_another_workload_and_the_same_seed_the_same(workload: str) -> None:
    assert np.array_equal(inter_arrivals(workload, 3), inter_arrivals(workload, 3))
    assert not np.allclose(inter_arrivals(workload, 3), inter_arrivals(workload, 4))
    few, all_ = inter_arrivals(workload, 1, 60), inter_arrivals(workload, 1)
    assert few.mean() == pytest.approx(all_.mean(), rel=0.03)


def test_readings_are_those_of_any_twin_as_far_as_strategies_ask_for_them() -> None:
    """With cores enough nothing is turned away, and both simulate the same."""
    ours = open_service("cyclic", 1, 5)
    theirs = Twin(
        service(),
        images("cyclic", 1, 5),
        step=STEP,
        duration=5 * STEP,
        seed=1,
        arrivals="normal",
        service="normal",
    )
    most = Configuration(degrees={m.name: m.max_replicas for m in service().modules})
    for twin in (ours, theirs):
        twin.apply(Decision(configuration=most, why="enough"))
    for seen, full in zip(ours.readings(), theirs.readings(), strict=True):
        for name, module in seen.modules.items():
            for field in ("arrival_rate", "processed_rate", "backlog", "service_time", "running"):
                wanted = getattr(full.modules[name], field)
                assert getattr(module, field) == pytest.approx(wanted), (name, field)
    assert ours.turned_away <= 1
