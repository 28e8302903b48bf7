"""Windows that come late under a bursty stream: two levels beside a fixed number of executors.

The preference pipeline runs on Spark under policy `fuzzy`, then with fixed executors: as many as
that had on average, which is no whole number, so with the next lower and the next higher one, and
late windows in proportion. Tuples wait for their service time, as for a call to another system, so
that executors beyond the number of cores help. A window is late when its result comes later after
its end than the promised p95. Three streams, each with a burst inside, one run of each setting:
about half an hour, best on a machine that does nothing else. `python -m benchmarks.two_levels`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count, islice
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from penstock.workload import parse

STREAMS, SECONDS = 3, 150
WORKLOAD = "map:4000,rate=12/s,fast=5,slow=0.1"
SETTINGS = (
    "modules.plq.service_time=20ms",
    "modules.plq.max_batch=4s",
    "modules.plq.max_replicas=3",
    "modules.wlq.max_replicas=1",
    "slo.latency_p95=10s",
    "guards=[hold]",
)


def main() -> None:
    """Print late windows and executors of both, stream by stream."""
    print(f"{'stream':8}{'':14}{'executors':>10}{'late':>7}{'of':>6}{'p50':>7}{'p99':>7}")
    totals = np.zeros(2)
    for seed in islice(streams(), STREAMS):
        ours = run(seed, "fuzzy", 1)
        show(seed, "fuzzy", ours)
        late, like = ours["results"]["late_windows"], fixed(seed, ours["executors_mean"])
        print(f"{'':8}{'static, as many':14}{ours['executors_mean']:>9.2f}{like:>7.0f}", flush=True)
        totals += (late, like)
    print(f"late in all: fuzzy {totals[0]:.0f}, static with as many executors {totals[1]:.0f}")


def streams() -> Iterator[int]:
    """Seeds of streams that are slow for ten seconds, then fast for 40 to 70 s, then slow."""
    for seed in count(1):
        rates = parse(f"{WORKLOAD},seed={seed}").rate(np.arange(0.01, SECONDS, 0.02))
        fast = np.flatnonzero(rates.reshape(-1, 250).mean(axis=1) > 30) * 5  # by five seconds
        if 8 <= len(fast) <= 14 and fast[0] >= 10 and fast[-1] <= SECONDS - 50:
            yield seed


def fixed(seed: int, executors: float) -> float:
    """Late windows with so many executors all the time, between those of two whole numbers."""
    low = floor(executors)
    late = []
    for degree in (low - 1, low):  # one is for windows
        told = run(seed, "static", degree)
        show(seed, f"static {degree}+1", told)
        late.append(told["results"]["late_windows"])
    return float(np.interp(executors, (low, low + 1), late))


def show(seed: int, name: str, told: dict[str, Any]) -> None:
    """One run."""
    result = told["results"]
    latency = result["window_latency_seconds"]
    print(
        f"{seed:<8}{name:14}{told['executors_mean']:>10.2f}{result['late_windows']:>7}"
        f"{result['windows']:>6}{latency['p50']:>7.1f}{latency['p99']:>7.1f}",
        flush=True,
    )


def run(seed: int, policy: str, degree: int) -> dict[str, Any]:
    """One run, as its JSON tells it."""
    begin = f"modules.plq.initial_replicas={degree}"
    settings = [word for setting in (*SETTINGS, begin) for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "penstock", "run", "preference", "--policy", policy),
            *("--workload", f"{WORKLOAD},seed={seed}", "--duration", f"{SECONDS}s"),
            *("--json", "--quiet", "--out", str(Path(folder) / "run"), *settings),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    main()
