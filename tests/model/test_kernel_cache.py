"""Machine code on disk: used again while nothing has changed, and only then."""

import sys
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Final

import pytest

FILES: Final = {
    "kernel": """
import constants
from constants import OFFSET
from helper import scaled
from penstock.model.compiling import entry

@entry
def kernel(value):
    return scaled(value) + OFFSET + constants.MORE
""",
    "helper": """
from penstock.model.compiling import inlined

@inlined
def scaled(value):
    return FACTOR * value

FACTOR = 2
""",
    "constants": """
OFFSET = 100
MORE = 1000
""",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def call() -> tuple[int, int]:
    """What the kernel computes when it is imported anew, and how often it came from disk."""
    for name in FILES:
        sys.modules.pop(name, None)
    invalidate_caches()
    kernel = import_module("kernel").kernel
    return kernel(5), sum(kernel.stats.cache_hits.values())


def change(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.usefixtures("folder")
def test_it_is_compiled_once() -> None:
    assert call() == (1110, 0)
    assert call() == (1110, 1)


@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    [
        ("helper", "FACTOR * value", "FACTOR - value", 1097),
        ("helper", "FACTOR = 2", "FACTOR = 3", 1115),
        ("constants", "OFFSET = 100", "OFFSET = 200", 1210),
        ("constants", "MORE = 1000", "MORE = 2000", 2110),
    ],
)
def test_a_change_in_another_file_is_noticed(
    file: str, old: str, new: str, result: int, folder: Path
) -> None:
    assert call() == (1110, 0)
    change(folder / f"{file}.py", old, new)
    assert call() == (result, 0)
    change(folder / f"{file}.py", new, old)
    assert call() == (1110, 1), "the code of before is still there"
