"""The controllers of all modules, and the clock on which they agree."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.signals import Observation
from penstock.model.power import VoltageTable
from penstock.policy.degrees import in_force
from penstock.policy.mpc.known import is_legible
from penstock.policy.mpc.pilot import Course, Pilot

Heaviest = Callable[[str], float]
"""The share of a module's work that its heaviest key brings."""


@dataclass
class Fleet:
    """Steers modules that share one clock: the fastest that any of them asks for.

    Each module first chooses replicas and clock as if it were alone; those that would have had a
    slower clock then choose their replicas again. While a module cannot choose, the clock does not
    fall.
    """

    pilots: Mapping[str, Pilot]
    clocks: tuple[float, ...]
    """GHz to choose from, the slowest first."""
    sets_clock: bool = True
    """Whether the clock is theirs to choose; otherwise it is taken as it is."""
    warm_up: int = 2
    """Steps in which nothing is decided."""
    _steps: int = field(default=0, init=False)
    _clock: float | None = field(default=None, init=False)
    """GHz in the newest step."""

    def take_in(self, seen: Observation) -> None:
        """Learn from a step."""
        self._steps += 1
        self._clock = seen.frequency
        for pilot in self.pilots.values():
            pilot.take_in(seen)

    def reason(self, name: str) -> str | None:
        """Why a module is not steered in this step, in words; None where it is."""
        if name not in self.pilots:
            return "it is not steered"
        if self._steps <= self.warm_up:
            return f"step {self._steps} of {self.warm_up} in which it only watches"
        if not is_legible(self._clock):
            return f"the clock cannot be {self._clock:g} GHz"
        return self.pilots[name].lacks()

    def courses(
        self, seen: Observation, heaviest: Heaviest
    ) -> tuple[dict[str, Course], float | None]:
        """The course of each module that can be steered, and the clock where that is decided."""
        degrees = {n: degree for n, degree in in_force(seen).items() if self.reason(n) is None}

        def course(name: str, clocks: Iterable[float]) -> Course:
            return self.pilots[name].course(
                degree=degrees[name],
                clock=seen.frequency,
                clocks=clocks,
                heaviest=heaviest(name),
            )

        alone = {name: course(name, self._free(seen.frequency)) for name in degrees}
        if not alone or seen.frequency is None or not self.sets_clock:
            return alone, None
        waiting = any(name in self.pilots and name not in degrees for name in seen.modules)
        clock = self._agreed(alone.values(), seen.frequency, waiting=waiting)
        return {n: c if c.clock == clock else course(n, (clock,)) for n, c in alone.items()}, clock

    def _free(self, now: float | None) -> tuple[float, ...]:
        """The clocks that a module may choose from."""
        if now is None:
            return self.clocks[-1:]
        return self.clocks if self.sets_clock else (now,)

    def _agreed(self, courses: Iterable[Course], now: float, *, waiting: bool) -> float:
        wanted = max(course.clock for course in courses)
        if not waiting:
            return wanted
        as_fast = [clock for clock in self.clocks if clock >= now]
        return max(wanted, as_fast[0] if as_fast else self.clocks[-1])


def check_clocks(frequencies: Iterable[float], voltages: VoltageTable) -> tuple[float, ...]:
    """The clocks to choose from, the slowest first; all of the table where none is named.

    >>> check_clocks((), VoltageTable({2.0: 1.05, 1.2: 0.85}))
    (1.2, 2.0)
    >>> check_clocks((3.0,), VoltageTable({1.2: 0.85}))
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: frequencies of policy mpc: the voltage table has nothing \
for 3 GHz; add it, or use one of 1.2
    """
    chosen = tuple(sorted(set(frequencies)))
    for frequency in chosen:
        try:
            voltages.at(frequency)
        except SettingError as error:
            raise SettingError(f"frequencies of policy mpc: {error}") from None
    return chosen or voltages.frequencies
