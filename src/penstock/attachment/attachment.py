"""The controller in a program: the interface for users, a thread that runs the loop, and what it
writes down: a run folder, and a page of it where one was asked for."""

import atexit
import shutil
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.attachment.errors import APPLICATION, ErrorHandler, HoldOnError
from penstock.attachment.plant import AttachedPlant
from penstock.attachment.policy import graph_of
from penstock.attachment.settings import Settings
from penstock.core.errors import FileError, PenstockError
from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.core.units import format_duration
from penstock.record import RunFolder, RunSettings, load, summarise
from penstock.spark.backend import release_control

Links = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Journal:
    """Writes ticks and progress; where the disk fails it says so once and writes no more."""

    folder: RunFolder
    settings: RunSettings
    say: Callable[[str], None]
    address: str | None = None
    """Of the page."""
    whole: bool = True
    """Whether progress is kept: not where only a page is shown, which has no use for it. It would
    fill the disk of a program that runs for months."""
    _open: bool = True
    _after: ExitStack = field(default_factory=ExitStack, repr=False)

    @property
    def path(self) -> Path:
        """Where it is written."""
        return self.folder.path

    def write(self, tick: Tick) -> None:
        """One turn of the loop."""
        self._attempt(lambda: self.folder.write(tick))

    def write_progress(self, text: str) -> None:
        """One progress event."""
        if self.whole:
            self._attempt(lambda: self.folder.write_progress(text))

    def link(self, feeds: Links, *, acts: bool) -> None:
        """Put down which queries there are, which they feed, and whether decisions are made."""
        file = {**self.settings.file, **_description(feeds, acts=acts)}
        if file != self.settings.file:
            self.settings = replace(self.settings, file=file)
            self._attempt(lambda: self.folder.describe(self.settings))

    def close(self) -> None:
        """Add the summary, where there was a step, and take the page away."""
        self._attempt(self._finish)
        with suppress(OSError, PenstockError):  # also one that failed before lets go of its folder
            self.folder.close()
        self._after.close()

    def serve(self, port: int) -> None:
        """Show it on a page on loopback."""
        from penstock.dashboard import DashboardServer

        self.address = self._after.enter_context(DashboardServer(self.path, port=port)).address

    def _finish(self) -> None:
        ticks = load(self.path).ticks
        promised, graph = self.settings.slo_latency_p95, self.settings.graph
        if ticks:
            self.folder.finish(summarise(ticks, promised, source=APPLICATION, graph=graph))

    def _attempt(self, act: Callable[[], None]) -> None:
        if not self._open:
            return
        try:
            act()
        except (OSError, PenstockError) as error:
            self._open = False
            self.say(f"nothing more is recorded in {self.path}: {error}")


def open_journal(
    settings: Settings, *, name: str, began: datetime, say: Callable[[str], None]
) -> Journal | None:
    """The journal that the settings ask for, if any; a folder that cannot be is an error."""
    shown = settings.dashboard is not False
    if settings.record is None and not shown:
        return None
    described = run_settings(settings, name=name, began=began)
    with ExitStack() as refused:
        after, path = refused.enter_context(ExitStack()), settings.record
        if path is None:
            path = _temporary()
            after.callback(shutil.rmtree, path, ignore_errors=True)
        try:
            folder = RunFolder.create(path, described)
        except FileError as error:  # which the command line calls by its own name
            raise FileError(str(error).replace("give --out", "give record")) from None
        refused.callback(folder.withdraw, keep_logs=False)
        journal = Journal(folder, described, say, whole=settings.record is not None, _after=after)
        if shown:
            journal.serve(0 if settings.dashboard is True else int(settings.dashboard))
        refused.pop_all()
    return journal


def try_journal(
    settings: Settings, *, name: str, began: datetime, say: Callable[[str], None]
) -> Journal | None:
    """The journal, or a word about why there is none: a program that starts again after a crash
    must not fail because its last recording is still there."""
    try:
        return open_journal(settings, name=name, began=began, say=say)
    except (OSError, PenstockError) as error:
        say(f"nothing is recorded or shown: {error}")
        return None


def _temporary() -> Path:
    try:
        return Path(mkdtemp(prefix="penstock-"))
    except OSError as error:
        raise FileError(
            f"no temporary folder can be made: {error.strerror}; set TMPDIR to a folder that can "
            "be written to, or give record"
        ) from error


def run_settings(settings: Settings, *, name: str, began: datetime) -> RunSettings:
    """What the folder says of itself."""
    return RunSettings(
        pipeline=name,
        plant="spark",
        started=began,
        graph=graph_of(settings),
        policy=settings.policy_name,
        slo_latency_p95=settings.slo,
        file={
            "attached": settings.given_by_name(),
            "step": settings.step,
            **_description({}, acts=settings.mode == "apply"),
        },
    )


def _description(feeds: Links, *, acts: bool) -> dict[str, object]:
    return {
        "queries": [{"name": name, "feeds": list(targets)} for name, targets in feeds.items()],
        "guards": [] if acts else ["dry-run"],
    }


_STOP_WAIT: Final = 30.0
_EXIT_WAIT: Final = 5.0
"""Seconds to wait for the current step."""


def context_ended(spark: SparkSession | None) -> bool:
    """Whether the application has ended, or does not answer."""
    try:
        context: Any = spark.sparkContext if spark is not None else None
        return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return True


class Attachment:
    """A controller that runs in a program until it is stopped or the application ends."""

    def __init__(
        self,
        spark: SparkSession | None,
        settings: Settings,
        errors: ErrorHandler,
        *,
        plant: AttachedPlant | None = None,
        policy: HoldOnError | None = None,
        journal: Journal | None = None,
    ) -> None:
        """It is off without a plant and a policy."""
        self._ticks: deque[Tick] = deque(maxlen=settings.history_max_count)
        self._spark, self._settings, self._errors = spark, settings, errors
        self._plant, self._policy, self._journal = plant, policy, journal
        self._thread: threading.Thread | None = None
        if plant is None:
            errors.why = "it is switched off"

    def start(self) -> None:
        """Start a thread, which ends with the program."""
        if self.mode == "off":
            return
        self._thread = threading.Thread(target=self._run, name="penstock", daemon=True)
        atexit.register(self._leave)
        self._thread.start()

    def stop(self) -> None:
        """Stop deciding; executors and queries stay as they are. May be called twice."""
        self._end(_STOP_WAIT)

    @property
    def mode(self) -> str:
        """`advise`, `apply` or `off`: the current mode, which may be less than the setting."""
        if self._plant is None:
            return "off"
        return "apply" if self._plant.acts else "advise"

    @property
    def alive(self) -> bool:
        """Whether it still observes and decides."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The newest ticks of the loop, oldest first."""
        return tuple(self._ticks)

    def explain(self) -> str:
        """The reason of the last decision, or that the policy is late."""
        late = self._policy.late() if self._policy is not None else None
        return self._errors.why if late is None else f"held: {late}"

    def status(self) -> dict[str, Any]:
        """Mode, executors, queries and which they feed, the last reason, warnings."""
        plant, journal = self._plant, self._journal
        last = next(iter(self.ticks[-1:]), None)
        # a policy may have modified the observation
        reading = last.seen.modules.get(APPLICATION) if last else None
        wish = last.decided.configuration if last else None
        if last and self.mode != "apply":
            wish = last.decided.proposed or wish
        return {
            "mode": self.mode,
            "asked_for": self._settings.mode,
            "alive": self.alive,
            "policy": self._settings.policy_name,
            "executors": reading.running if reading else None,
            "requested": reading.requested if reading else None,
            "proposed": wish.degrees.get(APPLICATION) if wish else None,
            "queries": {} if plant is None else plant.queries.feeds(),
            "why": self.explain(),
            "policy_failures": self._policy.failures if self._policy else 0,
            "recorded": str(journal.path) if journal and self._settings.record else None,
            "dashboard": journal.address if journal else None,
            "said": tuple(self._errors.log.messages),
        }

    def __str__(self) -> str:
        status = self.status()
        count = len(status["queries"])
        queries = f"{count} quer{'y' if count == 1 else 'ies'}"
        state = self.mode if self.alive or self.mode == "off" else "stopped"
        return f"penstock ({state}, {status['policy']}): {queries}; {status['why']}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _leave(self) -> None:
        """Stop at the end of the program, which must not wait for a policy that hangs."""
        self._end(_EXIT_WAIT)

    def _end(self, wait: float) -> None:
        if self._plant is not None:
            self._plant.stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=wait)
            if thread.is_alive():
                what = f"the current step has not ended within {format_duration(wait)}"
                self._errors.log.warn(f"{what}; it is abandoned")
        atexit.unregister(self._leave)

    def _run(self) -> None:
        """Control; at the end, close the recording and release the lock."""
        try:
            self._errors.attempt("it has ended", self._control)
        finally:
            atexit.unregister(self._leave)
            if self._journal is not None:
                self._errors.attempt("the recording has no summary", self._journal.close)
            if self._spark is not None and not context_ended(self._spark):
                with suppress(Exception):  # the JVM may have ended since
                    release_control(self._spark)

    def _control(self) -> None:
        assert self._plant is not None, "an attachment that is off does not run"  # noqa: S101
        assert self._policy is not None, "a plant comes with a policy"  # noqa: S101
        for tick in control(self._plant, self._policy):
            trouble = "a step failed, and the next tries again"
            self._errors.attempt(trouble, partial(self._record, self._plant, tick))

    def _record(self, plant: AttachedPlant, tick: Tick) -> None:
        self._errors.why = tick.decided.why
        self._ticks.append(tick)
        if self._journal is not None:
            self._journal.link(plant.queries.feeds(), acts=plant.acts)
            self._journal.write(tick)
