"""A run's folder holds one run at a time, and a run that never began leaves no trace in it."""

from pathlib import Path

import pytest

from penstock.core.errors import FileError
from penstock.record import RunFolder, load, summarise
from tests.record.test_folder import SETTINGS, a_finished_run, a_tick, contents


def below(path: Path) -> list[str]:
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*"))


def with_logs(folder: RunFolder) -> RunFolder:
    """What Spark leaves of a start that fails."""
    (folder.path / "spark" / "data").mkdir(parents=True)
    (folder.path / "spark" / "data" / "part-0").touch()
    (folder.path / "spark" / "driver.log").write_text("no master")
    return folder


@pytest.mark.parametrize("keep_logs", [False, True])
def test_a_run_that_never_began_takes_its_folder_along_but_for_the_logs(
    tmp_path: Path, keep_logs: bool
) -> None:
    folder = with_logs(RunFolder.create(tmp_path / "deep" / "run", SETTINGS))
    folder.write_progress("{}")
    logs = folder.withdraw(keep_logs=keep_logs)
    assert logs == (folder.path / "spark" if keep_logs else None)
    left = ["deep", "deep/run", "deep/run/spark", "deep/run/spark/driver.log"]
    assert below(tmp_path) == (left if keep_logs else [])


def test_a_folder_that_was_there_before_stays(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, SETTINGS).withdraw(keep_logs=True)
    assert tmp_path.is_dir()
    assert contents(tmp_path) == []


def test_logs_from_before_are_not_removed_and_not_reported_as_new(tmp_path: Path) -> None:
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "old.log").touch()
    for keep_logs in (False, True):
        assert RunFolder.create(tmp_path, SETTINGS).withdraw(keep_logs=keep_logs) is None
        assert below(tmp_path) == ["spark", "spark/old.log"]


@pytest.mark.parametrize("name", ["app.log", "spark/data/x.log", "spark/thesis.doc", "logs/x.log"])
def test_a_folder_with_more_than_logs_of_spark_is_not_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileError, match="holds something that is not a run"):
        RunFolder.create(tmp_path, SETTINGS)
    assert (tmp_path / name).read_text() == "mine"


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.doc").touch()
    folder = RunFolder.create(tmp_path / "run", SETTINGS)
    (folder.path / "spark").symlink_to(elsewhere)
    folder.withdraw(keep_logs=True)
    assert below(tmp_path) == ["elsewhere", "elsewhere/thesis.doc"]


def test_a_finished_run_is_whole_until_the_first_tick(tmp_path: Path) -> None:
    ticks = a_finished_run(tmp_path)
    with RunFolder.create(tmp_path, SETTINGS) as folder:
        folder.write_progress('{"batchId": 1}')
        assert load(tmp_path).ticks == ticks
        assert not (tmp_path / "progress.jsonl").exists()
        folder.write(a_tick(9.0))
        assert load(tmp_path).ticks == (a_tick(9.0),)
        assert (tmp_path / "progress.jsonl").read_text() == '{"batchId": 1}\n'


def test_a_run_without_a_tick_can_finish_too(tmp_path: Path) -> None:
    a_finished_run(tmp_path)
    with RunFolder.create(tmp_path, SETTINGS) as folder:
        folder.finish(summarise([], None))
    assert (load(tmp_path).ticks, load(tmp_path).incomplete) == ((), None)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    a_finished_run(tmp_path)
    with (
        RunFolder.create(tmp_path, SETTINGS),
        pytest.raises(FileError, match=r"another run is going on in .*; give --out another folder"),
    ):
        RunFolder.create(tmp_path, SETTINGS)
    RunFolder.create(tmp_path, SETTINGS).close()
