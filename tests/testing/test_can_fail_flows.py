"""The checks of forecasters, workloads and plants notice what is broken: each part breaks one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.forecast import Last
from penstock.testing import (
    FORECASTER_CHECKS,
    PLANT_CHECKS,
    WORKLOAD_CHECKS,
    ScriptedPlant,
    check_forecaster,
    check_plant,
    check_workload,
    failures,
    seen,
)
from penstock.workload import Constant

Floats = NDArray[np.float64]


# Forecasters


@dataclass
class Optimist(Last):
    _value: float = 0.0


@dataclass
class Shortsighted(Last):
    def forecast(self, steps: int, /) -> Floats:
        return super().forecast(1)


@dataclass
class Growing(Last):
    """Divides by what may be zero."""

    _before: float = field(default=np.nan, init=False)

    def update(self, value: float, /) -> None:
        self._before = self._value
        super().update(value)

    def forecast(self, steps: int, /) -> Floats:
        with np.errstate(all="ignore"):
            return super().forecast(steps) * np.float64(self._value) / np.float64(self._before)


@dataclass
class Doubling(Last):
    def forecast(self, steps: int, /) -> Floats:
        return 2 * super().forecast(steps)


@dataclass
class Gullible(Last):
    def update(self, value: float, /) -> None:
        self._value = value


@dataclass
class Guessing(Last):
    def forecast(self, steps: int, /) -> Floats:
        return super().forecast(steps) + np.random.rand(steps)


@dataclass
class Shared(Last):
    def __deepcopy__(self, memo: object) -> "Shared":
        return self


class Faceless(Last):
    __repr__ = object.__repr__


@pytest.mark.parametrize(
    ("forecaster", "broken"),
    [
        (Optimist, "knows_nothing_before_the_first_value"),
        (Shortsighted, "answers_as_many_steps_as_asked"),
        (Growing, "foresees_finite_values"),
        (Doubling, "learns_a_steady_rate"),
        (Gullible, "learns_nothing_from_what_is_not_a_number"),
        (Guessing, "foresees_alike_from_the_same_values"),
        (Shared, "forks_into_copies_that_live_apart"),
        (Faceless, "has_a_repr_and_equality_of_its_settings"),
    ],
)
def test_a_broken_forecaster_is_noticed(forecaster: Callable[[], Any], broken: str) -> None:
    assert broken in failures(FORECASTER_CHECKS, forecaster)
    with pytest.raises(AssertionError, match=broken):
        check_forecaster(forecaster)


# Workloads


@dataclass(frozen=True)
class Lines:
    """A straight line, bent by those who inherit it."""

    def rate(self, at: Floats) -> Floats:
        return np.full_like(at, 10.0)

    def arrivals(self, at: Floats) -> Floats:
        return 10.0 * at

    def times(self, index: Floats) -> Floats:
        return (index + 1.0) / 10.0


class Early(Lines):
    def arrivals(self, at: Floats) -> Floats:
        return 10.0 * at + 1.0


class Waning(Lines):
    def arrivals(self, at: Floats) -> Floats:
        return 10.0 * at - 20.0 * (at > 3000)


class Miscounting(Lines):
    def rate(self, at: Floats) -> Floats:
        return np.full_like(at, 11.0)


class Misplacing(Lines):
    def times(self, index: Floats) -> Floats:
        return index / 10.0


class Hurried(Lines):
    def times(self, index: Floats) -> Floats:
        return np.minimum((index + 1.0) / 10.0, 1000.0)


class Moody(Lines):
    def arrivals(self, at: Floats) -> Floats:
        return 10.0 * at + 1e-9 * len(at) * at


class Scalar(Lines):
    def times(self, index: Floats) -> Floats:
        return super().times(index)[:1]


@dataclass(frozen=True)
class Rooted(Lines):
    grip: Any = field(default_factory=lambda: lambda: None, repr=False)


class Unequal(Lines):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("workload", "broken"),
    [
        (Early(), "starts_at_zero"),
        (Waning(), "never_falls"),
        (Miscounting(), "counts_what_its_rate_brings"),
        (Misplacing(), "tells_when_each_row_comes"),
        (Misplacing(), "has_brought_as_many_rows_as_it_counts"),
        (Hurried(), "has_brought_as_many_rows_as_it_counts"),
        (Moody(), "answers_alike_in_any_order"),
        (Scalar(), "answers_in_the_shape_asked"),
        (Rooted(), "travels_to_other_processes"),
        (Unequal(), "is_equal_by_its_settings"),
    ],
)
def test_a_broken_workload_is_noticed(workload: Any, broken: str) -> None:
    assert broken in failures(WORKLOAD_CHECKS, workload)
    with pytest.raises(AssertionError, match=broken):
        check_workload(workload)


def test_the_unchanged_line_is_sound() -> None:
    assert failures(WORKLOAD_CHECKS, Lines()) == failures(WORKLOAD_CHECKS, Constant(10.0)) == {}


# Plants


READING = ModuleReading(backlog=0.0, requested=2, running=2)


def script(*moments: float) -> Sequence[Observation]:
    return [seen(at=at, splitter=READING, counter=READING) for at in moments or (1, 2, 3, 4)]


class Stuck(ScriptedPlant):
    def readings(self) -> Iterator[Observation]:
        self.script = script(1, 1, 1)
        return super().readings()


class Blinking(ScriptedPlant):
    def readings(self) -> Iterator[Observation]:
        yield from super().readings()
        yield seen(at=2.5, splitter=READING)


class Owing(ScriptedPlant):
    def readings(self) -> Iterator[Observation]:
        for observation in super().readings():
            yield replace(observation, modules={"counter": replace(READING, backlog=-1.0)})


class Eager(ScriptedPlant):
    def apply(self, decision: Decision, /) -> Configuration | None:
        super().apply(decision)
        return decision.configuration


class Lazy(ScriptedPlant):
    def apply(self, decision: Decision, /) -> None:
        super().apply(decision)


class Careless(ScriptedPlant):
    def apply(self, decision: Decision, /) -> Configuration | None:
        try:
            return super().apply(decision)
        except SettingError:
            return None


@pytest.mark.parametrize(
    ("plant", "broken"),
    [
        (Stuck, "sees_time_pass"),
        (lambda given: Blinking(given[:2]), "sees_every_module_every_time"),
        (lambda _: ScriptedPlant([]), "sees_every_module_every_time"),
        (Owing, "measures_nothing_below_zero"),
        (Eager, "asks_for_nothing_where_nothing_changes"),
        (Lazy, "asks_for_what_is_decided"),
        (Careless, "refuses_a_module_that_it_does_not_have"),
        (Careless, "refuses_less_than_one_executor"),
    ],
)
def test_a_broken_plant_is_noticed(plant: Callable[[Any], Any], broken: str) -> None:
    assert broken in failures(PLANT_CHECKS, lambda: plant(script()))
    with pytest.raises(AssertionError, match=broken):
        check_plant(lambda: plant(script()))


def test_a_plant_that_must_be_entered_is_entered_and_left() -> None:
    events = []

    class Careful(ScriptedPlant):
        def __enter__(self) -> "Careful":
            events.append("entered")
            return self

        def __exit__(self, *_: object) -> None:
            events.append("left")

    check_plant(lambda: Careful(script()))
    assert events == ["entered", "left"] * len(PLANT_CHECKS)
