"""Between what and what each module's cores may lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from penstock.core.graph import FlowGraph

EXACTLY: Final = 1e-12
"""Share by which a number may miss a whole one and still be taken for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Cores to divide, and the fewest and the most of each module.

    >>> bounds = Bounds(cores=8, low={"a": 1, "b": 1}, high={"a": 4, "b": 20})
    >>> bounds.room, bounds.within({"a": 6.0, "b": 2.5})
    (6, {'a': 4, 'b': 2})
    """

    cores: int
    low: Mapping[str, int]
    high: Mapping[str, int]

    @classmethod
    def of(cls, graph: FlowGraph, cores: int) -> "Bounds":
        """Those of the modules of a graph."""
        return cls(
            cores=cores,
            low={module.name: module.min_replicas for module in graph.modules},
            high={module.name: module.max_replicas for module in graph.modules},
        )

    @property
    def room(self) -> int:
        """Cores beyond the fewest of all modules."""
        return self.cores - sum(self.low.values())

    def within(self, resource: Mapping[str, float]) -> dict[str, int]:
        """Whole cores of each module, rounded down and moved into the bounds."""
        return {
            name: min(max(floor(resource.get(name, 0.0) * (1 + EXACTLY)), low), self.high[name])
            for name, low in self.low.items()
        }

    def admits(self, division: Mapping[str, int]) -> bool:
        """Whether a division of all modules keeps to the bounds and to the cores.

        >>> Bounds(cores=3, low={"a": 1}, high={"a": 4}).admits({"a": 4})
        False
        """
        inside = all(low <= division[name] <= self.high[name] for name, low in self.low.items())
        return inside and sum(division.values()) <= self.cores


def whole_up(resource: float) -> int:
    """The fewest whole cores that hold so much.

    >>> whole_up(2.1), whole_up(3.0 * (1 + 1e-15))
    (3, 3)
    """
    return ceil(resource * (1 - EXACTLY))
