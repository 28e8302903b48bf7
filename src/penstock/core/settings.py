"""Build a part from its name and parameters as people write them in files and flags.

A part is a dataclass; a field that holds seconds or a rate says so in its metadata, and is then
read with its unit.

>>> @dataclass
... class Pause:
...     for_: float = seconds(5.0)
>>> build(Pause, {"for": "2m"}, of="guard pause")
Pause(for_=120.0)
"""

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from penstock.core.errors import SettingError
from penstock.core.units import parse_duration, parse_rate

T = TypeVar("T")

__all__ = ["build", "choose", "dataclass", "near", "option_names", "rate", "seconds"]


def seconds(default: Any = MISSING) -> Any:
    """A field in seconds, written with its unit."""
    return field(default=default, metadata={"read": parse_duration})


def rate(default: Any = MISSING) -> Any:
    """A field in rows a second, written with its unit."""
    return field(default=default, metadata={"read": parse_rate})


def build(part: type[T], given: Mapping[str, object], *, of: str, **fixed: object) -> T:
    """Make a part from settings; `of` names it in messages, `fixed` are values of our own."""
    known = {_outer(f.name): f for f in _settable(part) if f.name not in fixed}
    values: dict[str, object] = dict(fixed)
    hints = get_type_hints(part)
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            raise SettingError(f"{of} has no setting {key!r}{near(key, known)}")
        values[known[name].name] = _read(
            known[name], hints[known[name].name], value, f"{key} of {of}"
        )
    missing = [name for name, f in known.items() if _required(f) and f.name not in values]
    if missing:
        raise SettingError(f"{of} needs a value for {', '.join(missing)}")
    return part(**values)


def choose(kinds: Mapping[str, type[T]], name: str, *, of: str) -> type[T]:
    """The part of that name, or an error that lists what there is.

    >>> choose({"static": object}, "sttic", of="policy")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no policy 'sttic'; did you mean 'static'?
    """
    if name not in kinds:
        raise SettingError(f"there is no {of} {name!r}{near(name, kinds)}")
    return kinds[name]


def near(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the closest known one, or all of them."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else "; it takes none"


def option_names(part: type) -> tuple[str, ...]:
    """The settings that a part takes, as they are written."""
    return tuple(_outer(f.name) for f in _settable(part))


def _settable(part: type) -> list[Field[Any]]:
    if not hasattr(part, "__dataclass_fields__"):
        return []
    return [f for f in fields(part) if f.init and not f.name.startswith("_")]


def _outer(name: str) -> str:
    return name.rstrip("_")  # `in` and `for` are words of Python's


def _required(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _read(f: Field[Any], hint: Any, value: object, what: str) -> object:
    reader: Callable[[object], object] | None = f.metadata.get("read")
    try:
        if reader is not None:
            return None if value is None and _optional(hint) else reader(value)
        return _convert(hint, value)
    except SettingError as error:
        raise SettingError(f"{what}: {error}") from None
    except (TypeError, ValueError):
        raise SettingError(f"{what} must be {_kind(hint)}, got {value!r}") from None


def _optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


def _convert(hint: Any, value: object) -> object:
    if get_origin(hint) is types.UnionType:
        if value is None and _optional(hint):
            return None
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if hint is bool:
        return _boolean(value)
    if hint is int:
        return _whole(value)
    if hint is float:
        if isinstance(value, bool):
            raise TypeError
        return float(value)  # type: ignore[arg-type]  # a TypeError is what we want of the rest
    if hint is str:
        if not isinstance(value, str | int | float):
            raise TypeError
        return str(value)
    return value


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
    return int(value)  # type: ignore[call-overload,no-any-return]  # as above


def _kind(hint: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    for kind in (hint, *get_args(hint)):
        if kind in names:
            return names[kind]
    return f"a {hint}"
