"""Build a part from its name and parameters as people write them in files and flags.

A part is a dataclass; a field that holds seconds or a rate says so in its metadata, and is then
read with its unit. Of another class, or of a function that makes the part, the parameters are the
settings.

>>> @dataclass
... class Pause:
...     for_: float = seconds(5.0)
>>> build(Pause, {"for": "2m"}, of="guard pause")
Pause(for_=120.0)

Turn what a file or a flag holds into what a field's type asks for.

>>> convert(int | None, "3"), convert(tuple[str, ...], ["a", "b"]), convert(bool, "yes")
(3, ('a', 'b'), True)
>>> kind_of(int | Mapping[str, int])
'a whole number or a whole number for each name'
>>> kind_of(str | Mapping[str, object])
'a text or an object for each name'
"""

import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.core.errors import SettingError, UserError, describe
from penstock.core.units import parse_duration, parse_rate

MISFITS: Final = (TypeError, ValueError, OverflowError)
"""What `convert` raises for a value that does not fit."""


def convert(hint: Any, value: object) -> object:
    """The value as the type has it; of several types, the first that it fits."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return _either(inner, value)
    if origin is Mapping:
        return _mapping(inner[1], value)
    if origin is tuple:
        return _series(inner[0], value)
    return _PLAIN[hint](value) if hint in _PLAIN else value


def kind_of(hint: Any) -> str:
    """What a type asks for, in words."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return " or ".join(kind_of(kind) for kind in inner if kind is not type(None))
    if origin is Mapping:
        return f"{kind_of(inner[1])} for each name"
    if origin is tuple:
        return "a list"
    return _WORDS.get(hint) or with_article(str(getattr(hint, "__name__", hint)))


def with_article(name: str) -> str:
    """The name of a type in a sentence."""
    return f"{'an' if name[:1].lower() in set('aeiou') else 'a'} {name}"


def _either(kinds: Iterable[Any], value: object) -> object:
    for kind in kinds:
        with suppress(*MISFITS):
            return convert(kind, value)
    raise TypeError


def _mapping(kind: Any, value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError
    return {str(key): convert(kind, item) for key, item in value.items()}


def _series(kind: Any, value: object) -> tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError
    return tuple(convert(kind, item) for item in value)


def _boolean(value: object) -> bool:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise TypeError


def _whole(value: object) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise TypeError
    return int(value)  # type: ignore[call-overload,no-any-return]  # a TypeError is what we want


def _number(value: object) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)  # type: ignore[arg-type]  # as above


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    return str(value)


def _nothing(value: object) -> None:
    if value is not None:
        raise TypeError


_PLAIN: Final[dict[Any, Callable[[object], object]]] = {
    bool: _boolean,
    int: _whole,
    float: _number,
    str: _text,
    type(None): _nothing,
}
_WORDS: Final = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


T = TypeVar("T")

__all__ = [
    "build",
    "choose",
    "dataclass",
    "missing_settings",
    "near",
    "option_names",
    "rate",
    "read_setting",
    "seconds",
]


def seconds(default: Any = MISSING) -> Any:
    """A field in seconds, written with its unit."""
    return field(default=default, metadata={"read": parse_duration})


def rate(default: Any = MISSING) -> Any:
    """A field in rows a second, written with its unit."""
    return field(default=default, metadata={"read": parse_rate})


def build(part: type[T], given: Mapping[str, object], *, of: str, **fixed: object) -> T:
    """Make a part from settings; `of` names it in messages, `fixed` are values of our own."""
    read = [read_setting(part, key, value, of=of, fixed=fixed) for key, value in given.items()]
    values = dict(read) | fixed
    if len(values) < len(read) + len(fixed):
        raise SettingError(f"{of} is given a setting twice; leave one of {', '.join(given)} out")
    missing = missing_settings(part, values)
    if missing:
        raise SettingError(f"{of} needs a value for {', '.join(missing)}")
    return construct(part, values, of=of)


class WrongPartError(TypeError):
    """A factory made something that is not the part that it should be."""


def construct(part: type[T], values: Mapping[str, Any], *, of: str) -> T:
    """The part of these values; what a part of others raises becomes an error of ours.

    >>> construct(int, {"base": 2}, of="policy acme:two")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: policy acme:two cannot be made: TypeError: int() missing \
string argument
    """
    try:
        return part(**values)
    except UserError:
        raise
    except WrongPartError as error:
        raise SettingError(f"{of} cannot be used: {error}") from None
    except (Exception, SystemExit) as error:
        if str(part.__module__).partition(".")[0] == __name__.partition(".")[0]:
            raise
        raise SettingError(f"{of} cannot be made: {describe(error)}") from error


def read_setting(
    part: type, key: str, value: object, *, of: str, fixed: Iterable[str] = ()
) -> tuple[str, object]:
    """One setting of a part: the field that it goes to, and its value as the field holds it.

    >>> @dataclass
    ... class Pause:
    ...     for_: float = seconds(5.0)
    >>> read_setting(Pause, "for", "2m", of="guard pause")
    ('for_', 120.0)
    """
    known = {_outer(s.name): s for s in _settings(part) if s.name not in fixed}
    name = str(key).replace("-", "_")  # a file may hold a number in a name's place
    if name not in known:
        raise SettingError(f"{of} has no setting {key!r}{near(name, known)}")
    chosen = known[name]
    return chosen.name, _read(chosen, value, f"{key} of {of}")


def missing_settings(part: type, values: Iterable[str]) -> tuple[str, ...]:
    """The settings that a part cannot do without and that are not among the fields given."""
    given = set(values)
    return tuple(_outer(s.name) for s in _settings(part) if s.required and s.name not in given)


def choose(kinds: Mapping[str, T], name: str, *, of: str) -> T:
    """The part of that name (`dry_run` is `dry-run`), or an error that lists what there is.

    >>> choose({"static": object}, "sttic", of="policy")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no policy 'sttic'; did you mean 'static'?
    """
    for spelling in (str(name), str(name).replace("_", "-")):
        if spelling in kinds:
            return kinds[spelling]
    raise SettingError(f"there is no {of} {name!r}{near(str(name), kinds)}")


def near(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the closest known one, or all of them."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else "; it takes none"


def option_names(part: type) -> tuple[str, ...]:
    """The settings that a part takes, as they are written."""
    return tuple(_outer(setting.name) for setting in _settings(part))


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a part takes under a name."""

    name: str
    hint: Any
    required: bool
    read: Callable[[object], object] | None = None
    """What reads its value, where its type does not say how."""


def _settings(part: Any) -> tuple[_Setting, ...]:
    return _settings_of_class(part) if isinstance(part, type) else _parameters(part)


@cache  # a file may have ten thousand modules
def _settings_of_class(part: type) -> tuple[_Setting, ...]:
    if not hasattr(part, "__dataclass_fields__"):
        return _parameters(part)
    hints = get_type_hints(part)
    return tuple(
        _Setting(f.name, hints[f.name], _required(f), f.metadata.get("read"))
        for f in fields(part)
        if f.init and not f.name.startswith("_")
    )


def _parameters(part: Callable[..., object]) -> tuple[_Setting, ...]:
    return tuple(
        _Setting(p.name, p.annotation, p.default is Parameter.empty)
        for p in _signature(part).parameters.values()
        if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        and not p.name.startswith("_")
    )


def _signature(part: Callable[..., object]) -> Signature:
    try:
        return signature(part, eval_str=True)
    except NameError:  # an annotation that is imported for type checkers only
        return signature(part)
    except (TypeError, ValueError):  # written in C
        return Signature()


def _outer(name: str) -> str:
    return name.rstrip("_")  # `in` and `for` are words of Python's


def _required(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _read(setting: _Setting, value: object, what: str) -> object:
    try:
        if setting.read is not None:
            return None if value is None and _optional(setting.hint) else setting.read(value)
        return convert(setting.hint, value)
    except SettingError as error:
        raise SettingError(f"{what}: {error}") from None
    except MISFITS:
        raise SettingError(f"{what} must be {kind_of(setting.hint)}, got {value!r}") from None


def _optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


def taken(part: type, given: Mapping[str, object]) -> dict[str, object]:
    """Of what is given, that for which a part has a field.

    >>> @dataclass
    ... class Pause:
    ...     for_: float = 5.0
    >>> taken(Pause, {"for": 2.0, "graph": None})
    {'for': 2.0}
    """
    return {name: value for name, value in given.items() if name in option_names(part)}
