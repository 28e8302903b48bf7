"""Whether a real scheduler keeps to shares: two jobs at once, on four executors."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.file import load
from penstock.spark.backend import DEFAULT_PROFILE, Backend
from tests.support.processes import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXECUTORS, TASKS = 4, 32
TASK = 0.3


Batches = Iterator[pa.RecordBatch]


def waiting() -> Callable[[Batches], Batches]:
    """A task that waits and tells when it began; sent as it is, executors do not know this file."""

    def stamped(batches: Batches) -> Batches:
        for batch in batches:
            began = time.time()
            time.sleep(TASK)
            yield pa.RecordBatch.from_pydict({"began": [began] * batch.num_rows})

    return stamped


def job(spark: SparkSession, pool: str) -> list[float]:
    """When each of its tasks began."""
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
    tasks = spark.range(0, TASKS, 1, TASKS).mapInArrow(waiting(), "began double")
    return sorted(row["began"] for row in tasks.collect())


def both(spark: SparkSession) -> tuple[int, int]:
    """Tasks of the first and of the second that had begun when one of them had begun all of its."""
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda pool: job(spark, pool), ("first", "second"))
    begin, end = max(first[0], second[0]), min(first[-1], second[-1])
    counted = [sum(begin <= at <= end for at in began) for began in (first, second)]
    return counted[0], counted[1]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch: Path = tmp_path_factory.mktemp("shares")
    with prepare(load("shared"), None).session(scratch) as session:
        backend = Backend(session.spark)
        backend.request({DEFAULT_PROFILE: EXECUTORS})
        give_up = time.monotonic() + PATIENCE
        while sum(executor.active for executor in backend.executors()) < EXECUTORS:
            assert time.monotonic() < give_up, "the executors did not come"
            time.sleep(0.1)
        job(session.spark, "awake")
        yield session.spark


def test_cores_are_divided_by_shares_and_at_once_by_others(spark: SparkSession) -> None:
    backend = Backend(spark)
    backend.set_share("first", 3)
    backend.set_share("second", 1)
    more, fewer = both(spark)
    assert more > 1.8 * fewer
    backend.set_share("first", 1)
    backend.set_share("second", 3)
    fewer, more = both(spark)
    assert more > 1.8 * fewer


def test_what_one_leaves_over_the_other_has(spark: SparkSession) -> None:
    Backend(spark).set_share("lonely", 1)
    began = job(spark, "lonely")
    assert any(after - before < TASK for before, after in pairwise(began))  # never so on one core
