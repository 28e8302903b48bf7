"""How a budget is divided: what each module gets, what that is worth, and what it took to agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Resource of each module, feasible: no input runs dry, no source and no budget is exceeded.

    >>> made = Allocation(
    ...     policy="shrink", resource={"a": 0.4, "b": 0.6}, value=0.9, messages=2, passes=1
    ... )
    >>> made.to_json(optimum=1.0)["optimum"]
    1.0
    """

    policy: str
    resource: Mapping[str, float]
    value: float
    """What the flow at all sinks is worth a second."""
    messages: int
    """That agents sent each other; none where one that knows everything decides."""
    passes: int
    """Times that the whole network was asked, from sinks to sources or back."""

    def to_json(self, *, optimum: float) -> dict[str, Any]:
        """The answer of `penstock plan --json`, which others script against."""
        return {
            "policy": self.policy,
            "resource": dict(self.resource),
            "value": self.value,
            "optimum": optimum,
            "messages": self.messages,
            "passes": self.passes,
        }
