"""`penstock reproduce` as a user and a script meet it, and the workers behind it."""

import json
import os
import signal
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from penstock.cli import reproduce
from penstock.core.errors import FileError, PenstockError
from penstock.experiment.results import interval, student
from penstock.experiment.workers import spread
from tests.papers.commands import LONG, arguments, start

QUICK = ["game", "--seeds", "2", "--steps", "3", "--workload", "trend", "--jobs", "1", "--quiet"]


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(FileError, match=r"holds something else \(thesis.tex\); give --out another"):
        reproduce.execute(arguments(*QUICK, "--out", str(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(FileError, match="is a file; give --out another folder"):
        reproduce.execute(arguments(*QUICK, "--out", str(tmp_path / "thesis.tex")))


def test_an_earlier_reproduction_in_the_folder_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for steps in ("2", "3"):
        reproduce.execute(arguments(*QUICK, "--steps", steps, "--out", str(out)))
    assert json.loads((out / "results.json").read_text())["settings"]["steps"] == 3


@pytest.mark.parametrize(
    ("number", "done"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGINT, 4)]
)
def test_a_signal_ends_the_workers_and_leaves_nothing_behind(
    number: signal.Signals, done: int, tmp_path: Path
) -> None:
    words = ["game", "--seeds", "40", "--workload", "cyclic", "--steps", "60", "--jobs", "2"]
    process = start("-m", "penstock", "reproduce", *words, "--out", "out/a/b", cwd=tmp_path)
    assert process.stderr is not None
    for count in range(0, done + 1, 4):  # it tells of every tenth part
        assert process.stderr.readline() == f"penstock: {count} of 40 repetitions done\n"
    whole_group = number == signal.SIGINT  # as a terminal does it
    (os.killpg if whole_group else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (128 + number, "")
    *progress, last = err.splitlines()
    assert last == "penstock: stopped; nothing was written"
    assert all(line.endswith("of 40 repetitions done") for line in progress)
    assert list(tmp_path.iterdir()) == []
    assert _is_over(process.pid)


def _is_over(group: int) -> bool:
    """Whether every process of the group has ended, as the last ones may take a moment to."""
    until = monotonic() + LONG
    while monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
    return False


def test_results_come_with_their_place_whatever_the_order() -> None:
    items = list(range(-5, 6))
    assert dict(spread(abs, items, jobs=3)) == {i: abs(item) for i, item in enumerate(items)}
    assert list(spread(abs, [], jobs=3)) == []


def test_an_error_in_a_worker_is_raised_here() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(spread(int, ["1", "two", "3"], jobs=2))


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(PenstockError, match=r"a worker process has died.*fewer --jobs"):
        list(spread(os._exit, [3, 3], jobs=2))


def test_workers_end_when_no_more_results_are_asked_for() -> None:
    results = spread(_parent_of, [0] * 50, jobs=2)
    _, (pid, parent) = next(results)
    assert parent == os.getpid()
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def _parent_of(_: int) -> tuple[int, int]:
    return os.getpid(), os.getppid()


@pytest.mark.parametrize(
    ("freedom", "printed"), [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (99, 1.984)]
)
def test_quantiles_of_student_are_those_of_printed_tables(freedom: int, printed: float) -> None:
    assert student(freedom) == pytest.approx(printed, rel=2e-3)


def test_intervals_hold_the_true_mean_in_95_of_100_cases() -> None:
    random = np.random.default_rng(7)
    samples = random.normal(10.0, 2.0, (4000, 6))
    found = [interval(sample.tolist()) for sample in samples]
    held = sum(abs(one.mean - 10.0) <= (one.half_width or 0.0) for one in found)
    assert held / 4000 == pytest.approx(0.95, abs=0.012)


def test_a_single_run_has_no_interval() -> None:
    assert interval([3.0]).to_json() == {"mean": 3.0, "low": None, "high": None, "runs": 1}
