"""Frozen values as strict JSON: a dataclass becomes an object with its field names.

A number that is not finite becomes null. Nothing here knows the fields, so that one added to a
signal is recorded, and read back by `reader.py`, without another line; one that asks not to be
recorded is left out.

>>> from penstock.core.signals import Latency
>>> plain(Latency(p50=0.5, p95=1.0, p99=2.0))
{'p50': 0.5, 'p95': 1.0, 'p99': 2.0}
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Any

from penstock.core.errors import PlantError
from penstock.core.signals import Tick
from penstock.record.reader import needed, reader


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
