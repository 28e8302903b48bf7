"""Estimators of burstiness: right on noise whose dispersion and Hurst parameter are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.workload.burstiness import dispersion, hurst
from penstock.workload.trace import read_counts
from tests.support.paths import PUBLISHED
from tests.workload.dispersions import dispersions

Floats = NDArray[np.float64]
DATA = PUBLISHED / "ppq"


def fractional_noise(parameter: float, count: int, seed: int) -> Floats:
    """Gaussian noise with exactly the covariances of that Hurst parameter, by circulants."""
    lags = np.arange(count + 1.0)
    power = 2 * parameter
    covariances = ((lags + 1) ** power - 2 * lags**power + np.abs(lags - 1) ** power) / 2
    spectrum = np.fft.fft(np.append(covariances, covariances[-2:0:-1])).real.clip(0.0)
    real, imaginary = np.random.default_rng(seed).standard_normal((2, 2 * count))
    noise: Floats = np.fft.fft(np.sqrt(spectrum / (2 * count)) * (real + 1j * imaginary)).real
    return noise[:count]


# Hurst


@pytest.mark.parametrize("parameter", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_hurst_of_fractional_noise_is_found(parameter: float) -> None:
    estimates = [hurst(1000.0 + fractional_noise(parameter, 1 << 15, seed)) for seed in range(1, 5)]
    assert estimates == pytest.approx([parameter] * 4, abs=0.05)
    assert np.mean(estimates) == pytest.approx(parameter, abs=0.02)


def test_the_error_of_hurst_is_what_is_reported() -> None:
    estimates = [hurst(100.0 + fractional_noise(0.7, 400, seed)) for seed in range(300)]
    assert np.std(estimates) == pytest.approx(0.5 / 400**0.35, rel=0.25)


def test_what_happens_from_one_count_to_the_next_does_not_move_hurst() -> None:
    slow = 50.0 + 5 * fractional_noise(0.8, 1 << 16, seed=3)
    quick = np.tile([0.0, 20.0], 1 << 15)
    assert hurst(slow + quick) == pytest.approx(hurst(slow), abs=0.001)


@settings(deadline=None, max_examples=30)  # a busy machine is no failure
@given(st.integers(0, 1000), st.floats(1e-3, 1e6), st.floats(0.0, 1e3))
def test_hurst_is_the_same_in_any_unit(seed: int, unit: float, more: float) -> None:
    counts = np.random.default_rng(seed).gamma(2.0, 1.0, 200)
    assert hurst(unit * (counts + more)) == pytest.approx(hurst(counts), abs=1e-6)


def test_counts_that_never_change_have_no_hurst_parameter() -> None:
    with pytest.raises(SettingError, match="100 counts that are all 7 have no Hurst parameter"):
        hurst([7] * 100)


# Dispersion


def test_poisson_counts_have_a_dispersion_of_one() -> None:
    estimates = [dispersion(np.random.default_rng(seed).poisson(3.0, 50_000)) for seed in range(20)]
    assert np.mean(estimates) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("size", [2, 100])
def test_batches_have_the_dispersion_of_their_size(size: int) -> None:
    counts = size * np.random.default_rng(1).poisson(0.3, 100_000)
    assert list(dispersions(counts).values())[:6] == pytest.approx([size] * 6, rel=0.03)


def test_counts_that_never_change_have_no_dispersion() -> None:
    assert dispersion([7.0] * 1000) == 0.0


def test_the_dispersion_of_a_short_window_misses_what_lasts_longer() -> None:
    blocks = np.repeat(np.random.default_rng(1).poisson(40.0, 20_000), 8)  # 8 counts alike
    seen = dispersions(blocks)
    assert seen[1] == pytest.approx(1.0, rel=0.05)
    assert seen[512] == pytest.approx(8.0, rel=0.2)
    assert dispersion(blocks, windows=2000) == pytest.approx(8.0, rel=0.1)


def test_the_error_of_a_dispersion_is_what_is_reported() -> None:
    chance = np.random.default_rng(1)
    estimates = [dispersion(chance.poisson(9.0, 5000), windows=100) for _ in range(400)]
    assert np.std(estimates) == pytest.approx(np.sqrt(4 / 300), rel=0.15)
    assert np.mean(estimates) == pytest.approx(1.0, abs=0.02)


def test_few_counts_are_windows_of_their_own() -> None:
    counts = np.random.default_rng(1).poisson(9.0, 300)
    expected = counts.var(ddof=1) / counts.mean()
    assert dispersion(counts) == pytest.approx(expected)
    assert dispersions(counts)[1] == pytest.approx(expected)


@settings(deadline=None, max_examples=30)  # a busy machine is no failure
@given(st.integers(0, 1000), st.floats(1e-3, 1e6))
def test_dispersion_grows_with_the_size_of_what_is_counted(seed: int, size: float) -> None:
    counts = np.random.default_rng(seed).gamma(2.0, 1.0, 200)
    assert dispersion(size * counts) == pytest.approx(size * dispersion(counts), rel=1e-6)


@pytest.mark.parametrize(("name", "asked"), [("map_i1K", 1000), ("map_i2K", 2000)])
def test_published_traces_have_the_dispersion_in_their_name(name: str, asked: float) -> None:
    path = DATA / f"arrivals_{name}.txt"
    if not path.exists():
        pytest.skip("the published traces are not here")
    _, counts = read_counts(str(path))
    assert dispersion(counts[:-1]) == pytest.approx(asked, rel=0.2)  # the last second is cut off


# Bad input


@pytest.mark.parametrize("measure", [dispersion, hurst])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.0] * 15, r"a row of 16 counts or more, got \(15,\)"),
        ([[1.0] * 20] * 20, r"got \(20, 20\)"),
        ([0.0] * 20, "not all 0, got 0 to 0"),
        ([1.0] * 20 + [-1.0], "0 or more, finite and not all 0, got -1 to 1"),
        ([1.0] * 20 + [np.nan], "got nan to nan"),
        ([1.0] * 20 + [np.inf], "got 1 to inf"),
    ],
)
def test_what_is_no_row_of_counts_is_refused(
    measure: object, counts: list[float], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        measure(counts)  # type: ignore[operator]


def test_a_single_window_has_no_dispersion() -> None:
    with pytest.raises(SettingError, match="two windows or more, got 1"):
        dispersion([1.0, 2.0] * 20, windows=1)
