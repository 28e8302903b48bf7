"""Traces: every row of a file comes in its second, and what is malformed is named."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import FileError
from penstock.workload import Trace, parse
from tests.support.paths import PUBLISHED
from tests.workload.test_workloads import at

DATA = PUBLISHED
TraceFile = Callable[[str], str]


@pytest.fixture
def trace_file(tmp_path: Path) -> TraceFile:
    def write(text: str) -> str:
        path = tmp_path / "arrivals.txt"
        path.write_text(text)
        return str(path)

    return write


def test_a_trace_brings_every_row_in_its_second(trace_file: TraceFile) -> None:
    trace = Trace(trace_file("0 3\n1 0\n2 5\n"))
    moments = trace.times(np.arange(9.0))
    assert np.histogram(moments[:8], bins=[0, 1.0001, 2.0001, 3.0001])[0].tolist() == [3, 0, 5]
    assert moments[8] == np.inf
    assert trace.arrivals(at(1, 2, 3, 1e6)).tolist() == [3, 3, 8, 8]


@settings(deadline=None)  # a busy machine is no failure
@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=30).filter(any),
    st.floats(0.01, 100.0),
    st.sampled_from([0.1, 0.7, 1 / 3, 1.0, 2.5]),
    st.booleans(),
)
def test_no_row_of_a_trace_is_lost_to_rounding(
    tmp_path_factory: pytest.TempPathFactory,
    counts: list[int],
    speed: float,
    scale: float,
    repeat: bool,
) -> None:
    path = tmp_path_factory.mktemp("trace") / "arrivals.txt"
    path.write_text("".join(f"{second} {count}\n" for second, count in enumerate(counts)))
    trace = Trace(str(path), speed=speed, scale=scale, repeat=repeat)
    end = np.array([len(counts) / speed * (1 - 1e-12)])
    rows = float(np.floor(trace.arrivals(end)[0] * (1 + 1e-12)))
    moments = trace.times(np.arange(rows))
    assert np.all(np.diff(moments) >= 0)
    assert np.all(moments <= end[0] * (1 + 1e-9))


def test_the_last_row_of_a_scaled_trace_comes_at_its_end(trace_file: TraceFile) -> None:
    # 0.7 of 30 rows are 21, but 21 / 0.7 is more than 30 in binary
    assert Trace(trace_file("0 30\n"), scale=0.7).times(at(20, 21)).tolist() == [1.0, np.inf]


def test_a_trace_can_be_played_faster_larger_and_again(trace_file: TraceFile) -> None:
    path = trace_file("0 10\n1 30\n")
    assert Trace(path, speed=2.0).arrivals(at(0.5, 1.0)).tolist() == [10, 40]
    assert Trace(path, scale=2.0).arrivals(at(1.0, 2.0)).tolist() == [20, 80]
    again = Trace(path, repeat=True)
    assert again.arrivals(at(2.0, 3.0, 20.0)).tolist() == [40, 50, 400]
    assert again.rate(at(0.5, 1.5, 2.5, 3.5)).tolist() == [10, 30, 10, 30]
    assert again.times(at(39, 40, 399)).tolist() == pytest.approx([2.0, 2.1, 20.0])


def test_the_last_row_of_a_play_comes_before_the_silence_that_follows(
    trace_file: TraceFile,
) -> None:
    again = Trace(trace_file("0 10\n1 0\n"), repeat=True)
    assert again.times(at(9, 10, 19)).tolist() == pytest.approx([1.0, 2.1, 3.0])


def test_a_trace_without_rows_stays_silent(trace_file: TraceFile) -> None:
    silent = Trace(trace_file("0 0\n1 0\n"), repeat=True)
    assert silent.arrivals(at(0, 100)).tolist() == [0, 0]
    assert silent.times(at(0)).tolist() == [np.inf]


def test_seconds_count_from_the_first_line_and_gaps_are_silent(trace_file: TraceFile) -> None:
    trace = Trace(trace_file("1700000000 4  # a remark\n\n1700000003 2\n"))
    assert trace.rate(at(0, 1, 2.9, 3)).tolist() == [4, 0, 0, 2]


def test_a_trace_needs_its_file_no_more_once_read(trace_file: TraceFile) -> None:
    path = trace_file("0 3\n")
    trace = Trace(path)
    Path(path).unlink()
    assert pickle.loads(pickle.dumps(trace)) == trace  # noqa: S301  # our own, a moment ago


def test_traces_of_other_counts_differ(trace_file: TraceFile) -> None:
    before = Trace(trace_file("0 3\n"))
    assert before != Trace(trace_file("0 4\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 3\n1 many\n", "line 2 of .* must be a second and a count, got '1 many'"),
        ("0 3\n\n1 2 3\n", "line 3 of .* got '1 2 3'"),
        ("0 -3\n", "line 1 of .* got '0 -3'"),
        ("0 nan\n", "line 1 of .* got '0 nan'"),
        ("0 3\n0 4\n", "line 2 of .* must be of a later second, got '0 4'"),
        ("3\n0 1\n1 1\n", "line 1 of .* announces '3' lines, but 2 follow"),
        ("time count\n0 1\n", "line 1 of .* got 'time count'"),
        ("# nothing\n", "has no line with a second and a count"),
        ("", "has no line with a second and a count"),
    ],
)
def test_a_malformed_line_is_named_and_shown(
    trace_file: TraceFile, text: str, message: str
) -> None:
    with pytest.raises(FileError, match=message):
        Trace(trace_file(text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read the trace .*none.txt: No such file"):
        parse(f"trace:{tmp_path}/none.txt")
    with pytest.raises(FileError, match="Is a directory"):
        parse(f"trace:{tmp_path}")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="it is not text"):
        Trace(str(tmp_path / "rows.bin"))


@pytest.mark.skipif(not DATA.exists(), reason="the published traces are not here")
@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("ppq/arrivals_Game1_2x.txt", 415),
        ("ppq/arrivals_Game2_2x.txt", 192),
        ("ppq/arrivals_elastic.txt", 423),
        ("ppq/arrivals_map_i1K.txt", 329),
        ("ppq/arrivals_map_i2K.txt", 337),
        ("ppq/arrivals_pareto_h0.6.txt", 390),
        ("ppq/arrivals_pareto_h0.7.txt", 376),
        ("hft/random_walk_rates.txt", 180),
    ],
)
def test_published_traces_bring_all_their_rows(name: str, seconds: int) -> None:
    pairs = np.loadtxt(DATA / name, skiprows=1 if name.startswith("hft") else 0)
    trace = parse({"kind": "trace", "path": str(DATA / name)})
    assert len(pairs) == seconds
    assert trace.arrivals(at(seconds)).tolist() == [pairs[:, 1].sum()]
    assert np.array_equal(trace.rate(np.arange(float(seconds))), pairs[:, 1])
