"""Attaching to a real program whose driver does all work itself."""

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.cli import main
from penstock.core.errors import SettingError, UserError
from penstock.core.signals import Decision, Observation
from penstock.record import load
from penstock.spark.backend import controlled
from tests.attachment.spark_attached import (
    await_rows,
    local_session,
    start_rate,
    start_slow,
    write_rows,
)
from tests.support.processes import wait_until

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    conf = {"spark.penstock.step": "1s", "spark.penstock.maxExecutors": "7"}
    with local_session(tmp_path_factory.mktemp("local"), conf) as spark:
        yield spark


@pytest.fixture
def spark(session: SparkSession) -> Iterator[SparkSession]:
    """The session, without the queries and controllers of other tests."""
    yield session
    for query in session.streams.active:
        query.stop()
    assert all(thread.name != "penstock" for thread in threading.enumerate())


def said(attachment: Any) -> str:
    return "\n".join(attachment.status()["said"])


def test_settings_come_from_the_conf_and_keywords_win(spark: SparkSession) -> None:
    with penstock.attach(spark, min_executors=2) as attachment:
        settings = attachment._settings
    assert (settings.step, settings.max_executors, settings.min_executors) == (1.0, 7, 2)
    with pytest.raises(SettingError, match="min_executors must not be above max_executors, got 9"):
        penstock.attach(spark, min_executors=9)


def test_a_folder_that_cannot_be_is_said_and_nothing_is_recorded(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with penstock.attach(spark, record=str(tmp_path / "file")) as attachment:
        assert "nothing is recorded or shown: " in said(attachment)
        assert attachment.status()["recorded"] is None
    penstock.attach(spark).stop()


def test_settings_of_the_session_count_beside_those_of_the_application(
    spark: SparkSession,
) -> None:
    spark.conf.set("spark.penstock.maxExecutors", "5")
    try:
        with penstock.attach(spark) as attachment:
            assert attachment._settings.max_executors == 5
    finally:
        spark.conf.unset("spark.penstock.maxExecutors")


def test_without_executors_it_advises_and_says_why(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    listening = caplog.at_level(logging.INFO, "penstock")
    with listening, penstock.attach(spark, mode="apply") as attachment:
        assert attachment.mode == "advise"
        assert attachment.alive
    warnings = [r.message for r in caplog.records if "proposed" in r.message]
    assert warnings == ["decisions are only proposed: master local[2] has no executors to scale"]


def test_off_starts_nothing_and_claims_nothing(spark: SparkSession) -> None:
    first = penstock.attach(spark, mode="off")
    assert not first.alive
    with penstock.attach(spark) as second:
        assert second.alive


def test_a_second_controller_is_refused_by_name_of_the_first(spark: SparkSession) -> None:
    by_first = pytest.raises(UserError, match="controlled already by penstock")
    with penstock.attach(spark), by_first:
        penstock.attach(spark)
    penstock.attach(spark).stop()
    by_run = pytest.raises(UserError, match="controlled already by penstock run wordcount")
    with controlled(spark, "penstock run wordcount"), by_run:
        penstock.attach(spark)


def test_queries_that_start_later_and_die_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    start_rate(spark, "early")
    with penstock.attach(spark) as attachment:
        wait_until(lambda: "query early is watched" in said(attachment))
        start_rate(spark, "late")
        wait_until(lambda: "query late is watched" in said(attachment))
        (tmp_path / "in").mkdir()
        doomed = spark.readStream.schema("n long").json(str(tmp_path / "in"))
        doomed.selectExpr("assert_true(n < 0, 'too many')").writeStream.format("noop").queryName(
            "doomed"
        ).start()
        wait_until(lambda: "query doomed is watched" in said(attachment))
        write_rows(tmp_path / "in", 1, 3)
        wait_until(lambda: "query doomed has ended: " in said(attachment))
        assert "too many" in said(attachment)
        wait_until(lambda: set(attachment.status()["queries"]) == {"early", "late"})
        wait_until(lambda: set(attachment.ticks[-1].seen.queries) == {"early", "late"})
        assert attachment.alive
    assert said(attachment).count("query late is watched") == 1


def test_what_a_query_reports_becomes_one_application(spark: SparkSession) -> None:
    start_rate(spark, "shop", rows=100)
    with penstock.attach(spark) as attachment:
        wait_until(lambda: any(_complete(tick.seen) for tick in list(attachment.ticks)))
    seen = next(tick.seen for tick in attachment.ticks if _complete(tick.seen))
    assert set(seen.modules) == {"application"}
    application = seen.modules["application"]
    assert application.running == 1
    assert application.backlog is None  # a rate source does not report it
    assert 20 < (application.arrival_rate or 0) < 500
    assert seen.latency is not None


def _complete(seen: Observation) -> bool:
    reading = seen.modules["application"]
    figures = (reading.arrival_rate, reading.utilisation, reading.service_time, reading.latency)
    return None not in figures


def test_queries_that_are_chained_by_files_are_linked(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(tmp_path / "in", 2, 5)
    start_slow(spark, tmp_path, seconds=0.0, files=1, name="clean")
    await_rows(tmp_path, 2 * 5)
    rows = spark.readStream.schema("n long").parquet(str(tmp_path / "out"))
    rows.writeStream.format("noop").queryName("count").start()
    with penstock.attach(spark, record=str(tmp_path / "run")) as attachment:
        linked = {"clean": ("count",), "count": ()}
        wait_until(lambda: attachment.status()["queries"] == linked)
        steps = len(attachment.ticks)
        wait_until(lambda: len(attachment.ticks) > steps + 1)
    feeds = {entry["name"]: entry["feeds"] for entry in _queries(tmp_path / "run")}
    assert feeds == {"clean": ["count"], "count": []}


def _queries(run: Path) -> Any:
    return load(run).settings.file["queries"]


def test_tables_of_the_catalog_link_queries_too(spark: SparkSession, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    place = str(tmp_path / "checkpoint")
    rate.writeStream.option("checkpointLocation", place).queryName("fill").toTable("clicks")
    reads = spark.readStream.table("clicks").writeStream.format("noop").queryName("use").start()
    with penstock.attach(spark) as attachment:
        wait_until(lambda: attachment.status()["queries"] == {"fill": ("use",), "use": ()})
    reads.stop()


def test_a_policy_that_raises_leaves_the_queries_running(spark: SparkSession) -> None:
    def broken(seen: Observation) -> Decision:
        raise ValueError("boom")

    query = start_rate(spark, "shop")
    with penstock.attach(spark, policy=broken) as attachment:
        wait_until(lambda: attachment.status()["policy_failures"] >= 3)
        before = query.lastProgress
        wait_until(lambda: query.lastProgress != before)
        assert query.isActive
        assert "policy broken raised ValueError: boom" in attachment.explain()
    assert said(attachment).count("boom") == 1


def test_a_recording_is_read_by_the_report(spark: SparkSession, tmp_path: Path) -> None:
    start_rate(spark, "shop")
    run = tmp_path / "run"
    with penstock.attach(spark, record=str(run), slo="10s") as attachment:
        wait_until(lambda: any(tick.seen.latency for tick in list(attachment.ticks)))
    recorded = load(run)
    assert recorded.incomplete is None
    assert recorded.settings.dry
    assert recorded.settings.slo_latency_p95 == 10.0
    events = [json.loads(line) for line in (run / "progress.jsonl").read_text().splitlines()]
    assert {event["name"] for event in events} == {"shop"}
    assert main(["report", str(run)]) == 0


def test_stopping_leaves_queries_and_no_thread(spark: SparkSession) -> None:
    query = start_rate(spark, "shop")
    attachment = penstock.attach(spark)
    wait_until(lambda: attachment.ticks)
    attachment.stop()
    assert all(thread.name != "penstock" for thread in threading.enumerate())
    assert query.isActive


def test_a_session_that_has_ended_is_no_reason_to_fail(
    tmp_path: Path, session: SparkSession
) -> None:
    gone: Any = type("Session", (), {"streams": None, "sparkContext": None})()
    attachment = penstock.attach(gone)
    assert attachment.mode == "off"
    assert "no running Spark application" in said(attachment)
    with pytest.raises(SettingError, match="spark must be a SparkSession, got 5"):
        penstock.attach(5)  # type: ignore[arg-type]
