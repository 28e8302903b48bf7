"""Heavy panes are split just as the threshold says, and never over more workers than there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError, SettingError
from penstock.core.panes import Panes
from penstock.query.preference.parts import Columns
from penstock.query.preference.splitting import (
    ARRIVALS,
    WORKER,
    Owners,
    RoutePanes,
    Split,
    Splitting,
)

PANES = st.lists(st.integers(0, 5), max_size=200)


@given(PANES, st.integers(1, 5), st.integers(1, 60))
def test_no_worker_gets_more_of_a_pane_at_a_time_than_the_threshold(
    panes: list[int], workers: int, threshold: int
) -> None:
    given_panes = np.array(panes, np.int64)
    assigned = Owners(Split(workers, threshold)).assign(given_panes)
    assert ((assigned >= 0) & (assigned < workers)).all()
    for pane in set(panes):
        mine = assigned[given_panes == pane]
        turns = np.split(mine, np.arange(threshold, len(mine), threshold))
        assert all(len(set(turn.tolist())) == 1 for turn in turns)


@given(PANES, st.integers(1, 5), st.lists(st.integers(0, 200), max_size=4))
def test_the_same_rows_go_the_same_way_however_they_are_cut(
    panes: list[int], workers: int, cuts: list[int]
) -> None:
    """As long as no two panes mix: owners are chosen by load, in the order of arrival."""
    given_panes = np.sort(np.array(panes, np.int64))
    whole = Owners(Split(workers, 7)).assign(given_panes)
    owners = Owners(Split(workers, 7))
    pieces = np.split(given_panes, sorted(cut for cut in cuts if cut < len(panes)))
    assert np.concatenate([owners.assign(piece) for piece in pieces]).tolist() == whole.tolist()


@given(PANES, st.integers(1, 5))
def test_without_a_threshold_panes_stay_whole(panes: list[int], workers: int) -> None:
    given_panes = np.array(panes, np.int64)
    assigned = Owners(Split(workers)).assign(given_panes)
    assert all(len(set(assigned[given_panes == pane].tolist())) == 1 for pane in set(panes))


def test_the_least_loaded_worker_becomes_the_owner() -> None:
    assigned = Owners(Split(2, 100)).assign(np.array([0] * 50 + [1] * 10 + [2] * 5))
    assert assigned[[0, 50, 60]].tolist() == [0, 1, 1]


def test_a_heavy_pane_is_spread_over_all_workers() -> None:
    assigned = Owners(Split(4, 25)).assign(np.zeros(100, np.int64))
    assert np.bincount(assigned).tolist() == [25, 25, 25, 25]


def test_emitters_begin_with_different_workers() -> None:
    first = [Owners(Split(3, 9), task).assign(np.array([4]))[0] for task in range(3)]
    assert first == [0, 1, 2]


def spread(tmp_path: Path, rows: pa.Table) -> pa.Table:
    splitting = Splitting(path=tmp_path / "splitting.json", workers=3)
    splitting.write(threshold=2)
    emitter = RoutePanes(
        columns=Columns(on=("x",)), panes=Panes(window=10, slide=10), splitting=splitting
    )
    return pa.Table.from_batches(list(emitter(iter(rows.to_batches()))))


def test_an_emitter_sends_last_how_its_rows_came(tmp_path: Path) -> None:
    times = pa.array([3, 4, 25, None], pa.timestamp("us", "UTC"))
    made = spread(tmp_path, pa.table({"ts": times, "x": [1.0, None, 2.0, 3.0]}))
    assert made["x"].to_pylist() == [1.0, 2.0, None]
    assert made[ARRIVALS].to_pylist() == [None, None, [2, 3, 25]]
    assert made["pane_set_aside"].to_pylist()[-1] == 2
    assert made[WORKER].null_count == 0


def test_a_task_without_rows_reports_nothing(tmp_path: Path) -> None:
    emitter = RoutePanes(
        columns=Columns(on=("x",)),
        panes=Panes(window=10, slide=10),
        splitting=Splitting(path=tmp_path / "none", workers=2),
    )
    assert list(emitter(iter([]))) == []


def test_a_file_that_is_half_written_or_foreign_leaves_panes_whole(tmp_path: Path) -> None:
    splitting = Splitting(path=tmp_path / "splitting.json", workers=3)
    for text in (
        "",
        "{",
        "[]",
        '{"threshold": 1e999, "workers": 2}',
        '{"workers": "x"}',
        '{"threshold": 0, "workers": 2}',
    ):
        Path(splitting.path).write_text(text)
        assert splitting.read().threshold is None


def test_there_are_never_more_workers_than_were_planned(tmp_path: Path) -> None:
    splitting = Splitting(path=tmp_path / "splitting.json", workers=3)
    splitting.write(threshold=5, workers=9)
    assert splitting.read() == Split(3, 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 0}, "threshold of splitting must be a whole number of at least 1, got 0"),
        ({"threshold": float("inf")}, "threshold of splitting must be a whole number"),
        ({"threshold": "5"}, "threshold of splitting must be a whole number"),
        ({"workers": 0}, "workers of splitting must be a whole number of at least 1, got 0"),
    ],
)
def test_refuses_what_cannot_be_split(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        Splitting(path=tmp_path / "splitting.json", workers=3).write(**settings)
    workers: Any
    for workers in (0, "4", 2.5, True, None):
        with pytest.raises(SettingError, match="workers of splitting must be a whole number"):
            Splitting(path=tmp_path / "splitting.json", workers=workers)
    with pytest.raises(FileError, match="splitting cannot be written to"):
        Splitting(path=tmp_path / "none" / "splitting.json", workers=2).write(threshold=3)
