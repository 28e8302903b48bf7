"""The text of a pipeline file, by its path or by the name of a built-in one.

Packages with applications ship pipeline files as well: they go by the name of the file, and that of
an application that is written as `package.module:name` by that.
"""

from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import Final

from penstock.core.errors import FileError, SettingError
from penstock.core.plugins import import_named
from penstock.core.settings import near
from penstock.pipeline.shape import APPLICATIONS, AppSpec

LARGEST: Final = 20_000_000
"""Bytes; a pipeline file has a few thousand, a graph of ten thousand modules two million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A file as it was written."""

    name: str
    """How messages call it."""
    origin: str
    """The path, or the name of a built-in pipeline."""
    content: str


def find(name_or_path: str | PurePath) -> Text:
    """The file at a path, or the built-in pipeline of a name without separator and suffix.

    >>> find("wordcount").name
    'wordcount.yaml'
    """
    if _is_name(name_or_path):
        return _built_in(str(name_or_path))
    path = Path(name_or_path)
    shipped = None if path.exists() else _of_application(name_or_path)
    if shipped is not None:
        return shipped
    shown = str(path) if str(path).isprintable() else repr(str(path))
    return Text(name=shown, origin=str(path), content=_decode(_read(path, shown), shown))


def built_in() -> tuple[str, ...]:
    """The names of the pipelines that come with Penstock.

    >>> built_in()[:4]
    ('enrichment', 'preference', 'recognition', 'shared')
    """
    return tuple(sorted(_shipped()))


def shipped_as(name: object) -> Text | None:
    """The pipeline file of that name that comes with Penstock or with a plug-in, where one does."""
    if not isinstance(name, str):
        return None
    if _is_name(name):
        entry = _shipped().get(name)
        if entry is not None:
            return _text(name, entry)
        return _of_application(name) or _beside_others(name)
    return _of_application(name)


def _shipped() -> dict[str, Traversable]:
    """The files of the applications by the name of the pipeline."""
    folders = (entry for entry in resources.files("penstock.apps").iterdir() if entry.is_dir())
    return {name: file for folder in folders for name, file in _files_in(folder).items()}


def _beside_others(name: str) -> Text | None:
    """A further file that an application of a plug-in ships; one that cannot be loaded ships
    none."""
    for other in APPLICATIONS.keys() - APPLICATIONS.built_in.keys():
        with suppress(SettingError):
            entry = _files_of(other, APPLICATIONS[other]).get(name)
            if entry is not None:
                return _text(name, entry)
    return None


def _of_application(name: str | PurePath) -> Text | None:
    """The pipeline file that an application ships under the name given, or under its own."""
    if not isinstance(name, str) or name not in APPLICATIONS:
        return None
    application = APPLICATIONS[name]
    files = _files_of(name, application)
    entry = files.get(name) or files.get(application.name)
    if entry is None:
        raise FileError(f"pipeline {name} comes without a file; give one that names it")
    return _text(name, entry)


def _files_of(name: str, application: AppSpec) -> dict[str, Traversable]:
    if not application.files:
        return {}
    try:
        return _files_in(resources.files(import_named(application.files)))
    except SettingError as error:
        raise SettingError(f"files of pipeline {name!r} cannot be read: {error}") from error
    except (OSError, TypeError) as error:
        raise SettingError(
            f"files of pipeline {name!r} cannot be read: {application.files} is not a package"
        ) from error


def _files_in(folder: Traversable) -> dict[str, Traversable]:
    files = (file for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {file.name.removesuffix(".yaml"): file for file in files}


def _text(origin: str, entry: Traversable) -> Text:
    return Text(name=entry.name, origin=origin, content=entry.read_text(encoding="utf-8"))


def _is_name(given: str | PurePath) -> bool:
    text = str(given)
    return isinstance(given, str) and not any(mark in text for mark in "/\\.:")


def _built_in(name: str) -> Text:
    shipped = shipped_as(name)
    if shipped is None:
        file = f" (for a file, write ./{name})" if name and Path(name).exists() else ""
        known = {*built_in(), *APPLICATIONS}
        raise FileError(f"there is no built-in pipeline {name!r}{near(name, known)}{file}")
    return shipped


def _read(path: Path, shown: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise FileError(f"there is no file {shown}{_nearby(path)}") from None
    except IsADirectoryError:
        raise FileError(f"{shown} is a folder; give a file in it{_inside(path)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"cannot read {shown} ({reason})") from None
    if len(content) > LARGEST:
        raise FileError(f"{shown} has more than {LARGEST} bytes, a pipeline file a few thousand")
    return content


def _inside(folder: Path) -> str:
    first = next(iter(sorted(folder.glob("*.y*ml"))), None)
    return f", such as {first}" if first else ""


def _nearby(path: Path) -> str:
    """The end of a message about a missing file: the one that was probably meant."""
    beside = {file.stem: file for file in path.parent.glob("*.y*ml")}
    close = get_close_matches(path.stem, beside, n=1)
    if close:
        return f"; did you mean {beside[close[0]]}?"
    return f"; built in are {', '.join(built_in())}"


def _decode(content: bytes, shown: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{shown}, line {line}: this is not text; a pipeline file is YAML in UTF-8"
        ) from None
