"""A streaming job as you may have one, with two lines added: `import penstock` and the attaching.

    python examples/attach.py                                   # on this machine, two minutes
    spark-submit --master spark://host:7077 examples/attach.py  # on a cluster

It counts clicks by page. The clicks come from Spark's own rate source, and each takes a while to
look up, as if another system had to be asked. Penstock advises and touches nothing; on a cluster,
`--conf spark.penstock.mode=apply` lets it act.
"""

import logging
import os
import time
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import SparkSession

import penstock

LOOK_UP = 0.004
"""Seconds."""


def look_up(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The page of each click."""
    for batch in batches:
        time.sleep(LOOK_UP * len(batch))
        yield pd.DataFrame({"page": batch["value"] % 7})


def main() -> None:
    """Run for a while, and say what the controller made of it."""
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    spark = SparkSession.builder.appName("clicks").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    attached = penstock.attach(spark, slo="10s", max_executors=20, step="5s")

    clicks = spark.readStream.format("rate").option("rowsPerSecond", 300).load()
    counts = clicks.mapInPandas(look_up, "page long").groupBy("page").count()
    query = counts.writeStream.outputMode("complete").format("memory").queryName("clicks").start()
    query.awaitTermination(float(os.environ.get("SECONDS", "120")))

    print(attached)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
