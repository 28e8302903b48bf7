"""Busy enough, and not too busy."""

from dataclasses import KW_ONLY, dataclass

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.settings import seconds
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.guard.common import Ruling, pace, reading, revise
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import known
from penstock.policy.common.sentences import percent


@dataclass
class DeadBand:
    """Leaves a module alone while its utilisation lies between `low` and `high`.

    It may still grow where rows pile up: where its running executors would need longer than
    `backlog` for those that wait. It is also known as utilization.min and utilization.max.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> DeadBand(Static(degrees=6))(seen(counter={"running": 4, "utilisation": 0.7})).why
    'counter is set to 6; counter stays at 4, 70 % busy lies between 50 % and 85 %'
    """

    policy: Policy
    _: KW_ONLY
    low: float = 0.5
    """Busy share below which a module may change."""
    high: float = 0.85
    """Busy share above which a module may change."""
    backlog: float = seconds(30.0)
    """Seconds of work for the running executors that may wait before a module grows all the same;
    in micro-batches a few seconds of it always do."""

    def __post_init__(self) -> None:
        """Refuse a band that no utilisation lies in, or all do."""
        for name, value in (("low", self.low), ("high", self.high)):
            if not 0 <= value <= 1:
                raise SettingError(f"{name} of guard dead-band must be in [0, 1], got {value:g}")
        if self.low > self.high:
            raise SettingError(
                f"low of guard dead-band is above its high, got {self.low:g} and {self.high:g}"
            )
        if not self.backlog >= 0:
            raise SettingError(
                f"backlog of guard dead-band must be 0 s or more, got {self.backlog:g}"
            )

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that are too busy or not busy enough."""
        now = in_force(seen)
        return revise(
            self.policy(seen),
            lambda name, n: self._rule(name, n, now.get(name, n), reading(seen, name)),
        )

    def _rule(self, name: str, degree: int, now: int, module: ModuleReading) -> Ruling | None:
        busy = module.utilisation
        if degree == now or busy is None or not self.low <= busy <= self.high:
            return None
        if degree > now and self._piles_up(module):
            return None
        band = f"between {percent(self.low)} and {percent(self.high)}"
        return Ruling(now, f"{name} stays at {now}, {percent(busy)} busy lies {band}")

    def _piles_up(self, module: ModuleReading) -> bool:
        each, backlog, running = pace(module), known(module.backlog), module.running
        if each is None or backlog is None or running is None:
            return False
        return backlog > self.backlog * each * running
