"""The frequency and the energy of this machine's processors, in files of the kernel (sysfs).

The files hold one short value each, appear and vanish with processors, and most belong to root.
Reading never fails: what cannot be read or parsed is None.

`Cpufreq`: all processors run at one frequency (mpc, assumption A1). It is held by setting the
lowest and the highest that their governors may choose to the same value, or with the governor
`userspace` where a machine has no such limits. What was there before is put back when the block
ends, also by an error or Ctrl-C; the command line turns the other signals that can be caught into
the same. Only root may set it.

    with Cpufreq.find() as cpufreq:
        cpufreq.set(1.6)

`Powercap`: a counter (RAPL) counts microjoules and wraps around, so power is always that between
two readings. On most systems only root may read them.

    meter = Powercap.find()
    before = meter.read()
    ...
    meter.watts(before, meter.read(), seconds=1.0)    # {'package-0': 31.2, 'package-0/core': 18.4}
"""

import errno
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from penstock.core.errors import FileError, PenstockError, PlantError, SettingError

SYSFS: Final = Path("/sys")

_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_GONE: Final = (errno.ENOENT, errno.ENODEV, errno.EBUSY)
"""What the kernel answers for a processor that was taken offline."""


def text(path: Path) -> str | None:
    """The content of a file, or None if it is unreadable or empty."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def words(path: Path) -> tuple[str, ...]:
    """The words of a file; none where it cannot be read."""
    return tuple((text(path) or "").split())


def whole(path: Path) -> int | None:
    """The whole number in a file, or None where there is none.

    >>> whole(Path("/nowhere/scaling_cur_freq")) is None
    True
    """
    return number(text(path))


def number(word: str | None) -> int | None:
    """A whole number as the kernel writes it.

    >>> number("1200000"), number("<unsupported>"), number("-5")
    (1200000, None, None)
    """
    return int(word) if word and word.isascii() and word.isdigit() else None


def write(path: Path, value: str) -> bool:
    """Write a value; False where the processor that it is for is gone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)  # must not create what is gone
        with os.fdopen(descriptor, "w", encoding="ascii") as file:  # closes it, whatever happens
            file.write(value)
    except OSError as error:
        if error.errno in _GONE:
            return False
        raise FileError(_refusal(path, value, error)) from error
    return True


def _refusal(path: Path, value: str, error: OSError) -> str:
    if error.errno in _FORBIDDEN:
        return (
            f"setting the CPU frequency needs root, and {path} cannot be written; "
            "run as root or leave the frequency alone"
        )
    return f"the kernel refused {value!r} for {path}: {error.strerror}; leave the frequency alone"


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
