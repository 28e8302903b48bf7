"""What every forecaster promises."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from math import nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.roles import Forecaster
from penstock.testing.checking import Check, global_random_state_untouched, require, run_all

Factory = Callable[[], Forecaster]
"""Makes a new forecaster, with the same settings each time."""

_STEPS: Final = 5


def knows_nothing_before_the_first_value(factory: Factory) -> None:
    """Silence is NaN, and not zero."""
    ahead = factory().forecast(_STEPS)
    require(bool(np.isnan(ahead).all()), f"it foresaw {ahead} from nothing")


def answers_as_many_steps_as_asked(factory: Factory) -> None:
    """Also none."""
    forecaster = _taught(factory(), _rates())
    for steps in (0, 1, _STEPS):
        shape = forecaster.forecast(steps).shape
        require(shape == (steps,), f"asked for {steps} steps it answered shape {shape}")


def foresees_finite_values(factory: Factory) -> None:
    """From the first value on, also through zeros and jumps."""
    forecaster = factory()
    for value in [0.0, *_rates(), 0.0, 0.0, 1e9, 0.0]:
        forecaster.update(value)
        ahead = forecaster.forecast(_STEPS)
        require(bool(np.isfinite(ahead).all()), f"after {value} it foresaw {ahead}")


def learns_a_steady_rate(factory: Factory) -> None:
    """The simplest of all loads."""
    ahead = _taught(factory(), [300.0] * 500).forecast(_STEPS)
    require(bool(np.allclose(ahead, 300.0, rtol=0.01)), f"of a steady 300 it foresaw {ahead}")


def learns_nothing_from_what_is_not_a_number(factory: Factory) -> None:
    """A value that was not measured must not spoil those that were."""
    clean, gappy = _taught(factory(), _rates()), _taught(factory(), [*_rates(), nan])
    require(_same(clean, gappy), f"a NaN changed its forecast to {gappy.forecast(_STEPS)}")


def foresees_alike_from_the_same_values(factory: Factory) -> None:
    """No clock, no chance of its own; and asking does not teach."""
    with global_random_state_untouched():
        one, other = _taught(factory(), _rates()), _taught(factory(), _rates())
        one.forecast(_STEPS)
        require(_same(one, other), "the same values led to two forecasts")


def forks_into_copies_that_live_apart(factory: Factory) -> None:
    """A future can be tried on a copy."""
    forecaster, reference = _taught(factory(), _rates()), _taught(factory(), _rates())
    _taught(deepcopy(forecaster), [1e6] * 20)
    require(_same(forecaster, reference), "what its copy saw changed what it foresees")


def has_a_repr_and_equality_of_its_settings(factory: Factory) -> None:
    """Two made alike look alike."""
    require(repr(factory()) == repr(factory()), f"its repr differs: {factory()!r}")
    require(" at 0x" not in repr(factory()), f"its repr does not show its settings: {factory()!r}")


FORECASTER_CHECKS: Final[Sequence[Check[Factory]]] = (
    knows_nothing_before_the_first_value,
    answers_as_many_steps_as_asked,
    foresees_finite_values,
    learns_a_steady_rate,
    learns_nothing_from_what_is_not_a_number,
    foresees_alike_from_the_same_values,
    forks_into_copies_that_live_apart,
    has_a_repr_and_equality_of_its_settings,
)


def check_forecaster(factory: Factory) -> None:
    """Run `FORECASTER_CHECKS` on a forecaster, and fail with all that is wrong."""
    run_all(FORECASTER_CHECKS, factory)


def _rates() -> list[float]:
    draw: NDArray[np.float64] = np.random.default_rng(1).uniform(50.0, 500.0, 60)
    return [float(rate) for rate in draw]


def _taught(forecaster: Forecaster, values: Sequence[float]) -> Forecaster:
    for value in values:
        forecaster.update(value)
    return forecaster


def _same(one: Forecaster, other: Forecaster) -> bool:
    return np.array_equal(one.forecast(_STEPS), other.forecast(_STEPS), equal_nan=True)
