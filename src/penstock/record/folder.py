"""The folder that a run leaves, written as the run goes."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from penstock.core.errors import FileError
from penstock.core.signals import Tick
from penstock.record import place
from penstock.record.codec import dumps, plain, tick_to_json
from penstock.record.disk import LineFile, check_space, write_whole
from penstock.record.place import LEARNED, PROGRESS, REPORT, SETTINGS, SUMMARY, TICKS
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary

__all__ = ["LEARNED", "PROGRESS", "REPORT", "SETTINGS", "SUMMARY", "TICKS", "RunFolder"]

_LEAST_FREE: Final = 50_000_000


class RunFolder:
    """Writes a run down. A killed run keeps every tick it had.

    with RunFolder.create(run_path("wordcount", now), settings) as folder:
        for tick in control(plant, policy):
            folder.write(tick)
        folder.finish(summarise(...))
    """

    def __init__(
        self,
        path: Path,
        settings: RunSettings,
        *,
        replaces: bool,
        let_go: Callable[[], None],
        undo: Callable[[], None],
    ) -> None:
        self.path = path
        self._settings = settings
        self._replaces = replaces
        self._let_go = let_go
        self._undo = undo
        self._logs = place.logs(path)
        self._begun = False
        self._ticks = LineFile(path / TICKS)
        self._progress = LineFile(path / PROGRESS, held=True)

    @classmethod
    def create(
        cls, path: Path, settings: RunSettings, *, least_free: int = _LEAST_FREE
    ) -> "RunFolder":
        """Make the folder, sure that it can be written and that no other run is going on in it.

        A finished run in it is replaced with the first tick, and left as it was if none comes.
        `least_free` is in bytes. A refusal leaves the disk as it was.
        """
        with ExitStack() as refused:
            undo = refused.callback(place.make(path))
            claim = refused.enter_context(place.claim(path))
            replaces = place.holds_run(path)
            check_space(path, least_free)
            folder = cls(path, settings, replaces=replaces, let_go=claim.close, undo=undo)
            if not replaces:
                folder._begin()
            refused.pop_all()
        return folder

    def write(self, tick: Tick) -> None:
        """Add one turn of the loop."""
        self._begin()
        self._ticks.append(dumps(tick_to_json(tick)))

    def write_progress(self, text: str) -> None:
        """Add one of Spark's progress events, as its JSON text; from any thread.

        An event that comes after the end is left out.
        """
        # A line break inside JSON is only ever space between its parts.
        self._progress.append(text.strip().replace("\r", " ").replace("\n", " "))

    def describe(self, settings: RunSettings) -> None:
        """Put down what else is known by now of what is run; it takes the place of the first."""
        self._settings = settings
        if self._begun:
            write_whole(self.path / SETTINGS, dumps(settings.to_json(), indent=2) + "\n")

    def write_learned(self, data: Mapping[str, Any]) -> None:
        """Put down what the policy has learned so far, in place of what it had before.

        Before `finish`, so that a finished run has it; where nothing was learned, no file is made.
        """
        if data:
            self._begin()
            write_whole(self.path / LEARNED, dumps(plain(data)) + "\n")

    def finish(self, summary: Summary) -> None:
        """Add the summary, which marks the run as finished, and close."""
        self._begin()
        self.close()
        write_whole(self.path / SUMMARY, dumps(summary.to_json(), indent=2) + "\n")

    def withdraw(self, *, keep_logs: bool) -> Path | None:
        """Take back what was written of a run that had no tick; returns where its logs are."""
        with suppress(FileError):  # what is thrown away need not be whole
            self.close()
        new = [log for log, at in place.logs(self.path).items() if self._logs.get(log) != at]
        if not self._replaces:
            place.sweep(self.path, keep={*self._logs, *(new if keep_logs else ())})
            self._undo()
        return new[0].parent if new and keep_logs else None

    def close(self) -> None:
        """Sync to the disk what there is; a run that is not finished stays readable."""
        with ExitStack() as last:
            last.callback(self._let_go)
            last.callback(self._progress.close)
            self._ticks.close()

    def _begin(self) -> None:
        """Put this run in the place of the one before, if any."""
        if self._begun:
            return
        place.clear(self.path)
        place.begin(self.path, dumps(self._settings.to_json(), indent=2) + "\n")
        self._begun = True
        self._progress.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with suppress(FileError):  # the first thing that went wrong is the one to tell
                self.close()
