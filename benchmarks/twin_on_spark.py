"""How near the twin's micro-batches of keys, panes and regions come to those of Spark.

Each pipeline runs on Spark for 160 s with fixed executors, first at one rate, then at another (work
that waits). The twin gets the same file, load and executors. Each module's `overhead` is set so
that its batches at the first rate last as long as they did on Spark; everything at the second rate,
and all latencies, are predictions. `fit` makes no twin of these pipelines.

`python -m benchmarks.twin_on_spark [PIPELINE ...]`; `--runs FOLDER` keeps the recordings, and takes
those that are there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import load as load_file
from penstock.pipeline.twins import open_twin
from penstock.record import load as load_run

DURATION: Final = 160.0
FIRST, SECOND = (30.0, 80.0), (100.0, DURATION)
"""Steps at each rate: not those in which Spark starts, nor those that still have older rows."""


class Case(NamedTuple):
    """A built-in pipeline, its two rates and its executors."""

    rates: tuple[float, float]
    degrees: dict[str, int]
    others: tuple[str, ...] = ()

    def settings(self) -> list[str]:
        """Overrides of its file."""
        low, high = self.rates
        fixed = [f"modules.{name}.initial_replicas={n}" for name, n in self.degrees.items()]
        return [
            f"workload={{kind: step, levels: [{low:g}/s, {high:g}/s@80s]}}",
            f"duration={DURATION:g}s",
            "step=3.7s",  # not a multiple of the trigger, at which backlogs are longest
            "policy={name: static}",
            "guards=[hold]",
            *fixed,
            *self.others,
        ]


CASES: Final = {
    "trading": Case((400.0, 1000.0), {"algotrader": 2}),
    "preference": Case((300.0, 700.0), {"plq": 2, "wlq": 1}),
    "wordcount-regions": Case(
        (20.0, 50.0),
        {"splitter": 2, "filter": 1, "counter": 1},
        ("infrastructure.policy={name: static, nodes: 1}",),
    ),
}


def main() -> None:
    """Record what is not recorded yet, simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pipelines", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=Path, help="folder of the recordings")
    given = parser.parse_args()
    print(f"{datetime.now(UTC):%d %B %Y}, {os.cpu_count()} cores, recorded / predicted (error)")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.pipelines:
            compare(name, (given.runs or Path(folder)) / name)


def compare(name: str, path: Path) -> None:
    """Print a pipeline's figures at the second rate, and those that were calibrated."""
    recorded = record(name, path)
    settings = CASES[name].settings()
    for module, beyond in calibrated(name, settings, recorded).items():
        settings.append(f"modules.{module}.overhead={1000 * beyond:.3f}ms")
        print(f"{name}: overhead of {module} {beyond:.2f} s")
    predicted = simulate(name, settings)
    for figure, read in figures(CASES[name].degrees).items():
        measured, ours = (mean(ticks, SECOND, read) for ticks in (recorded, predicted))
        print(f"  {figure:<28}{shown(measured, ours)}")


def record(name: str, path: Path) -> Sequence[Tick]:
    """A run on Spark, unless it is there."""
    if not (path / "summary.json").exists():
        print(f"recording {name}: {DURATION:g} s on Spark", flush=True)
        words = [word for setting in CASES[name].settings() for word in ("--set", setting)]
        command = [sys.executable, "-m", "penstock", "run", name, "--quiet", "--out", str(path)]
        subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL)
    return load_run(path).ticks


def simulate(name: str, settings: Sequence[str]) -> list[Tick]:
    """The same on the twin."""
    file = load_file(name, settings)
    return list(control(open_twin(file), build_policy(file)))


def calibrated(name: str, settings: list[str], recorded: Sequence[Tick]) -> dict[str, float]:
    """By module, the overhead with which batches at the first rate are as long as recorded."""
    overheads = {module.name: module.overhead for module in load_file(name, settings).graph.modules}
    simulated = simulate(name, settings)
    for module in overheads:
        measured, ours = (
            mean(t, FIRST, measure(module, "batch_duration")) for t in (recorded, simulated)
        )
        if measured is not None and ours is not None:
            overheads[module] = max(overheads[module] + measured - ours, 0.0)
    return overheads


Read = Callable[[Tick], float | None]


def measure(module: str, name: str) -> Read:
    """What steps measured of a module."""
    return lambda tick: getattr(tick.seen.modules[module], name)


def figures(modules: dict[str, int]) -> dict[str, Read]:
    """What is compared."""
    names = {
        "batch_duration": "batch (s)",
        "backlog": "backlog (rows)",
        "utilisation": "busy share",
    }
    return {
        "latency p50 (s)": lambda tick: tick.seen.latency.p50 if tick.seen.latency else None,
        "latency p95 (s)": lambda tick: tick.seen.latency.p95 if tick.seen.latency else None,
        **{
            f"{module}: {shown}": measure(module, name)
            for name, shown in names.items()
            for module in modules
        },
    }


def mean(ticks: Sequence[Tick], period: tuple[float, float], read: Read) -> float | None:
    """Over the steps of a period that measured it."""
    begin, end = period
    within = [read(tick) for tick in ticks if begin < tick.seen.at <= end + 1e-9]
    known = [value for value in within if value is not None]
    return fmean(known) if known else None


def shown(measured: float | None, ours: float | None) -> str:
    """Both, and by how much the prediction is too high."""
    if measured is None or ours is None:
        return f"{measured} / {ours}"
    error = f"{100 * (ours / measured - 1):+.0f} %" if measured else "-"
    return f"{measured:.4g} / {ours:.4g} ({error})"


if __name__ == "__main__":
    main()
