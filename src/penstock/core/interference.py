"""Load from outside: other processes that keep cores busy beside the executors (ppq, Section 5.4).

>>> beside = Interference(processes=2, from_=40.0, until=100.0, slowdown=1.5)
>>> beside.pace(10.0), beside.pace(40.0), beside.pace(100.0)
(1.0, 1.5, 1.0)
"""

from dataclasses import dataclass, replace
from math import inf
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.schema import Bounds, NotNegativeSeconds, Seconds, checked
from penstock.core.units import format_duration

MOST_PROCESSES: Final = 256
"""A slip of the finger must not bring a machine down."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("interference")
class Interference:
    """So many busy processes beside the executors, for a stretch of the run.

    >>> Interference(processes=2, from_=9.0, until=5.0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: until of interference must be after its from of 9 s, got 5 s
    """

    processes: Annotated[int, Bounds(least=0, most=MOST_PROCESSES)]
    """0 switches interference off."""
    from_: NotNegativeSeconds = 0.0
    """Seconds of the run after which they begin."""
    until: Seconds | None = None
    """Seconds of the run after which they end; None is the end of the run."""
    slowdown: Annotated[float, Bounds(least=1)] | None = None
    """How many times as long rows take meanwhile on the twin; on Spark they take what they take.
    None is what a fair scheduler makes of so many processes, see `among`."""

    def __post_init__(self) -> None:
        """Refuse a stretch that is none, and processes that would make rows faster."""
        if self.until is not None and not self.until > self.from_:
            raise SettingError(
                f"until of interference must be after its from of {format_duration(self.from_)}, "
                f"got {format_duration(self.until)}",
                fields=("until", "from"),
            )

    @property
    def end(self) -> float:
        """Seconds of the run after which it is over; infinite where it lasts to the end."""
        return inf if self.until is None else self.until

    def among(self, cores: int) -> "Interference":
        """The same with its slowdown filled in, for executors that share so many cores.

        Where every core has work, a scheduler that is fair to `cores + processes` leaves the
        executors `cores / (cores + processes)` of their speed. A slowdown that was given stays.

        >>> Interference(processes=4).among(16).slowdown
        1.25
        """
        return replace(self, slowdown=self.slowdown or 1.0 + self.processes / cores)

    def pace(self, at: float) -> float:
        """How many times as long a row takes that is begun at that moment of the run.

        Without a slowdown, as if all shared a single core.

        >>> Interference(processes=3).pace(0.0)
        4.0
        """
        if not self.processes or not self.from_ <= at < self.end:
            return 1.0
        return self.slowdown or 1.0 + self.processes

    def edges(self) -> tuple[float, ...]:
        """The moments after the start of the run at which `pace` changes, in order.

        >>> Interference(processes=1, from_=40.0, until=100.0).edges()
        (40.0, 100.0)
        >>> Interference(processes=1).edges(), Interference(processes=0, from_=5.0).edges()
        ((), ())
        """
        if not self.processes:
            return ()
        return tuple(at for at in (self.from_, self.end) if 0 < at < inf)
