"""A folder that looks like the kernel's /sys, with processors and energy counters of our own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SPEEDS: Final = "2000000 1900000 1800000 1700000 1600000 1500000 1400000 1300000 1200000"
CPUFREQ: Final = {
    "scaling_available_frequencies": SPEEDS,
    "cpuinfo_min_freq": "1200000",
    "cpuinfo_max_freq": "2000000",
    "scaling_min_freq": "1200000",
    "scaling_max_freq": "2000000",
    "scaling_governor": "ondemand",
    "scaling_available_governors": "ondemand performance",
    "scaling_setspeed": "<unsupported>",
    "scaling_cur_freq": "1234567",
}
USERSPACE: Final = {
    "scaling_min_freq": None,
    "scaling_max_freq": None,
    "scaling_available_governors": "ondemand userspace",
}
"""A driver without limits."""


def put(folder: Path, files: dict[str, str | None]) -> Path:
    """A folder with these files, each ending its line as the kernel does; None leaves one out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        if value is not None:
            (folder / name).write_text(value + "\n")
    return folder


def cpu(root: Path, number: int, files: dict[str, str | None] | None = None) -> Path:
    """A processor with a clock of its own; what is given differs from the usual."""
    folder = root / f"devices/system/cpu/cpu{number}"
    return put(folder / "cpufreq", {**CPUFREQ, **(files or {})})


def zone(root: Path, name: str, files: dict[str, str | None]) -> Path:
    """An energy counter."""
    return put(root / "class/powercap" / name, files)


def package(root: Path, number: int, *, core: bool = True) -> None:
    """The counters of a processor package, with room for 1,000 J."""
    counts: dict[str, str | None] = {"energy_uj": "0", "max_energy_range_uj": "1000000000"}
    zone(root, f"intel-rapl:{number}", {**counts, "name": f"package-{number}"})
    zone(root, f"intel-rapl:{number}:1", {**counts, "name": "dram"})
    if core:
        zone(root, f"intel-rapl:{number}:0", {**counts, "name": "core"})


def said(folder: Path, *names: str) -> tuple[str, ...]:
    """What files say."""
    return tuple((folder / name).read_text().strip() for name in names)


def limits(folder: Path) -> tuple[str, ...]:
    """The lowest and the highest that a governor may choose."""
    return said(folder, "scaling_min_freq", "scaling_max_freq")


@contextmanager
def without_privileges() -> Iterator[None]:
    """As nobody in particular, where the tests are run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
