"""The workload as Spark's source sees it; no Spark is needed to ask it."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.apps.wordcount.sentences import SHORTEST_KEPT, Sentences
from penstock.spark.source import Feed, WorkloadReader, decode
from penstock.workload import Constant


def feed(folder: Path, **changes: object) -> Feed:
    settings: dict[str, object] = {
        "workload": Constant(10.0),
        "rows": Sentences(1),
        "gate": folder / "start",
        "total": 100,
        "first": 4,
    }
    return Feed(**(settings | changes))  # type: ignore[arg-type]


def rows(reader: WorkloadReader, begin: int, end: int) -> list[tuple[object, object]]:
    parts = reader.partitions({"rows": begin}, {"rows": end})
    batches = [batch for part in parts for batch in reader.read(part)]
    return [(r["ts"], r["sentence"]) for batch in batches for r in batch.to_pylist()]


def test_only_the_first_rows_come_while_the_gate_is_closed(tmp_path: Path) -> None:
    assert feed(tmp_path).arrived(1e9) == 4


def test_the_workload_begins_when_the_gate_opens(tmp_path: Path) -> None:
    made = feed(tmp_path)
    made.open(1000.0)
    assert [made.arrived(t) for t in (999.0, 1000.0, 1001.0, 1005.05, 2000.0)] == [
        4,
        4,
        14,
        54,
        104,
    ]


def test_no_row_comes_after_the_gate_has_closed(tmp_path: Path) -> None:
    made = feed(tmp_path)
    made.open(1000.0)
    made.close(1002.0)
    assert made.arrived(1050.0) == 24


def test_rows_are_the_same_however_a_batch_is_cut(tmp_path: Path) -> None:
    hint = tmp_path / "hint"
    reader = WorkloadReader(feed(tmp_path, hint=hint))
    reader._feed.open(1000.0)
    hint.write_text("5")
    whole = rows(reader, 4, 44)
    hint.write_text("1")
    assert rows(reader, 4, 20) + rows(reader, 20, 44) == whole
    assert len(whole) == 40


def test_rows_are_created_when_the_workload_says(tmp_path: Path) -> None:
    made = feed(tmp_path)
    created = made.batch(4, 7, 1000.0)["ts"].cast("int64").to_numpy() / 1e6
    assert created == pytest.approx([1000.1, 1000.2, 1000.3])


def test_disorder_makes_rows_older_within_bounds_and_the_same_each_time(tmp_path: Path) -> None:
    plain, mixed = feed(tmp_path), feed(tmp_path, disorder=0.4)
    steady = plain.batch(4, 104, 1000.0)["ts"].cast("int64").to_numpy() / 1e6
    created = mixed.batch(4, 104, 1000.0)["ts"].cast("int64").to_numpy() / 1e6
    assert (created <= steady + 1e-5).all()
    assert (created >= steady - 0.4 - 1e-5).all()
    assert (np.diff(created) < 0).any()
    assert mixed.batch(4, 104, 1000.0).equals(mixed.batch(4, 104, 1000.0))


def test_a_batch_is_limited_and_the_backlog_stays_visible(tmp_path: Path) -> None:
    made = feed(tmp_path, max_rows=30)
    made.open(0.0)
    reader = WorkloadReader(made)
    limit = reader.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    assert reader.latestOffset({"rows": 0}, limit) == {"rows": 30}
    assert reader.latestOffset({"rows": 0}, ReadAllAvailable()) == {"rows": 104}
    assert reader.reportLatestOffset() == {"rows": 104}


def test_a_feed_survives_its_journey_to_another_process(tmp_path: Path) -> None:
    made = feed(tmp_path)
    assert decode(made.encode()) == made


def test_sentences_have_five_words_of_which_three_are_short() -> None:
    texts = Sentences(3).texts(np.arange(20_000))
    words = [word for text in texts for word in text.split()]
    assert len(words) / len(texts) == pytest.approx(5, rel=0.01)
    kept = sum(len(word) >= SHORTEST_KEPT for word in words)
    assert kept / len(words) == pytest.approx(0.4, rel=0.02)
