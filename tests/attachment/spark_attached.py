"""Programs for the tests of attaching: sessions as a user has them, and queries with exact rows."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.cluster.embedded import LOOPBACK, EmbeddedCluster
from penstock.spark.java import find_java, usable_home
from penstock.spark.session import EMBEDDED, compiled_spark_home, open_session
from tests.support.processes import wait_until

QUIET = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}


@contextmanager
def local_session(folder: Path, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session whose driver does all work itself."""
    environment = _environment(usable_home(find_java(), folder))
    chosen = {**EMBEDDED, **QUIET, **_warehouse(folder), **conf}
    log = folder / "driver.log"
    with open_session("shop", "local[2]", chosen, environment=environment, log=log) as spark:
        yield spark


@contextmanager
def cluster_session(
    folder: Path, conf: Mapping[str, str], *, cores: int = 4
) -> Iterator[SparkSession]:
    """A session on a standalone cluster with one worker, executors of one core each."""
    java_home = usable_home(find_java(), folder)
    cluster = EmbeddedCluster(
        folder=folder,
        java_home=java_home,
        spark_home=compiled_spark_home(folder),
        workers=1,
        cores=cores,
        memory="4g",
    )
    small = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}
    chosen = {**EMBEDDED, **QUIET, **_warehouse(folder), **small, **conf}
    with cluster:
        environment = {
            **_environment(java_home),
            "SPARK_HOME": str(cluster.spark_home),
            "SPARK_CONF_DIR": str(cluster.conf_dir),
        }
        log = folder / "driver.log"
        with open_session("shop", cluster.url, chosen, environment=environment, log=log) as spark:
            cluster.await_workers()
            yield spark


def _environment(java_home: Path) -> dict[str, str]:
    return {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": LOOPBACK,
    }


def _warehouse(folder: Path) -> dict[str, str]:
    return {"spark.sql.warehouse.dir": str(folder / "warehouse")}


def write_rows(folder: Path, files: int, rows: int, *, first: int = 0) -> None:
    """Files of numbered rows, each whole as soon as it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in range(first, first + files):
        lines = [json.dumps({"n": file * rows + row}) for row in range(rows)]
        draft = folder / f".{file}.json"
        draft.write_text("\n".join(lines))
        draft.rename(folder / f"{file}.json")


def start_slow(
    spark: SparkSession, folder: Path, *, seconds: float, files: int, name: str = "slow"
) -> StreamingQuery:
    """A checkpointed query from files to files whose rows take their time, as remote calls do."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(seconds * batch.num_rows)
            yield batch

    rows = spark.readStream.schema("n long").option("maxFilesPerTrigger", files)
    return (
        rows.json(str(folder / "in"))
        .mapInArrow(work, "n long")
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .queryName(name)
        .start()
    )


def start_rate(spark: SparkSession, name: str, rows: int = 10) -> StreamingQuery:
    """A query that does next to nothing."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", rows).load()
    return rate.writeStream.format("noop").queryName(name).start()


def await_rows(folder: Path, count: int) -> None:
    """Until so many rows came out: by the log of the sink, since a job would take executors."""
    log = folder / "out" / "_spark_metadata"

    def rows() -> int:
        steps = [path for path in log.glob("*") if not path.name.startswith(".")]
        lines = [line for step in steps for line in step.read_text().splitlines()[1:]]
        files = {unquote(urlsplit(json.loads(line)["path"]).path) for line in lines}
        return sum(pq.read_metadata(file).num_rows for file in files)

    wait_until(lambda: rows() == count, pause=0.2)


def numbers(spark: SparkSession, folder: Path) -> list[int]:
    """The rows that came out, in order."""
    return sorted(
        row.n for row in spark.read.schema("n long").parquet(str(folder / "out")).collect()
    )
