"""`penstock reproduce e2df` as a user and a script meet it."""

import json
from pathlib import Path

import pytest

from penstock.cli import reproduce
from tests.support.reproduce_cli import (
    LONG,
    WATCHED,
    arguments,
    check_interruption,
    check_mistake,
    check_page,
    start,
)

QUICK = ["e2df", "--seeds", "1", "--steps", "200", "--jobs", "1", "--quiet"]


def test_tables_go_to_stdout_and_a_page_and_the_data_to_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "here"
    assert reproduce.execute(arguments(*QUICK, "--out", str(out))) == 0
    told = capsys.readouterr()
    assert told.err == ""
    for text in ("Tab. 1", "Tab. 2", "no free slot", "leaves open", "again?", "200 minutes"):
        assert text in told.out
    assert not any(line != line.rstrip() or len(line) > 160 for line in told.out.splitlines())
    check_page(out, figures=("4", "5", "6", "7"), plots=2 * 6 + 2 * 8 + 3 + 2)


def test_json_is_one_object_and_needs_no_spark(tmp_path: Path) -> None:
    process = start("-c", WATCHED, "reproduce", *QUICK, "--json", "--out", "out", cwd=tmp_path)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (0, "")
    told = json.loads(out)
    assert told == json.loads((tmp_path / "out" / "results.json").read_text())
    assert {entry["table"] for entry in told["tables"]} == {"1", "2", "stretches"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["e2fd"], "there is no paper 'e2fd' to reproduce; did you mean 'e2df'?"),
        (["e2df", "--steps", "0"], "steps must be 1 or more, got 0"),
        (["e2df", "--workload", "day"], "paper e2df takes no --workload, got 'day'; leave it out"),
        (["e2df", "--data", "here"], "paper e2df takes no --data, got 'here'; leave it out"),
    ],
)
def test_mistakes_are_told_in_a_sentence_before_anything_is_written(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    check_mistake(words, sentence, tmp_path)


def test_a_signal_ends_the_workers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    words = ["e2df", "--seeds", "20", "--steps", "50000", "--jobs", "2"]
    check_interruption(words, 280, tmp_path)
