"""A run that is scaled out and in at random moments, against a batch job over the same input."""

import random
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np

from penstock.apps.wordcount.application import count, digest, drop_short, split
from penstock.apps.wordcount.sentences import Sentences
from penstock.core.signals import Configuration, Decision
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.spark.cluster.embedded import LOOPBACK
from penstock.spark.plant import SparkPlant

SECONDS, RATE, SEED = 60.0, 150, 1


def main() -> None:
    """Print both counts, and what was done to the streaming one."""
    settings = [
        f"workload=constant:{RATE}/s",
        "step=1s",
        f"duration={SECONDS:.0f}s",
        f"seed={SEED}",
    ]
    file = load("wordcount", settings)
    log = Changes()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_spark(file, master=None, folder=Path(folder), duration=SECONDS) as plant,
    ):
        scaler = threading.Thread(target=log.force, args=(plant,))
        scaler.start()
        failed = sum(
            module.failed_tasks or 0
            for seen in plant.readings()
            for module in seen.modules.values()
        )
        log.over.set()
        scaler.join()
    stream, batch = plant.results, batch_counts(plant.results["rows_fed"])
    print(f"scale-outs {log.out}, scale-ins {log.in_}, of which during a batch {log.during}")
    print(f"failed tasks {failed}")
    print(f"{'':12}{'words':>10}{'distinct':>10}  digest of all counts")
    row = "{:12}{:>10}{:>10}  {}"
    print(row.format("batch job", batch.total(), len(batch), digest(batch)))
    print(
        row.format("streaming", stream["words_counted"], stream["distinct_words"], stream["digest"])
    )
    print("equal" if stream["digest"] == digest(batch) else "DIFFERENT")


class Changes:
    """Changes of degree at moments that have nothing to do with batches."""

    def __init__(self) -> None:
        self.out = self.in_ = self.during = 0
        self.over = threading.Event()

    def force(self, plant: SparkPlant) -> None:
        """Scale until the run is over."""
        chance, degrees = random.Random(SEED), {"splitter": 1, "counter": 1}
        while not self.over.wait(chance.uniform(1.0, 3.0)):
            module = chance.choice(list(degrees))
            before = degrees[module]
            degrees[module] = chance.choice([n for n in (1, 2, 3) if n != before])
            busy = plant.queries[module].query.status["isTriggerActive"]
            plan = Configuration(degrees=dict(degrees))
            plant.apply(Decision(configuration=plan, why="forced"))
            self.out += degrees[module] > before
            self.in_ += degrees[module] < before
            self.during += busy


def batch_counts(rows: int) -> Counter[str]:
    """What a plain Spark batch job counts over the same sentences."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.host", LOOPBACK)
    builder = builder.config("spark.driver.bindAddress", LOOPBACK).config("spark.ui.enabled", False)
    with builder.config("spark.ui.showConsoleProgress", False).getOrCreate() as spark:
        texts = Sentences(SEED).texts(np.arange(rows))
        table = spark.createDataFrame([(text,) for text in texts], "sentence string")
        table = table.selectExpr("timestamp_seconds(0) as ts", "sentence")
        return Counter({r["word"]: r["count"] for r in count(drop_short(split(table))).collect()})


if __name__ == "__main__":
    main()
