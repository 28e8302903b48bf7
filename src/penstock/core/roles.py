"""The interfaces of plug-ins: protocols of one or two methods; no base class is needed."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Configuration, Decision, Observation


@runtime_checkable
class Policy(Protocol):
    """Decides. Wrappers and hierarchies of policies are policies too."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What to do next, and why."""
        ...


@runtime_checkable
class Plant(Protocol):
    """Something that processes rows and can be resized: Spark, the twin, a recording."""

    def readings(self) -> Iterator[Observation]:
        """What each control step measured, until the run ends."""
        ...

    def apply(self, decision: Decision, /) -> Configuration | None:
        """Act on a decision; returns what was asked for, or None where nothing had to change."""
        ...


@runtime_checkable
class Workload(Protocol):
    """How many rows come, and when. Seconds count from the start of the run.

    `arrivals` is the cumulative number of rows by each moment: it starts at zero, never falls,
    and depends on nothing but its argument, so that a batch can be replayed exactly. `times` is
    its inverse.
    """

    def rate(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows a second at each moment."""
        ...

    def arrivals(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows that have come by each moment."""
        ...

    def times(self, index: NDArray[np.float64]) -> NDArray[np.float64]:
        """The moment at which each row comes, the first row having index 0; inf for never."""
        ...


@runtime_checkable
class Forecaster(Protocol):
    """Foresees a rate, online."""

    def update(self, value: float, /) -> None:
        """Take in the newest measurement."""
        ...

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next `steps` values; empty of meaning (NaN) before the first update."""
        ...
