"""The frequency of this machine's processors, read and set through sysfs.

All processors run at one frequency (mpc, assumption A1). It is held by setting the lowest and the
highest that their governors may choose to the same value, or with the governor `userspace` where a
machine has no such limits. What was there before is put back when the block ends, also by an error
or Ctrl-C; the command line turns the other signals that can be caught into the same.

    with Cpufreq.find() as cpufreq:
        cpufreq.set(1.6)

Only root may set it. Reading is free.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from penstock.core.errors import PenstockError, PlantError, SettingError
from penstock.spark.machine.sysfs import SYSFS, number, text, whole, words, write

_LOW: Final = "scaling_min_freq"
_HIGH: Final = "scaling_max_freq"
_GOVERNOR: Final = "scaling_governor"
_SPEED: Final = "scaling_setspeed"
_STEP: Final = 100_000
"""Kilohertz between the frequencies of a driver that lists only the lowest and the highest."""


@dataclass(slots=True)
class Cpufreq:
    """The CPU frequency of a machine. Frequencies are in GHz, the lowest first."""

    root: Path
    frequencies: tuple[float, ...]
    """That every processor has."""
    _before: dict[Path, dict[str, str]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def find(cls, root: Path = SYSFS) -> Self | None:
        """The cpufreq of this machine, or None if it has none."""
        speeds = [speeds for policy in _policies(root) if (speeds := _speeds(policy))]
        common = sorted(set[int].intersection(*speeds)) if speeds else []
        return cls(root, tuple(khz / 1e6 for khz in common)) if common else None

    @property
    def governors(self) -> tuple[str, ...]:
        """Governors in force, each once."""
        return tuple(sorted({w for p in _policies(self.root) for w in words(p / _GOVERNOR)}))

    @property
    def limits(self) -> tuple[float, float] | None:
        """Between which frequencies the governors may choose, or None if unknown."""
        lows = [k for p in _policies(self.root) if (k := whole(p / _LOW)) is not None]
        highs = [k for p in _policies(self.root) if (k := whole(p / _HIGH)) is not None]
        return (min(lows) / 1e6, max(highs) / 1e6) if lows and highs else None

    @property
    def frequency(self) -> float | None:
        """What the fastest processor runs at, as the nearest of `frequencies`."""
        speeds = [k for p in _policies(self.root) if (k := _current(p)) is not None]
        if not speeds:
            return None
        return min(self.frequencies, key=lambda ghz: abs(ghz - max(speeds) / 1e6))

    def set(self, ghz: float) -> None:
        """Hold all processors at a frequency."""
        khz = self._khz(ghz)
        for policy in _policies(self.root):
            values = _hold(policy, khz)
            self._remember(policy)
            for name, value in values:
                write(policy / name, value)

    def restore(self) -> None:
        """Put back what was there before the first `set`; every file that can be, in any case."""
        refused = []
        for policy, before in self._before.items():
            for name, value in _put_back(policy, before):
                try:
                    write(policy / name, value)
                except PenstockError:
                    refused.append(f"{policy / name} to {value}")
        self._before.clear()
        if refused:
            raise PlantError(f"the CPU frequency could not be put back: set {', '.join(refused)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.restore()
        except PlantError as failure:
            if error is None:
                raise
            error.add_note(str(failure))  # what ended the block matters more

    def _khz(self, ghz: float) -> int:
        for known in self.frequencies:
            if abs(known - ghz) < 5e-4:
                return round(known * 1e6)
        raise SettingError(
            f"this machine cannot run at {ghz:g} GHz; "
            f"choose one of {', '.join(f'{known:g}' for known in self.frequencies)}"
        )

    def _remember(self, policy: Path) -> None:
        if policy in self._before:
            return
        present = _present(policy)
        for name, value in present.items():
            if value is None or (name != _GOVERNOR and number(value) is None):
                raise PlantError(
                    f"{policy / name} says {value}, which could not be put back; "
                    "leave the frequency alone"
                )
        self._before[policy] = {name: value or "" for name, value in present.items()}


def _policies(root: Path) -> tuple[Path, ...]:
    """The folder of each group of processors that share a clock, of those that are online."""
    cpus = (root / "devices/system/cpu").glob("cpu[0-9]*")
    online = (cpu / "cpufreq" for cpu in cpus if text(cpu / "online") != "0")
    return tuple(sorted({folder.resolve() for folder in online if folder.is_dir()}))


def _speeds(policy: Path) -> set[int]:
    """In kilohertz, as the driver lists them or in steps between its lowest and highest."""
    low, high = whole(policy / "cpuinfo_min_freq"), whole(policy / "cpuinfo_max_freq")
    listed = {number(word) or 0 for word in words(policy / "scaling_available_frequencies")}
    sound = {khz for khz in listed if (low or 1) <= khz <= (high or khz)}
    if sound or not low or not high:
        return sound
    return set(range(-(-low // _STEP) * _STEP, high + 1, _STEP))


def _current(policy: Path) -> int | None:
    """Kilohertz: what it is held at, or what it happens to run at."""
    if text(policy / _GOVERNOR) == "userspace" and (held := whole(policy / _SPEED)):
        return held
    low, high = whole(policy / _LOW), whole(policy / _HIGH)
    return high if low == high and high else whole(policy / "scaling_cur_freq")


def _hold(policy: Path, khz: int) -> Iterable[tuple[str, str]]:
    """What to write where, in order, to hold a frequency."""
    if _has_limits(policy):
        return _between(policy, str(khz), str(khz))
    if "userspace" in words(policy / "scaling_available_governors"):
        return (_GOVERNOR, "userspace"), (_SPEED, str(khz))
    raise PlantError(
        f"{policy} has neither limits nor the governor userspace, so no frequency can be set; "
        "leave the frequency alone"
    )


def _present(policy: Path) -> dict[str, str | None]:
    """What has to be put back, as it stands."""
    if _has_limits(policy):
        return {_LOW: text(policy / _LOW), _HIGH: text(policy / _HIGH)}
    governor = text(policy / _GOVERNOR)
    return {_SPEED: text(policy / _SPEED)} if governor == "userspace" else {_GOVERNOR: governor}


def _put_back(policy: Path, before: dict[str, str]) -> Iterable[tuple[str, str]]:
    """What to write where, in order, to leave a processor as it was."""
    return _between(policy, before[_LOW], before[_HIGH]) if _LOW in before else before.items()


def _has_limits(policy: Path) -> bool:
    return (policy / _LOW).exists() and (policy / _HIGH).exists()


def _between(policy: Path, low: str, high: str) -> Iterable[tuple[str, str]]:
    rises = (number(high) or 0) > (whole(policy / _HIGH) or 0)
    return in_order(low, high, rises=rises)


def in_order(low: str, high: str, *, rises: bool) -> tuple[tuple[str, str], tuple[str, str]]:
    """Both limits, such that the lower is above the higher at no time: older kernels refuse that.

    >>> in_order("1600000", "1600000", rises=False)
    (('scaling_min_freq', '1600000'), ('scaling_max_freq', '1600000'))
    """
    floor, ceiling = (_LOW, low), (_HIGH, high)
    return (ceiling, floor) if rises else (floor, ceiling)
