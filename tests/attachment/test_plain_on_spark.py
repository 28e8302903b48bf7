"""Programs without any setting for elasticity: what can be done for them, and what is said."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.spark.java import find_java, usable_home
from tests.attachment.spark_attached import (
    await_rows,
    cluster_session,
    numbers,
    start_slow,
    write_rows,
)
from tests.attachment.test_executors_on_spark import ROWS, SPLIT, await_executors
from tests.support.paths import ROOT
from tests.support.processes import LONG

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXAMPLE = ROOT / "examples" / "attach.py"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A standalone application, which takes every core that it is offered."""
    with cluster_session(tmp_path_factory.mktemp("plain"), SPLIT, cores=3) as session:
        yield session


def test_without_decommissioning_only_idle_executors_are_removed(
    spark: SparkSession, tmp_path: Path
) -> None:
    await_executors(spark, 3)
    write_rows(tmp_path / "in", 60, ROWS)
    query = start_slow(spark, tmp_path, seconds=0.02, files=3)
    settings = {"max_executors": 2, "scale_down_interval": "2s", "scale_down_max_factor": "off"}
    with penstock.attach(spark, mode="apply", step="1s", **settings) as attachment:
        await_executors(spark, 2)
        await_rows(tmp_path, 60 * ROWS)
        await_executors(spark, 1)
        assert attachment.mode == "apply"
        write_rows(tmp_path / "in", 40, ROWS, first=60)
        await_executors(spark, 2)
        await_rows(tmp_path, 100 * ROWS)
    failures = [tick.seen.modules["application"].failed_tasks for tick in attachment.ticks]
    assert sum(failed or 0 for failed in failures) == 0
    assert query.isActive
    assert numbers(spark, tmp_path) == list(range(100 * ROWS))
    query.stop()


def test_the_example_runs_and_ends(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "JAVA_HOME": str(usable_home(find_java(), tmp_path)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SECONDS": "20",
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=True,
    )
    assert "penstock: query clicks is watched" in done.stderr
    assert "penstock (advise, latency): 1 query; dry run: " in done.stdout
