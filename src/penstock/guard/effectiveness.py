"""A scale-up that did not help is taken back."""

from dataclasses import KW_ONLY, dataclass, field

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.settings import seconds
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.guard.levels import Levels
from penstock.guard.pace import percent, reading
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass(frozen=True, slots=True)
class _Block:
    degree: int
    """The most that is allowed."""
    until: float
    why: str


@dataclass
class Effectiveness:
    """Takes back a growth that brought hardly more rows a second, and blocks it for a while.

    It judges only executors that came, and only while rows waited before and after: then the rate
    is all that the module can do. It goes back to the fewest executors that did about as well. It
    is also known as scaling.effectiveness.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> guard = Effectiveness(Static(degrees=8), window=20.0)
    >>> late = {"backlog": 1e6, "arrival_rate": 900.0, "processed_rate": 400.0}
    >>> for at in range(0, 80, 10):
    ...     n = 4 if at < 30 else 8
    ...     decided = guard(seen(at=at, step=10.0, counter={"running": n, **late}))
    >>> decided.why
    'counter is set to 8; growing counter from 4 to 8 raised its rate by 0 % instead of 100 %: \
back to 4, no growth beyond for 10 min'
    """

    policy: Policy
    _: KW_ONLY
    threshold: float = 0.1
    """Share of the gain that was to be expected below which a growth is ineffective."""
    window: float = seconds(60.0)
    """Seconds for which a degree is measured before it is judged."""
    block: float = seconds(600.0)
    """Seconds for which a module does not grow to that again."""
    _levels: dict[str, Levels] = field(default_factory=dict, init=False, repr=False)
    _blocks: dict[str, _Block] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what would judge all or nothing."""
        if not 0 <= self.threshold <= 1:
            raise SettingError(
                f"threshold of guard effectiveness must be in [0, 1], got {self.threshold:g}"
            )
        for name in ("window", "block"):
            if not getattr(self, name) > 0:
                value = f"{getattr(self, name):g}"
                raise SettingError(f"{name} of guard effectiveness must be above 0 s, got {value}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, but for what did not help."""
        for name in seen.modules:
            self._judge(name, seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, seen.at))

    def _judge(self, name: str, seen: Observation) -> None:
        module, now = reading(seen, name), in_force(seen).get(name)
        levels = self._levels.setdefault(name, Levels(self.window))
        levels.notice(module, seen.step)
        if now is None or not levels.judged(now, module):
            return
        before = self._as_good(levels, now)
        if before is not None:
            why = _told(name, before, now, levels)
            self._blocks[name] = _Block(before, seen.at + self.block, why)

    def _as_good(self, levels: Levels, now: int) -> int | None:
        """The fewest executors that did about as well as those of now."""
        fewer = sorted(n for n, rate in levels.rates.items() if 0 < n < now and rate > 0)
        return next((n for n in fewer if self._in_vain(levels, n, now)), None)

    def _in_vain(self, levels: Levels, before: int, now: int) -> bool:
        return _gain(levels, before, now) < self.threshold * (now / before - 1)

    def _rule(self, name: str, degree: int, at: float) -> Ruling | None:
        block = self._blocks.get(name)
        if block is None or degree <= block.degree or at >= block.until - 1e-9:
            return None
        left = format_duration(block.until - at)
        return Ruling(
            block.degree, f"{block.why}: back to {block.degree}, no growth beyond for {left}"
        )


def _gain(levels: Levels, before: int, now: int) -> float:
    return levels.rates[now] / levels.rates[before] - 1


def _told(name: str, before: int, now: int, levels: Levels) -> str:
    gain, hoped = percent(_gain(levels, before, now)), percent(now / before - 1)
    return f"growing {name} from {before} to {now} raised its rate by {gain} instead of {hoped}"
