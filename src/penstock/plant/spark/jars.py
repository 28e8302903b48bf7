"""Packages of Java from Maven Central, fetched once by Spark's own Ivy and then kept.

They lie in the user's cache, so that a session starts without asking a repository, and a machine
that has them needs no network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import pyspark

from penstock.core.errors import ClusterError

_PATIENCE: Final = 300
"""Seconds after which a repository that does not answer is given up."""

SPARKS: Final = (
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
    "at.yawk.lz4:lz4-java",
    "org.lz4:lz4-java",
    "com.github.luben:zstd-jni",
    "com.google.code.findbugs:jsr305",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
)
"""What Spark has itself, and executors need not be sent."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Packages with all that they need, but for some."""

    packages: tuple[str, ...]
    """As `group:artifact:version`."""
    without: tuple[str, ...] = ()
    """As `group:artifact`."""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where packages are kept.

    >>> cache_folder({"XDG_CACHE_HOME": "/cache"}).as_posix()
    '/cache/penstock/jars'
    """
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "penstock" / "jars"


def are_kept(wanted: Sequence[Wanted], cache: Path | None = None) -> bool:
    """Whether the cache has all of these packages."""
    return all(((cache or cache_folder()) / _name(each)).is_dir() for each in wanted)


def jars_of(
    wanted: Sequence[Wanted], java_home: Path, conf: Mapping[str, str], cache: Path | None = None
) -> list[Path]:
    """The files of all these packages, from the cache or from a repository.

    Settings of Spark's in `conf` that begin with `spark.jars.` say where to look, such as
    `spark.jars.repositories` and `spark.jars.ivySettings`.
    """
    cache = cache or cache_folder()
    return [jar for each in wanted for jar in _jars(each, java_home, conf, cache)]


def _jars(wanted: Wanted, java_home: Path, conf: Mapping[str, str], cache: Path) -> list[Path]:
    folder = cache / _name(wanted)
    if not folder.is_dir():
        _fetch(wanted, java_home, conf, folder)
    return sorted(folder.glob("*.jar"))


def _name(wanted: Wanted) -> str:
    """A folder's name that no other packages have."""
    first = wanted.packages[0].split(":", 1)[1].replace(":", "-")
    return f"{first}-{sha256(repr(wanted).encode()).hexdigest()[:12]}"


def _fetch(wanted: Wanted, java_home: Path, conf: Mapping[str, str], folder: Path) -> None:
    """Fetch packages into a folder, which is there as a whole or not at all."""
    draft = _draft(folder.parent)
    try:
        _submit(wanted, java_home, conf, draft)
        if not folder.is_dir():  # another run may have been faster
            (draft / "jars").rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _draft(cache: Path) -> Path:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return Path(mkdtemp(prefix=".fetching-", dir=cache))
    except OSError as error:
        raise ClusterError(
            f"packages of Java cannot be kept in {cache} ({error.strerror}); set XDG_CACHE_HOME to "
            "a folder that can be written"
        ) from None


def _submit(wanted: Wanted, java_home: Path, conf: Mapping[str, str], ivy: Path) -> None:
    """Have Spark resolve packages for a program that does nothing."""
    program = ivy / "nothing.py"
    program.touch()
    settings = {k: v for k, v in conf.items() if k.startswith("spark.jars.")}
    settings |= {
        "spark.jars.ivy": str(ivy),
        "spark.jars.packages": ",".join(wanted.packages),
        "spark.jars.excludes": ",".join(wanted.without),
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--master", "local", *words, str(program)]
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    environment = os.environ | python | {"JAVA_HOME": str(java_home), "SPARK_HOME": str(home)}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise _lacking(wanted, f"no answer in {_PATIENCE} s") from None
    if done.returncode != 0 or not (ivy / "jars").is_dir():
        raise _lacking(wanted, _reason(done.stdout + done.stderr))


def _reason(told: str) -> str:
    """Why packages were not found, as far as Ivy tells.

    >>> _reason("noise\\njava.lang.RuntimeException: [unresolved dependency: a#b;1: not found]\\n")
    'unresolved dependency: a#b;1: not found'
    """
    lines = [line for line in told.splitlines() if "unresolved dependency: " in line]
    text = lines[0].partition("[")[2].partition("]")[0] if lines else ""
    last = told.strip().splitlines()[-1:] or ["no reason was given"]
    return text or last[0].strip()


def _lacking(wanted: Wanted, why: str) -> ClusterError:
    return ClusterError(
        f"{wanted.packages[0]} cannot be had from Maven Central ({why}); connect this machine, or "
        "give the files yourself with --conf spark.jars=FILE,FILE"
    )
