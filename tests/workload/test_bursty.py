"""Bursty workloads: what was asked of them is found in long samples."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.workload import LognormalWalk, Markovian, Poisson, SelfSimilar, Trace, drawn, parse
from penstock.workload.burstiness import dispersion, hurst
from penstock.workload.trace import read_counts
from tests.support.paths import PUBLISHED
from tests.workload.dispersions import dispersions

Floats = NDArray[np.float64]
DATA = PUBLISHED / "ppq"
BURSTY = ["poisson:700/s", "map:1000", "self-similar:0.7", "lognormal-walk:1k/s"]


def counts(workload: Workload, *, seconds: float, slot: float = 1.0) -> Floats:
    edges: Floats = np.arange(round(seconds / slot) + 1, dtype=float) * slot
    return np.diff(workload.arrivals(edges))


def peaks(of: list[Workload], *, seconds: float) -> Floats:
    by_second = np.array([counts(workload, seconds=seconds) for workload in of])
    ratios: Floats = by_second.max(axis=1) / by_second.mean(axis=1)
    return ratios


# Poisson


def test_a_poisson_process_has_a_dispersion_of_one_on_every_scale() -> None:
    seen = dispersions(counts(Poisson(700.0), seconds=5000.0, slot=0.02))
    assert [seen[1 << scale] for scale in range(9)] == pytest.approx([1.0] * 9, abs=0.06)


def test_a_poisson_process_has_the_rate_asked_for() -> None:
    assert Poisson(50.0).arrivals(np.array([20_000.0]))[0] == pytest.approx(1e6, abs=3e3)


def test_rows_of_a_poisson_process_are_counted_in_whole_numbers() -> None:
    by_slot = counts(Poisson(50.0, slot=0.1), seconds=500.0, slot=0.1)
    assert np.abs(by_slot - np.round(by_slot)).max() < 1e-6
    assert np.bincount(np.round(by_slot).astype(int))[:3] / 5000 == pytest.approx(
        np.exp(-5.0) * np.array([1.0, 5.0, 12.5]), abs=0.01
    )


# Markovian arrivals


@pytest.mark.parametrize("asked", [1000.0, 2000.0, 3000.0, 4000.0])
def test_long_samples_of_map_have_the_dispersion_asked_for(asked: float) -> None:
    # four times 90 minutes at the rate of the published traces, in windows of 11 s
    estimates = [
        dispersion(counts(Markovian(asked, rate_=30_000.0, seed=seed), seconds=5200.0, slot=0.1))
        for seed in range(1, 5)
    ]
    assert np.mean(estimates) == pytest.approx(asked, rel=0.1)


@pytest.mark.parametrize(("rate", "seconds"), [(50.0, 80_000.0), (1000.0, 80_000.0), (1e5, 1000.0)])
def test_map_keeps_rate_and_dispersion_from_slow_to_fast(rate: float, seconds: float) -> None:
    asked = 1000.0 if rate > 50 else 50.0
    slot = 0.02 if rate == 1e5 else 0.2
    workload = Markovian(asked, rate_=rate, slot=slot)
    sample = counts(workload, seconds=seconds, slot=slot)
    assert sample.mean() / slot == pytest.approx(rate, rel=0.05)
    assert dispersion(sample) == pytest.approx(asked, rel=0.1)


def test_the_dispersion_of_map_grows_with_the_window_as_the_formula_says() -> None:
    workload = Markovian(400.0, rate_=2000.0, fast=4.0, slow=0.2, seed=2)
    memory = workload.sojourns[0] * (1 - workload.share)
    windows = 0.02 * 2.0 ** np.arange(8)
    forgotten = 1 - (1 - np.exp(-windows / memory)) * memory / windows
    seen = dispersions(counts(workload, seconds=20_000.0, slot=0.02))
    assert list(seen.values())[:8] == pytest.approx(1 + 399 * forgotten, rel=0.05)


def test_map_is_fast_and_slow_for_the_shares_of_time_that_it_reports() -> None:
    workload = Markovian(40_000.0, rate_=1e5, fast=3.0, slow=0.25)
    rates = counts(workload, seconds=1000.0, slot=0.02) / 0.02
    fast = rates > 1.6e5
    assert np.median(rates[fast]) == pytest.approx(3e5, rel=0.01)
    assert np.median(rates[~fast]) == pytest.approx(0.25e5, rel=0.01)
    assert fast.mean() == pytest.approx(workload.share, abs=0.03)
    entered = np.sum(fast[1:] & ~fast[:-1])
    assert fast.sum() * 0.02 / entered == pytest.approx(workload.sojourns[0], rel=0.15)


def test_no_rows_come_in_a_slow_state_of_rate_zero() -> None:
    workload = Markovian(4000.0, rate_=1000.0, slow=0.0)
    rates = counts(workload, seconds=2000.0, slot=1.0)
    assert np.mean(rates == 0) == pytest.approx(0.5, abs=0.15)
    assert np.median(rates[rates > 0]) == pytest.approx(2000.0, rel=0.05)


def test_map_of_dispersion_one_is_a_poisson_process() -> None:
    assert counts(Markovian(1.0, rate_=700.0), seconds=99.0).tolist() == (
        counts(Poisson(700.0), seconds=99.0).tolist()
    )


@pytest.mark.parametrize(
    ("asked", "published"), [(1000, 1.57), (2000, 1.75), (3000, 2.01), (4000, 2.03)]
)
def test_map_peaks_as_the_published_traces_do(asked: float, published: float) -> None:
    runs = [Markovian(asked, rate_=30_000.0, seed=seed) for seed in range(15)]
    assert np.median(peaks([*runs], seconds=350.0)) == pytest.approx(published, abs=0.12)


def test_states_that_change_too_often_are_reported_with_a_remedy() -> None:
    with pytest.raises(SettingError, match="a higher dispersion or a lower rate"):
        Markovian(1.001, rate_=1e5).arrivals(np.array([3600.0]))


# Self-similar arrivals


@pytest.mark.parametrize("asked", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_long_samples_have_the_hurst_parameter_asked_for(asked: float) -> None:
    # 40 minutes by slot, and three times 90 minutes by second
    for seed in (1, 2, 3):
        workload = SelfSimilar(asked, seed=seed)
        by_slot = counts(workload, seconds=2400.0, slot=0.02)
        assert hurst(by_slot) == pytest.approx(asked, rel=0.1)
    longer = [counts(SelfSimilar(asked, seed=seed), seconds=5200.0) for seed in (1, 2, 3)]
    assert np.mean([hurst(sample) for sample in longer]) == pytest.approx(asked, rel=0.1)


@pytest.mark.parametrize("asked", [0.6, 0.7, 0.8])
def test_the_variance_of_means_falls_by_the_power_that_defines_self_similarity(
    asked: float,
) -> None:
    sizes = [1 << scale for scale in range(9)]
    samples = [
        counts(SelfSimilar(asked, seed=seed), seconds=5200.0, slot=0.02)[: 1 << 17]
        for seed in range(1, 9)
    ]
    variances = [np.mean([_variance(sample, size) for sample in samples]) for size in sizes]
    slope = np.polyfit(np.log(sizes), np.log(variances), 1)[0]
    assert 1 + slope / 2 == pytest.approx(asked, rel=0.05)


def _variance(sample: Floats, size: int) -> float:
    return float(sample.reshape(-1, size).mean(axis=1).var())


@pytest.mark.parametrize(("rate", "asked"), [(50.0, 0.6), (1e5, 0.8)])
def test_self_similar_rows_have_the_mean_rate_asked_for(rate: float, asked: float) -> None:
    totals = [
        SelfSimilar(asked, rate_=rate, seed=seed).arrivals(np.array([5000.0]))[0]
        for seed in range(20)
    ]
    assert np.mean(totals) / 5000 == pytest.approx(rate, rel=0.05)


def test_slots_of_hurst_one_half_follow_a_pareto_law() -> None:
    sample = counts(SelfSimilar(0.5), seconds=4000.0, slot=0.02)
    shape = 1 + np.sqrt(3.0)  # its variance is half its squared mean
    least = 20.0 * (shape - 1) / shape
    assert sample.min() == pytest.approx(least, rel=1e-3)
    above = [np.mean(sample > factor * least) for factor in (1.5, 2, 4, 8)]
    assert above == pytest.approx([factor**-shape for factor in (1.5, 2, 4, 8)], abs=0.005)


def test_the_higher_the_hurst_parameter_the_higher_the_peaks() -> None:
    medians = [
        np.median(peaks([SelfSimilar(asked, seed=seed) for seed in range(20)], seconds=390.0))
        for asked in (0.6, 0.7, 0.8)
    ]
    assert medians == pytest.approx([1.7, 2.2, 3.5], abs=0.35)


@pytest.mark.parametrize("asked", [0.5, 0.999, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_range_can_be_drawn(asked: float) -> None:
    sample = counts(SelfSimilar(asked), seconds=400.0)
    assert np.isfinite(sample).all()
    assert sample.min() >= 0


# Lognormal walk


@settings(deadline=None, max_examples=30)  # a busy machine is no failure
@given(st.floats(1.1, 100.0), st.floats(0.0, 1.0), st.floats(0.0, 10.0), st.integers(0, 1000))
def test_a_lognormal_walk_never_leaves_its_bounds(
    width: float, where: float, sigma: float, seed: int
) -> None:
    low, high = 1e9, 1e9 * width  # so many rows that their own noise does not count
    start = min(low * width**where, high)
    walk = LognormalWalk(start, sigma=sigma, low=low, high=high, slot=5.0, seed=seed)
    rates = counts(walk, seconds=2000.0, slot=5.0) / 5.0
    assert rates[0] == pytest.approx(start, rel=1e-3)
    assert rates.min() >= low * (1 - 1e-3)
    assert rates.max() <= high * (1 + 1e-3)


def test_a_lognormal_walk_moves_every_period_by_the_deviation_asked_for() -> None:
    walk = LognormalWalk(1e12, sigma=0.01, low=1e6, high=1e14, slot=5.0)
    logs = np.log(walk.rate(np.arange(2.5, 50_000.0, 5.0)))
    assert np.diff(logs).std() == pytest.approx(0.01, rel=0.03)
    assert np.diff(logs).mean() == pytest.approx(0.0, abs=5e-4)


def test_between_moves_a_lognormal_walk_is_a_poisson_process() -> None:
    walk = LognormalWalk(10_000.0, sigma=1.0, period=50.0)
    sample = counts(walk, seconds=50.0, slot=0.02)
    assert sample.mean() == pytest.approx(200.0, rel=0.02)
    assert sample.var() == pytest.approx(200.0, rel=0.1)


def test_a_lognormal_walk_peaks_as_the_published_trace_does() -> None:
    ratios = peaks([LognormalWalk(5000.0, seed=seed) for seed in range(40)], seconds=420.0)
    assert np.quantile(ratios, 0.2) < 4.17 < np.quantile(ratios, 0.9)


# All of them


@pytest.mark.parametrize("spec", [*BURSTY, "map:5,rate=1k/s,slot=1s", "lognormal-walk:9/s,slot=7s"])
def test_what_comes_early_is_the_same_however_far_one_looks(spec: str) -> None:
    workload, early = parse(spec), np.linspace(0.0, 15.0, 777)
    rows = np.arange(0.0, workload.arrivals(early[-1:])[0])
    near, when = workload.arrivals(early), workload.times(rows)
    for far in (100.0, 500.0, 4000.0):
        assert np.array_equal(near, workload.arrivals(np.append(early, far))[:-1])
    later = workload.arrivals(np.array([4000.0]))
    assert np.array_equal(when, workload.times(np.append(rows, later - 1))[:-1])


@pytest.mark.parametrize("spec", BURSTY)
def test_another_seed_is_another_workload(spec: str) -> None:
    one, other = parse(f"{spec},seed=1"), parse(f"{spec},seed=2")
    assert one != other
    assert not np.allclose(counts(one, seconds=50.0), counts(other, seconds=50.0))


@pytest.mark.parametrize("spec", BURSTY)
def test_looking_too_far_ahead_says_what_to_change(spec: str) -> None:
    with pytest.raises(SettingError, match=r"second 1e\+09 .* give it a longer slot"):
        parse(spec).arrivals(np.array([1e9]))


def test_workloads_tell_whether_their_rows_are_drawn_already(tmp_path: Path) -> None:
    (tmp_path / "arrivals.txt").write_text("0 1\n")
    for spec in [*BURSTY, f"trace:{tmp_path}/arrivals.txt"]:
        assert drawn(parse(spec))
    for spec in ("constant:1/s", "step:1/s", "daily:1/s..2/s", "random-walk:1/s"):
        assert not drawn(parse(spec))


# Replays


@pytest.mark.parametrize(
    ("name", "seconds", "rows"),
    [
        ("Game1_2x", 415, 7_107_376),
        ("Game2_2x", 192, 4_022_260),
        ("elastic", 423, 4_998_180),
        ("map_i1K", 329, 9_979_049),
        ("map_i2K", 337, 9_995_194),
        ("pareto_h0.6", 390, 9_977_267),
        ("pareto_h0.7", 376, 9_983_823),
    ],
)
def test_published_arrivals_are_replayed_to_the_last_row(
    name: str, seconds: int, rows: int
) -> None:
    path = DATA / f"arrivals_{name}.txt"
    if not path.exists():
        pytest.skip("the published traces are not here")
    trace, (_, given_) = Trace(str(path)), read_counts(str(path))
    assert len(given_) == seconds
    assert trace.arrivals(np.array([float(seconds), 1e6])).tolist() == [rows, rows]
    assert counts(trace, seconds=seconds) == pytest.approx(given_)
    assert trace.times(np.array([rows - 1.0, rows])).tolist() == [seconds, np.inf]


# Text and bad input


@pytest.mark.parametrize(
    ("spec", "workload"),
    [
        ("poisson:300/s,seed=3", Poisson(300.0, seed=3)),
        ("map:1000", Markovian(1000.0)),
        (
            {"kind": "map", "dispersion": 4000, "rate": "30k/s", "fast": 3, "slow": 0},
            Markovian(4000.0, rate_=30_000.0, fast=3.0, slow=0.0),
        ),
        ("self-similar:0.8,rate=26k/s,slot=1ms", SelfSimilar(0.8, rate_=26_000.0, slot=0.001)),
        ("self_similar:hurst=0.5", SelfSimilar(0.5)),
        ("lognormal-walk:10k/s,period=2s,low=1k/s", LognormalWalk(1e4, period=2.0, low=1e3)),
    ],
)
def test_bursty_workloads_are_read_from_text_and_mappings(
    spec: str | dict[str, object], workload: Workload
) -> None:
    assert parse(spec) == workload


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("poisson:0/s", "rate of workload poisson must be above 0/s, got 0/s"),
        ("poisson:1e30/s", "at most 1e[+]15 rows in a slot, got 2e[+]28; lower its rate"),
        ("poisson:1/s,slot=0s", "slot of workload poisson must be above 0"),
        ("poisson:1/s,seed=-1", "seed of workload poisson must be 0 or more, got -1"),
        ("map", "workload map needs a value for dispersion"),
        ("map:0.5", "dispersion of workload map must be 1 or more, got 0.5"),
        ("map:nan", "dispersion of workload map must be 1 or more and finite, got nan"),
        ("map:inf", "dispersion of workload map must be 1 or more and finite, got inf"),
        ("map:many", "dispersion of workload map must be a number, got 'many'"),
        ("map:1000,rate=0/s", "rate of workload map must be above 0/s, got 0/s"),
        ("map:1000,rate=-5/s", "cannot read the rate '-5/s'"),
        ("map:1000,fast=1", "needs slow < 1 < fast, .* got 0.5 and 1"),
        ("map:1000,fast=nan", "fast of workload map must be above 0 and finite, got nan"),
        ("map:1000,slow=1", "needs slow < 1 < fast, .* got 1 and 2"),
        ("map:1000,slow=nan", "slow of workload map must be 0 or more and finite, got nan"),
        ("self-similar:0.4", r"hurst of workload self-similar must be in \[0.5, 1\), got 0.4"),
        ("self-similar:1", r"must be in \[0.5, 1\), got 1"),
        ("self-similar:nan", r"must be in \[0.5, 1\), got nan"),
        ("self-similar:0.7,rate=0/s", "rate of workload self-similar must be above 0/s, got 0/s"),
        ("self-similar:0.7,slot=0s", "slot of workload self-similar must be above 0"),
        ("lognormal-walk:0/s", "start of workload lognormal-walk must be above 0/s, got 0/s"),
        ("lognormal-walk:9/s,sigma=-1", r"sigma .* must be 0 to 10, got -1"),
        ("lognormal-walk:9/s,sigma=nan", r"sigma .* must be 0 to 10, got nan"),
        ("lognormal-walk:9/s,period=0s", "period of workload lognormal-walk must be above 0"),
        ("lognormal-walk:9/s,high=8/s", "needs 0 < low <= start <= high, .* got 0.9, 9, 8"),
        ("lognormal-walk:9/s,low=0/s", "needs 0 < low <= start"),
        ("lognormal-walk:9/s,high=inf/s", "a finite high, got 0.9, 9, inf"),
    ],
)
def test_what_cannot_be_drawn_is_explained_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        parse(spec)
    assert "\n" not in str(caught.value)
