"""What every plant promises. A plant that is a context manager is entered and left."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields
from itertools import islice, pairwise
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.core.roles import Plant
from penstock.core.signals import Configuration, Decision, Observation, current
from penstock.testing.checking import Check, require, run_all

Factory = Callable[[], Plant]
"""Makes a new plant whose modules have room for one executor more, for three steps or more."""

_STEPS: Final = 3


def sees_time_pass(factory: Factory) -> None:
    """Each observation is later than the one before and covers some time."""
    with _running(factory) as run:
        for before, after in pairwise(run.observations()):
            require(after.at > before.at, f"after {before.at:g} s it saw {after.at:g} s")
            require(after.step > 0, f"an observation covers {after.step:g} s")


def sees_every_module_every_time(factory: Factory) -> None:
    """Also those of which nothing is known."""
    with _running(factory) as run:
        seen = [set(observation.modules) for observation in run.observations()]
    require(len(seen) > 0, "it saw nothing at all")
    require(all(modules == seen[0] and modules for modules in seen), f"its modules change: {seen}")


def measures_nothing_below_zero(factory: Factory) -> None:
    """What was not measured is None."""
    with _running(factory) as run:
        for observation in run.observations():
            for name, module in observation.modules.items():
                for metric in (metric.name for metric in fields(module)):
                    value = getattr(module, metric)
                    number = isinstance(value, int | float)
                    require(not number or value >= 0, f"{metric} of {name} is {value}")


def asks_for_nothing_where_nothing_changes(factory: Factory) -> None:
    """The configuration in force, and one that names no module, ask for nothing."""
    with _running(factory) as run:
        kept = current(run.next()).degrees
        for degrees in (kept, {}):
            asked = run.apply(degrees)
            require(asked is None, f"with {kept} in force, {degrees} made it ask for {asked}")


def asks_for_what_is_decided(factory: Factory) -> None:
    """One executor more, of one module; the others keep theirs."""
    with _running(factory) as run:
        kept = current(run.next()).degrees
        name, degree = next(iter(kept.items()))
        asked = run.apply({name: degree + 1})
        require(asked is not None, f"{degree + 1} executors of {name} were not asked for")
        wanted = {**kept, name: degree + 1}
        got = {**kept, **(asked.degrees if asked else {})}
        require(got == wanted, f"decided {wanted}, it asked for {got}")
        require(run.apply({name: degree + 1}) is None, "it asked again for what it has asked for")


def refuses_a_module_that_it_does_not_have(factory: Factory) -> None:
    """With an error that the user can read."""
    with _running(factory) as run:
        run.next()
        run.refuses({"no such module": 2})


def refuses_less_than_one_executor(factory: Factory) -> None:
    """A module without executors would stand still."""
    with _running(factory) as run:
        for name in current(run.next()).degrees:
            run.refuses({name: 0})


PLANT_CHECKS: Final[Sequence[Check[Factory]]] = (
    sees_time_pass,
    sees_every_module_every_time,
    measures_nothing_below_zero,
    asks_for_nothing_where_nothing_changes,
    asks_for_what_is_decided,
    refuses_a_module_that_it_does_not_have,
    refuses_less_than_one_executor,
)


def check_plant(factory: Factory) -> None:
    """Run `PLANT_CHECKS` on a plant, and fail with all that is wrong."""
    run_all(PLANT_CHECKS, factory)


@dataclass
class _Run:
    plant: Plant
    readings: Iterator[Observation]

    def next(self) -> Observation:
        return next(self.readings)

    def observations(self) -> list[Observation]:
        return list(islice(self.readings, _STEPS))

    def apply(self, degrees: Any) -> Configuration | None:
        configuration = Configuration(degrees=degrees)
        return self.plant.apply(Decision(configuration=configuration, why="a check asks for it"))

    def refuses(self, degrees: Any) -> None:
        try:
            self.apply(degrees)
        except SettingError:
            return
        raise AssertionError(f"it accepted {degrees}")


@contextmanager
def _running(factory: Factory) -> Iterator[_Run]:
    with ExitStack() as stack:
        plant: Any = factory()
        if hasattr(plant, "__enter__"):
            plant = stack.enter_context(plant)
        readings: Any = plant.readings()
        if hasattr(readings, "close"):
            stack.enter_context(closing(readings))
        yield _Run(plant, readings)
