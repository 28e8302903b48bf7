"""Workloads from text and mappings, and what is told of those that cannot be read."""

from pathlib import Path

import pytest

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.workload import Constant, Daily, RandomWalk, Step, Trace, parse


@pytest.mark.parametrize(
    ("spec", "workload"),
    [
        ("constant:300/s", Constant(300.0)),
        ("constant:rate=300/s", Constant(300.0)),
        ({"kind": "constant", "rate": "2k/s"}, Constant(2000.0)),
        ("step: 100/s, 400/s@30s", Step(((100.0, 0.0), (400.0, 30.0)))),
        ({"kind": "step", "levels": ["1/s", "2/s@1m"]}, Step(((1.0, 0.0), (2.0, 60.0)))),
        ({"kind": "step", "levels": {"0s": "1/s", "1m": "2/s"}}, Step(((1.0, 0.0), (2.0, 60.0)))),
        ("daily:60/s..420/s", Daily(low=60.0, high=420.0)),
        (
            {"kind": "daily", "low": "60/s", "high": "420/s", "period": "60s", "noise": 0.1},
            Daily(low=60.0, high=420.0, period=60.0, noise=0.1),
        ),
        ("daily:60/s..420/s,period=1m,noise=.1", Daily(60.0, 420.0, period=60.0, noise=0.1)),
        ("random-walk:300/s", RandomWalk(300.0)),
        ("random_walk:300/s,step=20/s,high=inf/s", RandomWalk(300.0, step=20.0)),
        ({"kind": "random-walk", "start": "300/s", "slot": "2s"}, RandomWalk(300.0, slot=2.0)),
    ],
)
def test_workloads_are_read_from_text_and_mappings(spec: str, workload: Workload) -> None:
    assert parse(spec) == workload


def test_a_path_may_hold_dots_commas_and_equals_signs(tmp_path: Path) -> None:
    folder = tmp_path / "day=1"
    folder.mkdir()
    (folder / "a,b..c.txt").write_text("0 1\n")
    trace = parse(f"trace:{folder}/../day=1/a,b..c.txt,speed=2,repeat=yes")
    assert trace == Trace(f"{folder}/../day=1/a,b..c.txt", speed=2.0, repeat=True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("steady:300/s", "there is no workload 'steady'"),
        ("dayly:1/s..2/s", "did you mean 'daily'"),
        ("constant", "workload constant needs a value for rate"),
        ("constant:300", "rate of workload constant needs a unit, got 300; write 300/s"),
        ("constant:-3/s", "cannot read the rate '-3/s'"),
        ("constant:inf/s", "rate of workload constant must be 0/s or more and finite, got inf"),
        ("constant:3/s,speed=2", "workload constant has no setting 'speed'"),
        ("step:", "workload step needs a value for levels"),
        ("step:100/s@5s", "must hold from 0 s on"),
        ("step:1/s,2/s@5s,3/s@5s", "must increase, got 5 s, 5 s"),
        ("step:1/s,2/s@5", "a duration needs a unit"),
        ("daily:60/s", "write low and high as 60/s..420/s, got '60/s'"),
        ("daily:60/s..20/s", "got high 20 and low 60"),
        ("daily:0/s..0/s", "must be above 0"),
        ("daily:1/s..2/s,period=0s", "period of workload daily must be above 0s, got 0s"),
        ("daily:1/s..2/s,noise=-1", "noise of workload daily must be 0 or more"),
        ("daily:1/s..2/s,noise=much", "noise of workload daily must be a number, got 'much'"),
        ("random-walk:0/s", "step of workload random-walk must be above 0"),
        ("random-walk:3/s,high=2/s", "needs low <= start <= high"),
        ("random-walk:3/s,seed=1.5", "seed of workload random-walk must be a whole number"),
        ("random-walk:3/s,seed=-1", "seed of workload random-walk must be 0 or more"),
        ({"rate": "300/s"}, "write a workload as"),
        ({"kind": ["constant"]}, "write a workload as"),
        (300, "write a workload as"),
        ({"kind": "constant", "rate": None}, "cannot read the rate None"),
        ({"kind": "step", "levels": 3}, "levels are written as"),
        ({"kind": "constant", "rate": "1/s", 3: 4}, "has no setting 3"),
    ],
)
def test_a_wrong_workload_is_explained_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        parse(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_rates_that_cannot_be_are_refused(value: float) -> None:
    for build in (
        Constant,
        RandomWalk,
        lambda v: Daily(low=v, high=5.0),
        lambda v: Step(((v, 0),)),
    ):
        with pytest.raises(SettingError):
            build(value)
