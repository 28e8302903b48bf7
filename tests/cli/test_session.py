"""A run is recorded and summarised even if its plant fails."""

import json
import signal
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.interrupt import Interrupted, Interrupts
from penstock.cli.session import conduct
from penstock.core.errors import ClusterError, FileError, PlantError
from penstock.core.signals import Configuration, Decision, Observation
from penstock.pipeline.file import load as load_file
from penstock.record import RunFolder, load
from penstock.testing import seen

BUSY = {"utilisation": 0.9, "running": 1, "arrival_rate": 50.0}


@dataclass
class Plant:
    """Yields a few readings, then whatever the test wants to happen."""

    events: list[Any]
    results: dict[str, Any] = field(default_factory=dict)
    closed: bool = False

    def readings(self) -> Iterator[Observation]:
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            if isinstance(event, signal.Signals):
                signal.raise_signal(event)
            elif callable(event):
                event()
            else:
                yield event

    def apply(self, decision: Decision, /) -> Configuration | None:
        return decision.configuration

    @contextmanager
    def opened(self, _: RunFolder) -> Iterator["Plant"]:
        try:
            yield self
        finally:
            self.closed = True


def step(number: int) -> Observation:
    return seen(at=2.0 * number, step=2.0, splitter=BUSY, counter=BUSY)


def run(plant: Plant, out: Path, *, as_json: bool = False) -> int:
    args = Namespace(out=str(out), json=as_json, quiet=True, words=["run", "wordcount"])
    return conduct(args, load_file("wordcount"), plant="spark", opener=plant.opened, note="")


def test_results_of_the_application_are_reported_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant = Plant([step(1)], results={"top_words": {"river": 1200, "mill": 7}, "drained": True})
    assert run(plant, tmp_path / "run") == 0
    shown = capsys.readouterr().out
    assert "top words       river 1,200, mill 7" in shown
    assert "drained         yes" in shown
    recorded = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert recorded["results"] == plant.results


def test_a_plant_that_fails_leaves_the_record_of_what_ran(tmp_path: Path) -> None:
    plant = Plant([step(1), step(2), PlantError("the query of module counter stopped")])
    with pytest.raises(PlantError, match="counter stopped"):
        run(plant, tmp_path / "run")
    assert plant.closed
    recorded = load(tmp_path / "run")
    assert len(recorded.ticks) == 2
    assert recorded.summary is not None
    assert (tmp_path / "run" / "report.html").is_file()


def test_an_error_carries_what_there_is_to_tell(tmp_path: Path) -> None:
    with pytest.raises(PlantError) as error:
        run(Plant([step(1), PlantError("gone")]), tmp_path / "run", as_json=True)
    details = error.value.details  # type: ignore[attr-defined]
    assert (details["steps"], details["folder"]) == (1, str(tmp_path / "run"))


def test_a_plant_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ClusterError):
        run(Plant([ClusterError("nothing answers")]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@contextmanager
def failing(folder: RunFolder) -> Iterator[Plant]:
    """A plant that begins to write and does not come up."""
    folder.write_progress('{"batchId": 0}')
    (folder.path / "top-words.json").write_text("{}")
    (folder.path / "spark" / "data").mkdir(parents=True)
    (folder.path / "spark" / "data" / "rows").write_text("left behind")
    (folder.path / "spark" / "master.log").write_text("why it did not start")
    raise ClusterError("the master did not come up")
    yield Plant([])


def start(opener: Any, out: Path) -> int:
    args = Namespace(out=str(out), json=False, quiet=True, words=[])
    return conduct(args, load_file("wordcount"), plant="spark", opener=opener, note="")


def test_a_plant_that_did_not_start_leaves_its_logs_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # they are no obstacle to another attempt
        with pytest.raises(ClusterError) as error:
            start(failing, tmp_path / "run")
        left = [path for path in (tmp_path / "run").rglob("*") if not path.is_dir()]
        assert left == [tmp_path / "run" / "spark" / "master.log"]
        assert not (tmp_path / "run" / "spark" / "data").exists()
        logs = tmp_path / "run" / "spark"
        assert capsys.readouterr().err == (
            f"penstock: the run did not start; its logs are in {logs}\n"
        )
        assert error.value.details == {"logs": str(logs)}  # type: ignore[attr-defined]
    assert run(Plant([step(1)]), tmp_path / "run") == 0


def test_an_error_that_reports_the_logs_itself_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def opener(folder: RunFolder) -> Iterator[Plant]:
        log = folder.path / "spark" / "driver.log"
        log.parent.mkdir()
        log.touch()
        raise ClusterError(f"Spark did not start; see {log}")
        yield Plant([])

    with pytest.raises(ClusterError):
        start(opener, tmp_path / "run")
    assert capsys.readouterr().err == ""


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_finished_run_stays_until_the_next_takes_its_first_step(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(Plant([step(1), step(2)]), out) == 0
    (out / "notes.txt").write_text("mine")
    before = everything(out)
    for plant in (Plant([PlantError("no executor came")]), Plant([signal.SIGINT])):
        with suppress(PlantError):
            run(plant, out)
        assert everything(out) == before
    with pytest.raises(ClusterError):
        start(failing, out)
    assert before.items() <= everything(out).items()
    assert run(Plant([step(1)]), out) == 0
    assert len(load(out).ticks) == 1
    assert (out / "notes.txt").read_text() == "mine"


def test_progress_from_before_the_first_step_is_not_lost_with_the_old_run(tmp_path: Path) -> None:
    @contextmanager
    def opener(folder: RunFolder) -> Iterator[Plant]:
        folder.write_progress(f'{{"batchId": {seed.pop()}}}')
        yield Plant([step(1)])

    seed = [2, 1]
    for _ in range(2):
        assert start(opener, tmp_path / "run") == 0
    assert (tmp_path / "run" / "progress.jsonl").read_text() == '{"batchId": 2}\n'


def test_a_run_in_a_folder_where_another_is_going_on_is_refused(tmp_path: Path) -> None:
    refused = []

    @contextmanager
    def opener(folder: RunFolder) -> Iterator[Plant]:
        with pytest.raises(FileError) as error:
            run(Plant([step(1)]), folder.path)
        refused.append(str(error.value))
        yield Plant([step(1)])

    for _ in range(2):  # in a folder of its own, and in that of a finished run
        assert start(opener, tmp_path / "run") == 0
    sentence = f"another run is going on in {tmp_path / 'run'}; give --out another folder"
    assert refused == [sentence, sentence]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_disk_that_fills_up_ends_the_run_and_spares_what_is_written(tmp_path: Path) -> None:
    @contextmanager
    def opener(folder: RunFolder) -> Iterator[Plant]:
        (folder.path / "progress.jsonl").symlink_to("/dev/full")
        yield Plant([step(1), step(2), lambda: folder.write_progress("{}"), step(3)])

    with pytest.raises(FileError) as error:
        start(opener, tmp_path / "run")
    assert error.value.exit_code == 2
    assert str(error.value) == (
        f"the disk of the run folder {tmp_path / 'run'} is full; "
        "free some space or give --out a folder elsewhere"
    )
    spared = load(tmp_path / "run")
    assert (len(spared.ticks), spared.incomplete) == (2, None)
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_the_first_thing_that_went_wrong_is_reported_where_the_disk_is_full_as_well(
    tmp_path: Path,
) -> None:
    @contextmanager
    def opener(folder: RunFolder) -> Iterator[Plant]:
        (folder.path / "summary.json.part").symlink_to("/dev/full")
        yield Plant([step(1), PlantError("the query of module counter stopped")])

    with pytest.raises(PlantError, match="counter stopped"):
        start(opener, tmp_path / "run")
    spared = load(tmp_path / "run")
    assert (len(spared.ticks), spared.incomplete) == (1, "the run did not finish")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_closes_the_plant_and_writes_what_ran(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)  # under nohup it would rightly be ignored
    before = signal.getsignal(number)
    plant = Plant([step(1), step(2), number, step(3)])
    assert run(plant, tmp_path / "run") == 128 + number
    assert plant.closed
    assert len(load(tmp_path / "run").ticks) == 2
    assert signal.getsignal(number) is before


def test_a_signal_before_the_first_step_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(Plant([signal.SIGINT]), tmp_path / "run", as_json=True) == 130
    assert json.loads(capsys.readouterr().out) == {"stopped_by": "SIGINT", "steps": 0}
    assert not (tmp_path / "run").exists()


def test_a_signal_before_the_first_step_takes_the_logs_along(tmp_path: Path) -> None:
    @contextmanager
    def opener(folder: RunFolder) -> Iterator[Plant]:
        (folder.path / "spark").mkdir()
        (folder.path / "spark" / "master.log").write_text("nothing of interest")
        yield Plant([signal.SIGTERM])

    args = Namespace(out=str(tmp_path / "run"), json=False, quiet=True, words=[])
    assert conduct(args, load_file("wordcount"), plant="spark", opener=opener, note="") == 143
    assert not (tmp_path / "run").exists()


def test_what_a_signal_tears_down_is_no_error(tmp_path: Path) -> None:
    @contextmanager
    def opener(_: RunFolder) -> Iterator[Plant]:
        try:
            yield Plant([step(1), signal.SIGINT])
        finally:
            raise PlantError("the connection is gone")

    args = Namespace(out=str(tmp_path / "run"), json=False, quiet=True, words=[])
    assert conduct(args, load_file("wordcount"), plant="spark", opener=opener, note="") == 130


def test_signals_cannot_disturb_the_clean_up(tmp_path: Path) -> None:
    cleaned = []

    @contextmanager
    def opener(_: RunFolder) -> Iterator[Plant]:
        try:
            yield Plant([step(1)])
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            cleaned.append(True)

    args = Namespace(out=str(tmp_path / "run"), json=False, quiet=True, words=[])
    assert conduct(args, load_file("wordcount"), plant="spark", opener=opener, note="") == 130
    assert cleaned == [True]
    assert load(tmp_path / "run").incomplete is None


def test_a_library_that_takes_ctrl_c_for_itself_is_understood(tmp_path: Path) -> None:
    @contextmanager
    def opener(_: RunFolder) -> Iterator[Plant]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield Plant([step(1), signal.SIGINT, step(2)])

    args = Namespace(out=str(tmp_path / "run"), json=False, quiet=True, words=[])
    assert conduct(args, load_file("wordcount"), plant="spark", opener=opener, note="") == 130
    assert len(load(tmp_path / "run").ticks) == 1


class TestInterrupts:
    def test_deferred_work_is_done_before_the_signal_counts(self) -> None:
        done: list[bool] = []

        def work() -> None:
            with interrupts.deferred():
                signal.raise_signal(signal.SIGTERM)
                done.append(True)

        with Interrupts() as interrupts:
            with pytest.raises(Interrupted):
                work()
            assert interrupts.signal is signal.SIGTERM
        assert done == [True]

    def test_an_interruption_that_got_lost_comes_again(self) -> None:
        with Interrupts() as interrupts:
            with pytest.raises(Interrupted):
                signal.raise_signal(signal.SIGINT)
            with pytest.raises(Interrupted), interrupts.deferred():
                pass

    def test_only_the_first_signal_raises(self) -> None:
        with Interrupts():
            with pytest.raises(Interrupted):
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
