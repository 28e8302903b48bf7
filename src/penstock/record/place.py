"""Where a run is written: a folder that is ours, has room, and holds one run at a time."""

import fcntl
import json
import os
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from penstock.core.errors import FileError
from penstock.record.disk import write_whole, writing

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


def claim(path: Path) -> ExitStack:
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

    Ask only of a folder with a run that has no summary: nobody else may claim one of those, so that
    asking cannot get in the way. True where it cannot be told.
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
