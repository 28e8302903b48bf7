"""What two pipelines on one cluster bring: divided by worth, and by Spark's own schedulers.

The built-in `shared` pipelines, whose rows wait for other systems, so that eight executors help on
two cores, all on the same input: `allocation` against Spark's FAIR pools and FIFO, and against as
many executors for every module. Rows that left within the run count, times what they are worth.
`python -m benchmarks.shared_cluster [POLICY...]`, three minutes for each of two runs of a policy.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from penstock.record import load

POLICIES = ("allocation", "fair", "fifo", "static")
REPEATS = 2
DURATION = "120s"
TO_REACH = 1.10


def main(policies: tuple[str, ...] = POLICIES) -> None:
    """Print the worth of each run, and ours by the others'; the first of all is ours."""
    found: dict[str, list[float]] = {policy: [] for policy in policies}
    print(f"{'policy':12}{'weighted output':>16}  rows out")
    for _ in range(REPEATS):
        for policy in policies:
            value, rows = run(policy)
            found[policy].append(value)
            print(f"{policy:12}{value:>16,.0f}  {rows}", flush=True)
    ours = median(found[policies[0]])
    for policy in policies[1:]:
        print(f"{policies[0]} by {policy}: {ours / median(found[policy]):.2f}")
    print(f"to reach: {TO_REACH} by fair")


def run(policy: str) -> tuple[float, str]:
    """What a run came to."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "penstock", "run", "shared", "--policy", policy]
        options = ["--duration", DURATION, "--quiet", "--out", str(out)]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        summary = load(out).summary
    results: dict[str, Any] = dict(summary.results if summary else {})
    rows = ", ".join(f"{name} {count:,.0f}" for name, count in results["rows_out"].items())
    return float(results["weighted_output"]), rows


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or POLICIES)
