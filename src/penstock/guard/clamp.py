"""Never fewer, never more."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.signals import Decision, Observation
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import check_degrees, of_module


@dataclass
class Clamp:
    """Keeps each module's degree between `low` and `high`.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Clamp(Static(degrees=9), high={"counter": 8})(seen(counter={"running": 2})).why
    'counter is set to 9; counter limited to 8, the most allowed'
    """

    policy: Policy
    _: KW_ONLY
    low: int | Mapping[str, int] = 1
    """Fewest executors of every module, or by module."""
    high: int | Mapping[str, int] | None = None
    """Most executors of every module, or by module; no limit if not given."""

    def __post_init__(self) -> None:
        """Refuse bounds with nothing between them."""
        check_degrees(self.low, "low of guard clamp")
        check_degrees(self.high, "high of guard clamp")
        for name in _names(self.low) | _names(self.high):
            low, high = of_module(self.low, name), of_module(self.high, name)
            if low is not None and high is not None and low > high:
                raise SettingError(f"low of guard clamp is above its high, got {low} and {high}")

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
