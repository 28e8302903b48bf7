"""What a configuration takes in watts: mpc, Expr. 9.

The power of a processor that switches is proportional to its busy cores, to their frequency and to
the square of the voltage that the frequency needs. That is enough to compare configurations; a
figure from here is an estimate, and is labelled *modelled* wherever it is shown.

>>> round(power(12, 2.0), 2), round(power(12, 1.2), 2)
(68.25, 26.84)
>>> power(np.array([[1], [12]]), np.array([1.2, 2.0])).round(1)
array([[ 7.2, 18.2],
       [26.8, 68.2]])
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, nan
from typing import Final, Self

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.schema import read
from penstock.model.arrays import Numbers, Outcome, check, plain


@dataclass(frozen=True, slots=True)
class VoltageTable:
    """Volts by frequency in GHz. Frequencies are exact to the MHz.

    >>> table = VoltageTable({1.2: 0.85, 1.6: 0.95})
    >>> table.frequencies, table.at(1.6)
    ((1.2, 1.6), 0.95)
    >>> table.at(1.4)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: the voltage table has nothing for 1.4 GHz; add it, or use \
one of 1.2, 1.6
    """

    volts: Mapping[float, float]
    _by_mhz: Mapping[int, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.volts:
            raise SettingError("a voltage table needs at least one frequency, such as 2.0: 1.05")
        for frequency, volts in self.volts.items():
            _check_entry(frequency, volts)
        object.__setattr__(self, "volts", dict(sorted(self.volts.items())))
        object.__setattr__(self, "_by_mhz", {_mhz(f): v for f, v in self.volts.items()})
        if len(self._by_mhz) < len(self.volts):
            raise _twice(f"{frequency:g}" for frequency in self.volts)
        for (slow, before), (fast, after) in pairwise(self.volts.items()):
            if after < before:
                raise SettingError(
                    f"the voltage must not fall with the frequency, got {before:g} V at {slow:g} "
                    f"GHz and {after:g} V at {fast:g} GHz; exchange or correct them"
                )

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> Self:
        """A table as files hold it, with frequencies as texts or numbers.

        >>> VoltageTable.parse({"1.2": 0.85, "2.0": "1.05"}).volts
        {1.2: 0.85, 2.0: 1.05}
        """
        volts = {_number(f, "frequency", f): _number(v, "voltage", f) for f, v in given.items()}
        if len(volts) < len(given):
            raise _twice(map(str, given))
        return cls(volts)

    def __contains__(self, frequency: float) -> bool:
        return abs(frequency) < inf and _mhz(frequency) in self._by_mhz

    @property
    def frequencies(self) -> tuple[float, ...]:
        """In GHz, the lowest first."""
        return tuple(self.volts)

    def at(self, frequency: Numbers) -> Outcome:
        """Volts at a frequency, or at each of several."""
        asked = np.asarray(frequency, dtype=float)
        return plain(np.reshape([self._one(float(f)) for f in asked.flat], asked.shape))

    def _one(self, frequency: float) -> float:
        if frequency not in self:
            known = ", ".join(f"{f:g}" for f in self.frequencies)
            raise SettingError(
                f"the voltage table has nothing for {frequency:g} GHz; "
                f"add it, or use one of {known}"
            )
        return self._by_mhz[_mhz(frequency)]


def _mhz(frequency: float) -> int:
    return round(frequency * 1000.0)


def _twice(frequencies: Iterable[str]) -> SettingError:
    return SettingError(
        f"the voltage table has a frequency twice, got {', '.join(frequencies)} GHz; leave one out"
    )


def _check_entry(frequency: float, volts: float | None) -> None:
    if not 0.0 < frequency < inf:
        raise SettingError(
            f"a frequency of a voltage table must be above 0 GHz and finite, got {frequency:g}"
        )
    if volts is None or not 0.0 < volts < inf:
        raise SettingError(
            f"the voltage table has a hole at {frequency:g} GHz, got {volts}; "
            "give its volts or leave the frequency out"
        )


def _number(value: object, what: str, frequency: object) -> float:
    if value is None:
        return nan  # a hole, as the table's own check will say
    try:
        return float(read(float, value))
    except SettingError:
        raise SettingError(
            f"{what} of a voltage table must be a number, got {value!r} for {frequency} GHz"
        ) from None


VOLTAGES: Final = VoltageTable({(12 + i) / 10: round(0.85 + 0.025 * i, 3) for i in range(9)})
"""From 0.85 V at 1.2 GHz to 1.05 V at 2 GHz, in a straight line. The frequencies are those of the
mpc paper's processor; it prints no voltages, so these are our choice, of the size that such
processors have."""

EXTRA_CORES: Final = 3
"""Cores that are busy besides the replicas: splitter, merger and controller."""

CAPACITANCE: Final = 68.25 / (VOLTAGES.at(2.0) ** 2 * 2.0 * (12 + EXTRA_CORES))
"""Nanofarads of a core: calibrated so that 12 replicas at 2 GHz take the 68.25 W that the mpc paper
measured of its cores (Section 5.3.2). With 1, `power` is the bare V^2 f (n + 3)."""


def power(
    replicas: Numbers,
    frequency: Numbers,
    table: VoltageTable = VOLTAGES,
    *,
    capacitance: float = CAPACITANCE,
    extra_cores: float = EXTRA_CORES,
) -> Outcome:
    """Watts that replicas take at a frequency in GHz, with those that serve them: mpc, Expr. 9."""
    check(replicas=replicas, capacitance=capacitance, extra_cores=extra_cores)
    cores = np.asarray(replicas, dtype=float) + extra_cores
    return plain(capacitance * np.square(table.at(frequency)) * frequency * cores)
