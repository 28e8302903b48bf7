"""Workloads: what comes when, from text and from files."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import FileError, SettingError
from penstock.core.roles import Workload
from penstock.workload import Constant, Daily, RandomWalk, Step, Trace, parse
from penstock.workload.curve import Curve

DATA = Path(__file__).parents[2] / "shared" / "data"
TraceFile = Callable[[str], str]


@pytest.fixture
def trace_file(tmp_path: Path) -> TraceFile:
    def write(text: str) -> str:
        path = tmp_path / "arrivals.txt"
        path.write_text(text)
        return str(path)

    return write


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


# Traces


def test_a_trace_brings_every_row_in_its_second(trace_file: TraceFile) -> None:
    trace = Trace(trace_file("0 3\n1 0\n2 5\n"))
    moments = trace.times(np.arange(9.0))
    assert np.histogram(moments[:8], bins=[0, 1.0001, 2.0001, 3.0001])[0].tolist() == [3, 0, 5]
    assert moments[8] == np.inf
    assert trace.arrivals(at(1, 2, 3, 1e6)).tolist() == [3, 3, 8, 8]


@settings(deadline=None)  # a busy machine is no failure
@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=30).filter(any),
    st.floats(0.01, 100.0),
    st.sampled_from([0.1, 0.7, 1 / 3, 1.0, 2.5]),
    st.booleans(),
)
def test_no_row_of_a_trace_is_lost_to_rounding(
    tmp_path_factory: pytest.TempPathFactory,
    counts: list[int],
    speed: float,
    scale: float,
    repeat: bool,
) -> None:
    path = tmp_path_factory.mktemp("trace") / "arrivals.txt"
    path.write_text("".join(f"{second} {count}\n" for second, count in enumerate(counts)))
    trace = Trace(str(path), speed=speed, scale=scale, repeat=repeat)
    end = np.array([len(counts) / speed * (1 - 1e-12)])
    rows = float(np.floor(trace.arrivals(end)[0] * (1 + 1e-12)))
    moments = trace.times(np.arange(rows))
    assert np.all(np.diff(moments) >= 0)
    assert np.all(moments <= end[0] * (1 + 1e-9))


def test_the_last_row_of_a_scaled_trace_comes_at_its_end(trace_file: TraceFile) -> None:
    # 0.7 of 30 rows are 21, but 21 / 0.7 is more than 30 in binary
    assert Trace(trace_file("0 30\n"), scale=0.7).times(at(20, 21)).tolist() == [1.0, np.inf]


def test_a_trace_can_be_played_faster_larger_and_again(trace_file: TraceFile) -> None:
    path = trace_file("0 10\n1 30\n")
    assert Trace(path, speed=2.0).arrivals(at(0.5, 1.0)).tolist() == [10, 40]
    assert Trace(path, scale=2.0).arrivals(at(1.0, 2.0)).tolist() == [20, 80]
    again = Trace(path, repeat=True)
    assert again.arrivals(at(2.0, 3.0, 20.0)).tolist() == [40, 50, 400]
    assert again.rate(at(0.5, 1.5, 2.5, 3.5)).tolist() == [10, 30, 10, 30]
    assert again.times(at(39, 40, 399)).tolist() == pytest.approx([2.0, 2.1, 20.0])


def test_the_last_row_of_a_play_comes_before_the_silence_that_follows(
    trace_file: TraceFile,
) -> None:
    again = Trace(trace_file("0 10\n1 0\n"), repeat=True)
    assert again.times(at(9, 10, 19)).tolist() == pytest.approx([1.0, 2.1, 3.0])


def test_a_trace_without_rows_stays_silent(trace_file: TraceFile) -> None:
    silent = Trace(trace_file("0 0\n1 0\n"), repeat=True)
    assert silent.arrivals(at(0, 100)).tolist() == [0, 0]
    assert silent.times(at(0)).tolist() == [np.inf]


def test_seconds_count_from_the_first_line_and_gaps_are_silent(trace_file: TraceFile) -> None:
    trace = Trace(trace_file("1700000000 4  # a remark\n\n1700000003 2\n"))
    assert trace.rate(at(0, 1, 2.9, 3)).tolist() == [4, 0, 0, 2]


def test_a_trace_needs_its_file_no_more_once_read(trace_file: TraceFile) -> None:
    path = trace_file("0 3\n")
    trace = Trace(path)
    Path(path).unlink()
    assert pickle.loads(pickle.dumps(trace)) == trace  # noqa: S301  # our own, a moment ago


def test_traces_of_other_counts_differ(trace_file: TraceFile) -> None:
    before = Trace(trace_file("0 3\n"))
    assert before != Trace(trace_file("0 4\n"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 3\n1 many\n", "line 2 of .* must be a second and a count, got '1 many'"),
        ("0 3\n\n1 2 3\n", "line 3 of .* got '1 2 3'"),
        ("0 -3\n", "line 1 of .* got '0 -3'"),
        ("0 nan\n", "line 1 of .* got '0 nan'"),
        ("0 3\n0 4\n", "line 2 of .* must be of a later second, got '0 4'"),
        ("3\n0 1\n1 1\n", "line 1 of .* announces '3' lines, but 2 follow"),
        ("time count\n0 1\n", "line 1 of .* got 'time count'"),
        ("# nothing\n", "has no line with a second and a count"),
        ("", "has no line with a second and a count"),
    ],
)
def test_a_malformed_line_is_named_and_shown(trace_file: TraceFile, text: str, told: str) -> None:
    with pytest.raises(FileError, match=told):
        Trace(trace_file(text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read the trace .*none.txt: No such file"):
        parse(f"trace:{tmp_path}/none.txt")
    with pytest.raises(FileError, match="Is a directory"):
        parse(f"trace:{tmp_path}")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="it is not text"):
        Trace(str(tmp_path / "rows.bin"))


@pytest.mark.skipif(not DATA.exists(), reason="the published traces are not here")
@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("ppq/arrivals_Game1_2x.txt", 415),
        ("ppq/arrivals_Game2_2x.txt", 192),
        ("ppq/arrivals_elastic.txt", 423),
        ("ppq/arrivals_map_i1K.txt", 329),
        ("ppq/arrivals_map_i2K.txt", 337),
        ("ppq/arrivals_pareto_h0.6.txt", 390),
        ("ppq/arrivals_pareto_h0.7.txt", 376),
        ("hft/random_walk_rates.txt", 180),
    ],
)
def test_published_traces_bring_all_their_rows(name: str, seconds: int) -> None:
    pairs = np.loadtxt(DATA / name, skiprows=1 if name.startswith("hft") else 0)
    trace = parse({"kind": "trace", "path": str(DATA / name)})
    assert len(pairs) == seconds
    assert trace.arrivals(at(seconds)).tolist() == [pairs[:, 1].sum()]
    assert np.array_equal(trace.rate(np.arange(float(seconds))), pairs[:, 1])


# Text


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
    ("spec", "told"),
    [
        ("steady:300/s", "there is no workload 'steady'"),
        ("dayly:1/s..2/s", "did you mean 'daily'"),
        ("constant", "workload constant needs a value for rate"),
        ("constant:300", "a rate needs a unit, got 300; write 300/s"),
        ("constant:-3/s", "cannot read the rate '-3/s'"),
        ("constant:inf/s", "rate of workload constant must be 0 or more, got inf"),
        ("constant:3/s,speed=2", "workload constant has no setting 'speed'"),
        ("step:", "workload step needs a value for levels"),
        ("step:100/s@5s", "must hold from 0 s on"),
        ("step:1/s,2/s@5s,3/s@5s", "must increase, got 5 s, 5 s"),
        ("step:1/s,2/s@5", "a duration needs a unit"),
        ("daily:60/s", "write low and high as 60/s..420/s, got '60/s'"),
        ("daily:60/s..20/s", "got high 20 and low 60"),
        ("daily:0/s..0/s", "must be above 0"),
        ("daily:1/s..2/s,period=0s", "period of workload daily must be above 0, got 0"),
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
def test_a_wrong_workload_is_explained_in_one_sentence(spec: str, told: str) -> None:
    with pytest.raises(SettingError, match=told) as caught:
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
