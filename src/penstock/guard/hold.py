"""Nothing seen, nothing done."""

from dataclasses import KW_ONLY, dataclass, replace
from math import isnan

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.settings import near
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass
class Hold:
    """Keeps a module as it is while something that must be known of it is not.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Hold(Static(degrees=1))(seen(counter={"running": 4, "utilisation": 0.1})).why
    'counter is set to 1; counter held at 4 without its arrival_rate'
    """

    policy: Policy
    _: KW_ONLY
    needs: tuple[str, ...] = ("arrival_rate", "utilisation", "running")
    """What must be known of a module before it is changed."""

    def __post_init__(self) -> None:
        """Refuse what nobody measures."""
        known = ModuleReading.__dataclass_fields__
        for name in self.needs:
            if name not in known:
                raise SettingError(f"guard hold cannot need {name!r}{near(name, known)}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that were measured."""
        known = in_force(seen)
        ruled = revise(
            self.policy(seen), lambda name, n: self._rule(name, n, seen, known.get(name))
        )
        if seen.modules:
            return ruled
        return replace(ruled, why=f"{ruled.why}; all held, nothing was measured")

    def _rule(self, name: str, degree: int, seen: Observation, now: int | None) -> Ruling | None:
        module = seen.modules.get(name, ModuleReading())
        missing = [need for need in self.needs if _unknown(getattr(module, need))]
        if not missing or degree == now:
            return None
        held = f"{name} held at {now}" if now is not None else f"{name} left alone"
        return Ruling(now, f"{held} without its {' and '.join(missing)}")


def _unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))
