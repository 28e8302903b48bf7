"""The folder that a run leaves: claimed for one run at a time, and written as the run goes."""

import fcntl
import json
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from penstock.core.errors import FileError
from penstock.core.signals import Tick
from penstock.record.codec import dumps, plain, tick_to_json
from penstock.record.disk import LineFile, check_space, write_whole, writing
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary

# Where a run is written: a folder that is ours, has room, and holds one run at a time.


SETTINGS: Final = "settings.json"
TICKS: Final = "ticks.jsonl"
PROGRESS: Final = "progress.jsonl"
SUMMARY: Final = "summary.json"
REPORT: Final = "report.html"
LEARNED: Final = "learned.json"
SCRATCH: Final = "spark"
"""Spark's own folder: logs, and while it runs its data."""

_ELSEWHERE: Final = "give --out another folder"


def make(path: Path) -> Callable[[], None]:
    """Make the folder and its parents; returns what takes the new ones away again if empty."""
    with writing(path):
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        if path not in made and not path.is_dir():
            raise FileError(f"the run folder {path} is a file; {_ELSEWHERE}")
        path.mkdir(parents=True, exist_ok=True)

    def undo() -> None:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()

    return undo


def claim_folder(path: Path) -> ExitStack:
    """Keep other runs out of the folder until this is closed, or the process ends."""
    kept = ExitStack()
    with writing(path):
        descriptor = os.open(path, os.O_RDONLY)
    kept.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        kept.close()
        raise FileError(f"another run is going on in {path}; {_ELSEWHERE}") from None
    except OSError:  # a file system without locks
        pass
    return kept


def is_going_on(path: Path) -> bool:
    """Whether some process has claimed the folder, as `claim` does while it writes a run.

    Ask only of a folder with a run that has no summary: no other process may claim one of
    those, so that asking cannot get in the way. True where that is unknown.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def holds_run(path: Path) -> bool:
    """Whether a finished run is in the folder; anything else but logs in it is refused."""
    with writing(path):
        if _is_vacant(path):
            return False
    remedy = f"remove it or {_ELSEWHERE}"
    if not _is_run(path):
        raise FileError(f"the folder {path} holds something that is not a run; {remedy}")
    if not (path / SUMMARY).exists():
        raise FileError(f"the folder {path} holds a run that did not finish; {remedy}")
    return True


def clear(path: Path) -> None:
    """Remove a finished run, its summary first so that half of it never passes for whole."""
    with writing(path):
        for name in (SUMMARY, REPORT, LEARNED, PROGRESS, TICKS, SETTINGS):
            (path / name).unlink(missing_ok=True)


def begin(path: Path, settings: str) -> None:
    """Write the settings and an empty list of ticks, both or neither."""
    with writing(path):
        try:
            (path / TICKS).open("x").close()
        except FileExistsError:
            raise FileError(f"another run has just begun in {path}; {_ELSEWHERE}") from None
    try:
        write_whole(path / SETTINGS, settings)
    except BaseException:
        (path / TICKS).unlink(missing_ok=True)
        raise


def logs(path: Path) -> dict[Path, int]:
    """The logs of Spark in the folder, each with the moment of its last change."""
    return {log: log.stat().st_mtime_ns for log in sorted((path / SCRATCH).glob("*.log"))}


def sweep(path: Path, *, keep: Collection[Path]) -> None:
    """Remove all that is below the folder, but for some files and the folders around them."""
    for folder, folders, files in os.walk(path, topdown=False):
        for entry in (Path(folder) / name for name in (*files, *folders)):
            if entry not in keep:
                _remove(entry)


def _remove(path: Path) -> None:
    with suppress(OSError):  # a folder may hold what is kept, and not everything is ours to remove
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def _is_vacant(path: Path) -> bool:
    """Whether there is nothing in the folder but what a run that did not start may leave."""
    entries = list(path.iterdir())
    if entries != [path / SCRATCH]:
        return not entries
    return (path / SCRATCH).is_dir() and set((path / SCRATCH).iterdir()) == logs(path).keys()


def _is_run(path: Path) -> bool:
    try:
        settings = json.loads((path / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and "format" in settings and (path / TICKS).exists()


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
        self._logs = logs(path)
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
            undo = refused.callback(make(path))
            claim = refused.enter_context(claim_folder(path))
            replaces = holds_run(path)
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
        """Put down what the policy has learned until now, in place of what it had before.

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
        new = [log for log, at in logs(self.path).items() if self._logs.get(log) != at]
        if not self._replaces:
            sweep(self.path, keep={*self._logs, *(new if keep_logs else ())})
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
        clear(self.path)
        begin(self.path, dumps(self._settings.to_json(), indent=2) + "\n")
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
            with suppress(FileError):  # the first error is the one to report
                self.close()
