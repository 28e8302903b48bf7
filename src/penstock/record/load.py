"""Reading back what a run left.

Reading a run folder while it is written, or after.

with Follower(Path("runs/demo")) as follower:
    news = follower.poll()           # what is new since the last time
    news.settings, news.ticks, news.summary
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from penstock.core.errors import FileError, SettingError
from penstock.core.signals import Tick
from penstock.record.codec import from_text, tick_from_json
from penstock.record.folder import SETTINGS, SUMMARY, TICKS
from penstock.record.settings import RunSettings, settings_from_json
from penstock.record.summary import Summary, summary_from_json

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A recorded run."""

    path: Path
    settings: RunSettings
    ticks: tuple[Tick, ...]
    summary: Summary | None
    """None where the run did not finish."""
    incomplete: str | None
    """What is missing, in words; None for a finished run."""


def load(path: Path) -> Run:
    """The run in a folder, finished or not; an error names the file and line that is wrong."""
    check_folder(path)
    settings = parse(read_text(path / SETTINGS), settings_from_json, str(path / SETTINGS))
    ticks, torn = _ticks(path / TICKS)
    summary = _summary(path / SUMMARY)
    missing = [
        *(["the run did not finish"] if summary is None else []),
        *([f"the last line of {TICKS} was cut short and is left out"] if torn else []),
    ]
    if summary is not None and len(ticks) + torn < summary.steps:
        missing.append(f"{TICKS} has {len(ticks)} of the {summary.steps} steps of {SUMMARY}")
    return Run(
        path=path,
        settings=settings,
        ticks=ticks,
        summary=summary,
        incomplete="; ".join(missing) or None,
    )


def check_folder(path: Path) -> None:
    """Refuse a folder that holds no run."""
    remedy = "give the folder that a run left"
    try:
        if not path.is_dir():
            kind = "is a file" if path.exists() else "does not exist"
            raise FileError(f"the run folder {path} {kind}; {remedy}")
        for name in (SETTINGS, TICKS):
            if not (path / name).is_file():
                raise FileError(f"the folder {path} is not a run: it has no {name}; {remedy}")
    except OSError as error:
        raise FileError(f"cannot read the run folder {path}: {error.strerror}") from error


def _summary(path: Path) -> Summary | None:
    return parse(read_text(path), summary_from_json, str(path)) if path.exists() else None


def _ticks(path: Path) -> tuple[tuple[Tick, ...], bool]:
    """The ticks, and whether the last line was cut short."""
    lines = read_text(path).split("\n")  # not splitlines, which splits at more than line ends
    torn = not _is_json(lines[-1])
    whole = lines[:-1] if torn or not lines[-1] else lines
    return tuple(_parsed_lines(whole, path)), torn


def _is_json(text: str) -> bool:
    """Whether a line is all there: an object cut short is no JSON, a last line end is no matter."""
    try:
        json.loads(text or "{}")
    except ValueError:
        return False
    return True


def _parsed_lines(lines: list[str], path: Path) -> Iterator[Tick]:
    for number, line in enumerate(lines, start=1):
        yield _tick(line, f"line {number} of {path}")


def _tick(line: str, what: str) -> Tick:
    """A line of ticks at once, and step by step where it has to be explained what is wrong."""
    return from_text(Tick, line) or parse(line, tick_from_json, what)


def parse(text: str, reader: Callable[[Any], T], what: str) -> T:
    """What a JSON text holds, as `reader` has it; `what` is what an error calls the text."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError(f"it must hold an object, got {type(data).__name__}")
        return reader(data)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FileError(f"{what} is not JSON: {error.msg} at {place}; was it edited?") from None
    except (ValueError, SettingError) as error:
        raise FileError(f"cannot read {what}: {error}") from None


def read_text(path: Path) -> str:
    """All of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error


_MOST: Final = 4_000_000  # bytes at a time, so that the first ticks are shown soon
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What was added to a run folder since it was last looked at."""

    settings: RunSettings | None = None
    """Of a run that has begun since; everything reported before belongs to another run."""
    key: str = ""
    """Identifies the run, also after a restart."""
    ticks: tuple[Tick, ...] = ()
    summary: Summary | None = None
    """Of a run that finished."""
    more: bool = False
    """Whether there is more to read at once."""
    trouble: str | None = None
    """What could not be read, in a sentence."""


class Follower:
    """Follows the run in a folder, and the one that takes its place.

    A line that is not all there yet is left for the next time. `fresh` passes over a finished run
    that lies in the folder already, because another is about to take its place.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._passed_over = _identity(path) if fresh and (path / SUMMARY).exists() else None
        self._identity: _Identity | None = None
        self._file: FileIO | None = None
        self._rest = b""
        self._lines = 0
        self._finished = False

    def check(self) -> None:
        """Refuse a folder that holds no run that this Penstock can read."""
        check_folder(self.path)
        parse(read_text(self.path / SETTINGS), settings_from_json, str(self.path / SETTINGS))

    def poll(self) -> News:
        """What is new. What cannot be read is reported once in `trouble` and skipped."""
        identity = _identity(self.path)
        if identity is None or identity == self._passed_over:
            return News()
        begun = self._begin(identity) if identity != self._identity else News()
        if self._file is None:
            return begun
        finished = (self.path / SUMMARY).exists()  # before reading: then nothing can come after
        lines, more = self._read()
        ended = finished and not more and not self._finished
        ticks, trouble = self._ticks([*lines, *(self._last() if ended else ())])
        news = replace(begun, ticks=ticks, more=more, trouble=trouble)
        return self._finish(news) if ended else news

    def close(self) -> None:
        """Let go of the files."""
        if self._file is not None:
            self._file.close()
        self._file = self._identity = None

    def _begin(self, identity: _Identity) -> News:
        """Turn to another run; where it is replaced in this very moment, next time."""
        self.close()
        try:
            text, file = read_text(self.path / SETTINGS), FileIO(self.path / TICKS)
        except (FileError, OSError):
            return News()
        if _identity(self.path) != identity:
            file.close()
            return News()
        self._identity, self._rest, self._lines, self._finished = identity, b"", 0, False
        try:
            settings = parse(text, settings_from_json, str(self.path / SETTINGS))
        except FileError as error:
            file.close()
            return News(trouble=str(error))
        self._file = file
        return News(settings=settings, key=hashlib.sha256(text.encode()).hexdigest()[:12])

    def _read(self) -> tuple[list[bytes], bool]:
        """The next whole lines, and whether there is more."""
        read = (self._file.read(_MOST) if self._file else b"") or b""
        *whole, self._rest = (self._rest + read).split(b"\n")
        return whole, len(read) == _MOST

    def _last(self) -> list[bytes]:
        """A last line without its end, where it is whole; one that was cut short is left out."""
        rest, self._rest = self._rest, b""
        try:
            json.loads(rest)
        except ValueError:
            return []
        return [rest]

    def _ticks(self, lines: list[bytes]) -> tuple[tuple[Tick, ...], str | None]:
        ticks: list[Tick] = []
        trouble: str | None = None
        for line in lines:
            self._lines += 1
            what = f"line {self._lines} of {self.path / TICKS}"
            try:
                ticks.append(_tick(line.decode("utf-8", "replace"), what))
            except FileError as error:
                trouble = trouble or str(error)
        return tuple(ticks), trouble

    def _finish(self, news: News) -> News:
        self._finished = True
        path = self.path / SUMMARY
        try:
            return replace(news, summary=parse(read_text(path), summary_from_json, str(path)))
        except FileError as error:
            return replace(news, trouble=news.trouble or str(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _identity(path: Path) -> _Identity | None:
    """What changes when another run takes the place of the one that is there."""
    try:
        status = (path / SETTINGS).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
