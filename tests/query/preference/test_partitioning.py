"""Every row of a batch goes to one worker, whatever the threshold and the number of workers."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.apps.preference.application import preference
from penstock.pipeline.deploy.splitting import splitting_of
from penstock.pipeline.file import load
from penstock.query.preference.splitting import Splitting
from penstock.spark.source import Feed, WorkloadReader, decode
from penstock.workload import Constant

PANE = 200_000
"""Microseconds, as in the built-in file."""


def feed(folder: Path) -> tuple[Feed, Splitting]:
    """A second of 5,000 rows, more than a chunk of the source, read by one worker or several."""
    file = load("preference", ["policy=fuzzy", "modules.plq.max_replicas=5", "guards=[]"])
    application, splitting = preference(file), splitting_of(file, folder)
    assert application.partitioning is not None
    made = Feed(
        workload=Constant(5000.0),
        rows=application.rows(),
        gate=folder / "start",
        total=5000,
        disorder=0.4,
        partitioner=application.partitioning.partitioner(splitting),
    )
    made.open(1_000_000.0)
    return made, splitting


def shares(made: Feed) -> list[pa.Table]:
    """What each worker reads, by way of the text that Spark carries."""
    reader = WorkloadReader(decode(made.encode()))
    parts = reader.partitions({"rows": 0}, {"rows": 5000})
    return [pa.Table.from_batches(list(reader.read(part))) for part in parts]


@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.integers(1, 5), st.none() | st.integers(1, 5000))
def test_every_row_has_one_worker(tmp_path: Path, workers: int, threshold: int | None) -> None:
    made, splitting = feed(tmp_path)
    splitting.write(workers=workers, threshold=threshold)
    read = shares(made)
    assert len(read) == workers
    numbers = np.concatenate([share["number"].to_numpy() for share in read])
    assert np.array_equal(np.sort(numbers), np.arange(5000))


def parts_of_panes(read: list[pa.Table]) -> dict[int, int]:
    """Workers that have rows of each pane."""
    owned = [np.unique(share["ts"].cast(pa.int64()).to_numpy() // PANE) for share in read]
    panes, counts = np.unique(np.concatenate(owned), return_counts=True)
    return dict(zip(panes.tolist(), counts.tolist(), strict=True))


def test_without_a_threshold_each_pane_is_with_one_worker(tmp_path: Path) -> None:
    made, splitting = feed(tmp_path)
    splitting.write(workers=3)
    assert set(parts_of_panes(shares(made)).values()) == {1}


def test_a_low_threshold_spreads_every_pane_evenly(tmp_path: Path) -> None:
    made, splitting = feed(tmp_path)
    splitting.write(workers=3, threshold=1)
    read = shares(made)
    assert set(parts_of_panes(read).values()) == {3}
    assert [share.num_rows for share in read] == pytest.approx([5000 / 3] * 3, abs=10)


def test_rows_that_are_read_again_go_the_same_way(tmp_path: Path) -> None:
    made, splitting = feed(tmp_path)
    splitting.write(workers=4, threshold=300)
    assert shares(made) == shares(made)


def test_the_split_of_a_batch_is_that_of_its_beginning(tmp_path: Path) -> None:
    made, splitting = feed(tmp_path)
    splitting.write(workers=2, threshold=300)
    reader = WorkloadReader(made)
    parts = reader.partitions({"rows": 0}, {"rows": 5000})
    splitting.write(workers=5, threshold=7)
    rows = [sum(batch.num_rows for batch in reader.read(part)) for part in parts]
    assert len(rows) == 2
    assert sum(rows) == 5000
