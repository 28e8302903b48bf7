"""Sections of a draft turned into parts, with every mistake written down on the way.

>>> from penstock.core.graph import Module
>>> from penstock.core.located import read
>>> draft = read("split:\\n  service_time: 3\\n  max_replica: 4\\n", name="job.yaml")
>>> assemble(draft, ("split",), draft.value["split"], Module, of="module split", name="split")
>>> for mistake in draft.mistakes:
...     print(mistake)
job.yaml, line 2: service_time of module split needs a unit, got 3; write 3s, 3ms or 3m
job.yaml, line 3: module split has no setting 'max_replica'; did you mean 'max_replicas'?
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Any, TypeVar

from penstock.core.errors import SettingError, UserError
from penstock.core.located import Draft, Path
from penstock.core.settings import choose, construct, decode, near

T = TypeVar("T")


def assemble(
    draft: Draft, path: Path, given: Mapping[str, Any], part: type[T], *, of: str, **fixed: object
) -> T | None:
    """A part from its settings at a path; None where something is wrong with them."""
    values, mistakes = decode(part, given, of=of, fixed=fixed)
    for at, why in mistakes:
        draft.note((*path, *at), why)
    if mistakes:
        return None
    try:
        return construct(part, values, of=of)
    except UserError as error:
        own = error.within(given) if isinstance(error, SettingError) else ()
        draft.note((*path, *(own or _at_fault(part, values, given))), str(error))
        return None


def _at_fault(part: type[Any], values: Mapping[str, Any], given: Mapping[str, Any]) -> Path:
    """The first setting without which the part can be made, where its error does not name one."""
    for key in given:
        plain = str(key).replace("-", "_")
        rest = {name: value for name, value in values.items() if name.rstrip("_") != plain}
        with suppress(Exception, SystemExit):  # a part of a plug-in may raise anything
            part(**rest)
            return (key,)
    return ()


def mapping(draft: Draft, path: Path, *, of: str, like: str) -> dict[str, Any]:
    """The mapping at a path, empty where there is none or it is something else."""
    value = draft.at(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        draft.note(path, f"{of} must be a mapping such as {like}, got {kind(value)}")
        return {}
    return value


def sequence(draft: Draft, path: Path, *, of: str, like: str) -> list[Any]:
    """The list at a path, empty where there is none or it is something else."""
    value = draft.at(path)
    if value is None:
        return []
    if not isinstance(value, list):
        draft.note(path, f"{of} must be a list such as {like}, got {kind(value)}")
        return []
    return value


def check_keys(
    draft: Draft, path: Path, given: Iterable[str], known: Iterable[str], *, of: str
) -> None:
    """Write down every key that is not known, with the one that was probably meant."""
    for key in given:
        if key not in known:
            draft.note((*path, key), f"{of} has no section {key!r}{near(key, known)}")


def chosen(draft: Draft, path: Path, kinds: Mapping[str, T], name: Any, *, of: str) -> T | None:
    """The part of a name, where there is one."""
    if name is None:
        draft.note(path, f"{of} needs {path[-1]}; there are {', '.join(sorted(kinds))}")
        return None
    try:
        return choose(kinds, name, of=of)
    except SettingError as error:
        draft.note(path, str(error))
        return None


def beside(draft: Draft, path: Path, folder: FilePath) -> FilePath:
    """Where the path of a file begins that stands at a path of the draft: in the file's folder, or
    where the user is if it came from the command line."""
    return (folder if draft.place(path).line else FilePath()).absolute()


def kind(value: object) -> str:
    """What a value is, in words for a message.

    >>> kind([1, 2]), kind("2s"), kind(None)
    ('a list', "the text '2s'", 'nothing')
    """
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f"the text {value!r}" if isinstance(value, str) else f"{value}"
