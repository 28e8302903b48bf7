"""The machine that a plant runs on: its CPU frequency, which decisions set, and its power.

`Machine` is this machine, as far as it can be read and set; `ModelledMachine` has the same methods
and no hardware. Power that was not measured comes from the model of `penstock.model.power` and is
marked as modelled. `FrequencyControl` is what the plant uses of either: it sets the decided
frequency and reports the mean power of a step. On a modelled machine, rows that wait for their
service time wait longer in proportion to the lower frequency.

>>> with ModelledMachine() as processors:
...     processors.set(1.6)
...     before = processors.read(at=0.0, replicas=4)
...     power = processors.power(before, processors.read(at=1.0, replicas=4))
>>> round(power.watts, 1), power.modelled
(20.9, True)
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from penstock.core.errors import SettingError
from penstock.core.signals import Power
from penstock.model.power import CAPACITANCE, EXTRA_CORES, VOLTAGES, VoltageTable, power
from penstock.spark.machine.sysfs import SYSFS, Cpufreq, Powercap


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The machine at one moment."""

    at: float
    """Seconds since the start of the run."""
    replicas: int
    """That were running."""
    frequency: float | None
    """GHz, where it is known."""
    microjoules: Mapping[str, int] = field(default_factory=dict)
    """Of each energy counter that could be read."""


@dataclass(slots=True, kw_only=True)
class ModelledMachine:
    """A machine without hardware: the frequency is what was set, and power is modelled."""

    voltages: VoltageTable = VOLTAGES
    capacitance: float = CAPACITANCE
    extra_cores: int = EXTRA_CORES
    frequency: float | None = None
    """GHz; the highest of the table until another is set."""

    def __post_init__(self) -> None:
        """Refuse a frequency that the table lacks."""
        self.set(self.frequencies[-1] if self.frequency is None else self.frequency)

    @property
    def frequencies(self) -> tuple[float, ...]:
        """Those of the voltage table."""
        return self.voltages.frequencies

    def set(self, ghz: float) -> None:
        """Remember a frequency."""
        self.voltages.at(ghz)
        self.frequency = float(ghz)

    def read(self, *, at: float, replicas: int) -> Reading:
        """What runs now."""
        return Reading(at=at, replicas=replicas, frequency=self.frequency)

    def power(self, previous: Reading, now: Reading) -> Power | None:  # noqa: ARG002  # as metered
        """Mean watts of what runs now, since decisions take effect just after a reading."""
        frequency = self.frequencies[-1] if now.frequency is None else now.frequency
        if frequency not in self.voltages:  # as a real machine's may be
            return None
        watts = power(
            now.replicas,
            frequency,
            self.voltages,
            capacitance=self.capacitance,
            extra_cores=self.extra_cores,
        )
        return Power(watts=watts, modelled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """This machine, as far as it can be read and set.

    >>> Machine.find(Path("/nowhere")).frequencies
    ()
    """

    cpufreq: Cpufreq | None = None
    meter: Powercap | None = None
    model: ModelledMachine = field(default_factory=ModelledMachine)
    """Used where the meter is missing or cannot be read."""

    @classmethod
    def find(cls, root: Path = SYSFS, *, voltages: VoltageTable = VOLTAGES) -> Self:
        """Its cpufreq and meter, where it has them."""
        return cls(
            cpufreq=Cpufreq.find(root),
            meter=Powercap.find(root),
            model=ModelledMachine(voltages=voltages),
        )

    @property
    def frequencies(self) -> tuple[float, ...]:
        """GHz that can be set, the lowest first; empty without cpufreq."""
        return self.cpufreq.frequencies if self.cpufreq else ()

    @property
    def frequency(self) -> float | None:
        """GHz now; None if unknown."""
        return self.cpufreq.frequency if self.cpufreq else None

    def set(self, ghz: float) -> None:
        """Run all processors at a frequency; needs root."""
        if self.cpufreq is None:
            raise SettingError(
                f"this machine has no cpufreq, so it cannot be set to {ghz:g} GHz; "
                "leave the frequency alone"
            )
        self.cpufreq.set(ghz)

    def read(self, *, at: float, replicas: int) -> Reading:
        """What runs now, and the energy counters."""
        counts = self.meter.read() if self.meter else {}
        return Reading(at=at, replicas=replicas, frequency=self.frequency, microjoules=counts)

    def power(self, previous: Reading, now: Reading) -> Power | None:
        """Measured where every counter could be read, and otherwise modelled."""
        before, after, seconds = previous.microjoules, now.microjoules, now.at - previous.at
        watts = self.meter.total(before, after, seconds=seconds) if self.meter else None
        if watts is None:
            return self.model.power(previous, now)
        return Power(watts=watts, modelled=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self.cpufreq:
            self.cpufreq.__exit__(kind, error, trace)


Processors = Machine | ModelledMachine
"""Processors with a frequency and a power; at the end of a `with` block they are as before it."""


def find_processors(*, decides: bool, voltages: VoltageTable = VOLTAGES) -> Processors | None:
    """This machine, or a modelled one if a policy decides a frequency that cannot be set here; None
    if there is nothing to set or to measure."""
    machine = Machine.find(voltages=voltages)
    may_set = bool(machine.frequencies) and os.geteuid() == 0
    if may_set or (machine.meter is not None and not decides):
        return machine
    return ModelledMachine(voltages=voltages) if decides else None


@dataclass(slots=True, kw_only=True)
class FrequencyControl:
    """Sets the decided CPU frequency, and measures power from step to step."""

    processors: Processors
    on_slowdown: Callable[[float], None] = lambda share: None  # noqa: ARG005
    """Called with the share of its highest frequency that a modelled machine now runs at."""
    _before: Reading | None = field(default=None, repr=False)

    @property
    def frequency(self) -> float | None:
        """GHz now."""
        return self.processors.frequency

    def set(self, ghz: float) -> bool:
        """Set the nearest available frequency; False if it is set already.

        >>> control = FrequencyControl(processors=ModelledMachine())
        >>> control.set(1.34), control.frequency, control.set(1.3)
        (True, 1.3, False)
        """
        known = self.processors.frequencies
        nearest = min(known, key=lambda f: abs(f - ghz)) if known else ghz
        if nearest == self.processors.frequency:
            return False
        self.processors.set(nearest)
        if isinstance(self.processors, ModelledMachine):
            self.on_slowdown(nearest / known[-1])
        return True

    def power(self, *, at: float, replicas: int) -> Power | None:
        """Mean watts since the last call."""
        now = self.processors.read(at=at, replicas=replicas)
        before, self._before = self._before, now
        return None if before is None else self.processors.power(before, now)
