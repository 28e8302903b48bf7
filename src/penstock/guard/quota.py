"""No more than one's share of the cluster."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from math import floor

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.signals import Decision, Observation
from penstock.core.sizes import format_size, size
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass
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
    memory: float | None = size(None)
    """Bytes of memory of all executors together; no limit if not given."""
    executor_cores: int = 1
    """Cores of one executor."""
    executor_memory: float = size(float(2**30))
    """Bytes that one executor takes, with its overhead; 1g unless given, as in Spark."""

    def __post_init__(self) -> None:
        """Refuse a quota that not even one executor fits into."""
        for name in ("executor_cores", "executor_memory"):
            if not getattr(self, name) > 0:
                value = f"{getattr(self, name):g}"
                raise SettingError(f"{name} of guard quota must be above 0, got {value}")
        if self.cores is not None and not self.cores >= self.executor_cores:
            raise SettingError(
                f"cores of guard quota must be at least the {self.executor_cores} of one executor, "
                f"got {self.cores:g}"
            )
        if self.memory is not None and not self.memory >= self.executor_memory:
            raise SettingError(
                "memory of guard quota must be at least that of one executor, "
                f"{format_size(self.executor_memory)}, got {format_size(self.memory)}"
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
