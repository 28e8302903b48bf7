"""Learned tables as a file: written, read, checked and looked into.

>>> learned(print)
{}
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol, runtime_checkable

from penstock.core.errors import FileError, SettingError
from penstock.policy.learning.entries import MODEL_BASED, MODEL_FREE, MOST, arrays_of
from penstock.policy.learning.inspecting import Inspected, inspection

__all__ = ["Inspected", "Learns", "inspection", "learned", "of_level", "read", "write"]

FORMAT: Final = "penstock-tables"
VERSION: Final = 1
LEVELS: Final = ("application", "infrastructure")
_KINDS: Final = (MODEL_BASED, MODEL_FREE)


@runtime_checkable
class Learns(Protocol):
    """A policy that has something to save."""

    def tables(self) -> dict[str, dict[str, Any]]:
        """By level and manager, what was learned."""
        ...


def learned(policy: object) -> dict[str, Any]:
    """What a policy, or any that it holds, has learned, as plain values; {} where nothing was."""
    levels: dict[str, dict[str, Any]] = {}
    for learner in _learners(policy):
        for level, tables in learner.tables().items():
            levels.setdefault(level, {}).update(tables)
    found = {level: tables for level, tables in levels.items() if tables}
    return {"format": FORMAT, "version": VERSION, **found} if found else {}


def write(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write what `learned` gave, in full or not at all."""
    from penstock.record.disk import write_whole

    write_whole(Path(path), json.dumps(data, allow_nan=False) + "\n")


def read(path: str | Path) -> dict[str, Any]:
    """What `write` wrote, every table checked."""
    data = _parsed(Path(path))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(f"{path} holds no learned tables; give a file that a run has saved")
    if data.get("version") != VERSION:
        raise FileError(
            f"{path} holds learned tables of version {data.get('version')!r}, and this one reads "
            f"version {VERSION}; save them again"
        )
    for level in LEVELS:
        for manager, entry in _entries(data, level, path).items():
            _check(entry, manager, path)
    return data


def of_level(path: str | Path, level: str) -> dict[str, Any]:
    """The tables of a file by manager, of one level; an error where there are none."""
    tables: dict[str, Any] = read(path).get(level) or {}
    if not tables:
        other = {"application": "infrastructure"}.get(level, "application")
        raise SettingError(
            f"{path} holds no tables of the {level}, only of the {other}; "
            "load another or leave load out"
        )
    return tables


def _learners(policy: object) -> Iterator[Learns]:
    if isinstance(policy, Learns):
        yield policy
    elif is_dataclass(policy) and not isinstance(policy, type):
        for held in (getattr(policy, f.name) for f in fields(policy)):
            if callable(held):
                yield from _learners(held)


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise FileError(f"there is no file {path} with learned tables") from None
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise FileError(f"{path} cannot be read: {why}; give another file") from None
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{path} holds no learned tables that can be read ({_short(error)}); save them again"
        ) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number to learn from")


def _short(error: Exception) -> str:
    return str(error).split("\n")[0][:100]


def _entries(data: Mapping[str, Any], level: str, path: str | Path) -> dict[str, Any]:
    found = data.get(level, {})
    if not isinstance(found, dict):
        raise FileError(f"{path} has no tables under {level}; save them again")
    return found


def _check(entry: Any, manager: str, path: str | Path) -> None:
    """Refuse an entry that is not whole; what it means is for those who load it to say."""
    what = f"the table of {manager} in {path}"
    shape = entry.get("shape") if isinstance(entry, dict) else None
    whole = (
        isinstance(shape, dict)
        and all(_count(shape.get(key), 1) for key in ("levels", "flags", "numbers"))
        and all(isinstance(entry.get(key), dict) for key in ("settings", "arrays"))
        and _count(entry.get("steps"), 0)
    )
    if not whole:
        raise FileError(f"{what} is not whole; save it again")
    if entry.get("kind") not in _KINDS:
        raise FileError(
            f"{what} is of kind {entry.get('kind')!r}, and there are {' and '.join(_KINDS)}"
        )
    try:
        arrays_of(entry, what=what)
    except SettingError as error:
        raise FileError(str(error)) from None


def _count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST
