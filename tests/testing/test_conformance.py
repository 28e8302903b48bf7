"""Everything that can be plugged in does what its role promises."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.roles import Forecaster, Plant, Policy, Workload
from penstock.forecast import FORECASTERS
from penstock.guard import (
    GUARDS,
    Clamp,
    Cooldown,
    DelayedScaleDown,
    Effectiveness,
    ExcludedPeriods,
    Hold,
    Pause,
    Quota,
    StepFactor,
    StepLimit,
    safe,
)
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy import POLICIES, Incentive, Nash, Social, Static, Threshold
from penstock.record.replay import Replay
from penstock.testing import (
    APPLICATION_CHECKS,
    FORECASTER_CHECKS,
    GUARD_CHECKS,
    PLANT_CHECKS,
    POLICY_CHECKS,
    WORKLOAD_CHECKS,
    ScriptedPlant,
    check_forecaster,
    check_guard,
    check_plant,
    check_policy,
    check_workload,
    seen,
)
from penstock.testing.checking import Check
from penstock.testing.policies import EXAMPLE_GRAPH, example
from penstock.twin import Twin
from penstock.workload import WORKLOADS, Constant, Trace, parse


def name(check: Callable[..., None]) -> str:
    return check.__name__


# Policies


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=name)
@pytest.mark.parametrize("kind", sorted(POLICIES))
def test_policy(kind: str, check: Check[Callable[[], Policy]]) -> None:
    check(example(POLICIES[kind]))


SET_POLICIES: dict[str, Callable[[], Policy]] = {
    "nash, from what was measured": lambda: Nash(EXAMPLE_GRAPH, routing="measured", smoothing=1.0),
    "incentive, by gossip": lambda: Incentive(EXAMPLE_GRAPH, aggregation="gossip", max_rounds=3),
    "social, at once": lambda: Social(EXAMPLE_GRAPH, agents_up_to=0, rounding="up"),
}


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=name)
@pytest.mark.parametrize("kind", SET_POLICIES)
def test_policy_with_settings(kind: str, check: Check[Callable[[], Policy]]) -> None:
    check(SET_POLICIES[kind])


# Guards: with their defaults, and set as people set them

SET_GUARDS: dict[str, Callable[[Policy], Policy]] = {
    "clamp, bounds": lambda policy: Clamp(policy, low=2, high=5),
    "clamp, by module": lambda policy: Clamp(policy, low={"counter": 2}, high={"splitter": 3}),
    "cooldown, short": lambda policy: Cooldown(policy, out=2.0, in_=5.0),
    "step-limit, none": lambda policy: StepLimit(policy, out=0, in_=0),
    "hold, one need": lambda policy: Hold(policy, needs=("backlog",)),
    "quota, small": lambda policy: Quota(policy, cores=6, executor_cores=2),
    "pause, one way": lambda policy: Pause(policy, out=True),
    "scale-down, short": lambda policy: DelayedScaleDown(policy, interval=3.0),
    "step-factor, both": lambda policy: StepFactor(policy, out=0.5, in_=0.2),
    "effectiveness, hasty": lambda policy: Effectiveness(policy, threshold=1.0, window=1.0),
    "excluded-periods, soon": lambda policy: ExcludedPeriods(
        policy, periods=("09:00-17:30",), began=datetime(2026, 11, 17, 8, 59, 30), zone="UTC"
    ),
}


@pytest.mark.parametrize("check", GUARD_CHECKS, ids=name)
@pytest.mark.parametrize("kind", [*sorted(GUARDS), *SET_GUARDS])
def test_guard(kind: str, check: Check[Callable[[Policy], Policy]]) -> None:
    check(SET_GUARDS.get(kind) or GUARDS[kind])


@pytest.mark.parametrize("check", GUARD_CHECKS[1:], ids=name)  # the policy is further in
def test_guards_in_guards(check: Check[Callable[[Policy], Policy]]) -> None:
    check(lambda policy: Clamp(Cooldown(StepLimit(Hold(policy)), in_=3.0), high=4))
    check(lambda policy: safe(policy, high=6, utilization_max=0.8, quota_cpu=9, stabilization=3.0))


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=name)
def test_guarded_policy(check: Check[Callable[[], Policy]]) -> None:
    check(lambda: Cooldown(StepLimit(Hold(Threshold())), in_=3.0))


# Forecasters


@pytest.mark.parametrize("check", FORECASTER_CHECKS, ids=name)
@pytest.mark.parametrize("kind", sorted(FORECASTERS))
def test_forecaster(kind: str, check: Check[Callable[[], Forecaster]]) -> None:
    check(FORECASTERS[kind])


# Workloads

EXAMPLES = {
    "constant": ["constant:300/s", "constant:0.01/s", "constant:0/s", "constant:5M/s"],
    "step": ["step:100/s,400/s@30s,0/s@1h", "step:0/s,7/s@100s"],
    "daily": [
        "daily:60/s..420/s",
        "daily:0/s..420/s,period=60s,noise=0.3,slot=700ms",
        "daily:1/s..1/s,period=10s",
    ],
    "random-walk": [
        "random-walk:300/s",
        "random-walk:5/s,step=20/s,low=0/s,high=10/s,slot=333ms,seed=9",
    ],
    "poisson": ["poisson:300/s", "poisson:100k/s,slot=1s,seed=7"],
    "map": [
        "map:1000",
        "map:4000,rate=50/s,slow=0",
        "map:1000,rate=100k/s,seed=3",
        "map:1,rate=500/s",
        "map:30,rate=3k/s,slot=300ms",
    ],
    "self-similar": [
        "self-similar:0.7",
        "self-similar:0.5,rate=50/s",
        "self-similar:0.9,rate=100k/s,slot=50ms,seed=4",
    ],
    "lognormal-walk": [
        "lognormal-walk:10k/s",
        "lognormal-walk:50/s,sigma=1,period=70ms,low=20/s,high=60/s,slot=100ms,seed=2",
    ],
    "trace": ["trace:{path}", "trace:{path},speed=3,scale=0.7", "trace:{path},repeat=yes,speed=.3"],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    counts = np.random.default_rng(1).integers(0, 50, 100) * (np.arange(100) % 7 > 0)
    path = tmp_path_factory.mktemp("trace") / "arrivals.txt"
    path.write_text("".join(f"{second} {count}\n" for second, count in enumerate(counts)))
    return path


def test_every_workload_has_an_example() -> None:
    assert set(EXAMPLES) == set(WORKLOADS)


@pytest.mark.parametrize("check", WORKLOAD_CHECKS, ids=name)
@pytest.mark.parametrize("spec", [spec for specs in EXAMPLES.values() for spec in specs])
def test_workload(spec: str, path: Path, check: Check[Workload]) -> None:
    check(parse(spec.format(path=path)))


# Applications


@pytest.mark.parametrize("check", APPLICATION_CHECKS, ids=name)
@pytest.mark.parametrize("kind", sorted(APPLICATIONS.built_in))
def test_application(kind: str, check: Check[str]) -> None:
    check(kind)


# Plants


def scripted() -> Plant:
    readings = {"arrival_rate": 9.0, "backlog": 0.0, "wanted": 2, "requested": 2, "running": 2}
    return ScriptedPlant([seen(at=at, splitter=readings, counter=readings) for at in (1, 2, 3, 4)])


def replay() -> Plant:
    return Replay(observations=tuple(scripted().readings()))


def twin() -> Plant:
    graph = FlowGraph(
        source="splitter",
        modules=(
            Module(name="splitter", service_time=0.003),
            Module(name="counter", service_time=0.001, initial_replicas=2, start_up=2.5),
        ),
        streams=(Stream(origin="splitter", target="counter", selectivity=2.0),),
    )
    return Twin(graph, Constant(200.0), step=1.0, duration=5.0, seed=1)


@pytest.mark.parametrize("check", PLANT_CHECKS, ids=name)
@pytest.mark.parametrize("factory", [scripted, replay, twin], ids=name)
def test_plant(factory: Callable[[], Plant], check: Check[Callable[[], Plant]]) -> None:
    check(factory)


# Whole sets of checks, for those who do not parametrise


def test_each_set_of_checks_passes_as_one() -> None:
    check_policy(Static)
    check_guard(Hold)
    check_forecaster(FORECASTERS["ewma"])
    check_workload(Constant(300.0))
    check_plant(scripted)


def test_a_trace_is_equal_only_to_one_of_the_same_counts(path: Path) -> None:
    assert Trace(str(path)) == parse(f"trace:{path}")
