"""The guards that users expect, together: from Python and from a pipeline file."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cli.main import main
from penstock.core.errors import FileError, SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.guard import (
    GUARDS,
    CatchUp,
    Clamp,
    Cooldown,
    DeadBand,
    DelayedScaleDown,
    DryRun,
    Effectiveness,
    ExcludedPeriods,
    Hold,
    Pause,
    Quota,
    StepFactor,
    safe,
)
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import check, load
from penstock.policy import Static, Threshold
from penstock.testing import seen, varied
from penstock.twin import Twin
from penstock.workload import parse
from tests.guard.wishes import Wish, counter

TUESDAY = datetime(2026, 11, 17)
measured = {"arrival_rate": 100.0, "utilisation": 0.5, "running": 4, "requested": 4}


def layers(policy: Any) -> list[type]:
    """What a policy is made of, from the outside in."""
    found = []
    while hasattr(policy, "policy"):
        found.append(type(policy))
        policy = policy.policy
    return found


# From Python


def test_safe_nests_what_it_is_asked_for_in_one_order() -> None:
    whole = safe(
        Static(),
        high=8,
        utilization_min=0.4,
        quota_memory=2.0**33,
        excluded_periods=("Sun",),
        began=TUESDAY,
        pause_in=True,
        stabilization=60.0,
    )
    assert layers(whole) == [
        *(ExcludedPeriods, Pause, Clamp, Quota, Effectiveness, Cooldown),
        *(StepFactor, DelayedScaleDown, CatchUp, DeadBand, Hold),
    ]
    usual = [Clamp, Effectiveness, StepFactor, DelayedScaleDown, CatchUp, Hold]
    assert layers(safe(Static())) == usual
    least = safe(
        Static(),
        catch_up=None,
        scale_down_interval=None,
        scale_down_max_factor=None,
        effectiveness=None,
    )
    assert layers(least) == [Clamp, Hold]


def test_safe_hands_each_setting_to_its_guard() -> None:
    assert safe(
        Static(),
        low=2,
        high=9,
        utilization_max=0.7,
        catch_up=120.0,
        scale_down_interval=60.0,
        scale_up_max_factor=1.0,
        quota_cpu=12.0,
        executor_cores=2,
        executor_memory=2.0**31,
        effectiveness=0.2,
        pause_out=True,
    ) == Pause(
        Clamp(
            Quota(
                Effectiveness(
                    StepFactor(
                        DelayedScaleDown(
                            CatchUp(DeadBand(Hold(Static()), high=0.7), duration=120.0),
                            interval=60.0,
                        ),
                        out=1.0,
                        in_=0.6,
                    ),
                    threshold=0.2,
                ),
                cores=12.0,
                executor_cores=2,
                executor_memory=2.0**31,
            ),
            low=2,
            high=9,
        ),
        out=True,
        in_=False,
    )


def test_safe_limits_growth_alone_where_only_that_is_asked_for() -> None:
    policy = safe(
        Wish([1]), scale_up_max_factor=1.0, scale_down_max_factor=None, scale_down_interval=None
    )
    assert counter(policy(seen(counter={**measured, "running": 9, "requested": 9}))) == 1


def test_bounds_hold_whatever_was_decided_but_nothing_moves_while_paused() -> None:
    here = seen(counter=measured)
    assert counter(safe(Wish([1]), low=6)(here)) == 6
    assert counter(safe(Wish([1]), low=6, pause_out=True)(here)) == 4
    excluded = safe(Wish([9]), low=6, excluded_periods=("Tue",), began=TUESDAY)
    assert counter(excluded(here)) == 4


def test_safe_refuses_what_cannot_be_kept() -> None:
    with pytest.raises(SettingError, match="the fewest executors, 5, take 10 cores, and the quota"):
        safe(Static(), low=5, quota_cpu=8, executor_cores=2)
    with pytest.raises(SettingError, match="must know when the run began"):
        safe(Static(), excluded_periods=("Sun",))
    with pytest.raises(SettingError, match="low of guard dead-band is above its high"):
        safe(Static(), utilization_min=0.9)


@settings(deadline=None, max_examples=30)  # a busy machine is no failure
@given(st.permutations(sorted(GUARDS)))
def test_all_guards_nest_in_any_order(order: list[str]) -> None:
    guard: Policy = Wish([9, 1, 4])
    for kind in order:
        guard = GUARDS[kind](guard)  # type: ignore[call-arg]
    fork = deepcopy(guard)
    for now in varied(20):
        decided = guard(now)
        assert decided == fork(now)
        assert "wishes for" in decided.why


@dataclass
class Needed:
    """Wants what rows that come now need at 75 % busy."""

    def __call__(self, seen: Observation, /) -> Decision:
        load = (seen.modules["counter"].arrival_rate or 0.0) * 0.01
        degrees = {"counter": max(ceil(load / 0.75), 1)}
        return Decision(configuration=Configuration(degrees=degrees), why=f"load is {load:g}")


def test_safe_keeps_a_pipeline_within_its_bounds_and_catches_up() -> None:
    module = Module(name="counter", service_time=0.01, start_up=8.0, max_replicas=40)
    graph = FlowGraph(source="counter", modules=(module,))
    rows = parse("step:150/s,900/s@60s,150/s@120s")
    plant = Twin(graph, rows, step=5.0, duration=900.0, seed=4)
    policy = safe(Needed(), low=2, high=12, catch_up=120.0, scale_down_interval=120.0)
    ticks = list(control(plant, policy))
    backlogs = [tick.seen.modules["counter"].backlog or 0.0 for tick in ticks]
    degrees = [tick.decided.configuration.executors for tick in ticks]
    assert max(backlogs) > 5_000
    assert max(backlogs[60:]) < 500  # from 5 min on
    assert (min(degrees), max(degrees)) == (2, 12)
    assert degrees[-1] <= 3
    peak = len(degrees) - degrees[::-1].index(12)
    assert degrees[peak] == 5  # 60 % fewer at most


def test_a_policy_that_goes_one_by_one_shrinks_by_one_in_an_interval() -> None:
    """What it recommends is one fewer than there are, and the most of that counts."""
    guard = DelayedScaleDown(Threshold(), interval=10.0)
    degrees = [6]
    for turn in range(31):
        idle = {"requested": degrees[-1], "running": degrees[-1], "utilisation": 0.1}
        degrees.append(counter(guard(seen(at=float(turn), counter=idle))))
    assert (degrees[11], degrees[21], degrees[31]) == (5, 4, 3)


# From a pipeline file


def composed(guards: str, *more: str) -> Any:
    """The guards of a file, within its clamp."""
    policy: Any = build_policy(load("wordcount", [f"guards={guards}", *more]), TUESDAY)
    return policy.policy


def mistakes(guards: str) -> Sequence[str]:
    return [mistake.sentence for mistake in check("wordcount", [f"guards={guards}"]).mistakes]


@pytest.mark.parametrize("kind", sorted(set(GUARDS) - {"dry-run"}))
def test_every_guard_may_stand_in_a_file_by_its_name(kind: str) -> None:
    assert layers(composed(f"[{kind}]")) == [GUARDS[kind]]


def test_guards_in_a_file_take_settings_with_units() -> None:
    written = (
        "[dead-band: {low: 0.4, high: 0.8, backlog: 5s}, catch-up: {duration: 2m}, "
        "scale-down: {interval: 1h}, step-factor: {out: 1, in: 0.5}, pause: {in: true}, "
        "effectiveness: {threshold: 0.2, window: 30s, block: 5m}]"
    )
    found = composed(written)
    assert found == Effectiveness(
        Pause(
            StepFactor(
                DelayedScaleDown(
                    CatchUp(DeadBand(Threshold(), low=0.4, high=0.8, backlog=5.0), duration=120.0),
                    interval=3600.0,
                ),
                out=1.0,
                in_=0.5,
            ),
            in_=True,
        ),
        threshold=0.2,
        window=30.0,
        block=300.0,
    )


def test_a_quota_of_memory_is_of_executors_of_the_cluster() -> None:
    """Unless it says otherwise."""
    written = "[quota: {memory: 8g, cores: 6}]"
    assert composed(written).executor_memory == 512 * 2**20
    assert composed(written, "cluster.executor_memory=2g").executor_memory == 2**31
    own = "[quota: {memory: 8g, executor-memory: 1g}]"
    assert composed(own).executor_memory == 2**30
    assert mistakes("[quota: {memory: 600m}]") == []
    assert mistakes("[quota: {memory: 400m}]") == [
        "memory of guard quota must be at least that of one executor, 512 MiB, got 400 MiB"
    ]


def test_excluded_periods_go_by_the_moment_at_which_the_run_begins() -> None:
    """Unless they say when that is: a twin may begin whenever one likes."""
    assert composed("[excluded-periods: {periods: [Sun]}]").began == TUESDAY
    own = composed("[excluded-periods: {periods: [Sun], began: 2026-11-22T06:00}]")
    assert own.began == datetime(2026, 11, 22, 6)


def test_a_policy_that_lacks_the_start_of_the_run_says_so() -> None:
    file = load("wordcount", ["guards=[excluded-periods: {periods: [Sun]}]"])
    with pytest.raises(SettingError, match="must know when the run began; give it began, such as"):
        build_policy(file)


def test_mistakes_in_guards_are_reported_with_their_line(tmp_path: Path) -> None:
    text = """\
source: {module: a, rate: 10/s}
modules: {a: {service_time: 1ms}}
guards:
  - hold
  - excluded-periods:
      periods: [Mon-Fry]
  - quota: {memory: 64}
  - scale-down: {interval: 600}
"""
    (tmp_path / "job.yaml").write_text(text)
    found = [str(mistake) for mistake in check(tmp_path / "job.yaml").mistakes]
    assert [line.partition("job.yaml, ")[2] for line in found] == [
        "line 6: periods of guard excluded-periods: cannot read the day 'Fry' of the period "
        "'Mon-Fry'; write Mon, Tue, Wed, Thu, Fri, Sat or Sun",
        "line 7: memory of guard quota needs a unit, got 64; write 64m or 64g",
        "line 8: interval of guard scale-down needs a unit, got 600; write 600s, 600ms or 600m",
    ]
    with pytest.raises(FileError, match="cannot read the day 'Fry'"):
        load(tmp_path / "job.yaml")


def test_what_a_file_says_of_guards_can_be_read_again() -> None:
    """It is recorded with every run."""
    written = "[excluded-periods: {periods: [Mon 09:00-10:00], began: 2026-11-22T06:00}, pause]"
    file = load("wordcount", [f"guards={written}"])
    assert json.loads(json.dumps(file.resolved))["guards"] == [
        {"excluded-periods": {"periods": ["Mon 09:00-10:00"], "began": "2026-11-22T06:00"}},
        "pause",
    ]


def ticks_of(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "ticks.jsonl").read_text().splitlines()]


def test_a_simulated_run_changes_nothing_in_an_excluded_hour(tmp_path: Path) -> None:
    """On the twin virtual time goes on from the moment that was given: here to 09:00 in 60 s."""
    excluded = "{periods: [08:00-09:00], began: 2026-11-17T08:59}"
    words = ["simulate", "wordcount", "--quiet", "--duration", "120s", "--out", str(tmp_path / "r")]
    guards = f"guards=[hold, excluded-periods: {excluded}]"
    assert main([*words, "--set", guards, "--set", "step=5s"]) == 0
    ticks = ticks_of(tmp_path / "r")
    changed = [tick["seen"]["at"] for tick in ticks if tick["asked"] is not None]
    assert changed
    assert min(changed) >= 60.0
    assert any("nothing changes 08:00-09:00" in tick["decided"]["why"] for tick in ticks[:11])


def test_a_simulated_run_begins_now_unless_set_otherwise(tmp_path: Path) -> None:
    words = ["simulate", "wordcount", "--quiet", "--duration", "60s", "--out", str(tmp_path / "r")]
    guards = "guards=[excluded-periods: {periods: [Mon-Sun]}]"
    assert main([*words, "--set", guards]) == 0
    assert all(tick["asked"] is None for tick in ticks_of(tmp_path / "r"))


def test_a_dry_run_still_comes_on_top() -> None:
    file = load("wordcount", ["guards=[dry-run, pause]"])
    assert layers(build_policy(file))[:3] == [DryRun, Clamp, Pause]
