"""Preference queries whose driver or executors are killed give what undisturbed ones give."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.file import load
from penstock.spark.backend import DEFAULT_PROFILE, Backend
from tests.support.paths import ROOT
from tests.support.preference_driver import best, digests, start, write_rows
from tests.support.processes import executor_pids

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BATCHES, SOME = 40, 20


def wait_until(done: Callable[[], bool], alive: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 300
    while not done():
        assert alive(), "it ended before its time"
        assert time.monotonic() < give_up, "it does not get on"
        time.sleep(0.005)


def drive(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "process.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.preference_driver", str(folder)],
            cwd=ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,  # its JVM and its workers can be killed at one blow with it
        )


def finish(folder: Path) -> None:
    process = drive(folder)
    try:
        assert process.wait(600) == 0, (folder / "process.log").read_text()[-2000:]
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def kill_when(folder: Path, there: Path) -> None:
    """Start the query, and end it and all its processes as soon as a file is there."""
    process = drive(folder)
    try:
        wait_until(there.exists, lambda: process.poll() is None)
    finally:
        kill(process)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    write_rows(folder, batches=BATCHES, rows=100)
    finish(folder)
    return folder


@pytest.fixture(scope="module")
def batches(undisturbed: Path) -> list[dict[str, Any]]:
    batches: list[dict[str, Any]] = json.loads((undisturbed / "progress.json").read_text())
    return batches


def test_a_killed_driver_goes_on_where_it_was(undisturbed: Path, tmp_path: Path) -> None:
    shutil.copytree(undisturbed / "in", tmp_path / "in", ignore=later_files)
    kill_when(tmp_path, tmp_path / "out" / "0007.parquet")  # written, and not committed
    assert not (tmp_path / "checkpoint" / "commits" / "8").exists()
    kill_when(tmp_path, tmp_path / "checkpoint" / "offsets" / "14")  # planned, and not written
    assert not (tmp_path / "checkpoint" / "commits" / "14").exists()
    finish(tmp_path)
    assert digests(tmp_path) == digests(undisturbed)[:SOME]
    assert len(digests(tmp_path)) == SOME


def later_files(_folder: str, names: list[str]) -> list[str]:
    return sorted(names)[SOME:]


def test_as_many_rows_are_lost_as_may_be(batches: list[dict[str, Any]]) -> None:
    windows = [batch["observedMetrics"]["preference_windows"] for batch in batches]
    late = sum(batch["late"] for batch in windows[20:])
    assert 0.02 < late / (100 * (BATCHES - 20)) < 0.08
    assert sum(batch["windows"] for batch in windows) > BATCHES - 15


def test_the_state_of_closed_windows_is_gone(batches: list[dict[str, Any]]) -> None:
    (rows,) = {
        operator["numRowsTotal"] for batch in batches for operator in batch["stateOperators"]
    }
    held = [
        operator["memoryUsedBytes"] for batch in batches for operator in batch["stateOperators"]
    ]
    assert rows == 1
    assert max(held[-10:]) < 1.5 * max(held[10:25])


def test_a_killed_executor_changes_no_result(tmp_path: Path) -> None:
    scratch, calm, killed = (tmp_path / name for name in ("spark", "calm", "killed"))
    scratch.mkdir()
    for folder in (calm, killed):
        folder.mkdir()
        write_rows(folder, batches=12, rows=2000)
    file = load("wordcount")
    with prepare(file, None).session(scratch) as session:
        spark = session.spark
        spark.conf.set("spark.sql.shuffle.partitions", 1)
        await_executors(Backend(spark), 2)
        batches = run(spark, calm)
        run(spark, killed, lambda: strike(killed, tmp_path, batches=(3, 6)))
    assert digests(killed) == digests(calm)
    assert len(digests(calm)) == 12
    assert sum(p.observedMetrics["preference_windows"]["late"] for p in batches) > 0


def await_executors(backend: Backend, count: int) -> None:
    backend.request({DEFAULT_PROFILE: count})
    wait_until(lambda: sum(e.active for e in backend.executors()) == count, lambda: True)


def run(
    spark: SparkSession, folder: Path, meanwhile: Callable[[], None] = lambda: None
) -> list[StreamingQueryProgress]:
    query = start(spark, folder, best(spark, folder))
    try:
        meanwhile()
        query.awaitTermination(300)
        assert not query.isActive, "it does not get on"
        return query.recentProgress
    finally:
        query.stop()


def strike(folder: Path, cluster: Path, batches: tuple[int, ...]) -> None:
    """Kill an executor in the middle of each of these batches."""
    for batch in batches:
        wait_until((folder / "checkpoint" / "offsets" / str(batch)).exists, lambda: True)
        os.kill(executor_pids(cluster)[0], signal.SIGKILL)
        assert not (folder / "checkpoint" / "commits" / str(batch)).exists()
