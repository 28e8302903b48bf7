"""Service times that fall with the replicas: every model alike, against what defines it."""

from itertools import pairwise
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.model import Ideal, Measured, Minimum, Saturating, Scalability
from penstock.model.scalability import scalability

degrees = st.floats(1.0, 200.0)
ratios = st.floats(1e-3, 1e6)


@st.composite
def speedups(draw: st.DrawFn) -> tuple[float, ...]:
    """Times that save less with every replica, perhaps rising again at the end."""
    saved = sorted(draw(st.lists(st.floats(-0.3, 0.6), max_size=12)), reverse=True)
    shares = 1.0 - np.cumsum([0.0, *saved])
    shares = shares[: np.argmax(shares < 0.02)] if shares.min() < 0.02 else shares
    return tuple(float(1.0 / share) for share in shares)


models = st.one_of(
    st.just(Ideal()),
    st.builds(Saturating, degrees),
    st.builds(Minimum, degrees),
    st.builds(Measured, speedups()),
)


def reach(model: Scalability) -> float:
    """The best degree, or one far enough where more always help."""
    return min(model.best, 300.0)


@given(models)
def test_one_replica_takes_the_whole_running_time(model: Scalability) -> None:
    assert model.share(1.0) == pytest.approx(1.0, rel=1e-12)
    assert model.best >= 1.0


@given(models)
def test_shares_fall_up_to_the_best_and_no_further(model: Scalability) -> None:
    shares = [model.share(n) for n in np.linspace(0.05, reach(model), 200)]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(shares))
    assert model.share(2.0 * reach(model)) >= model.share(reach(model)) or model.best == inf


@given(models, st.floats(0.05, 1.5), st.floats(0.05, 1.5), st.floats(0.0, 1.0))
def test_shares_are_convex(model: Scalability, one: float, other: float, weight: float) -> None:
    a, b = one * reach(model), other * reach(model)
    between = model.share(weight * a + (1.0 - weight) * b)
    chord = weight * model.share(a) + (1.0 - weight) * model.share(b)
    assert between <= chord + 1e-9 * max(chord, 1.0)


@given(models, st.floats(0.01, 1.0))
def test_replicas_are_the_inverse_of_the_share(model: Scalability, part: float) -> None:
    n = part * reach(model)
    found = model.replicas(model.share(n))
    # near its minimum a share hardly tells degrees apart, so the inverse is judged by the share
    assert found <= n * (1 + 1e-6)
    assert model.share(found) == pytest.approx(model.share(n), rel=1e-9)


@given(models, st.floats(1e-6, 0.999))
def test_no_number_of_replicas_goes_below_the_share_of_the_best(
    model: Scalability, part: float
) -> None:
    assume(model.best < inf)
    assert model.replicas(model.share(model.best) * part) == inf
    assert model.replicas(model.share(model.best)) == model.best
    assert model.replicas(0.0) == inf


@given(models)
def test_all_the_time_in_the_world_takes_no_replica(model: Scalability) -> None:
    assert model.replicas(inf) == 0.0


@given(models, ratios)
def test_the_ideal_degree_costs_least_of_a_fine_grid(model: Scalability, ratio: float) -> None:
    def cost(n: float) -> float:
        return ratio * model.share(n) + n

    ideal = model.ideal(ratio)
    assert 0.0 < ideal <= model.best
    top = model.best if model.best < inf else 4.0 * max(sqrt(ratio), ratio**0.95, 1.0)
    grid = np.geomspace(1e-3, top, 2000)
    assert cost(ideal) <= min(cost(float(n)) for n in grid) * (1 + 1e-9)


@given(models, ratios, ratios)
def test_dearer_delay_never_asks_for_fewer_replicas(
    model: Scalability, one: float, other: float
) -> None:
    assert model.ideal(min(one, other)) <= model.ideal(max(one, other)) * (1 + 1e-6)


def test_the_papers_recogniser_alone_would_take_21_cores() -> None:
    """Game, Section 6.2: its ideal degree by Expr. 10 and Tab. III, rounded up."""
    assert 20.0 < Ideal().ideal(0.5 * 14.44 / 0.0177) < 21.0


@pytest.mark.parametrize(
    ("module", "model"),
    [
        (Module(name="a"), Ideal()),
        (Module(name="a", scaling="saturating", best_replicas=4.0), Saturating(4.0)),
        (Module(name="a", scaling="minimum", best_replicas=4.5), Minimum(4.5)),
        (Module(name="a", scaling="measured", speedup=(1.0, 1.9)), Measured((1.0, 1.9))),
    ],
)
def test_a_modules_settings_name_its_model(module: Module, model: Scalability) -> None:
    assert scalability(module) == model


def test_measured_degrees_are_met_exactly() -> None:
    model = Measured((1.0, 1.9, 2.6, 3.0, 2.9))
    assert model.best == 4.0
    for n, speed in enumerate(model.speedup, 1):
        assert model.share(float(n)) == 1.0 / speed
    assert model.share(99.0) == 1.0 / 2.9
    assert model.replicas(1.0 / 2.6) == pytest.approx(3.0)


@pytest.mark.parametrize(
    "speedup", [(), (2.0,), (1.0, 0.0), (1.0, inf), (1.0, -1.0), (1.0, float("nan")), (1.0, 1.1, 3)]
)
def test_speed_ups_that_are_no_convex_function_are_refused(speedup: tuple[float, ...]) -> None:
    with pytest.raises(SettingError, match=r"speedup must .* got"):
        Measured(speedup)
