"""Windows that come late under a bursty stream: two levels beside a fixed number of executors.

For each of three streams, which are fast for a third to two thirds of the time, the preference
pipeline runs on Spark under policy `fuzzy`, then with executors fixed to what that took on average,
rounded up. Tuples wait for their service time, as for a call to another system, so that executors
beyond the number of cores help. A window is late when its result comes later after its end than the
promised p95. One run of three minutes each: `python -m benchmarks.two_levels`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count, islice
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from penstock.workload import parse

STREAMS, SECONDS = 3, 180
SETTINGS = (
    "modules.plq.service_time=12ms",
    "modules.plq.max_replicas=5",
    "modules.plq.initial_replicas=1",
    "slo.latency_p95=10s",
)
WORKLOAD = "map:4000,rate=120/s,fast=2.5,slow=0.4"


def main() -> None:
    """Print late windows and executors of both, stream by stream."""
    print(f"{'stream':8}{'':10}{'executors':>10}{'late':>7}{'of':>6}{'p50':>7}{'p99':>7}")
    shares: dict[str, list[float]] = {"fuzzy": [], "static": []}
    for seed in islice(changing(), STREAMS):
        ours = run(seed, "fuzzy")
        fixed = run(seed, "static", **degrees_like(ours))
        for name, told in (("fuzzy", ours), ("static", fixed)):
            result = told["results"]
            late = result["window_latency_seconds"]
            shares[name].append(result["late_windows"] / result["windows"])
            print(
                f"{seed:<8}{name:10}{told['executors_mean']:>10.2f}{result['late_windows']:>7}"
                f"{result['windows']:>6}{late['p50']:>7.1f}{late['p99']:>7.1f}",
                flush=True,
            )
    for name, found in shares.items():
        print(f"{name}: {mean(found):.0%} of the windows late on average")


def changing() -> Iterator[int]:
    """Seeds of streams that are fast for a third to two thirds of the run."""
    for seed in count(1):
        stream = parse(f"{WORKLOAD},seed={seed}")
        rates = stream.rate(np.arange(0.5, SECONDS))
        if 1 / 3 <= np.mean(rates > rates.mean()) <= 2 / 3:
            yield seed


def degrees_like(told: dict[str, Any]) -> dict[str, int]:
    """As many executors as that run had on average, rounded up; windows get their own first."""
    seconds = told["executor_seconds"]
    windows = max(round(seconds["wlq"] / told["duration"]), 1)
    return {"plq": max(ceil(told["executors_mean"]) - windows, 1), "wlq": windows}


def run(seed: int, policy: str, **degrees: int) -> dict[str, Any]:
    """One run, as its JSON tells it."""
    workload = f"{WORKLOAD},seed={seed}"
    fixed = [f"modules.{m}.initial_replicas={n}" for m, n in degrees.items()]
    settings = [word for setting in (*SETTINGS, *fixed) for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "penstock", "run", "preference", "--policy", policy),
            *("--workload", workload, "--duration", f"{SECONDS}s", "--json", "--quiet"),
            *("--out", str(Path(folder) / "run"), *settings),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    main()
