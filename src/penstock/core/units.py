"""Durations and rates as people write them: `300ms`, `5m`, `600/s`.

A bare number is refused, because its unit would be ambiguous.

>>> parse_duration("1m 30s")
90.0
>>> parse_rate("120/min")
2.0
>>> format_duration(0.0125)
'12.5 ms'

Memory as Spark writes it: `512m`, `8g`.

>>> parse_size("512m", "memory")
536870912
>>> format_size(1.5 * 2**30), format_size(512 * 2**20)
('1.5 GiB', '512 MiB')
"""

import re
from math import isfinite
from typing import Final

from penstock.core.errors import SettingError

_SECONDS: Final = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_LONGEST: Final = 3650 * 86400.0
_NUMBER: Final = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_UNIT: Final = "(?:[uUmM][sS]|[sS][eE][cC]|[mM][iI][nN]|[sSmMhHdD])(?![a-zA-Z])"
_PER: Final = rf"\s*([kKmM]?)\s*(?:[rR][oO][wW][sS])?\s*/\s*({_UNIT})\s*"
_PART: Final = re.compile(rf"\s*({_NUMBER})\s*({_UNIT})")

# Texts that are read below, as regular expressions without flags, since editors know none.
DURATION: Final = rf"({_PART.pattern})+\s*"
RATE: Final = rf"\s*({_NUMBER}|[iI][nN][fF]){_PER}"
FINITE_RATE: Final = rf"\s*{_NUMBER}{_PER}"
SIZE: Final = "([0-9]{1,9})([kmgtKMGT])[bB]?"
_ABOVE_ZERO: Final = "(?=[0.]*[1-9])"
POSITIVE_DURATION: Final = (
    rf"({_PART.pattern})*\s*{_ABOVE_ZERO}{_PART.pattern}({_PART.pattern})*\s*"
)
POSITIVE_RATE: Final = rf"\s*{_ABOVE_ZERO}{_NUMBER}{_PER}"
POSITIVE_SIZE: Final = f"{_ABOVE_ZERO}{SIZE}"
_PREFIX: Final = {"": 1.0, "k": 1e3, "m": 1e6}


class UnitError(SettingError):
    """A number without its unit; `predicate` is what the sentence says about it."""

    def __init__(self, kind: str, predicate: str) -> None:
        super().__init__(f"{kind} {predicate}")
        self.kind, self.predicate = kind, predicate


def parse_duration(text: object) -> float:
    """Seconds in a duration with its unit.

    >>> parse_duration("5 min")
    300.0
    >>> parse_duration(5)
    Traceback (most recent call last):
    ...
    penstock.core.units.UnitError: a duration needs a unit, got 5; write 5s, 5ms or 5m
    """
    if _is_number(text):
        remedy = f"write {text}s, {text}ms or {text}m"
        raise UnitError("a duration", f"needs a unit, got {text}; {remedy}")
    if not isinstance(text, str):
        raise UnitError("a duration", f"is a text such as 30s, got {text!r}")
    total, end = 0.0, 0
    while match := _PART.match(text, end):
        total += float(match[1]) * _SECONDS[match[2].lower()]
        end = match.end()
    if end == 0 or text[end:].strip():
        raise SettingError(f"cannot read the duration {text!r}; write it as 300ms, 30s, 5m or 1h")
    if total > _LONGEST:
        raise UnitError("a duration", f"must be at most 10 years, 3650d, got {text}")
    return total


def parse_rate(text: object) -> float:
    """Rows a second in a rate with its unit.

    >>> parse_rate("1.5k/s")
    1500.0
    >>> parse_rate(600)
    Traceback (most recent call last):
    ...
    penstock.core.units.UnitError: a rate needs a unit, got 600; write 600/s
    """
    if _is_number(text):
        raise UnitError("a rate", f"needs a unit, got {text}; write {text}/s")
    match = re.fullmatch(RATE, text) if isinstance(text, str) else None
    if match is None:
        raise SettingError(f"cannot read the rate {text!r}; write it as 600/s, 2k/s or 30/min")
    return float(match[1]) * _PREFIX[match[2].lower()] / _SECONDS[match[3].lower()]


def format_duration(seconds: float) -> str:
    """A duration in the unit a reader would choose.

    >>> format_duration(90), format_duration(2), format_duration(7200), format_duration(0)
    ('1.5 min', '2 s', '2 h', '0 s')
    """
    if seconds == 0:
        return "0 s"
    for limit, unit, size in (
        (1e-3, "us", 1e-6),
        (1.0, "ms", 1e-3),
        (60.0, "s", 1.0),
        (3600.0, "min", 60.0),
    ):
        if abs(seconds) < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 3600.0:.3g} h"


def written_duration(seconds: float) -> str:
    """A duration as files have it.

    >>> [written_duration(s) for s in (0.25, 90.0, 600.0, 86400.0, 0.0)]
    ['250ms', '90s', '10m', '1d', '0s']
    """
    for unit in ("d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:g}{unit}"
    return f"{seconds * 1000:g}ms" if 0 < seconds < 1 else f"{seconds:g}s"


def _is_number(given: object) -> bool:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return False
    try:
        return isfinite(float(given))
    except ValueError:
        return False


_BYTES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_size(text: str, what: str) -> int:
    """Bytes in a size; `what` names it in the message about one that cannot be read.

    >>> parse_size("512", "memory")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: memory must be a size with its unit, got '512'; \
write 512m or 512g
    """
    match = re.fullmatch(SIZE, text.strip())
    if match is None:
        unit = f"; write {text}m or {text}g" if text.isdigit() else ", such as 512m or 8g"
        raise SettingError(f"{what} must be a size with its unit, got {text!r}{unit}")
    return int(match[1]) * _BYTES[match[2].lower()]


def format_size(size: float) -> str:
    """A size in the unit a reader would choose."""
    for unit, letter in (("TiB", "t"), ("GiB", "g"), ("MiB", "m")):
        if size >= _BYTES[letter]:
            return f"{size / _BYTES[letter]:.4g} {unit}"
    return f"{size / 2**10:.4g} KiB"


def parse_bytes(given: object) -> float:
    """Bytes in a setting that is a size.

    >>> parse_bytes("8g") / 2**30
    8.0
    """
    text = str(given).strip()
    if text.isdigit():
        raise UnitError("a size", f"needs a unit, got {text}; write {text}m or {text}g")
    if not re.fullmatch(SIZE, text):
        raise UnitError("a size", f"needs a unit, such as 512m or 8g, got {text!r}")
    return float(parse_size(text, "a size"))
