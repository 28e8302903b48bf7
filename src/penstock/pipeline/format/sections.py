"""Sections of a draft turned into parts, with every mistake written down on the way.

>>> from penstock.core.graph import Module
>>> from penstock.core.located import read
>>> draft = read("split:\\n  service_time: 3\\n  max_replica: 4\\n", name="job.yaml")
>>> assemble(draft, ("split",), draft.value["split"], Module, of="module split", name="split")
>>> for mistake in draft.mistakes:
...     print(mistake)
job.yaml, line 2: service_time of module split needs a unit, got 3; write 3s, 3ms or 3m
job.yaml, line 3: module split has no setting 'max_replica'; did you mean 'max_replicas'?

`read_sections` does so for all sections that a class of `model.py` declares: parts, parts by name,
lists of parts, and parts chosen out of a registry, as deep as they are nested.
"""

import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path as FilePath
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from penstock.core.errors import SettingError
from penstock.core.located import Draft, Path
from penstock.core.schema import IN_FILE, Like, Matches, problems_of, sentence, validator
from penstock.core.settings import (
    Setting,
    choose,
    misspelt,
    near,
    option_names,
    read_part,
    settings_of,
)
from penstock.pipeline.settings import Part

T = TypeVar("T")
S = TypeVar("S", dict[str, Any], list[Any])


@dataclass(frozen=True, slots=True, eq=False)
class ByName:
    """A part that is written as its name, or as a mapping with its name and settings."""

    kinds: Mapping[str, Any]
    like: str
    """How one is written."""
    key: str = "name"
    """Under which the name stands."""
    short: bool = False
    """Whether a text is more than the name, such as `constant:300/s`."""
    of: str | None = None
    """What a message calls it, where that is not the name of its section."""
    default: str | None = None
    """The name where settings stand without one."""


@dataclass(frozen=True, slots=True, eq=False)
class ByKey:
    """Parts in a list, each written as its name or as `name: {settings}`."""

    kinds: Mapping[str, Any]
    like: str
    """How a list of them is written."""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """A name out of a registry."""

    kinds: Mapping[str, Any]


NAME: Final = Matches(r"[^\W\d_][\w-]*", "a letter, then letters, digits, - and _")
"""Of modules, regions and pipelines, which also name folders, streams and settings of flags."""
Name = Annotated[str, NAME]
_FIRST: Final = {"initial_replicas": "min_replicas", "initial_nodes": "min_nodes"}
"""Settings that are as large as another unless given."""


class Sections:
    """Base of what declares sections of a file, or of a section: each is read for itself."""


def read_sections(
    draft: Draft,
    declared: Any,
    path: Path = (),
    *,
    of: str,
    called: str,
    apart: Collection[str] = (),
) -> SimpleNamespace:
    """What could be read of the sections that a class declares; None for what is wrong.

    `of` names the file in messages about its sections, `called` in those about its plain settings;
    sections that are `apart` are read elsewhere.
    """
    known = {s.outer: s for s in settings_of(declared)}
    given = draft.at(path)
    check_keys(draft, path, given, known, of=of)
    values: dict[str, Any] = {}
    for base in declared.__mro__:
        if not issubclass(base, Sections) and is_dataclass(base):
            values |= _read_plain(draft, base, of=called)
    for name, setting in known.items():
        here = (*path, name)
        if name in values or name in apart:
            continue
        if given.get(name) is not None and (given[name] or not setting.required):
            inside = f"{name} of {of}" if path else name
            values[name] = read_section(draft, here, setting.hint, of=inside)
        elif setting.required and is_section(setting.hint) and path:
            values[name], like = None, extra(setting.hint, Like).example
            if given.keys() <= known.keys():  # else it may be misspelt
                draft.note(here, f"{of} has no {name}; write {of}: {{{name}: {like}}}")
        elif setting.required and is_section(setting.hint):
            values[name] = None
            note_missing(draft, declared, (name,))
        else:
            values[name] = _default(setting)
    return SimpleNamespace(**values)


def note_missing(draft: Draft, declared: Any, names: Collection[str]) -> None:
    """Write down which of these sections are missing."""
    for setting in settings_of(declared):
        here = (setting.outer,)
        if setting.outer in names and not draft.at(here) and not draft.doubts(here):
            like = extra(setting.hint, Like).example
            draft.note(here, f"{setting.outer} is missing; write {setting.outer}: {like}")


def _default(setting: Setting) -> Any:
    default = setting.default
    if extra(setting.hint, ByKey):
        return [Part(name) for name in default]
    return Part(default) if extra(setting.hint, ByName) and default is not None else default


def _read_plain(draft: Draft, base: Any, *, of: str) -> dict[str, Any]:
    """Settings that stand at the top of the file; of those with a mistake, each that is right."""
    names = [s.outer for s in settings_of(base)]
    given = {name: draft.value[name] for name in names if name in draft.value}
    made = assemble(draft, (), given, base, of=of)
    if made is not None:
        return {name: getattr(made, name) for name in names}
    right = salvaged(base, given, {})
    return {name: right.get(name) for name in names}


def salvaged(part: Any, given: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings of a part with a mistake those that are right, each by itself."""
    alone = {
        key: read_part(part, {key: value}, of="it", fixed=fixed, where=IN_FILE)[0]
        for key, value in given.items()
    }
    return {key: getattr(made, key) for key, made in alone.items() if made is not None}


def read_section(draft: Draft, path: Path, hint: Any, *, of: str) -> Any:
    """What a declaration makes of the value at a path, in whatever shape it declares."""
    names, like, given = extra(hint, ByName | ByKey | Names), extra(hint, Like), draft.at(path)
    shape = _inside(hint)
    if isinstance(names, Names):
        return given if chosen(draft, path, names.kinds, str(given), of=of) else None
    if isinstance(names, ByName):
        short = names.short and isinstance(given, str)
        return given if short else _read_named(draft, path, names, of=of)
    if isinstance(names, ByKey):
        items = sequence(draft, path, of=of, like=names.like)
        return [_read_keyed(draft, (*path, i), names, item) for i, item in enumerate(items)]
    if not is_section(hint):
        return _read_value(draft, path, hint, of=of)
    if get_origin(shape) is Mapping:
        entries = mapping(draft, path, of=of, like=like.example)
        return {name: _read_entry(draft, (*path, name), shape) for name in entries}
    if get_origin(shape) is tuple:
        items = sequence(draft, path, of=of, like=like.example)
        return [_read_item(draft, (*path, i), get_args(shape)[0], like) for i in range(len(items))]
    return _read_object(draft, path, shape, of=of, like=like.example)


def _read_value(draft: Draft, path: Path, hint: Any, *, of: str) -> Any:
    """A plain value; of a mapping, the items that are right."""
    given = draft.at(path)
    value, problems = problems_of(validator(hint), given, IN_FILE)
    for problem in problems:
        draft.note((*path, *problem.path), sentence(of, problem))
    if problems and isinstance(given, dict):
        wrong = {problem.path[0] for problem in problems if problem.path}
        right = {key: item for key, item in given.items() if key not in wrong}
        return problems_of(validator(hint), right, IN_FILE)[0]
    return value


def _read_object(draft: Draft, path: Path, part: Any, *, of: str, like: str) -> Any:
    """A part from the mapping at a path, with the parts inside it."""
    given = draft.at(path)
    if not isinstance(given, dict):
        draft.note(path, f"{of} must be a mapping such as {like}, got {kind(given)}")
        return None
    if issubclass(part, Sections):
        return read_sections(draft, part, path, of=of, called=of)
    inner = {s.outer: s for s in settings_of(part) if is_section(s.hint) and s.outer in given}
    parts = {
        name: read_section(draft, (*path, name), setting.hint, of=f"{name} of {of}")
        for name, setting in inner.items()
    }
    plain = {name: value for name, value in given.items() if name not in inner}
    return assemble(draft, path, plain, part, of=of, **parts)


def _read_entry(draft: Draft, path: Path, hint: Any) -> Any:
    """A part that has its name before the colon."""
    key, kind = get_args(hint)
    name, sort = str(path[-1]), str(path[-2])[:-1]
    matches = extra(key, Matches)
    if matches and matches.refusal(name):
        draft.note(path, f"a {sort}'s name is {matches.words}, got {name!r}")
    of, like = f"{sort} {name}", extra(kind, Like).example
    given = mapping(draft, path, of=of, like=like)
    if draft.at(path) not in (None, given):
        return None
    own = _inside(kind)
    if "name" not in option_names(own):
        return assemble(draft, path, given, own, of=of)
    if "name" in given:
        draft.note((*path, "name"), f"{of} has its name before the colon; leave name out")
    first = {a: given[b] for a, b in _FIRST.items() if b in given and a not in given}
    known = {key: value for key, value in given.items() if key != "name"}
    return assemble(draft, path, known, own, of=of, default=first, name=name)


def _read_item(draft: Draft, path: Path, part: Any, like: Like) -> Any:
    """A stream, whose ends stand under `from` and `to`."""
    given = draft.at(path)
    if not isinstance(given, dict):
        example = like.example[1:-1]
        draft.note(path, f"a stream must be a mapping such as {example}, got {kind(given)}")
        return None
    of = f"stream {given.get('from', '?')} -> {given.get('to', '?')}"
    return assemble(draft, path, given, part, of=of)


def _read_named(draft: Draft, path: Path, names: ByName, *, of: str) -> Part | None:
    given = draft.at(path)
    if isinstance(given, str):
        given = {names.key: given}
    if not isinstance(given, dict):
        draft.note(path, f"{of} must be written as {names.like}, got {kind(given)}")
        return None
    name = given.get(names.key, names.default)
    if chosen(draft, (*path, names.key), names.kinds, name, of=names.of or of) is None:
        return None
    return Part(str(name), {key: value for key, value in given.items() if key != names.key})


def _read_keyed(draft: Draft, path: Path, names: ByKey, item: object) -> Part | None:
    section = str(path[0])
    if isinstance(item, str):
        item = {item: None}
    if not isinstance(item, dict) or len(item) != 1:
        rule = f"{section} must be a list such as {names.like}"
        draft.note(path, f"{rule}, got {kind(item)} in it")
        return None
    name = next(iter(item))
    here, of = (*path, name), section[:-1]
    if chosen(draft, here, names.kinds, name, of=of) is None:
        return None
    return Part(name, mapping(draft, here, of=f"{of} {name}", like="{out: 4s}"))


def is_section(hint: Any) -> bool:
    """Whether a type is that of a part, or has parts inside."""
    if extra(hint, ByName | ByKey):
        return True
    own = isinstance(hint, type) and is_dataclass(hint)
    return own or any(map(is_section, get_args(hint)))


def extra(hint: Any, kind: Any) -> Any:
    """What a type was annotated with, of that kind; None where it was not."""
    if get_origin(hint) in (types.UnionType, Union):
        return next((e for inner in get_args(hint) if (e := extra(inner, kind))), None)
    return next((e for e in getattr(hint, "__metadata__", ()) if isinstance(e, kind)), None)


def _inside(hint: Any) -> Any:
    """A type without what it is annotated with, and without None."""
    if get_origin(hint) in (types.UnionType, Union):
        return _inside(next(inner for inner in get_args(hint) if inner is not type(None)))
    return _inside(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def assemble(
    draft: Draft,
    path: Path,
    given: Mapping[str, Any],
    part: type[T],
    *,
    of: str,
    default: Mapping[str, Any] = MappingProxyType({}),
    **fixed: object,
) -> T | None:
    """A part from its settings at a path, and what it has by default; None where they are wrong."""
    made, mistakes = read_part(part, {**default, **given}, of=of, fixed=fixed, where=IN_FILE)
    for at, why in mistakes:
        if not at or at[0] not in default:
            draft.note((*path, *at), why)
    inside = {*misspelt(given, option_names(part)), *(at[0] for at, _ in mistakes if at)}
    draft.wrong.update((*path, name) for name in inside)
    return made


def mapping(draft: Draft, path: Path, *, of: str, like: str) -> dict[str, Any]:
    """The mapping at a path, empty where there is none or it is something else."""
    return _shaped(draft, path, {}, f"{of} must be a mapping such as {like}")


def sequence(draft: Draft, path: Path, *, of: str, like: str) -> list[Any]:
    """The list at a path, empty where there is none or it is something else."""
    return _shaped(draft, path, [], f"{of} must be a list such as {like}")


def _shaped(draft: Draft, path: Path, empty: S, rule: str) -> S:
    value = draft.at(path)
    if value is not None and not isinstance(value, type(empty)):
        draft.note(path, f"{rule}, got {kind(value)}")
    return value if isinstance(value, type(empty)) else empty


def check_keys(
    draft: Draft, path: Path, given: Iterable[str], known: Iterable[str], *, of: str
) -> None:
    """Write down every key that is not known, with the one that was probably meant."""
    draft.wrong.update((*path, name) for name in misspelt(given, known))
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
