"""Turn what a file or a flag holds into what a field's type asks for.

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
from typing import Any, Final, Union, get_args, get_origin

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
    return _WORDS.get(hint) or _with_article(str(getattr(hint, "__name__", hint)))


def _with_article(name: str) -> str:
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
