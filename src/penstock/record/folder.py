"""The folder that a run leaves, written as the run goes."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from penstock.core.errors import FileError
from penstock.core.signals import Tick
from penstock.record.codec import dumps, tick_to_json
from penstock.record.disk import LineFile, check_space, write_whole, writing
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary

SETTINGS: Final = "settings.json"
TICKS: Final = "ticks.jsonl"
PROGRESS: Final = "progress.jsonl"
SUMMARY: Final = "summary.json"
REPORT: Final = "report.html"

_LEAST_FREE: Final = 50_000_000


class RunFolder:
    """Writes a run down. A killed run keeps every tick it had.

    with RunFolder.create(run_path("wordcount", now), settings) as folder:
        for tick in control(plant, policy):
            folder.write(tick)
        folder.finish(summarise(...))
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ticks = LineFile(path / TICKS)
        self._progress = LineFile(path / PROGRESS)

    @classmethod
    def create(
        cls, path: Path, settings: RunSettings, *, least_free: int = _LEAST_FREE
    ) -> "RunFolder":
        """Make the folder, sure that it can be written; a finished run in it is replaced.

        `least_free` is in bytes. A refusal leaves the disk as it was.
        """
        undo = _make(path)
        try:
            _check_ours(path)
            check_space(path, least_free)
            _clear(path)
            _begin(path, settings)
            return cls(path)
        except BaseException:
            undo()
            raise

    def write(self, tick: Tick) -> None:
        """Add one turn of the loop."""
        self._ticks.append(dumps(tick_to_json(tick)))

    def write_progress(self, text: str) -> None:
        """Add one of Spark's progress events, as its JSON text; from any thread.

        An event that comes after the end is left out.
        """
        # A line break inside JSON is only ever space between its parts.
        self._progress.append(text.strip().replace("\r", " ").replace("\n", " "))

    def finish(self, summary: Summary) -> None:
        """Add the summary, which marks the run as finished, and close."""
        self.close()
        write_whole(self.path / SUMMARY, dumps(summary.to_json(), indent=2) + "\n")

    def close(self) -> None:
        """Sync to the disk what there is; a run that is not finished stays readable."""
        self._ticks.close()
        self._progress.close()

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


def _make(path: Path) -> Callable[[], None]:
    """Make the folder and its parents; returns what takes the new ones away again."""
    with writing(path):
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        if path not in made and not path.is_dir():
            raise FileError(f"the run folder {path} is a file; give --out another folder")
        path.mkdir(parents=True, exist_ok=True)

    def undo() -> None:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()

    return undo


def _check_ours(path: Path) -> None:
    """Refuse a folder with anything in it but a finished run."""
    with writing(path):
        if not any(path.iterdir()):
            return
    remedy = "remove it or give --out another folder"
    if not _is_run(path):
        raise FileError(f"the folder {path} holds something that is not a run; {remedy}")
    if not (path / SUMMARY).exists():
        raise FileError(f"the folder {path} holds a run that did not finish; {remedy}")


def _is_run(path: Path) -> bool:
    try:
        settings = json.loads((path / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and "format" in settings and (path / TICKS).exists()


def _clear(path: Path) -> None:
    """Remove a finished run, its summary first so that half of it never passes for whole."""
    with writing(path):
        for name in (SUMMARY, REPORT, PROGRESS, TICKS, SETTINGS):
            (path / name).unlink(missing_ok=True)


def _begin(path: Path, settings: RunSettings) -> None:
    text = dumps(settings.to_json(), indent=2) + "\n"
    with writing(path):
        try:
            (path / TICKS).open("x").close()
        except FileExistsError:
            raise FileError(
                f"another run has just begun in {path}; give --out another folder"
            ) from None
    try:
        write_whole(path / SETTINGS, text)
    except BaseException:
        (path / TICKS).unlink(missing_ok=True)
        raise
