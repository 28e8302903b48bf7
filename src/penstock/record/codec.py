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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Any, TypeVar, cast, get_type_hints

from penstock.core.errors import PlantError
from penstock.core.schema import is_optional, problems_of, record_reader
from penstock.core.signals import Tick

T = TypeVar("T")


class FieldError(ValueError):
    """A field that is missing or of the wrong kind."""


def reader(kind: type[T]) -> Callable[[Any], T]:
    """What reads a value of a type from what JSON held."""
    of: Any = kind
    validator = record_reader(of)

    def read(value: Any) -> T:
        decoded, problems = problems_of(validator, value)
        for problem in problems:
            raise FieldError(f"{'.'.join(map(str, problem.path)) or 'it'} {problem.why}")
        return cast(T, decoded)

    return read


def from_text(kind: type[T], text: str) -> T | None:
    """What a JSON text holds, at once; None where something is wrong with it."""
    from pydantic_core import ValidationError

    of: Any = kind
    try:
        return cast(T, record_reader(of).validate_json(text))
    except ValidationError:
        return None


@cache
def needed(kind: Any) -> frozenset[str]:
    """Fields without which there is no such value."""
    hints = get_type_hints(kind)
    required = (f.name for f in fields(kind) if f.init and not _has_default(f))
    return frozenset(name for name in required if not is_optional(hints[name]))


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
    return reader(Tick)(data)


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
    # Readers rely on a latency having all of its numbers: one that lacks any is written as null.
    return None if any(written[name] is None for name in needed(kind)) else written


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.init and f.metadata.get("record", True))
