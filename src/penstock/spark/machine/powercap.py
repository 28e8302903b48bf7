"""The energy that this machine's processors took, from the counters that the kernel shows (RAPL).

A counter counts microjoules and wraps around, so power is always that between two readings. On
most systems only root may read them.

    meter = Powercap.find()
    before = meter.read()
    ...
    meter.watts(before, meter.read(), seconds=1.0)    # {'package-0': 31.2, 'package-0/core': 18.4}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from penstock.spark.machine.sysfs import SYSFS, text, whole

_ZONE: Final = re.compile(r"(intel-rapl:\d+)(:\d+)?")  # AMD's counters have Intel's name too


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One energy counter."""

    name: str
    """Such as `package-0`, or `package-0/core` for its cores alone."""
    folder: Path
    most: int | None
    """Microjoules at which it wraps around, if known."""

    def read(self) -> int | None:
        """Microjoules counted, or None if unreadable."""
        return whole(self.folder / "energy_uj")

    def between(self, before: int, after: int) -> int | None:
        """Microjoules from one reading to the next.

        None if unknown: a difference of more than half of its range means that the counter was
        reset or misread, not that it wrapped around.

        >>> counter = Counter(name="package-0", folder=Path("/nowhere"), most=1000)
        >>> counter.between(300, 450), counter.between(950, 50), counter.between(450, 300)
        (150, 100, None)
        """
        if self.most is None:
            return after - before if after >= before else None
        taken = after - before if after >= before else after - before + self.most
        return taken if 0 <= taken <= self.most / 2 else None


@dataclass(frozen=True, slots=True)
class Powercap:
    """The energy counters of a machine."""

    counters: tuple[Counter, ...]

    @classmethod
    def find(cls, root: Path = SYSFS) -> Self | None:
        """The counters of processor packages and of their cores, or None where there are none."""
        zones = sorted((root / "class/powercap").glob("intel-rapl:*"))
        counters = tuple(counter for zone in zones if (counter := _counter(zone)) is not None)
        return cls(counters) if counters else None

    @property
    def processors(self) -> tuple[str, ...]:
        """The counters that add up to the processors: their cores, as in the mpc paper, or whole
        packages where not every one has a counter for its cores."""
        names = {counter.name for counter in self.counters}
        packages = sorted(name for name in names if "/" not in name)
        cores = [f"{name}/core" for name in packages]
        return tuple(cores if names.issuperset(cores) else packages)

    def read(self) -> dict[str, int]:
        """Microjoules of each counter that can be read."""
        readings = {counter.name: counter.read() for counter in self.counters}
        return {name: count for name, count in readings.items() if count is not None}

    def watts(
        self, before: Mapping[str, int], after: Mapping[str, int], *, seconds: float
    ) -> dict[str, float]:
        """Mean watts of each counter between two readings, as far as known."""
        if not seconds > 0.0:
            return {}
        both = [c for c in self.counters if c.name in before and c.name in after]
        taken = {c.name: c.between(before[c.name], after[c.name]) for c in both}
        return {name: uj / 1e6 / seconds for name, uj in taken.items() if uj is not None}

    def total(
        self, before: Mapping[str, int], after: Mapping[str, int], *, seconds: float
    ) -> float | None:
        """Mean watts of all processors; None if one of them is unknown."""
        watts = self.watts(before, after, seconds=seconds)
        if not watts.keys() >= set(self.processors):
            return None
        return sum(watts[name] for name in self.processors)


def _counter(zone: Path) -> Counter | None:
    """The counter of a package or of its cores; None for memory, graphics and the whole board."""
    parts = _ZONE.fullmatch(zone.name)
    if parts is None:
        return None
    package = text(zone.parent / parts[1] / "name") or ""
    within = text(zone / "name") if parts[2] else None
    if not package.startswith("package") or within not in (None, "core"):
        return None
    return Counter(
        name=f"{package}/core" if within else package,
        folder=zone,
        most=whole(zone / "max_energy_range_uj") or None,
    )
