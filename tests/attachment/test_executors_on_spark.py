"""Executors of a real program that grow and shrink while its rows stay exact."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.core.signals import Configuration, Decision, Observation
from penstock.record import load
from penstock.spark.backend import DEFAULT_PROFILE, Backend
from penstock.spark.session import ELASTIC
from tests.attachment.spark_attached import (
    await_rows,
    cluster_session,
    numbers,
    start_rate,
    start_slow,
    write_rows,
)
from tests.support.processes import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 20
SPLIT = {"spark.sql.files.maxPartitionBytes": "1k", "spark.sql.files.openCostInBytes": "1k"}
"""A task for each file, so that more executors help."""


@pytest.fixture(scope="module")
def elastic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """With the settings that the documentation recommends."""
    conf = {**ELASTIC, **SPLIT, "spark.dynamicAllocation.initialExecutors": "1"}
    with cluster_session(tmp_path_factory.mktemp("elastic"), conf) as spark:
        yield spark


@pytest.fixture
def spark(elastic: SparkSession) -> Iterator[SparkSession]:
    yield elastic
    for query in elastic.streams.active:
        query.stop()


def active(spark: SparkSession) -> list[str]:
    everyone = Backend(spark).executors()
    return [e.id for e in everyone if e.active and e.profile == DEFAULT_PROFILE]


def await_executors(spark: SparkSession, count: int) -> None:
    wait_until(lambda: len(active(spark)) == count, pause=0.2)


def test_advice_touches_nothing_and_reports_what_it_would_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_rows(tmp_path / "in", 24, ROWS)
    await_executors(spark, 1)
    before = active(spark)
    start_slow(spark, tmp_path, seconds=0.02, files=4)
    with penstock.attach(spark, step="2s", max_executors=3) as attachment:
        wait_until(lambda: "would go from 1 to 2" in attachment.explain())
        assert attachment.status()["proposed"] == 2
        await_rows(tmp_path, 24 * ROWS)
    assert active(spark) == before
    assert attachment.status()["requested"] is None
    assert all(tick.asked is None for tick in attachment.ticks)


def test_an_overloaded_query_grows_an_idle_one_shrinks_and_no_row_is_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_rows(tmp_path / "in", 120, ROWS)
    query = start_slow(spark, tmp_path, seconds=0.02, files=6)
    settings = {"max_executors": 3, "scale_down_interval": "3s", "record": str(tmp_path / "run")}
    with penstock.attach(spark, mode="apply", step="2s", **settings) as attachment:
        await_executors(spark, 3)
        assert attachment.status()["requested"] == 3
        write_rows(tmp_path / "in", 30, ROWS, first=120)
        await_rows(tmp_path, 150 * ROWS)
        await_executors(spark, 1)
        assert attachment.mode == "apply"
        assert query.isActive
        write_rows(tmp_path / "in", 6, ROWS, first=150)
        await_rows(tmp_path, 156 * ROWS)
    assert numbers(spark, tmp_path) == list(range(156 * ROWS))
    summary = load(tmp_path / "run").summary
    assert summary is not None
    assert (summary.executors_min, summary.executors_max) == (1, 3)
    assert summary.scale_outs >= 2
    assert summary.scale_ins >= 1
    assert summary.failed_tasks == 0


def test_every_call_about_foreign_queries_works(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(tmp_path / "in", 2, ROWS)
    query = start_slow(spark, tmp_path, seconds=0.01, files=2)
    await_rows(tmp_path, 2 * ROWS)
    wait_until(lambda: query.lastProgress is not None)
    backend = Backend(spark)
    plan = backend.plan(query)
    assert plan.options["path"] == str(tmp_path / "out")
    assert plan.trigger == 0.0
    took = backend.executor_seconds(str(query.runId), {0})
    assert took is not None
    assert took >= 2 * ROWS * 0.01
    assert backend.executor_seconds(str(query.runId), {999}) is None


def test_it_begins_with_the_executors_that_were_set(spark: SparkSession) -> None:
    start_rate(spark, "shop")
    with penstock.attach(
        spark, mode="apply", step="2s", initial_executors=2, policy=hold, max_executors=3
    ):
        await_executors(spark, 2)


def hold(seen: Observation) -> Decision:
    running = seen.modules["application"].running or 1
    return Decision(configuration=Configuration(degrees={"application": running}), why="enough")
