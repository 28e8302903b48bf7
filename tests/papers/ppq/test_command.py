"""`penstock reproduce ppq` as a user and a script meet it."""

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

QUICK = ["ppq", "--seeds", "1", "--steps", "2", "--jobs", "1", "--quiet"]
PPQ = PUBLISHED / "ppq"


def test_tables_go_to_stdout_and_a_page_and_the_data_to_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "here"
    words = [*QUICK, "--workload", "steps", "--workload", "ss-0.6", "--workload", "game1"]
    assert reproduce.execute(arguments(*words, "--out", str(out))) == 0
    told = capsys.readouterr()
    assert told.err == ""
    for text in ("Tab. 4", "Tab. 5", "Loads of both", "Fig. 10", "Fig. 17", "Fig. 18", "again?"):
        assert text in told.out
    assert not any(line != line.rstrip() or len(line) > 160 for line in told.out.splitlines())
    check_page(
        out, figures=("9", "10a", "10b", "14", "15", "17", "18"), plots=4 + 2 + 2 + 3 + 1 + 3 + 3
    )


def test_json_is_one_object_and_needs_no_spark(tmp_path: Path) -> None:
    words = ["reproduce", *QUICK, "--workload", "rw", "--json", "--out", "out"]
    process = start("-c", WATCHED, *words, cwd=tmp_path)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (0, "")
    told = json.loads(out)
    assert told == json.loads((tmp_path / "out" / "results.json").read_text())
    assert told["settings"]["workloads"] == ["rw"]
    assert {entry["table"] for entry in told["tables"]} == {"4", "5"}


@pytest.mark.skipif(not PPQ.is_dir(), reason="the data are not here")
def test_published_streams_are_played_beside_generated_ones(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    words = [*QUICK, "--workload", "rw", "--data", str(PPQ), "--out", out]
    assert reproduce.execute(arguments(*words)) == 0
    told = json.loads((tmp_path / "out" / "results.json").read_text())
    assert told["settings"]["data"] == "generated and published"
    assert {entry["source"] for entry in told["tables"]} == {"generated", "published"}
    assert str(PPQ) not in json.dumps(told)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["pqp"], "there is no paper 'pqp' to reproduce; did you mean 'ppq'?"),
        (["ppq", "--steps", "0"], "steps must be 1 or more, got 0"),
        (["ppq", "--workload", "day"], "there is no workload 'day' in the paper"),
    ],
)
def test_mistakes_are_told_in_a_sentence_before_anything_is_written(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    check_mistake(words, sentence, tmp_path)


def test_a_folder_without_data_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read the trace .*arrivals_\w+"):
        reproduce.execute(arguments(*QUICK, "--data", str(tmp_path / "no")))


def test_a_signal_ends_the_workers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    words = ["ppq", "--seeds", "40", "--workload", "rw", "--steps", "20", "--jobs", "2"]
    check_interruption(words, 80, tmp_path)
