"""How fast the twin is beside that of another revision: CPU time of the same simulations.

`python -m benchmarks.twin_speed [REVISION]` checks the revision out into a temporary folder. One
process for each tree simulates every case in turn, the trees in mixed order, so that both meet the
same load of the machine. A ratio above 1 means that the current tree is faster.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

BASE: Final = "b9840a4"
"""The last revision with four simulators."""
REPEATS: Final = 7
TO_REACH: Final = 0.8
ROOT: Final = Path(__file__).parents[1]
APPS: Final = ROOT / "src/penstock/apps"
PIPELINES: Final = {
    "wordcount": ("30m",),
    "recognition": ("5h",),
    "trading": ("4m",),
    "trading, row by row": (
        "4m",
        "modules.algotrader.trigger=0s",
        "modules.algotrader.overhead=0s",
    ),
    "preference": ("10m",),
    "enrichment": ("1h",),
    "wordcount-regions": ("1h",),
    "shared": ("10m",),
}
"""Built-in files, how long each is simulated (about half a second of a core), and settings."""
KERNELS: Final = {
    "one server": "lambda: benchmarks.twin.on_twin(1, {rows}, {seed})",
    "eight servers": "lambda: benchmarks.twin.on_twin(8, {rows}, {seed})",
    "30,000 tuples/s": "lambda: benchmarks.pane_twin.simulate({rows} / 3e4, {seed})",
}
WORKER: Final = """
import json, sys, time
import benchmarks.pane_twin, benchmarks.twin
from penstock.core.loop import control
from penstock.pipeline.file import load
from penstock.pipeline.twins import open_twin
from penstock.policy import Static

def pipeline(path, settings):
    twin = open_twin(load(path, settings))
    return lambda: [None for _ in control(twin, Static(degrees=4))]

for line in sys.stdin:
    simulate = eval(json.loads(line))
    begin = time.process_time()
    simulate()
    print(time.process_time() - begin, flush=True)
"""


class Tree:
    """A process that simulates with the code of one tree."""

    def __init__(self, root: Path) -> None:
        environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, code: str) -> float:
        """CPU time of a piece of code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(code), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """The files of a revision in a folder that goes afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", revision], check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def case(name: str, seed: int, *, brief: bool = False) -> str:
    """The code of a case; a brief one compiles what is needed."""
    if name in KERNELS:
        return KERNELS[name].format(rows=1000 if brief else 600_000, seed=seed)
    path, (duration, *others) = next(APPS.glob(f"*/{name.split(',')[0]}.yaml")), PIPELINES[name]
    settings = [f"duration={'20s' if brief else duration}", f"seed={seed}", *others]
    return f"pipeline({str(path)!r}, {settings!r})"


def main(revision: str = BASE) -> None:
    """Print the medians of both trees, and the ratio, for each case."""
    names = [*PIPELINES, *KERNELS]
    with checked_out(revision) as folder:
        trees = {revision: Tree(folder), "current": Tree(ROOT)}
        seconds: dict[tuple[str, str], list[float]] = {}
        for name in names:
            for tree in trees.values():
                tree.seconds(case(name, 0, brief=True))
        for seed in range(REPEATS):
            for name in names:
                for label in sorted(trees, reverse=seed % 2 == 0):
                    taken = trees[label].seconds(case(name, seed))
                    seconds.setdefault((name, label), []).append(taken)
        for tree in trees.values():
            tree.close()
    print(f"CPU seconds, medians of {REPEATS}; to reach: a ratio of {TO_REACH:g}")
    print(f"{'':<26}{revision:>10}{'current':>10}{'ratio':>8}")
    for name in names:
        base, ours = (median(seconds[name, label]) for label in trees)
        print(f"{name:<26}{base:>10.3f}{ours:>10.3f}{base / ours:>8.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
