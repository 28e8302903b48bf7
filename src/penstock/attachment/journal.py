"""What an attachment writes down: a run folder, and a page of it where one was asked for."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp

from penstock.attachment.errors import APPLICATION
from penstock.attachment.policy import graph_of
from penstock.attachment.settings import Settings
from penstock.core.errors import FileError, PenstockError
from penstock.core.signals import Tick
from penstock.record import RunFolder, RunSettings, load, summarise

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
        folder = _folder(path, described)
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


def _folder(path: Path, described: RunSettings) -> RunFolder:
    try:
        return RunFolder.create(path, described)
    except FileError as error:  # which the command line calls by its own name
        raise FileError(str(error).replace("give --out", "give record")) from None


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
