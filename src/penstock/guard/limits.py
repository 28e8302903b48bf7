"""Never fewer, never more."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from math import ceil, floor, inf, isinf
from typing import Annotated

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.schema import Bounds, Bytes, Count, Natural, Share, checked
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_size
from penstock.core.words import percent
from penstock.guard.common import Ruling, revise
from penstock.policy.common.degrees import in_force, of_module


@dataclass
@checked("guard clamp")
class Clamp:
    """Keeps each module's degree between `low` and `high`.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Clamp(Static(degrees=9), high={"counter": 8})(seen(counter={"running": 2})).why
    'counter is set to 9; counter limited to 8, the most allowed'
    """

    policy: Policy
    _: KW_ONLY
    low: Count | Mapping[str, Count] = 1
    """Fewest executors of every module, or by module."""
    high: Count | Mapping[str, Count] | None = None
    """Most executors of every module, or by module; no limit if not given."""

    def __post_init__(self) -> None:
        for name in _names(self.low) | _names(self.high):
            low, high = of_module(self.low, name), of_module(self.high, name)
            if low is not None and high is not None and low > high:
                why = f"low of guard clamp is above its high, got {low} and {high}"
                raise SettingError(why, fields=("low", "high"))

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, within bounds."""
        return revise(self.policy(seen), self._rule)

    def _rule(self, name: str, degree: int) -> Ruling | None:
        low, high = of_module(self.low, name), of_module(self.high, name)
        if high is not None and degree > high:
            return Ruling(high, f"{name} limited to {high}, the most allowed")
        if low is not None and degree < low:
            return Ruling(low, f"{name} raised to {low}, the fewest allowed")
        return None


def _names(setting: int | Mapping[str, int] | None) -> set[str]:
    return set(setting) if isinstance(setting, Mapping) else {"every module"}


# One step at a time.


@dataclass
@checked("guard step-limit")
class StepLimit:
    """Adds and removes only so many executors of a module in one control step.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> StepLimit(Static(degrees=9), out=2)(seen(counter={"running": 4})).why
    'counter is set to 9; counter goes to 6, at most 2 more in a step'
    """

    policy: Policy
    _: KW_ONLY
    out: Natural = 1
    """Most executors added; 0 for none ever."""
    in_: Natural = 1
    """Most executors removed; 0 for none ever."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, as far as one step goes."""
        known = in_force(seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, known.get(name, n)))

    def _rule(self, name: str, degree: int, now: int) -> Ruling | None:
        most, fewest = now + self.out, now - self.in_
        if degree > most:
            return Ruling(most, f"{name} {_goes(now, most)}, at most {self.out} more in a step")
        if degree < fewest:
            return Ruling(
                fewest, f"{name} {_goes(now, fewest)}, at most {self.in_} fewer in a step"
            )
        return None


def _goes(now: int, then: int) -> str:
    return f"goes to {then}" if now != then else f"stays at {now}"


# So many times more, such a share fewer.


@dataclass
@checked("guard step-factor")
class StepFactor:
    """Adds and removes only such a share of a module's executors in one control step.

    One executor more or fewer is always allowed. It is also known as scale-up.max-factor and
    scale-down.max-factor.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> StepFactor(Static(degrees=1))(seen(counter={"running": 10})).why
    'counter is set to 1; counter goes to 4, at most 60 % of 10 fewer in a step'
    """

    policy: Policy
    _: KW_ONLY
    out: Annotated[float, Bounds(above=0, endless=True)] = inf
    """Largest share by which a module grows: 1 doubles it at most."""
    in_: Share = 0.6
    """Largest share by which it shrinks: 0.6 leaves at least 40 % of it."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, as far as one step goes."""
        now = in_force(seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, now.get(name, n)))

    def _rule(self, name: str, degree: int, now: int) -> Ruling | None:
        most, fewest = self._most(now), self._fewest(now)
        if degree > most:
            how = f"at most {percent(self.out)} of {now} more in a step"
            return Ruling(int(most), f"{name} goes to {most:g}, {how}")
        if degree < fewest:
            how = f"at most {percent(self.in_)} of {now} fewer in a step"
            return Ruling(fewest, f"{name} goes to {fewest}, {how}")
        return None

    def _most(self, now: int) -> float:
        if isinf(self.out):
            return inf
        return max(now + 1, floor(now * (1 + self.out) + 1e-9))  # 100 * 1.15 is below 115 in binary

    def _fewest(self, now: int) -> int:
        return min(now - 1, ceil(now * (1 - self.in_) - 1e-9))


# No more than one's share of the cluster.


@dataclass
@checked("guard quota")
class Quota:
    """Keeps the executors of all modules together within so many cores and so much memory.

    What is left is divided among the modules that want to grow, in proportion to what each wants.
    Where more are running than the quota allows, modules shrink. None falls below one executor.
    It is also known as quota.cpu and quota.memory.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Quota(Static(degrees=9), cores=6)(seen(counter={"running": 4})).why
    'counter is set to 9; counter limited to 6 by the quota of 6 cores'
    """

    policy: Policy
    _: KW_ONLY
    cores: float | None = None
    """Cores of all executors together; no limit if not given."""
    memory: Bytes | None = None
    """Bytes of memory of all executors together; no limit if not given."""
    executor_cores: Count = 1
    """Cores of one executor."""
    executor_memory: Annotated[Bytes, Bounds(above=0)] = float(2**30)
    """Bytes that one executor takes, with its overhead; 1g unless given, as in Spark."""

    def __post_init__(self) -> None:
        if self.cores is not None and not self.cores >= self.executor_cores:
            raise SettingError(
                f"cores of guard quota must be at least the {self.executor_cores} of one executor, "
                f"got {self.cores:g}",
                path=("cores",),
            )
        if self.memory is not None and not self.memory >= self.executor_memory:
            raise SettingError(
                "memory of guard quota must be at least that of one executor, "
                f"{format_size(self.executor_memory)}, got {format_size(self.memory)}",
                path=("memory",),
            )

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, as far as the quota goes."""
        decided = self.policy(seen)
        allowed = self._allowed(decided.configuration.degrees, in_force(seen))
        return revise(decided, lambda name, n: self._rule(name, n, allowed[name]))

    def _rule(self, name: str, degree: int, allowed: int) -> Ruling | None:
        if allowed >= degree:
            return None
        return Ruling(allowed, f"{name} limited to {allowed} by the quota of {self._limit()[1]}")

    def _limit(self) -> tuple[float, str]:
        """Executors that it is enough for, and how it is called."""
        limits = [(float("inf"), "everything")]
        if self.cores is not None:
            limits.append((self.cores // self.executor_cores, f"{self.cores:g} cores"))
        if self.memory is not None:
            most = self.memory // self.executor_memory
            limits.append((most, f"{format_size(self.memory)} of memory"))
        return min(limits)

    def _allowed(self, wanted: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
        limit = self._limit()[0] - sum(n for name, n in now.items() if name not in wanted)
        if sum(wanted.values()) <= limit:
            return dict(wanted)
        kept = {name: min(degree, now.get(name, 1)) for name, degree in wanted.items()}
        if sum(kept.values()) > limit:
            return _filled(dict.fromkeys(wanted, 1), kept, int(limit))
        return _filled(kept, wanted, int(limit))


def _filled(least: Mapping[str, int], most: Mapping[str, int], limit: int) -> dict[str, int]:
    """At least `least` of each, and of the rest a share in proportion to what is missing to `most`.

    >>> _filled({"a": 1, "b": 1}, {"a": 9, "b": 5}, 8)
    {'a': 5, 'b': 3}
    """
    missing = {name: most[name] - n for name, n in least.items()}
    room, all_missing = max(limit - sum(least.values()), 0), sum(missing.values())
    if room >= all_missing:
        return dict(most)
    exact = {name: room * n / all_missing for name, n in missing.items()}
    whole = {name: floor(share) for name, share in exact.items()}
    left = room - sum(whole.values())
    first = sorted(exact, key=lambda name: whole[name] - exact[name])[:left]
    return {name: n + whole[name] + (name in first) for name, n in least.items()}
