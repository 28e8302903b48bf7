"""Waiting for what other threads and processes do, and finding those that are still there."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

PATIENCE: Final = 240.0
"""Seconds after which something that should happen has not; nothing waits that long otherwise."""


def wait_until(done: Callable[[], Any], patience: float = PATIENCE, pause: float = 0.02) -> None:
    """Look again and again until something is so, however busy the machine is."""
    give_up = time.monotonic() + patience
    while not done():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(pause)


def commands() -> dict[int, str]:
    """The command line of every process, by its id."""
    listed = subprocess.run(
        ["ps", "-eww", "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    lines = (line.strip().partition(" ") for line in listed.stdout.splitlines())
    return {int(pid): command for pid, _, command in lines}


def executor_pids(folder: Path, program: str = "CoarseGrainedExecutorBackend") -> list[int]:
    """The executors that work for the run in this folder, or other programs of Spark's."""
    marker = f"{folder}/spark/conf"
    return [pid for pid, told in commands().items() if marker in told and program in told]


def left_behind(folder: Path) -> list[str]:
    """Processes that carry the folder of a run in their command line."""
    return [command for command in commands().values() if str(folder) in command]


def wait_until_nothing_is_left(folder: Path) -> None:
    """Until no process of a run is there."""
    wait_until(lambda: not left_behind(folder), pause=0.2)


PENSTOCK = [sys.executable, "-m", "penstock"]
ENDLESS = ["simulate", "wordcount", "--workload", "constant:300/s", "--duration", "1000h"]
LONG = 300


def penstock(*words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*PENSTOCK, *words], capture_output=True, text=True, timeout=LONG, cwd=cwd, check=False
    )


def modules_after(*words: str) -> set[str]:
    """What is imported once a command has been carried out."""
    program = (
        "import sys; from penstock.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stderr.splitlines()}
