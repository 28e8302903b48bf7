"""`penstock doctor`: what this machine lacks, and the remedy."""

import os
import shutil
import socket
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from penstock.cli.options import Option
from penstock.cli.output import print_json, print_line
from penstock.core.errors import PenstockError
from penstock.core.extras import BASE, EXTRAS, Extra
from penstock.core.extras import remedy as remedy_of

HELP: Final = "check this machine for missing requirements and name the remedy"
EXAMPLES: Final = """\
examples:
  penstock doctor
  penstock doctor --out /data/runs
  penstock doctor --json | jq '.[] | select(.status != "ok")'
"""


OPTIONS: Final = (Option("--out", "DIR", "folder of runs (runs)", default="runs"),)


def execute(args: Namespace) -> int:
    """Examine the machine; 2 where something fails."""
    findings = check_machine(args.out)
    if args.json:
        print_json([asdict(finding) for finding in findings])
    else:
        width = max(len(finding.name) for finding in findings) + 2
        for finding in findings:
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            print_line(f"{finding.status:<6}{finding.name:<{width}}{finding.detail}{remedy}")
    return 2 if any(finding.status == "fail" for finding in findings) else 0


# The checks of `penstock doctor`, one function each.


GIB: Final = 2**30
_VERSIONS: Final = {"pyspark": "4.3"}
"""How the versions of some packages must begin."""
_CGROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    status: str
    """`ok`, `warn` (runs may suffer, or some commands refuse) or `fail` (runs will not start)."""
    detail: str
    remedy: str = ""
    """What to do about it; empty where nothing is to be done."""


def check_machine(runs: str) -> list[Finding]:
    """Every finding, in the order in which a run would stumble over them."""
    return [
        check_python(sys.version_info[:3]),
        *(check_package(name) for name in BASE),
        *check_extras(),
        check_java(),
        check_cores(usable_cores()),
        check_memory(available_memory()),
        check_folder(Path(runs)),
        check_disk(Path(runs)),
        check_loopback(),
    ]


def check_python(running: tuple[int, ...]) -> Finding:
    """The Python that this runs on.

    >>> check_python((3, 10, 1)).status
    'fail'
    """
    text = ".".join(str(part) for part in running)
    if running < (3, 11):
        return Finding("python", "fail", text, "install 3.11 or newer")
    return Finding("python", "ok", text)


def check_package(name: str) -> Finding:
    """A package that is needed for everything.

    >>> check_package("no-such-package").status
    'fail'
    """
    if (present := installed(name)) is None:
        return Finding(name, "fail", "not installed", f"run pip install {name}")
    return Finding(name, "ok", present)


def check_extras() -> Iterator[Finding]:
    """The packages of extras that are here, then each extra with what it is for."""
    packages = dict.fromkeys(name for extra in EXTRAS.values() for name in extra.packages)
    for name in packages:
        if (present := installed(name)) is not None:
            yield check_version(name, present, _VERSIONS.get(name, ""))
    for name, extra in EXTRAS.items():
        yield check_extra(name, extra)


def check_extra(name: str, extra: Extra) -> Finding:
    """Whether all packages of an extra are here; without them some commands refuse.

    >>> check_extra("twin", Extra(purpose="simulate", packages=("numpy", "no-such-package")))
    Finding(name='twin', status='warn', detail='for simulate: no-such-package is not installed', \
remedy="if you need that, pip install 'penstock[twin]'")
    """
    missing = [package for package in extra.packages if installed(package) is None]
    if not missing:
        return Finding(name, "ok", f"for {extra.purpose}")
    verb = "is" if len(missing) == 1 else "are"
    detail = f"for {extra.purpose}: {', '.join(missing)} {verb} not installed"
    return Finding(name, "warn", detail, f"if you need that, {remedy_of(name)}")


def installed(name: str) -> str | None:
    """The version of a package, where it is installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def check_version(name: str, present: str, wanted: str) -> Finding:
    """A package's version.

    >>> check_version("pyspark", "3.5.1", "4.3").remedy
    "run pip install 'pyspark~=4.3.0'"
    """
    if not f"{present}.".startswith(f"{wanted}." if wanted else ""):
        return Finding(name, "fail", present, f"run pip install '{name}~={wanted}.0'")
    return Finding(name, "ok", present)


def check_java() -> Finding:
    """The Java that Spark would run on; no matter where there is no Spark."""
    try:
        from penstock.spark.java import find_java

        java = find_java()
    except PenstockError as error:
        detail, _, remedy = str(error).partition("; ")
        status = "warn" if installed("pyspark") is None else "fail"
        return Finding("java", status, detail, remedy)
    return Finding("java", "ok", f"{java.version} from {java.origin}, {java.home}")


def check_cores(cores: int) -> Finding:
    """Cores that this process may use."""
    if cores < 2:
        remedy = "executors will take turns; expect slow starts"
        return Finding("cores", "warn", str(cores), remedy)
    return Finding("cores", "ok", str(cores))


def check_memory(available: int | None) -> Finding:
    """Memory for the cluster: about 1.5 GB, and half a GB for each executor.

    >>> check_memory(GIB).status, check_memory(3 * GIB).status, check_memory(8 * GIB).status
    ('fail', 'warn', 'ok')
    """
    if available is None:
        return Finding("memory", "warn", "unknown on this system")
    remedy = "close other programs, or lower max_replicas and cluster.executor_memory"
    return _space("memory", available, fail=2 * GIB, warn=5 * GIB, remedy=remedy)


def check_folder(runs: Path) -> Finding:
    """Whether the folder of runs can be written, without making it."""
    try:
        with tempfile.TemporaryFile(dir=nearest(runs)):
            return Finding("folder", "ok", f"{runs} can be written")
    except OSError as error:
        detail = f"{runs} cannot be written ({error.strerror})"
        return Finding("folder", "fail", detail, "give --out another")


def check_disk(runs: Path) -> Finding:
    """Space where runs are recorded."""
    try:
        free = shutil.disk_usage(nearest(runs)).free
    except OSError as error:
        return Finding("disk", "warn", f"unknown ({error.strerror})")
    return _space("disk", free, fail=GIB / 10, warn=GIB, remedy="free some space")


def _space(name: str, free: int, *, fail: float, warn: float, remedy: str) -> Finding:
    """Free bytes, and whether they are below those at which runs fail or may suffer."""
    status = "fail" if free < fail else "warn" if free < warn else "ok"
    return Finding(name, status, f"{free / GIB:.1f} GB free", "" if status == "ok" else remedy)


def check_loopback() -> Finding:
    """Whether processes of this machine can talk to one another."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            socket.create_connection(address, timeout=5).close()
    except OSError as error:
        detail = f"no port of 127.0.0.1 can be opened ({error.strerror})"
        return Finding("loopback", "fail", detail, "allow connections to 127.0.0.1")
    return Finding("loopback", "ok", f"127.0.0.1, as on port {address[1]}")


def nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that is there."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.exists())


def usable_cores() -> int:
    """Cores that this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes that can be had without swapping, within the limit of a container."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    lines = dict(line.split(":", 1) for line in text.splitlines())
    free = int(lines["MemAvailable"].split()[0]) * 1024
    limit, used = _cgroup("memory.max"), _cgroup("memory.current")
    return free if limit is None or used is None else min(free, max(limit - used, 0))


def _cgroup(name: str) -> int | None:
    try:
        return int((_CGROUP / name).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no container, or no limit
        return None
