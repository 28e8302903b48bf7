"""`penstock inspect` as people and scripts use it."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli import main
from penstock.cli.inspect import lines
from penstock.policy.rl.saved import inspection
from penstock.record import RunFolder, summarise
from tests.record.test_codec import a_settings, a_tick


def entry(actions: list[list[int]], visits: list[list[int]], **more: Any) -> dict[str, Any]:
    """A table by level and number that would do just that."""
    wanted, came = np.array(actions)[:, np.newaxis, :], np.array(visits)[:, np.newaxis, :]
    q = np.stack([np.where(wanted == action, 0.0, 1.0) for action in (-1, 0, 1)])
    levels, flags, numbers = came.shape
    return {
        "kind": "q-learning",
        "shape": {"levels": levels, "flags": flags, "numbers": numbers},
        "settings": {"span": 600.0},
        "steps": 1234,
        "arrays": {"q": q.tolist(), "visits": came.astype(float).tolist()},
        **more,
    }


COUNTER = entry(
    actions=[[0, 0, -1, -1], [0, 1, 0, -1], [0, 1, 1, 0]],
    visits=[[0, 9, 3, 0], [0, 2, 7, 4], [0, 0, 1, 0]],
)


def tables(**managers: Any) -> dict[str, Any]:
    return {"format": "penstock-tables", "version": 1, "application": managers}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tables.json"
    path.write_text(json.dumps(tables(counter=COUNTER)))
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["inspect", *words]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    return shown


def test_every_manager_has_a_grid_of_what_it_would_do(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    assert main(["inspect", file]) == 0
    heading, *grid, _, legend, _ = capsys.readouterr().out.splitlines()
    assert heading.startswith(
        "counter (application, q-learning): 1,234 steps, 6 of 12 states visited, "
    )
    assert grid == [
        "  400/s | +",
        "  200/s |+\u00b7-",
        "    0/s |\u00b7-",
        "         123 replicas",
    ]
    assert legend.startswith("+ one more, - one fewer")


def test_numbers_beyond_nine_show_their_tens() -> None:
    wide = entry(actions=[[0] * 24], visits=[[0] * 8 + [1] * 15 + [0]])
    *_, tens, ones, _, _, _ = lines(inspection(tables(counter=wide)))
    assert tens == "         1         2"
    assert ones == "       890123456789012 replicas"


def test_a_table_that_was_never_visited_says_so() -> None:
    fresh = entry(actions=[[0, 0]], visits=[[0, 0]])
    assert "  (never visited)" in list(lines(inspection(tables(counter=fresh))))


def test_a_file_without_tables_says_so() -> None:
    assert list(lines(inspection(tables()))) == ["nothing was learned"]


def test_nodes_have_a_grid_with_and_one_without_an_idle_node() -> None:
    [found] = inspection(tables(dc1=COUNTER))
    two = replace(
        found,
        level="infrastructure",
        manager="dc1",
        flags=("no idle node", "an idle node"),
        actions=found.actions * 2,
        visits=found.visits * 2,
    )
    shown = list(lines([two]))
    assert "  no idle node:" in shown
    assert "  an idle node:" in shown
    assert shown.count("         123 nodes") == 2


@pytest.mark.parametrize(
    ("handed_over", "words"),
    [(None, "settled"), (True, ", decides itself"), (False, ", does not decide itself yet")],
)
def test_a_warm_start_says_who_decides(handed_over: bool | None, words: str) -> None:
    [found] = inspection(tables(counter=COUNTER))
    heading = next(lines([replace(found, handed_over=handed_over)]))
    assert heading.endswith(words)


def test_machines_get_every_number(capsys: pytest.CaptureFixture[str], file: str) -> None:
    assert main(["inspect", file, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    [manager] = output["managers"]
    assert output["file"] == file
    assert manager["manager"] == "counter"
    assert manager["actions"][0][1] == [0, 1, 1]  # with one replica, by level
    assert manager["visits"][0][2] == [3, 7, 1]


def test_a_run_means_what_it_has_learned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with RunFolder.create(tmp_path / "run", a_settings()) as folder:
        folder.write(a_tick())
        folder.write_learned(tables(counter=COUNTER))
        folder.finish(summarise([a_tick()], None))
    assert main(["inspect", str(tmp_path / "run")]) == 0
    assert "counter (application" in capsys.readouterr().out


def test_a_run_that_learned_nothing_is_distinguished_from_a_folder_that_is_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with RunFolder.create(tmp_path / "run", a_settings()) as folder:
        folder.write(a_tick())
    assert "left no learned.json; runs with a policy that learns" in refused(
        capsys, f"{tmp_path}/run"
    )
    assert "has no learned.json; give a file" in refused(capsys, str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"format": "penstock-tables"}'])
def test_what_holds_no_tables_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    assert str(path) in refused(capsys, str(path))


def test_a_file_that_is_not_there_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "there is no file" in refused(capsys, str(tmp_path / "none.json"))


def test_bytes_that_are_no_text_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(b"\xff\xfe\x00tables")
    assert str(path) in refused(capsys, str(path))


def test_it_needs_neither_spark_nor_a_compiler(file: str) -> None:
    script = (
        "import sys; from penstock.cli import main; "
        f"main(['inspect', {file!r}]); sys.exit('pyspark' in sys.modules or 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
