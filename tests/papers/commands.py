"""What the tests of every `penstock reproduce PAPER` ask in the same way."""

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from penstock.cli import reproduce
from penstock.core.errors import PenstockError

LONG = 120
WATCHED = """
import sys
from penstock.cli import main
code = main(sys.argv[1:])
print(*(name for name in sys.modules if name in ("pyspark", "py4j")), end="", file=sys.stderr)
sys.exit(code)
"""
"""A program that tells whether it has loaded Spark."""


def arguments(*words: str) -> Namespace:
    parser = ArgumentParser()
    for option in reproduce.OPTIONS:
        option.add(parser)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


def start(*command: str, cwd: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )


def check_page(folder: Path, figures: tuple[str, ...], plots: int) -> None:
    """The page loads nothing from elsewhere and has every figure."""
    page = (folder / "report.html").read_text()
    assert all(name not in page for name in ("http://", "https://", "src=", "href=", "@import"))
    for number in figures:
        assert f"<h2>Fig. {number}: " in page
    assert page.count('<figure class="plot') == plots


def check_mistake(words: list[str], sentence: str, folder: Path) -> None:
    """It is told in a sentence, before anything is written."""
    with pytest.raises(PenstockError, match=sentence.replace("?", r"\?")):
        reproduce.execute(arguments(*words, "--out", str(folder / "out")))
    assert list(folder.iterdir()) == []


def check_interruption(words: list[str], runs: int | str, folder: Path) -> None:
    """Ctrl-C as a terminal sends it, after the workers have begun, leaves nothing behind."""
    process = start("-m", "penstock", "reproduce", *words, "--out", "out/a", cwd=folder)
    assert process.stderr is not None
    what = runs if isinstance(runs, str) else f"{runs} runs"
    assert process.stderr.readline() == f"penstock: 0 of {what} done\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "penstock: stopped; nothing was written", err
    assert list(folder.iterdir()) == []
