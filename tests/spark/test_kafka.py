"""Rows from a real Kafka broker and results to it: nothing is lost, whatever happens."""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.apps.trading.application import digest as windows_digest
from penstock.apps.trading.quotes import Quotes
from penstock.apps.wordcount.application import digest
from penstock.apps.wordcount.sentences import Sentences
from penstock.core.signals import Observation
from penstock.pipeline.file import load
from penstock.pipeline.settings import PipelineFile
from tests.apps.trading.test_on_spark import SYMBOLS
from tests.apps.trading.test_on_spark import expected as windows_of
from tests.support.kafka_broker import Broker, Send, running_broker
from tests.support.processes import executor_pids, penstock, wait_until
from tests.support.spark_runs import SharedSpark, expected, settled

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BEFORE = 200
"""Lines that the topic has before the run."""
SECONDS = 18.0
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required key='hush-hush';"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


def word_count(broker: Broker) -> PipelineFile:
    """From topic to topic."""
    kafka = json.dumps({"servers": broker.servers, "topic": "lines"})
    sink = json.dumps({"kafka": {"servers": broker.servers, "topic": "counts"}})
    return load("wordcount", [f"source.kafka={kafka}", f"sink={sink}", "step=1s"])


@pytest.fixture(scope="module")
def spark(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSpark]:
    with SharedSpark.opened(word_count(broker), tmp_path_factory.mktemp("spark")) as opened:
        yield opened


@dataclass
class Outcome:
    seen: list[Observation] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    sent: int = 0
    """Lines that were sent while the run lasted."""
    came: int = 0
    stayed: int = 0
    records: list[str] = field(default_factory=list)


def keep_sending(send: Send, outcome: Outcome, stop: threading.Event) -> None:
    """Sixty lines every half second."""
    while not stop.wait(0.5):
        send(Sentences(1).texts(np.arange(outcome.sent, outcome.sent + 60)))
        outcome.sent += 60


@pytest.fixture(scope="module")
def counted(
    broker: Broker, spark: SharedSpark, tmp_path_factory: pytest.TempPathFactory
) -> Outcome:
    """A word count from topic to topic, scaled out and in, of which an executor is killed."""
    outcome, folder = Outcome(), tmp_path_factory.mktemp("counted")
    broker.create("lines")
    broker.create("counts", partitions=1)
    broker.produce("lines", ["words of another day"] * BEFORE)
    with (
        broker.producer("lines") as send,
        spark.deployed(word_count(broker), folder, SECONDS) as plant,
    ):
        stop = threading.Event()
        sender = threading.Thread(target=keep_sending, args=(send, outcome, stop))
        sender.start()
        outcome.came = settled(plant, {"splitter": 3, "counter": 1})
        for number, seen in enumerate(plant.readings()):
            outcome.seen.append(seen)
            if number == 6:
                os.kill(executor_pids(spark.folder)[-1], signal.SIGKILL)
            if number == 12:
                stop.set()
        sender.join()
        arrived = plant.queries["splitter"].arrived
        assert arrived is not None
        wait_until(lambda: arrived() == outcome.sent)  # the producer may be behind
        outcome.stayed = settled(plant, {"splitter": 1, "counter": 1})
    outcome.results = plant.results
    outcome.records = broker.consume("counts", "print.key=true", "print.headers=true")
    return outcome


def test_every_line_is_counted_once_and_only_those_of_the_run(counted: Outcome) -> None:
    truth = expected(counted.sent)
    assert counted.sent >= 600
    assert counted.results["rows_fed"] == counted.sent
    assert not any(counted.results["rows_waiting"].values())
    assert counted.results["words_counted"] == truth.total()
    assert counted.results["digest"] == digest(truth)
    assert counted.results["rows_refused"] == {}


def test_results_are_in_the_topic_with_their_keys(counted: Outcome) -> None:
    found: Counter[str] = Counter()
    runs = set()
    for record in counted.records:
        headers, key, value = record.split("\t")
        row = json.loads(value)
        assert row["word"] == key
        assert row["ts"]
        found[key] = max(found[key], row["count"])
        runs.add(headers.split(",")[0])
        assert headers.split(",")[1].startswith("batch:")
    assert found == expected(counted.sent)
    assert len(runs) == 1


def test_executors_come_and_go_while_rows_come(counted: Outcome) -> None:
    assert (counted.came, counted.stayed) == (4, 2)


def test_arrivals_and_backlog_are_reported_in_every_step(counted: Outcome) -> None:
    readings = [seen.modules["splitter"] for seen in counted.seen]
    assert all(m.backlog is not None and m.backlog <= counted.sent for m in readings)
    rates = [(m.arrival_rate, seen.step) for m, seen in zip(readings, counted.seen, strict=True)]
    assert all(rate is not None and rate >= 0 for rate, _ in rates)
    came = sum((rate or 0.0) * step for rate, step in rates)
    assert 0 < came <= counted.sent * 1.05  # some came before the first step
    assert any(m.backlog for m in readings)
    assert [seen.latency for seen in counted.seen if seen.latency is not None]


PAYMENTS = """\
pipeline: enrichment
step: 1s
duration: 4s
policy: {{name: static}}
source:
  module: lookup
  kafka:
    servers: {servers}
    topic: {topic}
    starting_offsets: earliest
    options: {{kafka.sasl.jaas.config: "{secret}"}}
modules:
  lookup: {{service_time: 2ms, max_replicas: 2, trigger: 1s}}
  score: {{service_time: 1ms, max_replicas: 2, trigger: 1s}}
streams: [{{from: lookup, to: score}}]
"""
BAD = ["nonsense", '{"number": 1, "account": "x", "amount": 2}', "[1, 2]", '{"number": 7}', "{}"]


def written(folder: Path, broker: Broker, topic: str) -> str:
    path = folder / "payments.yaml"
    path.write_text(PAYMENTS.format(servers=broker.servers, topic=topic, secret=LOGIN))
    return str(path)


def test_records_that_are_no_rows_are_counted_and_left_out(broker: Broker, tmp_path: Path) -> None:
    good = [json.dumps({"number": n, "account": n % 7, "amount": 9.5}) for n in range(300)]
    broker.create("payments")
    broker.produce("payments", [*good[:150], *BAD, *good[150:]])
    words = ["run", written(tmp_path, broker, "payments"), "--json", "--quiet"]
    done = penstock(*words, "--out", str(tmp_path / "r"))
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert results["payments"] == 300
    assert results["rows_fed"] == 305
    assert results["rows_refused"] == {"lookup": {"malformed": 3, "incomplete": 2}}
    for path in (tmp_path / "r").rglob("*"):
        assert path.is_dir() or b"hush-hush" not in path.read_bytes(), path


def test_rows_that_are_routed_by_key_come_from_a_topic_and_go_to_one(
    broker: Broker, spark: SharedSpark, tmp_path: Path
) -> None:
    rows = 2000
    quotes = pa.table(Quotes(seed=1, symbols=SYMBOLS).columns(np.arange(rows))).to_pylist()
    broker.create("quotes", partitions=1)  # quotes of a symbol must stay in their order
    broker.create("windows", partitions=1)
    broker.produce("quotes", map(json.dumps, quotes))
    source = {"servers": broker.servers, "topic": "quotes", "starting_offsets": "earliest"}
    sink = {"servers": broker.servers, "topic": "windows", "key": "symbol"}
    settings = [
        f"source.kafka={json.dumps(source)}",
        f"sink.kafka={json.dumps(sink)}",
        *("policy=static", "step=1s", f"modules.algotrader.keys={SYMBOLS}"),
    ]
    with spark.deployed(load("trading", settings), tmp_path, duration=5.0) as plant:
        list(plant.readings())
    truth = windows_of(rows)
    assert plant.results["rows_refused"] == {}
    assert plant.results["rows_fed"] == rows
    assert plant.results["digest"] == f"{windows_digest(truth):016x}"
    records = broker.consume("windows", "print.key=true")
    found = [(key, json.loads(value)["ordinal"]) for key, value in (r.split("\t") for r in records)]
    assert sorted(found) == sorted(
        zip(truth["symbol"].to_pylist(), truth["ordinal"].to_pylist(), strict=True)
    )


def test_a_topic_that_there_is_not_is_reported_with_the_remedy(
    broker: Broker, tmp_path: Path
) -> None:
    words = ["run", written(tmp_path, broker, "paymets"), "--out", str(tmp_path / "r")]
    done = penstock(*words)
    assert done.returncode == 2
    assert f"there is no topic paymets at {broker.servers}; create it" in done.stderr
    assert "Traceback" not in done.stderr
