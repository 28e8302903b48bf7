"""Whether a module's degree is a number of executors of its own: its throughput at 1, 2 and 4.

The recogniser of the recognition pipeline is given more images than it can take, and executors one
after the other; the other modules keep theirs. An image waits for most of its service time, so
more executors than cores help. Beside it: what 1, 2 and 4 times the first would be.
"""

import tempfile
import time
from pathlib import Path

from penstock.core.signals import Configuration, Decision
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.spark.plant import SparkPlant

DEGREES, SECONDS, PATIENCE = (1, 2, 4), 30.0, 120.0
MODULE = "recognizer"


def main() -> None:
    """Print images a second at each degree, and the executors of all modules meanwhile."""
    file = load(
        "recognition",
        [
            *("policy=static", "workload=constant:10/s", "step=2s", "source.max_rows=40"),
            *(f"modules.{name}.service_time=40ms" for name in ("denoiser-1", "denoiser-2")),
            "modules.edge-detector.service_time=40ms",
        ],
    )
    print(f"{'executors':>9}{'images/s':>10}{'ideal':>8}{'ratio':>8}  executors of the others")
    first = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        open_spark(file, master=None, folder=Path(folder), duration=1e6) as plant,
    ):
        time.sleep(20)  # until images wait before the recogniser
        for degree in DEGREES:
            settle(plant, degree)
            rate = throughput(plant)
            first = first or rate
            others = {name: n for name, n in running(plant).items() if name != MODULE}
            ideal = first * degree / DEGREES[0]
            print(f"{degree:>9}{rate:>10.2f}{ideal:>8.2f}{rate / ideal:>8.2f}  {others}")
        raise SystemExit  # and do not wait for the images that are left


def settle(plant: SparkPlant, degree: int) -> None:
    """Give the recogniser so many executors, and wait until they take tasks."""
    asked = Configuration(degrees={MODULE: degree})
    plant.apply(Decision(configuration=asked, why="to measure it"))
    give_up = time.monotonic() + PATIENCE
    while running(plant)[MODULE] != degree:
        assert time.monotonic() < give_up, f"there were never {degree} executors"
        time.sleep(0.2)
    time.sleep(6)  # until a batch that began before has ended


def running(plant: SparkPlant) -> dict[str, int]:
    """Executors that take tasks, by module."""
    crews = plant.actuator.running(plant.actuator.backend.executors())
    return {name: len(crew) for name, crew in crews.items()}


def throughput(plant: SparkPlant) -> float:
    """Images a second, from the end of one batch to that of another."""
    watched = plant.queries[MODULE]
    watched.collect()
    time.sleep(SECONDS)
    batches = [batch for batch, _ in watched.collect() if not batch.idle]
    rows = sum(batch.rows or 0 for batch in batches[1:])
    return rows / (batches[-1].ended - batches[0].ended)


if __name__ == "__main__":
    main()
