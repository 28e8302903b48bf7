"""Reading back what a run left."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from penstock.core.errors import FileError, SettingError
from penstock.core.signals import Tick
from penstock.record.codec import tick_from_json
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
        yield parse(line, tick_from_json, f"line {number} of {path}")


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
