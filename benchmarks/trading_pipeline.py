"""How many quotes a second the trading pipeline takes from end to end on Spark, and where the time
goes: more come than it can take, computed and not waited for, on two executors."""

import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from penstock.pipeline.file import load
from penstock.pipeline.launch import open_spark

SETTINGS = [
    "workload=constant:400k/s",
    "policy=static",
    "guards=[]",
    "step=5s",
    "source.max_rows=200000",
    "modules.algotrader.work=none",
    "modules.algotrader.max_replicas=2",
    "modules.algotrader.trigger=0s",
]
SECONDS, WARM = 75.0, 6


def main() -> None:
    """Print the rate of each batch, and what a batch spends its time on."""
    batches: list[dict[str, object]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        open_spark(
            load("trading", SETTINGS),
            master=None,
            folder=Path(folder),
            duration=SECONDS,
            on_progress=lambda text: batches.append(json.loads(text)),
        ) as plant,
    ):
        seen = [observation.modules["algotrader"] for observation in plant.readings()]
    full = [b for b in batches if b["numInputRows"] == 200_000][WARM:]
    took = np.array([b["durationMs"]["triggerExecution"] / 1e3 for b in full])  # type: ignore[index]
    rates = np.sort(200_000 / took)
    print(f"{len(full)} batches of 200,000 quotes; quotes/s: ", end="")
    print(
        f"{rates[0]:,.0f} at least, {np.median(rates):,.0f} at the median, {rates[-1]:,.0f} at most"
    )
    print(f"of a batch's {np.median(took):.2f} s:")
    parts: Counter[str] = Counter()
    for batch in full:
        parts.update(batch["durationMs"])  # type: ignore[call-overload]
    for name, milliseconds in parts.most_common():
        if name != "triggerExecution":
            print(f"  {name:<28}{milliseconds / len(full) / 1e3:8.3f} s")
    services = [reading.service_time for reading in seen[3:] if reading.service_time]
    if services:
        print(
            f"  work of both replicas        {200_000 * float(np.median(services)):8.3f} s of CPU"
        )


if __name__ == "__main__":
    main()
