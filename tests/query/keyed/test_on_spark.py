"""Keys change hands all the time on a real cluster, and an executor is killed in the middle."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.apps.trading.application import Algotrader
from penstock.apps.trading.quotes import Quotes
from penstock.core.routing import Routing
from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.file import load
from penstock.query.keyed import KeyedOperator, Setting
from penstock.query.keyed.task import TaskReport
from penstock.spark import source
from penstock.spark.backend import DEFAULT_PROFILE, Backend
from penstock.workload import Constant
from penstock.workload.keys import names
from tests.support.market_reference import Trader, ordered
from tests.support.processes import PATIENCE, executor_pids

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SYMBOLS, RATE, SECONDS, EXECUTORS = 300, 1600.0, 15.0, 3
FAULTS = {"malformed": 0.01, "duplicate": 0.01, "empty": 0.01, "stranger": 0.02}
QUOTES = Quotes(seed=3, symbols=SYMBOLS, faults=FAULTS)


@dataclass
class Run:
    """What went in, what came out, and what happened meanwhile."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    reports: list[TaskReport] = field(default_factory=list)
    tables: set[int] = field(default_factory=set)
    """Numbers of replicas that tables had."""
    moves: int = 0

    @property
    def waited(self) -> int:
        """How often rows were left for the next step, because the state of their key was late."""
        return sum(
            filed["accepted"] < 0 for reports in self.reports for filed in reports.entries.values()
        )

    def sink(self, results: pa.Table, _step: int) -> None:
        self.results += results.to_pylist()


@contextmanager
def executors(spark: SparkSession, count: int) -> Iterator[None]:
    backend = Backend(spark)
    backend.request({DEFAULT_PROFILE: count})
    give_up = time.monotonic() + PATIENCE
    while sum(executor.active for executor in backend.executors()) < count:
        assert time.monotonic() < give_up, "the executors did not come"
        time.sleep(0.1)
    yield


def wander(operator: KeyedOperator, run: Run, until: threading.Event) -> None:
    """Give everyone's keys to others, several times a second."""
    random, known = np.random.default_rng(5), names(SYMBOLS)
    while not until.wait(0.3):
        replicas = int(random.integers(1, EXECUTORS + 2))
        owners = dict(zip(known, random.integers(0, replicas, len(known)).tolist(), strict=True))
        operator.reroute(Routing(replicas=replicas, owners=owners))
        run.tables.add(replicas)
        run.moves += 1


def drained(operator: KeyedOperator, run: Run, rows: int) -> bool:
    operator.settle()
    return sum(sum(reports.rows.values()) for reports in run.reports) == rows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder, run = tmp_path_factory.mktemp("keyed"), Run()
    scratch = folder / "spark"
    scratch.mkdir()
    file = load("trading", [])
    feed = source.Feed(
        workload=Constant(RATE),
        rows=QUOTES,
        gate=folder / "start",
        total=int(RATE * SECONDS),
        disorder=0.01,
        max_rows=int(RATE),  # several batches however slow the first is: keys move between two
    )
    with (
        prepare(file, None).session(scratch) as session,
        executors(session.spark, EXECUTORS),
    ):
        _stream(session.spark, feed, folder, run)
    began = float((folder / "start").read_text())
    run.rows = feed.batch(0, feed.total, began).to_pylist()
    return run


def _stream(spark: SparkSession, feed: source.Feed, folder: Path, run: Run) -> None:
    operator = KeyedOperator(
        work=Algotrader(),
        store=str(folder / "store"),
        sink=run.sink,
        table=Routing(replicas=EXECUTORS),
        setting=Setting(service_time=1e-5, spend="wait", fetch_delay=15e-3, grace=0.01),
        on_report=run.reports.extend,
    )
    spark.dataSource.register(source.WorkloadSource)
    stream = spark.readStream.format(source.FORMAT).option("feed", feed.encode()).load()
    feed.open(time.time())
    query = (
        stream.writeStream.foreachBatch(operator.take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )
    over = threading.Event()
    mover = threading.Thread(target=wander, args=(operator, run, over))
    mover.start()
    try:
        time.sleep(SECONDS / 2)
        os.kill(executor_pids(folder)[0], signal.SIGKILL)
        give_up = time.monotonic() + 600  # on a busy machine a first batch takes minutes
        while not drained(operator, run, feed.total):
            assert query.isActive, query.exception()
            assert time.monotonic() < give_up, "rows are missing"
            time.sleep(0.2)
    finally:
        over.set()
        mover.join()
        query.stop()


def test_every_result_is_that_of_a_single_thread(run: Run) -> None:
    trader = Trader()
    expected = ordered(trader.run(run.rows))
    found = ordered(run.results)
    identity = ("symbol", "ordinal", "number")
    assert [[r[n] for n in identity] for r in found] == [[r[n] for n in identity] for r in expected]
    assert len(found) > 500
    for ours, theirs in zip(found, expected, strict=True):
        for name in ("open", "high", "low", "close", "bid_points", "ask_points"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-12)
        for side in ("bid", "ask"):
            assert at_the_end(ours, side) == pytest.approx(at_the_end(theirs, side), rel=1e-6)


def at_the_end(result: dict[str, Any], side: str) -> float:
    """The price that the parabola of a side gives for the moment of the result."""
    x = float(micros(result["ts"]) - micros(result["oldest"]))
    a, b, c = (result[f"{side}_{name}"] for name in ("quadratic", "linear", "constant"))
    return float((a * x + b) * x + c)


def micros(moment: Any) -> int:
    return moment if isinstance(moment, int) else round(moment.timestamp() * 1e6)


def test_refused_rows_are_counted_by_reason(run: Run) -> None:
    trader = Trader()
    trader.run(run.rows)
    refused: Counter[str] = Counter()
    for reports in run.reports:
        refused.update(reports.refused)
    assert +refused == trader.refused
    assert refused.keys() == {"malformed", "empty", "duplicate", "late"}


def test_results_of_a_symbol_come_in_order(run: Run) -> None:
    last: dict[str, list[int]] = {}
    for result in run.results:
        last.setdefault(result["symbol"], []).append(result["ordinal"])
    assert all(b == a + 1 for ordinals in last.values() for a, b in pairwise(ordinals))


def test_keys_did_change_hands_and_some_rows_had_to_wait(run: Run) -> None:
    assert run.moves > 20
    assert len(run.tables) == EXECUTORS + 1
    assert run.waited > 0


def test_symbols_never_heard_of_are_worked_on(run: Run) -> None:
    seen = {key for reports in run.reports for key in reports.rows}
    assert any(key.startswith("NEW") for key in seen)
