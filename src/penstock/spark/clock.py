"""The clock of the machine beneath the executors: set by decisions, left as it was found.

Where the machine has none that can be set, one that is only thought stands in: power is modelled,
and rows that wait for their service time wait as much longer as the clock is slower.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.core.signals import Power
from penstock.model.power import VOLTAGES, VoltageTable
from penstock.spark.machine import Machine, Modelled, Processors, Reading


def find_processors(*, decides: bool, voltages: VoltageTable = VOLTAGES) -> Processors | None:
    """This machine's, or stand-ins where a policy decides about a clock that cannot be set; None
    where there is nothing to decide and nothing to measure."""
    machine = Machine.find(voltages=voltages)
    may_set = bool(machine.frequencies) and os.geteuid() == 0
    if may_set or (machine.meter is not None and not decides):
        return machine
    return Modelled(voltages=voltages) if decides else None


@dataclass(slots=True, kw_only=True)
class Clock:
    """Processors as a plant uses them."""

    processors: Processors
    on_pace: Callable[[float], None] = lambda pace: None  # noqa: ARG005
    """Told how fast modelled processors are, as a share of their highest frequency."""
    _before: Reading | None = field(default=None, repr=False)

    @property
    def frequency(self) -> float | None:
        """GHz in force."""
        return self.processors.frequency

    def set(self, ghz: float) -> bool:
        """Run at the frequency nearest to the one decided; False where that is in force.

        >>> clock = Clock(processors=Modelled())
        >>> clock.set(1.34), clock.frequency, clock.set(1.3)
        (True, 1.3, False)
        """
        known = self.processors.frequencies
        nearest = min(known, key=lambda f: abs(f - ghz)) if known else ghz
        if nearest == self.processors.frequency:
            return False
        self.processors.set(nearest)
        if isinstance(self.processors, Modelled):
            self.on_pace(nearest / known[-1])
        return True

    def power(self, *, at: float, replicas: int) -> Power | None:
        """Mean watts since the last time it was asked."""
        now = self.processors.read(at=at, replicas=replicas)
        before, self._before = self._before, now
        return None if before is None else self.processors.power(before, now)
