"""The allocation of a fixed number of cores as a policy of pipelines that run."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.settings import build
from penstock.core.signals import Decision, Observation
from penstock.policy import Allocate
from penstock.policy.allocation.live import Measured
from penstock.policy.common.estimates import Selectivities
from penstock.testing import seen


def shared(*, most: int = 9, fewest: int = 1, time: float = 0.02) -> FlowGraph:
    """Two pipelines of two modules: fraud's second is twice as slow, reports' all."""
    times = {
        "fraud.look": time,
        "fraud.score": 2 * time,
        "reports.look": 2 * time,
        "reports.score": 2 * time,
    }
    return FlowGraph(
        source="fraud.look",
        also=("reports.look",),
        modules=tuple(
            Module(
                name=name,
                service_time=seconds,
                min_replicas=fewest,
                initial_replicas=fewest + 1,
                max_replicas=most,
            )
            for name, seconds in times.items()
        ),
        streams=(
            Stream(origin="fraud.look", target="fraud.score"),
            Stream(origin="reports.look", target="reports.score"),
        ),
    )


def reading(
    fraud: float | None = 100.0, reports: float | None = 100.0, degree: int = 2, **more: Any
) -> Observation:
    """Rows a second at both sources, and executors of all; more of `fraud_score` and so on."""
    modules: dict[str, dict[str, Any]] = {name: {"running": degree} for name in shared().names()}
    modules["fraud.look"]["arrival_rate"] = fraud
    modules["reports.look"]["arrival_rate"] = reports
    for name, readings in more.items():
        modules[name.replace("_", ".")] |= readings
    return seen(modules)


def degrees(decided: Decision) -> list[int]:
    return [decided.configuration.degrees[name] for name in shared().names()]


def test_the_pipeline_that_is_worth_more_gets_what_it_needs_and_the_other_the_rest() -> None:
    decided = Allocate(shared(), weights={"fraud": 5.0})(reading(100.0, 100.0))
    assert degrees(decided) == [2, 4, 1, 1]
    assert decided.why == (
        "fraud, worth 5 a row, gets the 6 cores it needs; reports, worth 1, gets 2 of the 8 cores "
        "it needs; about 75 % more weighted output than an even division"
    )
    assert decided.expects["value"] == pytest.approx(5 * 100 + 25)
    assert decided.expects["utilisation:reports.look"] == pytest.approx(1.0)


def test_with_the_weights_the_other_way_round_the_other_gets_it() -> None:
    decided = Allocate(shared(), weights={"reports": 5.0})(reading(100.0, 50.0))
    assert degrees(decided)[2:] == [2, 2]
    decided = Allocate(shared(), weights={"reports": 5.0})(reading(100.0, 75.0))
    assert degrees(decided) == [1, 1, 3, 3]


def test_a_sink_has_a_weight_of_its_own() -> None:
    by_sink = Allocate(shared(), weights={"fraud.score": 5.0, "fraud": 0.1})(reading())
    assert by_sink == Allocate(shared(), weights={"fraud": 5.0})(reading())


def test_cores_that_bring_nothing_go_to_the_busiest_or_stay_free() -> None:
    slow = reading(20.0, 20.0)
    # 0.4, 0.8, 0.8 and 0.8 cores are needed
    assert sum(degrees(Allocate(shared())(slow))) == 8
    policy = Allocate(shared(), spare=False)
    lean = [policy(slow) for _ in range(3)][-1]
    assert degrees(lean) == [1, 1, 1, 1]
    assert lean.why == "fraud gets the 2 cores it needs; reports gets the 2 cores it needs"
    more = Allocate(shared(), cores=11)(slow)
    assert degrees(more) == [2, 3, 3, 3]
    assert more.why == "fraud gets 5 cores and needs 2; reports gets 6 cores and needs 2"


def test_executors_are_moved_only_for_enough_more_output() -> None:
    small = Allocate(shared(), gain=0.9, weights={"fraud": 5.0})
    decided = small(reading(100.0, 100.0))
    assert degrees(decided) == [2, 2, 2, 2]
    assert decided.why == (
        "held, another division would bring 75 % more weighted output and a move must bring 90 %"
    )
    assert decided.expects["value"] == pytest.approx(5 * 50 + 50)
    enough = Allocate(shared())(reading(40.0, 40.0))
    assert degrees(enough) == [2, 2, 2, 2]
    assert enough.why == "held, no other division would bring more weighted output"


def test_without_a_gain_to_wait_for_equal_divisions_do_not_alternate() -> None:
    policy, now = Allocate(shared(), gain=0.0), reading(20.0, 20.0)
    for _ in range(5):
        assert degrees(policy(now)) == [2, 2, 2, 2]


@pytest.mark.parametrize("rate", [None, nan, inf, -1.0])
def test_without_an_arrival_rate_of_every_pipeline_all_is_held(rate: float | None) -> None:
    policy = Allocate(shared(), weights={"fraud": 5.0})
    for past in ([], [reading()]):
        for before in past:
            policy(before)
        decided = policy(reading(100.0, rate))
        assert degrees(decided) == [2, 2, 2, 2]
        assert decided.why == "all held, the arrival rate of reports.look is unknown"
        assert decided.expects == {}


def test_an_unknown_service_time_holds_all_until_it_is_measured() -> None:
    policy = Allocate(shared(time=0.0), weights={"fraud": 5.0})
    assert policy(reading()).why == "all held, the service time of fraud.look is unknown"
    times = {"fraud_look": 0.02, "fraud_score": 0.04, "reports_look": 0.04, "reports_score": 0.04}
    more: dict[str, Any] = {name: {"service_time": seconds} for name, seconds in times.items()}
    timed = reading(**more)
    assert degrees(policy(timed)) == [2, 4, 1, 1]
    assert degrees(policy(reading())) == [2, 4, 1, 1]  # and it is remembered


def test_a_module_that_was_not_seen_holds_all() -> None:
    partly = reading()
    partly = replace(partly, modules={n: m for n, m in partly.modules.items() if "score" not in n})
    decided = Allocate(shared())(partly)
    assert decided.configuration.degrees == {"fraud.look": 2, "reports.look": 2}
    assert decided.why == "all held, module fraud.score was not seen"


def test_when_no_rows_come_all_is_held() -> None:
    decided = Allocate(shared())(reading(0.0, 0.0))
    assert degrees(decided) == [2, 2, 2, 2]
    assert decided.why == "held, no rows come"


def test_a_pipeline_without_rows_gets_its_fewest_where_another_has_need() -> None:
    decided = Allocate(shared())(reading(0.0, 75.0))
    assert degrees(decided) == [1, 1, 3, 3]
    assert decided.why.startswith("fraud has no rows and keeps 2 cores; reports gets the 6 cores")


def test_more_executors_than_there_are_cores_are_given_up_even_without_rows() -> None:
    policy = Allocate(shared(), cores=6)
    assert sum(degrees(policy(reading(0.0, 0.0, degree=3)))) == 6
    assert sum(degrees(policy(reading(20.0, 20.0, degree=3)))) == 6


def test_measured_service_times_take_the_place_of_declared_ones() -> None:
    slower = reading(50.0, 100.0, fraud_score={"service_time": 0.08})
    assert degrees(Allocate(shared(), weights={"fraud": 9.0}, spare=False)(slower)) == [1, 4, 1, 1]


def test_measured_selectivities_take_the_place_of_declared_ones() -> None:
    policy = Allocate(shared(), weights={"fraud": 5.0}, smoothing=1.0)
    halved = reading(fraud_look={"processed_rate": 40.0}, fraud_score={"arrival_rate": 20.0})
    for _ in range(30):
        policy(halved)
    assert degrees(policy(halved)) == [2, 2, 2, 2]  # 50 rows a second are left to score
    assert policy(halved).expects["utilisation:fraud.score"] == pytest.approx(1.0)


def test_batches_that_outlast_a_step_do_not_look_like_other_selectivities() -> None:
    """Every third step a batch of 120 rows ends, whose rate is told over all three."""
    stream = next(s for s in shared().streams if s.origin == "fraud.look")
    known, behind = Selectivities(shared()), 0.0
    for step in range(60):
        ends = step % 3 == 2
        behind += 40.0 - 120.0 * ends
        finished = {"processed_rate": 40.0} if ends else {}
        look = {"arrival_rate": 40.0, "backlog": behind, **finished}
        known.observe(reading(fraud_look=look, fraud_score={"arrival_rate": 120.0 * ends}))
        assert known.of(stream) == pytest.approx(1.0)


def test_a_module_that_has_fewer_than_it_needs_is_named() -> None:
    modules = tuple(
        replace(m, initial_replicas=1, max_replicas=1 if "look" in m.name else 9)
        for m in shared().modules
    )
    capped = replace(shared(), modules=modules)
    why = Allocate(capped, cores=16, weights={"fraud": 5.0})(reading(90.0, 10.0)).why
    assert "and fraud.look has 1 of the 2 it needs" in why


def test_unneeded_cores_are_given_back_only_when_that_lasts() -> None:
    policy = Allocate(shared(), weights={"fraud": 5.0}, spare=False)
    calm = reading(20.0, 10.0)
    assert [sum(degrees(policy(calm))) < 8 for _ in range(3)] == [False, False, True]


def test_rows_that_wait_are_offered_again() -> None:
    behind = reading(50.0, 50.0, fraud_look={"backlog": 1500.0})
    assert degrees(Allocate(shared(), weights={"fraud": 5.0})(behind)) == [2, 4, 1, 1]
    for ignored in (0.0, None):
        policy = Allocate(shared(), weights={"fraud": 5.0}, catch_up=ignored)
        assert degrees(policy(behind)) == [2, 2, 2, 2]


def test_rows_that_wait_at_a_later_module_need_no_work_before_it() -> None:
    known = Measured(shared())
    known.observe(reading(50.0, 50.0, fraud_score={"backlog": 1500.0}))
    assert known.offer().loads == pytest.approx(
        {"fraud.look": 1.0, "fraud.score": 4.0, "reports.look": 2.0, "reports.score": 2.0}
    )
    behind = reading(50.0, 50.0, fraud_score={"backlog": 1500.0})
    assert degrees(Allocate(shared(), weights={"fraud": 5.0}, spare=False)(behind)) == [1, 4, 1, 1]


def test_rows_that_wait_after_the_last_came_are_worked_off() -> None:
    left = reading(0.0, 75.0, fraud_score={"backlog": 3000.0})
    assert degrees(Allocate(shared(), weights={"fraud": 5.0}, spare=False)(left)) == [1, 4, 1, 1]


def test_extreme_numbers_hold_all() -> None:
    odd = reading(1e300, 1e-300, fraud_look={"service_time": 1e-310})
    decided = Allocate(shared())(odd)
    assert degrees(decided) == [2, 2, 2, 2]
    assert decided.why.startswith("all held, ")


RATE = st.one_of(st.none(), st.just(0.0), st.floats(1e-6, 1e6))


@given(
    fraud=RATE,
    reports=RATE,
    degree=st.integers(1, 9),
    backlog=st.floats(0, 1e9),
    cores=st.integers(4, 30),
    weight=st.floats(1e-3, 1e3),
    spare=st.booleans(),
)
def test_never_leaves_the_bounds_nor_exceeds_the_cores(
    fraud: float | None,
    reports: float | None,
    degree: int,
    backlog: float,
    cores: int,
    weight: float,
    spare: bool,
) -> None:
    policy = Allocate(shared(most=6), cores=cores, weights={"fraud": weight}, spare=spare)
    decided = policy(reading(fraud, reports, degree, fraud_score={"backlog": backlog}))
    if decided.why.startswith("all held"):
        assert degrees(decided) == [degree] * 4
        return
    assert all(1 <= n <= 6 for n in degrees(decided))
    assert sum(degrees(decided)) <= cores


@given(cores=st.integers(4, 24), weight=st.floats(1e-3, 1e3), load=st.floats(1.0, 1e3))
def test_all_cores_are_used_while_there_is_demand(cores: int, weight: float, load: float) -> None:
    for spare in (True, False):
        policy = Allocate(shared(), cores=cores, weights={"fraud": weight}, spare=spare)
        decided = policy(reading(1e4 * load, 1e4 * load, degree=1))
        unused = cores - sum(degrees(decided))
        # a core more for one of two modules in a row brings nothing; one is left over at most
        assert unused == 0 if spare else 0 <= unused <= 2


@given(fraud=st.floats(1, 500), reports=st.floats(1, 500), weight=st.floats(0.1, 10))
def test_twice_the_weights_change_nothing(fraud: float, reports: float, weight: float) -> None:
    now = reading(fraud, reports)
    once = Allocate(shared(), weights={"fraud": weight, "reports": 1.0})(now)
    twice = Allocate(shared(), weights={"fraud": 2 * weight, "reports": 2.0})(now)
    assert degrees(once) == degrees(twice)


@given(fraud=st.floats(1, 500), more=st.floats(1, 5), reports=st.floats(1, 500))
def test_the_pipeline_worth_more_a_core_never_loses_cores_when_its_demand_grows(
    fraud: float, more: float, reports: float
) -> None:
    policy = Allocate(shared(), cores=12, weights={"fraud": 5.0}, spare=False, gain=0.0)
    before = degrees(policy(reading(fraud, reports, degree=1)))
    policy = replace(policy)
    after = degrees(policy(reading(fraud * more, reports, degree=1)))
    assert sum(after[:2]) >= sum(before[:2])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"cores": 3}, "must be 4 or more, the min_replicas of all modules together, got 3"),
        ({"weights": {"frod": 5}}, "did you mean 'fraud'?"),
        ({"weights": {"fraud.look": 5}}, "neither a pipeline nor a module that feeds no other"),
        ({"weights": {"fraud": 0}}, "weights of policy allocation must be above 0 for fraud"),
        ({"weights": {"fraud": inf}}, "must be above 0 and finite for fraud, got inf"),
        ({"method": "cutting-plan"}, "did you mean 'cutting-plane'?"),
        ({"method": "single-output"}, "sink"),
        ({"catch_up": "-2s"}, "catch_up"),
        ({"smoothing": 0}, "smoothing of policy allocation must be in (0, 1], got 0"),
        ({"gain": 1}, "gain of policy allocation must be in [0, 1), got 1"),
        ({"gain": nan}, "gain of policy allocation must be in [0, 1), got nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        build(Allocate, settings, of="policy allocation", graph=shared())
    assert sentence in str(refused.value)


@pytest.mark.parametrize("method", ["lp", "cutting-plane", "heuristic-b", "shrink"])
def test_any_method_finds_a_division_where_there_are_too_many_to_try(method: str) -> None:
    leaves = [f"leaf{i}" for i in range(9)]
    graph = FlowGraph(
        source="root",
        modules=(
            Module(name="root", service_time=0.01, max_replicas=60),
            *(Module(name=n, service_time=0.01, max_replicas=60) for n in leaves),
        ),
        streams=tuple(
            Stream(origin="root", target=n, probability=1 / 9, selectivity=9.0) for n in leaves
        ),
    )
    policy = Allocate(graph, cores=60, method=method)
    rows = {n: {"running": 1} for n in graph.names()} | {
        "root": {"running": 1, "arrival_rate": 540.0}
    }
    decided = policy(seen(rows))
    assert set(decided.configuration.degrees.values()) == {6}  # as it happens, an even one
    assert decided.why == "the pipeline gets the 60 cores it needs"
