"""Never fewer, never more."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, inf, isinf
from typing import Annotated

from penstock.core.errors import SettingError
from penstock.core.schema import Bounds, Bytes, Count, Natural, Share, checked
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_size
from penstock.core.words import percent
from penstock.guard.common import Guard, ProposedDegree, Ruling, revise
from penstock.policy.common.degrees import in_force, of_module


@dataclass(kw_only=True)
@checked("guard clamp")
class Clamp(Guard):
    """Keeps each module's degree between `low` and `high`.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Clamp(Static(degrees=9), high={"counter": 8})(seen(counter={"running": 2})).why
    'counter is set to 9; counter limited to 8, the most allowed'
    """

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

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """No more than `high`, no fewer than `low`."""
        low, high = of_module(self.low, proposed.name), of_module(self.high, proposed.name)
        if high is not None and proposed.degree > high:
            return Ruling(high, f"{proposed.name} limited to {high}, the most allowed")
        if low is not None and proposed.degree < low:
            return Ruling(low, f"{proposed.name} raised to {low}, the fewest allowed")
        return None


def _names(setting: int | Mapping[str, int] | None) -> set[str]:
    return set(setting) if isinstance(setting, Mapping) else {"every module"}


@dataclass(kw_only=True)
@checked("guard step-limit")
class StepLimit(Guard):
    """Adds and removes only so many executors of a module in one control step.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> StepLimit(Static(degrees=9), out=2)(seen(counter={"running": 4})).why
    'counter is set to 9; counter goes to 6, at most 2 more in a step'
    """

    out: Natural = 1
    """Most executors added; 0 for none ever."""
    in_: Natural = 1
    """Most executors removed; 0 for none ever."""

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """So many more or fewer than now."""
        return _within_a_step(
            proposed,
            most=proposed.now + self.out,
            fewest=proposed.now - self.in_,
            out=str(self.out),
            in_=str(self.in_),
        )


def _within_a_step(
    proposed: ProposedDegree, *, most: float, fewest: int, out: str, in_: str
) -> Ruling | None:
    """As far as one step goes; `out` and `in_` say how far that is."""
    if proposed.degree > most:
        return proposed.allow(int(most), f"at most {out} more in a step")
    if proposed.degree < fewest:
        return proposed.allow(fewest, f"at most {in_} fewer in a step")
    return None


@dataclass(kw_only=True)
@checked("guard step-factor")
class StepFactor(Guard):
    """Adds and removes only such a share of a module's executors in one control step.

    One executor more or fewer is always allowed. It is also known as scale-up.max-factor and
    scale-down.max-factor.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> StepFactor(Static(degrees=1))(seen(counter={"running": 10})).why
    'counter is set to 1; counter goes to 4, at most 60 % of 10 fewer in a step'
    """

    out: Annotated[float, Bounds(above=0, endless=True)] = inf
    """Largest share by which a module grows: 1 doubles it at most."""
    in_: Share = 0.6
    """Largest share by which it shrinks: 0.6 leaves at least 40 % of it."""

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """Such a share more or fewer than now, and one at least."""
        now = proposed.now  # 100 * 1.15 is below 115 in binary
        most = inf if isinf(self.out) else max(now + 1, floor(now * (1 + self.out) + 1e-9))
        return _within_a_step(
            proposed,
            most=most,
            fewest=min(now - 1, ceil(now * (1 - self.in_) - 1e-9)),
            out=f"{percent(self.out)} of {now}",
            in_=f"{percent(self.in_)} of {now}",
        )


@dataclass(kw_only=True)
@checked("guard quota")
class Quota(Guard):
    """Keeps the executors of all modules together within so many cores and so much memory.

    What is left is divided among the modules that want to grow, in proportion to what each wants.
    Where more are running than the quota allows, modules shrink. None falls below one executor.
    It is also known as quota.cpu and quota.memory.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Quota(Static(degrees=9), cores=6)(seen(counter={"running": 4})).why
    'counter is set to 9; counter limited to 6 by the quota of 6 cores'
    """

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
        decided, (limit, called) = self.policy(seen), self._limit()
        allowed = _allowed(decided.configuration.degrees, in_force(seen), limit)

        def rule(name: str, degree: int) -> Ruling | None:
            most = allowed[name]
            why = f"{name} limited to {most} by the quota of {called}"
            return None if most >= degree else Ruling(most, why)

        return revise(decided, rule)

    def _limit(self) -> tuple[float, str]:
        """Executors that it is enough for, and how it is called."""
        limits = [(inf, "everything")]
        if self.cores is not None:
            limits.append((self.cores // self.executor_cores, f"{self.cores:g} cores"))
        if self.memory is not None:
            most = self.memory // self.executor_memory
            limits.append((most, f"{format_size(self.memory)} of memory"))
        return min(limits)


def _allowed(wanted: Mapping[str, int], now: Mapping[str, int], quota: float) -> dict[str, int]:
    """What each module may have of a quota of executors, of which others keep what they have."""
    limit = quota - sum(n for name, n in now.items() if name not in wanted)
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
