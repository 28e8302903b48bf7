"""Workloads: curves, and what comes when with each kind."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.workload import Constant, Daily, RandomWalk, parse
from penstock.workload.curve import Curve


def at(*moments: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(moments, float)


# Curves


rates = st.lists(st.just(0.0) | st.floats(1e-3, 1e6), min_size=1, max_size=12)


@settings(deadline=None)  # a busy machine is no failure
@given(rates, st.booleans(), st.floats(0.01, 100.0))
def test_a_row_comes_when_the_count_reaches_it(
    levels: list[float], joined: bool, slot: float
) -> None:
    curve = Curve.through(starts=np.arange(len(levels)) * slot, rates=levels, joined=joined)
    rows = np.unique(np.floor(np.linspace(0, curve.rows[-1], 50)))[:-1]
    if len(rows):
        moments = curve.times(rows)
        assert np.allclose(curve.arrivals(moments), rows + 1, rtol=1e-9, atol=1e-6)


@settings(deadline=None)  # a busy machine is no failure
@given(rates, st.booleans(), st.integers(0, 2**32))
def test_moments_never_fall_even_where_counts_differ_by_a_bit(
    levels: list[float], joined: bool, seed: int
) -> None:
    curve = Curve.through(starts=np.arange(len(levels)) * 0.7, rates=levels, joined=joined)
    anywhere = np.random.default_rng(seed).uniform(0.0, curve.rows[-1] + 1.0, 50)
    nearby = np.repeat(anywhere, 8)
    for neighbour in range(1, 8):
        nearby[neighbour::8] = np.nextafter(nearby[neighbour - 1 :: 8], np.inf)
    nearby.sort()
    moments = curve.reached(nearby)
    assert np.all(moments[1:] >= moments[:-1])


def test_a_straight_rise_is_counted_as_a_triangle() -> None:
    curve = Curve.through(starts=[0.0, 10.0], rates=[0.0, 20.0], joined=True)
    assert curve.arrivals(at(5.0, 10.0, 11.0)).tolist() == [25.0, 100.0, 120.0]
    assert curve.times(at(24.0, 99.0, 119.0)).tolist() == pytest.approx([5.0, 10.0, 11.0])


def test_nothing_comes_before_the_start() -> None:
    curve = Curve.through(starts=[0.0], rates=[5.0])
    assert curve.arrivals(at(-1.0)).tolist() == [0.0]
    assert curve.rate(at(-1.0, 0.0)).tolist() == [0.0, 5.0]


# Each kind


def test_rows_of_a_constant_rate_are_evenly_spaced() -> None:
    moments = Constant(250.0).times(np.arange(10_000.0))
    assert np.allclose(np.diff(moments), 0.004)


def test_no_rows_come_at_rate_zero() -> None:
    assert Constant(0.0).times(at(0.0)).tolist() == [np.inf]


def test_several_steps_follow_one_another() -> None:
    step = parse("step:100/s,400/s@30s,0/s@1m")
    assert step.rate(at(0, 29.9, 30, 60)).tolist() == [100, 100, 400, 0]
    assert step.arrivals(at(30, 60, 1e6)).tolist() == [3000, 15000, 15000]
    assert step.times(at(14999, 15000)).tolist() == [60.0, np.inf]


def test_a_day_swings_between_its_bounds() -> None:
    day = Daily(low=60.0, high=420.0, period=60.0)
    seen = day.rate(np.linspace(0, 300, 9_601))
    assert seen.min() == pytest.approx(60.0)
    assert seen.max() == pytest.approx(420.0)
    assert seen.mean() == pytest.approx(240.0, rel=1e-3)


def test_noise_of_a_day_multiplies_the_rate() -> None:
    day = Daily(low=100.0, high=100.0, period=60.0, noise=0.2, slot=1.0)
    draws = day.rate(np.arange(20_000.0)) / 100.0
    assert draws.mean() == pytest.approx(1.0, abs=0.01)
    assert draws.std() == pytest.approx(0.2, abs=0.01)


def test_heavy_noise_stops_at_no_rows() -> None:
    assert Daily(low=1.0, high=2.0, period=60.0, noise=3.0).rate(np.arange(1000.0)).min() == 0.0


@pytest.mark.parametrize("kind", ["daily:60/s..420/s,period=60s,noise=0.1", "random-walk:300/s"])
def test_another_seed_is_another_workload(kind: str) -> None:
    one, other = parse(f"{kind},seed=1"), parse(f"{kind},seed=2")
    assert one != other
    assert not np.allclose(one.rate(np.arange(100.0)), other.rate(np.arange(100.0)))


@given(
    st.floats(0.0, 100.0),
    st.floats(1.0, 100.0),
    st.floats(0.0, 1.0),
    st.floats(0.1, 1000.0),
    st.integers(0, 1000),
)
def test_a_walk_never_leaves_its_bounds(
    low: float, width: float, where: float, step: float, seed: int
) -> None:
    high = low + width
    start = min(low + where * width, high)
    walk = RandomWalk(start=start, step=step, low=low, high=high, seed=seed)
    seen = walk.rate(np.arange(500.0))
    assert seen[0] == pytest.approx(start, abs=1e-9)
    assert seen.min() >= low - 1e-9
    assert seen.max() <= high + 1e-9


def test_moves_of_a_free_walk_have_the_deviation_asked_for() -> None:
    walk = RandomWalk(start=1e6, step=20.0)
    moves = np.diff(walk.rate(np.arange(20_000.0)))
    assert moves.std() == pytest.approx(20.0, rel=0.02)
    assert moves.mean() == pytest.approx(0.0, abs=0.5)


def test_a_reflected_walk_fills_its_room_evenly() -> None:
    walk = RandomWalk(start=50.0, step=10.0, low=0.0, high=100.0)
    shares, _ = np.histogram(walk.rate(np.arange(500_000.0)), bins=10, range=(0, 100))
    assert shares / 500_000 == pytest.approx(np.full(10, 0.1), abs=0.01)


@pytest.mark.parametrize(
    "workload",
    [RandomWalk(start=300.0, seed=77), Daily(low=60.0, high=420.0, noise=0.2, slot=1.0, seed=77)],
    ids=["random-walk", "daily"],
)
def test_what_comes_early_is_the_same_however_far_one_looks(workload: Workload) -> None:
    early = np.linspace(0.0, 1000.0, 777)
    near = workload.arrivals(early)
    far = workload.arrivals(np.append(early, 200_000.0))[:-1]
    assert np.array_equal(near, far)


@pytest.mark.parametrize("spec", ["random-walk:300/s,slot=1s", "daily:1/s..2/s,slot=1s"])
def test_looking_too_far_ahead_says_what_to_change(spec: str) -> None:
    with pytest.raises(SettingError, match=r"second 1e\+09 .* give it a longer slot"):
        parse(spec).arrivals(at(1e9))


def test_another_process_sees_the_same_rows() -> None:
    workload = parse("random-walk:300/s,seed=5")
    ask = "import sys, pickle, numpy as np; w = pickle.load(sys.stdin.buffer)"
    ask += "; sys.stdout.buffer.write(w.times(np.arange(5e5, 5e5 + 100)).tobytes())"
    there = subprocess.run(
        [sys.executable, "-c", ask], input=pickle.dumps(workload), capture_output=True, check=True
    )
    assert there.stdout == workload.times(np.arange(5e5, 5e5 + 100)).tobytes()
