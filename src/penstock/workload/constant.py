"""The same rate for ever."""

from dataclasses import dataclass

from penstock.core.settings import rate
from penstock.workload.checks import not_negative
from penstock.workload.curve import Curve, Curved


@dataclass(frozen=True, slots=True)
class Constant(Curved):
    """Rows at one rate, evenly spaced.

    >>> import numpy as np
    >>> Constant(4.0).times(np.arange(3.0)).tolist()
    [0.25, 0.5, 0.75]
    """

    rate_: float = rate()
    """Rows a second."""

    def __post_init__(self) -> None:
        """Refuse a rate that cannot be."""
        not_negative(self.rate_, "rate of workload constant")

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # endless
        """One segment."""
        return Curve.through(starts=[0.0], rates=[self.rate_])
