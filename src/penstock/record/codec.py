"""Frozen values to strict JSON and back: a dataclass becomes an object with its field names.

A number that is not finite becomes null. Nothing here knows the fields, so that one added to a
signal is recorded and read back without another line; one that asks not to be recorded is left out.

>>> from penstock.core.signals import Latency
>>> plain(Latency(p50=0.5, p95=1.0, p99=2.0))
{'p50': 0.5, 'p95': 1.0, 'p99': 2.0}

`reader` builds values by their type hints, and names the field that is wrong:

>>> from penstock.core.signals import Observation
>>> reader(Observation)({"at": 1.0, "step": 1.0, "modules": {}}).step
1.0
>>> reader(Observation)({"at": 1.0, "step": 1.0, "modules": {"count": {"running": "two"}}})
Traceback (most recent call last):
...
penstock.record.codec.FieldError: modules.count.running must be a whole number, got 'two'
"""

import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from penstock.core.errors import PlantError
from penstock.core.signals import Tick

Reader = Callable[[Any], Any]


class FieldError(ValueError):
    """A field that is missing or of the wrong kind."""

    def __init__(self, problem: str, *path: str) -> None:
        self.problem, self.path = problem, path
        super().__init__(f"{'.'.join(path) or 'it'} {problem}")

    def inside(self, name: str) -> "FieldError":
        """The same error, seen from one level further out."""
        return FieldError(self.problem, name, *self.path)


@cache
def reader(hint: Any) -> Reader:
    """What reads a value of the hinted type; made once, because recordings are long."""
    if get_origin(hint) in (types.UnionType, Union):
        inner = reader(next(kind for kind in get_args(hint) if kind is not type(None)))
        return lambda value: None if value is None else inner(value)
    if is_dataclass(hint):
        return _object_reader(hint)
    if get_origin(hint) is tuple:
        return _list_reader(reader(get_args(hint)[0]))
    if get_origin(hint) is Mapping:
        return _mapping_reader(reader(get_args(hint)[1]), keeps_null=_optional(get_args(hint)[1]))
    return _LEAVES.get(hint, _anything)


@cache
def needed(kind: Any) -> frozenset[str]:
    """Fields without which there is no such value."""
    hints = get_type_hints(kind)
    return frozenset(name for name in _required(kind) if not _optional(hints[name]))


def _object_reader(kind: Any) -> Reader:
    """Fields that this version does not know are left aside; absent ones take their default.

    So do those whose default JSON cannot say, such as an endless buffer, written as null.
    """
    hints, required = get_type_hints(kind), _required(kind)
    readers = {f.name: reader(hints[f.name]) for f in fields(kind) if f.init}
    unsayable = {name for name in readers if name not in required and not _optional(hints[name])}

    def read(value: Any) -> Any:
        _expect(value, dict, "an object")
        for name in required - value.keys():
            raise FieldError("is missing", name)
        present = [n for n in readers if n in value and not (value[n] is None and n in unsayable)]
        return kind(**{name: _field(readers[name], value[name], name) for name in present})

    return read


def _mapping_reader(inner: Reader, *, keeps_null: bool) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        items = _expect(value, dict, "an object").items()
        return {k: _field(inner, v, k) for k, v in items if keeps_null or v is not None}

    return read


def _list_reader(inner: Reader) -> Reader:
    def read(value: Any) -> tuple[Any, ...]:
        items = enumerate(_expect(value, list, "a list"))
        return tuple(_field(inner, item, str(index)) for index, item in items)

    return read


def _field(read: Reader, value: Any, name: str) -> Any:
    try:
        return read(value)
    except FieldError as error:
        raise error.inside(name) from None


def _float(value: Any) -> float:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except OverflowError:  # JSON allows numbers of any length
        pass
    raise FieldError(f"must be a finite number, got {value!r}")


def _int(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise FieldError(f"must be a whole number, got {value!r}")


def _text(value: Any) -> str:
    return str(_expect(value, str, "a text"))


def _bool(value: Any) -> bool:
    return bool(_expect(value, bool, "true or false"))


def _datetime(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(_text(value))
    except ValueError:
        raise FieldError(f"must be a date and time, got {value!r}") from None


def _anything(value: Any) -> Any:
    return value


_LEAVES: Final[dict[Any, Reader]] = {
    bool: _bool,
    float: _float,
    int: _int,
    str: _text,
    datetime: _datetime,
}


def _expect(value: Any, kind: type, called: str) -> Any:
    if not isinstance(value, kind):
        raise FieldError(f"must be {called}, got {value!r}")
    return value


def _optional(hint: Any) -> bool:
    return hint is object or type(None) in get_args(hint)


@cache
def _required(kind: Any) -> frozenset[str]:
    return frozenset(f.name for f in fields(kind) if f.init and not _has_default(f))


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def tick_to_json(tick: Tick) -> dict[str, Any]:
    """One turn of the loop as a JSON object, field by field as in `docs/run-folder.md`."""
    written: dict[str, Any] | None = plain(tick)
    if written is None:
        seen = tick.seen
        raise PlantError(
            f"a reading needs a finite time and step, got at={seen.at}, step={seen.step}"
        )
    return written


def tick_from_json(data: Mapping[str, Any]) -> Tick:
    """The tick that `tick_to_json` wrote; raises ValueError with the field that is wrong."""
    tick: Tick = reader(Tick)(data)
    return tick


def dumps(data: object, *, indent: int | None = None) -> str:
    """What `plain` made, in ASCII so that no text can break a line or a terminal.

    >>> dumps({"why": "café"})
    '{"why": "caf\\\\u00e9"}'
    """
    return json.dumps(data, allow_nan=False, indent=indent)


def plain(value: object) -> Any:
    """A value in what JSON knows: objects, lists, texts, finite numbers, true, false and null.

    >>> plain({"rate": float("inf"), "modules": ("split", "count")})
    {'rate': None, 'modules': ['split', 'count']}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):  # before Real: it is most of a recording, and much faster
        return float(value) if isfinite(value) else None
    if is_dataclass(value):
        return _plain_dataclass(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return _plain_other(value)


def _plain_other(value: object) -> Any:
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return plain(float(value))
    if isinstance(value, date):
        return value.isoformat()
    return [plain(item) for item in value] if isinstance(value, Iterable) else str(value)


def _plain_dataclass(value: object) -> dict[str, Any] | None:
    kind: Any = type(value)
    written = {name: plain(getattr(value, name)) for name in _names(kind)}
    # Half a latency is no latency: whoever reads it may count on every number being there.
    return None if any(written[name] is None for name in needed(kind)) else written


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.init and f.metadata.get("record", True))
