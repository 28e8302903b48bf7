"""What a plant asks of the machine that it runs on: at which frequency, at how many watts.

`Machine` is this machine, as far as it can be seen and set; `Modelled` is one that is only thought,
with the same methods. Power that was not measured comes from the model of `penstock.model.power`
and says so.

>>> with Modelled() as processors:
...     processors.set(1.6)
...     before = processors.read(at=0.0, replicas=4)
...     power = processors.power(before, processors.read(at=1.0, replicas=4))
>>> round(power.watts, 1), power.modelled
(20.9, True)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from penstock.core.errors import SettingError
from penstock.core.signals import Power
from penstock.model.power import CAPACITANCE, EXTRA_CORES, VOLTAGES, VoltageTable, power
from penstock.spark.machine.cpufreq import Cpufreq
from penstock.spark.machine.powercap import Powercap
from penstock.spark.machine.sysfs import SYSFS


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The machine at one moment."""

    at: float
    """Seconds since the run began."""
    replicas: int
    """That were running."""
    frequency: float | None
    """GHz, where it is known."""
    microjoules: Mapping[str, int] = field(default_factory=dict)
    """Of each energy counter that could be read."""


class Processors(Protocol):
    """Processors with a frequency and a power. As a context, they are left as they were found."""

    @property
    def frequencies(self) -> tuple[float, ...]:
        """GHz that can be set, the lowest first; none where none can."""
        ...

    @property
    def frequency(self) -> float | None:
        """GHz in force, where that is known."""
        ...

    def set(self, ghz: float) -> None:
        """Run all processors at a frequency."""
        ...

    def read(self, *, at: float, replicas: int) -> Reading:
        """The machine now, so that power can be told between two readings."""
        ...

    def power(self, previous: Reading, now: Reading) -> Power | None:
        """Mean watts between two readings, measured or modelled; None where neither can be."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None: ...


@dataclass(slots=True, kw_only=True)
class Modelled:
    """Processors that are only thought: they run at what they are told, and power is modelled."""

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
        """Of what runs now, since decisions take effect just after a reading."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Nothing was touched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """This machine, as far as it can be seen and set.

    >>> Machine.find(Path("/nowhere")).frequencies
    ()
    """

    clock: Cpufreq | None = None
    meter: Powercap | None = None
    model: Modelled = field(default_factory=Modelled)
    """Stands in for the meter where there is none or it cannot be read."""

    @classmethod
    def find(cls, root: Path = SYSFS, *, voltages: VoltageTable = VOLTAGES) -> Self:
        """What there is of it; nothing is changed by looking."""
        return cls(
            clock=Cpufreq.find(root),
            meter=Powercap.find(root),
            model=Modelled(voltages=voltages),
        )

    @property
    def frequencies(self) -> tuple[float, ...]:
        """GHz that can be set, the lowest first; none where the machine has no cpufreq."""
        return self.clock.frequencies if self.clock else ()

    @property
    def frequency(self) -> float | None:
        """GHz in force, where that is known."""
        return self.clock.frequency if self.clock else None

    def set(self, ghz: float) -> None:
        """Run all processors at a frequency; needs root."""
        if self.clock is None:
            raise SettingError(
                f"this machine has no cpufreq, so it cannot be set to {ghz:g} GHz; "
                "leave the frequency alone"
            )
        self.clock.set(ghz)

    def read(self, *, at: float, replicas: int) -> Reading:
        """What runs now, and the energy counters."""
        counts = self.meter.read() if self.meter else {}
        return Reading(at=at, replicas=replicas, frequency=self.frequency, microjoules=counts)

    def power(self, previous: Reading, now: Reading) -> Power | None:
        """Measured where every counter could be read, and otherwise modelled."""
        watts = self._measured(previous, now)
        if watts is None:
            return self.model.power(previous, now)
        return Power(watts=watts, modelled=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.clock:
            self.clock.__exit__(kind, error, at)

    def _measured(self, previous: Reading, now: Reading) -> float | None:
        if self.meter is None:
            return None
        return self.meter.total(previous.microjoules, now.microjoules, seconds=now.at - previous.at)
