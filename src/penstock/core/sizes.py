"""Memory as Spark writes it: `512m`, `8g`.

>>> parse_size("512m", "memory")
536870912
>>> format_size(1.5 * 2**30), format_size(512 * 2**20)
('1.5 GiB', '512 MiB')
"""

import re
from dataclasses import MISSING, field
from typing import Any, Final

from penstock.core.errors import SettingError

_SIZE: Final = re.compile(r"(\d{1,9})([kmgt])b?", re.IGNORECASE)
_BYTES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def size(default: Any = MISSING) -> Any:
    """A field in bytes, written with its unit."""
    return field(default=default, metadata={"read": _read})


def parse_size(text: str, what: str) -> int:
    """Bytes in a size; `what` names it in the message about one that cannot be read.

    >>> parse_size("512", "memory")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: memory must be a size with its unit, got '512'; \
write 512m or 512g
    """
    match = _SIZE.fullmatch(text.strip())
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


def _read(given: object) -> float:
    text = str(given).strip()
    if text.isdigit():
        raise SettingError(f"a size needs a unit, got {text}; write {text}m or {text}g")
    if not _SIZE.fullmatch(text):
        raise SettingError(f"a size needs a unit, such as 512m or 8g, got {text!r}")
    return float(parse_size(text, "a size"))
