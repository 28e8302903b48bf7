"""`penstock reproduce alloc` as a user and a script meet it."""

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

QUICK = ["alloc", "--seeds", "1", "--jobs", "1", "--quiet"]


def test_tables_go_to_stdout_and_a_page_and_the_data_to_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "here"
    assert reproduce.execute(arguments(*QUICK, "--out", str(out))) == 0
    told = capsys.readouterr()
    assert told.err == ""
    for text in ("Tab. 1", "Tab. 2", "cutting-plane", "Tab. 3", "Tab. 4", "leaves open", "again?"):
        assert text in told.out
    assert not any(line != line.rstrip() or len(line) > 160 for line in told.out.splitlines())
    check_page(out, figures=("7", "8"), plots=4)


def test_json_is_one_object_and_needs_no_spark(tmp_path: Path) -> None:
    process = start("-c", WATCHED, "reproduce", *QUICK, "--json", "--out", "out", cwd=tmp_path)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (0, "")
    told = json.loads(out)
    assert told == json.loads((tmp_path / "out" / "results.json").read_text())
    assert {entry["table"] for entry in told["tables"]} == {"1", "2", "beyond", "3", "4"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["aloc"], "there is no paper 'aloc' to reproduce; did you mean 'alloc'?"),
        (["alloc", "--seeds", "0"], "seeds must be 1 or more, got 0"),
        (["alloc", "--steps", "5"], "paper alloc takes no --steps, got 5; leave it out"),
        (
            ["alloc", "--workload", "day"],
            "paper alloc takes no --workload, got 'day'; leave it out",
        ),
        (["alloc", "--data", "here"], "paper alloc takes no --data, got 'here'; leave it out"),
    ],
)
def test_mistakes_are_told_in_a_sentence_before_anything_is_written(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    check_mistake(words, sentence, tmp_path)


def test_a_signal_ends_the_workers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    words = ["alloc", "--seeds", "1000", "--jobs", "2"]
    check_interruption(words, 8 * 40 + 3 * (10 + 40), tmp_path)
