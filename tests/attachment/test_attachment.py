"""The controller itself, beside a program that only pretends to run."""

import atexit
import logging
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from penstock.attachment.attachment import (
    Attachment,
    Journal,
    context_ended,
    open_journal,
    try_journal,
)
from penstock.attachment.errors import CheckedPolicy, ErrorHandler, HoldOnError
from penstock.attachment.plant import AttachedPlant, application_actuator
from penstock.attachment.queries import RunningQuery
from penstock.attachment.settings import Settings
from penstock.core.errors import FileError, SettingError
from penstock.core.loop import control
from penstock.core.roles import Plant, Policy
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.record import load
from penstock.report.page import page
from penstock.spark.backend import DEFAULT_PROFILE, Executor, RunningTask
from penstock.testing import seen
from tests.spark.test_progress import executor

PATIENCE = 120.0


@dataclass
class Program:
    """A program with one query, and a cluster that grants everything at once."""

    executors_there: int = 2
    quiet: bool = False
    """Whether there is no query."""
    applied: list[int] = field(default_factory=list)
    """Requests that were granted."""
    refuses: Callable[[], Exception | None] = lambda: None
    blind: Exception | None = None
    stopped: bool = False
    looks: int = 0
    marks: list[str] = field(default_factory=lambda: ["penstock.controller.app"])
    """Of the controller of the application."""

    def executors(self, *, driver: bool = False) -> tuple[Executor, ...]:
        return tuple(executor(str(n)) for n in range(self.executors_there))

    def running_tasks(self) -> tuple[RunningTask, ...]:
        return ()

    def request(self, targets: Mapping[int, int]) -> bool:
        if (refusal := self.refuses()) is not None:
            raise refusal
        self.executors_there = targets[DEFAULT_PROFILE]
        self.applied.append(self.executors_there)
        return True

    def decommission(self, executors: Iterable[str]) -> tuple[str, ...]:
        return tuple(executors)

    @property
    def running(self) -> dict[str, RunningQuery]:
        nothing: Any = None
        reading = ModuleReading(arrival_rate=9.0)
        query = RunningQuery(name="q", run="r", query=nothing, watched=nothing, last=reading)
        return {} if self.quiet else {"r": query}

    def refresh(self) -> bool:
        self.looks += 1
        if self.blind is not None:
            raise self.blind
        return False

    def read(self, at: float, *, slots: float, since: float) -> bool:
        return True

    def feeds(self) -> dict[str, tuple[str, ...]]:
        return {"q": ()}

    def plant(self, errors: ErrorHandler, *, acts: bool = True) -> AttachedPlant:
        itself: Any = self
        return AttachedPlant(
            queries=itself,
            actuator=application_actuator(itself, graceful=True),
            step=0.01,
            window=60.0,
            acts=acts,
            errors=errors,
        )

    @property
    def session(self) -> Any:
        context = SimpleNamespace(isStopped=lambda: self.stopped)
        system = SimpleNamespace(getProperties=lambda: SimpleNamespace(remove=self.marks.remove))
        return SimpleNamespace(
            sparkContext=SimpleNamespace(
                _jsc=SimpleNamespace(sc=lambda: context),
                _jvm=SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system))),
                applicationId="app",
            )
        )


def grow(seen: Observation) -> Decision:
    wish = (seen.modules["application"].running or 0) + 1
    return Decision(configuration=Configuration(degrees={"application": wish}), why="one more")


def attached(
    program: Program,
    policy: Any = grow,
    mode: str = "apply",
    journal: Journal | None = None,
    history: int = 360,
    patience: float = inf,
) -> Attachment:
    settings = Settings(
        policy=policy, mode=mode, step=0.01, metrics_window=1.0, history_max_count=history
    )
    session = program.session
    errors = ErrorHandler(ended=lambda: context_ended(session))
    if mode == "off":
        return Attachment(session, settings, errors)
    plant = program.plant(errors, acts=mode == "apply")
    holding = HoldOnError(
        policy=policy,
        name=settings.policy_name,
        log=errors.log,
        advises=lambda: not plant.acts,
        silence=plant.silence,
        patience=patience,
    )
    made = Attachment(session, settings, errors, plant=plant, policy=holding, journal=journal)
    made.start()
    return made


def wait_until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    yield
    wait_until(lambda: all(t.name != "penstock" for t in threading.enumerate()))


def test_it_acts_on_what_was_decided_and_reports_why() -> None:
    program = Program()
    with attached(program) as attachment:
        wait_until(lambda: len(program.applied) >= 3)
        assert program.applied[:3] == [3, 4, 5]
        assert attachment.explain() == "one more"
        assert attachment.ticks[-1].asked is not None


def test_advice_touches_nothing() -> None:
    program = Program()
    with attached(program, mode="advise") as attachment:
        wait_until(lambda: len(attachment.ticks) >= 3)
        assert attachment.status()["proposed"] == 3
    assert program.applied == []
    assert attachment.explain() == "dry run: application would go from 2 to 3; one more"


def test_off_does_nothing_at_all() -> None:
    program = Program()
    with attached(program, mode="off") as attachment:
        attachment.start()
        assert not attachment.alive
    assert program.looks == 0
    assert str(attachment) == "penstock (off, grow): 0 queries; it is switched off"


def test_a_policy_that_raises_holds_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def broken(seen: Observation) -> Decision:
        raise ZeroDivisionError("no rows")

    program = Program()
    with caplog.at_level(logging.INFO, "penstock"), attached(program, broken) as attachment:
        wait_until(lambda: attachment.status()["policy_failures"] >= 12)
        assert attachment.mode == "apply"
        assert attachment.alive
        assert "raised ZeroDivisionError: no rows, 1" in attachment.explain()
        assert attachment.explain().endswith(" times in a row")
        assert "application held at 2" in attachment.explain()
    assert program.applied == []
    assert [r.message for r in caplog.records] == [
        "policy broken raised ZeroDivisionError: no rows; executors are held"
    ]


class UnreadableError(Exception):
    """One that cannot be shown."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (SystemExit(), "SystemExit"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (UnreadableError(), "UnreadableError"),
    ],
    ids=["exit", "exit with a code", "interrupt", "unreadable"],
)
def test_a_policy_that_ends_its_thread_holds_like_any_that_fails(
    error: BaseException, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(seen: Observation) -> Decision:
        raise error

    with caplog.at_level(logging.INFO, "penstock"), attached(Program(), broken) as attachment:
        wait_until(lambda: attachment.status()["policy_failures"] >= 2 or not attachment.alive)
        assert attachment.alive
        assert f"application held at 2: policy broken raised {shown}, " in attachment.explain()
    assert [r.message for r in caplog.records] == [
        f"policy broken raised {shown}; executors are held"
    ]


@pytest.mark.parametrize("error", [SystemExit(3), UnreadableError()], ids=["exit", "unreadable"])
def test_an_action_that_fails_in_any_way_goes_no_further(error: BaseException) -> None:
    def act() -> None:
        raise error

    errors = ErrorHandler()
    assert errors.attempt("it failed", act) is None
    assert errors.why.startswith(f"held: it failed: {type(error).__name__}")


def test_a_policy_cannot_spoil_what_others_read() -> None:
    def forgetful(seen: Any) -> Decision:
        decided = grow(seen)
        seen.modules.clear()
        return decided

    with attached(Program(), CheckedPolicy(forgetful), mode="advise") as attachment:
        wait_until(lambda: len(attachment.ticks) >= 2)
        assert attachment.status()["executors"] == 2
    with attached(Program(), forgetful, mode="advise") as attachment:
        wait_until(lambda: len(attachment.ticks) >= 2)
        assert attachment.status()["executors"] is None


def test_a_policy_that_hangs_is_said_and_does_not_keep_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.attachment.attachment._EXIT_WAIT", 0.01)
    at_exit: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)
    asked, answer = threading.Event(), threading.Event()

    def hangs(seen: Observation) -> Decision:
        asked.set()
        answer.wait(PATIENCE)
        return grow(seen)

    attachment = attached(Program(), hangs, patience=0.001)
    assert asked.wait(PATIENCE)
    wait_until(lambda: "policy hangs takes long to answer: " in attachment.explain())
    at_exit[0]()
    assert attachment.status()["said"] == (
        "the current step has not ended within 10 ms; it is abandoned",
    )
    answer.set()
    attachment.stop()
    assert not attachment.alive
    assert attachment.status()["said"][1].startswith("policy hangs takes long to answer: ")


def test_a_policy_that_recovers_is_followed_again() -> None:
    calls: list[int] = []

    def shaky(seen: Observation) -> Decision:
        calls.append(1)
        if len(calls) < 4:
            raise ValueError("not yet")
        return grow(seen)

    program = Program()
    with attached(program, shaky) as attachment:
        wait_until(lambda: bool(program.applied))
        assert attachment.status()["policy_failures"] == 0


@pytest.mark.parametrize(
    "answer",
    [
        7,
        None,
        Decision(configuration=Configuration(degrees={"application": 0}), why="none"),
        Decision(configuration=Configuration(degrees={"other": 2}), why="who"),
    ],
    ids=["number", "nothing", "none", "other"],
)
def test_a_decision_that_cannot_be_holds(answer: Any) -> None:
    program = Program()
    with attached(program, lambda seen: answer) as attachment:
        wait_until(lambda: attachment.status()["policy_failures"] >= 2)
    assert program.applied == []


def test_a_cluster_that_refuses_leaves_advice(caplog: pytest.LogCaptureFixture) -> None:
    program = Program(refuses=lambda: RuntimeError("not allowed"))
    with caplog.at_level(logging.INFO, "penstock"), attached(program) as attachment:
        wait_until(lambda: attachment.mode == "advise" and len(attachment.ticks) >= 5)
        assert attachment.status()["asked_for"] == "apply"
        assert attachment.explain().startswith("dry run: application would go from 2 to 3")
    assert [r.message for r in caplog.records] == [
        "executors could not be changed, and the next step tries again: RuntimeError: not allowed",
        "decisions are only proposed from now on, executors cannot be changed: "
        "RuntimeError: not allowed",
    ]


def test_a_refusal_that_passes_does_not_end_acting() -> None:
    asked: list[int] = []

    def now_and_then() -> Exception | None:
        asked.append(1)
        return OSError("timed out") if len(asked) % 3 else None

    program = Program(refuses=now_and_then)
    with attached(program) as attachment:
        wait_until(lambda: len(program.applied) >= 3)
        assert attachment.mode == "apply"


def test_a_step_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    program = Program(blind=OSError("status store"))
    with caplog.at_level(logging.INFO, "penstock"), attached(program) as attachment:
        wait_until(lambda: program.looks >= 5)
        assert attachment.explain() == (
            "held: a step failed, and the next tries again: OSError: status store"
        )
        assert program.applied == []
        program.blind = None
        wait_until(lambda: bool(program.applied))
    logged = [r.message for r in caplog.records if "a step failed" in r.message]
    assert logged == ["a step failed, and the next tries again: OSError: status store"]


def test_without_figures_it_holds_and_says_so() -> None:
    program = Program(quiet=True)
    with attached(program) as attachment:
        wait_until(lambda: len(attachment.ticks) >= 3)
        assert attachment.explain() == "application held at 2: no streaming query runs"
        assert attachment.ticks[-1].decided.configuration.degrees == {"application": 2}
    assert program.applied == []


def test_it_ends_with_the_application() -> None:
    program = Program()
    attachment = attached(program)
    program.stopped = True
    wait_until(lambda: not attachment.alive)
    assert str(attachment).startswith("penstock (stopped, grow)")


def test_stopping_twice_is_stopping() -> None:
    attachment = attached(Program())
    attachment.stop()
    attachment.stop()
    assert not attachment.alive


def test_the_turns_are_those_of_the_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[Tick] = []

    def observed_control(plant: Plant, policy: Policy) -> Iterator[Tick]:
        for tick in control(plant, policy):
            turns.append(tick)
            yield tick

    monkeypatch.setattr("penstock.attachment.attachment.control", observed_control)
    with attached(Program()) as attachment:
        assert isinstance(attachment._plant, Plant)
        wait_until(lambda: len(attachment.ticks) >= 3)
    assert attachment.ticks == tuple(turns)


def test_a_turn_that_cannot_be_recorded_does_not_end_it(tmp_path: Path) -> None:
    whole = journal(tmp_path / "mine")
    broken = Broken(whole.folder, whole.settings, whole.say)
    with attached(Program(), journal=broken) as attachment:
        wait_until(lambda: len(attachment.ticks) >= 3)
        assert attachment.alive
        logged = attachment.status()["said"]
    assert logged == ("a step failed, and the next tries again: ValueError: no tick",)


def test_the_newest_turns_are_kept_and_no_more() -> None:
    program = Program()
    with attached(program, mode="advise", history=2) as attachment:
        wait_until(lambda: program.looks >= 6)
        assert len(attachment.ticks) == 2


def journal(path: Path | None, **keywords: Any) -> Journal:
    settings = Settings(policy=grow, record=path, slo=5.0, **keywords)
    began = datetime(2026, 1, 1).astimezone()
    made = open_journal(settings, name="shop", began=began, say=lambda text: None)
    assert made is not None
    return made


def test_a_recording_is_a_run_that_others_read(tmp_path: Path) -> None:
    written = journal(tmp_path / "mine", mode="apply")
    with attached(Program(), journal=written) as attachment:
        wait_until(lambda: len(attachment.ticks) >= 3)
    run = load(tmp_path / "mine")
    assert run.incomplete is None
    assert (run.settings.pipeline, run.settings.plant, run.settings.policy) == (
        "shop",
        "spark",
        "grow",
    )
    assert run.settings.file["queries"] == [{"name": "q", "feeds": []}]
    assert not run.settings.dry
    assert len(run.ticks) >= 3
    assert "q" in run.ticks[0].seen.queries
    assert run.summary is not None
    assert run.summary.scale_outs >= 3
    assert "shop" in page(run)


class Broken(Journal):
    """One that cannot write."""

    def write(self, tick: Tick) -> None:
        raise ValueError("no tick")


class Stuck(Journal):
    """One that cannot be closed."""

    def close(self) -> None:
        super().close()
        raise ValueError("no summary")


def test_a_recording_that_cannot_be_closed_gives_control_back_all_the_same(tmp_path: Path) -> None:
    whole = journal(tmp_path / "mine")
    program = Program()
    stuck = Stuck(whole.folder, whole.settings, whole.say)
    with attached(program, mode="advise", journal=stuck) as attachment:
        wait_until(lambda: len(attachment.ticks) >= 2)
        assert program.marks
    assert program.marks == []


def test_a_recording_of_advice_says_that_it_was_dry(tmp_path: Path) -> None:
    with attached(Program(), mode="advise", journal=journal(tmp_path / "mine")) as attachment:
        wait_until(lambda: len(attachment.ticks) >= 2)
    assert load(tmp_path / "mine").settings.dry


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    first = journal(tmp_path / "mine")
    with pytest.raises(FileError, match=r"another run is going on in .*; give record another"):
        journal(tmp_path / "mine")
    first.close()


def test_a_program_starts_though_its_last_recording_was_cut_off(tmp_path: Path) -> None:
    cut_off = journal(tmp_path / "mine")
    observed = seen(application={"running": 2})
    cut_off.write(Tick(seen=observed, decided=grow(observed), asked=None))
    cut_off.folder.close()
    said: list[str] = []
    settings = Settings(policy=grow, record=tmp_path / "mine")
    began = datetime(2026, 1, 1).astimezone()
    assert try_journal(settings, name="shop", began=began, say=said.append) is None
    assert said == [
        f"nothing is recorded or shown: the folder {tmp_path / 'mine'} holds a run that did not "
        "finish; remove it or give record another folder"
    ]


def test_without_a_temporary_folder_there_is_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    said: list[str] = []
    began = datetime(2026, 1, 1).astimezone()
    settings = Settings(policy=grow, dashboard=True)
    assert try_journal(settings, name="shop", began=began, say=said.append) is None
    assert said == [
        "nothing is recorded or shown: no temporary folder can be made: No such file or directory; "
        "set TMPDIR to a folder that can be written to, or give record"
    ]


def test_a_port_in_use_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=f"port {port} of 127.0.0.1 is in use"):
            journal(tmp_path / "mine", dashboard=port)
        with pytest.raises(SettingError, match=f"port {port} of 127.0.0.1 is in use"):
            journal(None, dashboard=port)
    assert list(tmp_path.iterdir()) == []
    journal(tmp_path / "mine").close()


def test_a_page_shows_a_recording_of_its_own_and_goes_with_it() -> None:
    began = datetime(2026, 1, 1).astimezone()
    settings = Settings(policy=grow, dashboard=True)
    shown = open_journal(settings, name="shop", began=began, say=lambda text: None)
    assert shown is not None
    with attached(Program(), mode="advise", journal=shown) as attachment:
        wait_until(lambda: len(attachment.ticks) >= 2)
        address = attachment.status()["dashboard"]
        assert attachment.status()["recorded"] is None
        shown.write_progress('{"batchId": 1}')
        assert not (shown.path / "progress.jsonl").exists()  # a page has no use for it
        with urlopen(address, timeout=PATIENCE) as page:  # noqa: S310  # our own
            assert page.status == 200
    with pytest.raises(URLError):
        urlopen(address, timeout=PATIENCE)  # noqa: S310
    assert not shown.path.exists()


def test_without_record_or_dashboard_nothing_is_written() -> None:
    began = datetime(2026, 1, 1).astimezone()
    assert open_journal(Settings(), name="shop", began=began, say=lambda text: None) is None
