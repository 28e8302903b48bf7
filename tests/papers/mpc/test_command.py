"""`penstock reproduce mpc` as a user and a script meet it."""

import json
from pathlib import Path

import pytest

from penstock.cli import reproduce
from penstock.core.errors import FileError
from tests.support.paths import PUBLISHED
from tests.support.reproduce_cli import (
    LONG,
    WATCHED,
    arguments,
    check_interruption,
    check_mistake,
    check_page,
    start,
)

QUICK = ["mpc", "--seeds", "1", "--steps", "2", "--jobs", "1", "--quiet"]
HFT = PUBLISHED / "hft"


def test_tables_go_to_stdout_and_a_page_and_the_data_to_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "here"
    assert reproduce.execute(arguments(*QUICK, "--out", str(out))) == 0
    told = capsys.readouterr()
    assert told.err == ""
    for words in ("Tab. 5", "Tab. 6", "random walk", "Tab. 7", "spl", "Found again?"):
        assert words in told.out
    assert not any(line != line.rstrip() or len(line) > 160 for line in told.out.splitlines())
    check_page(out, figures=("11", "12", "13", "14a", "14b", "15", "16", "17"), plots=2 + 2 + 3)


def test_json_is_one_object_with_times_and_needs_no_spark(tmp_path: Path) -> None:
    words = ["reproduce", *QUICK, "--workload", "rwalk", "--json", "--out", "out"]
    process = start("-c", WATCHED, *words, cwd=tmp_path)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (0, "")
    told = json.loads(out)
    assert told == json.loads((tmp_path / "out" / "results.json").read_text())
    times = [e["ours"]["mean"] for e in told["tables"] if e["quantity"] == "seconds"]
    assert len(times) == 6
    assert all(0 < seconds < 10 for seconds in times)
    assert told["settings"]["workloads"] == ["rwalk"]


@pytest.mark.skipif(not HFT.is_dir(), reason="the data are not here")
def test_published_data_take_the_place_of_generated_ones(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    words = [*QUICK, "--workload", "rwalk", "--data", str(HFT), "--out", out]
    assert reproduce.execute(arguments(*words)) == 0
    told = json.loads((tmp_path / "out" / "results.json").read_text())
    assert told["settings"]["data"] == "published"
    assert str(HFT) not in json.dumps(told)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mcp"], "there is no paper 'mcp' to reproduce; did you mean 'mpc'?"),
        (["mpc", "--steps", "0"], "steps must be 1 or more, got 0"),
        (["mpc", "--workload", "trend"], "there is no workload 'trend' in the paper"),
        (["game", "--data", "hft"], "paper game takes no --data, got 'hft'; leave it out"),
    ],
)
def test_mistakes_are_told_in_a_sentence_before_anything_is_written(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    check_mistake(words, sentence, tmp_path)


def test_a_folder_without_data_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read the trace .*random_walk_rates.txt"):
        reproduce.execute(arguments(*QUICK, "--data", str(tmp_path / "no")))


def test_a_signal_ends_the_workers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    words = ["mpc", "--seeds", "40", "--workload", "rwalk", "--steps", "20", "--jobs", "2"]
    check_interruption(words, 680, tmp_path)
