"""Kernel files that hold one short value each, to read and to write.

They appear and vanish with processors, and most belong to root. Reading never fails: what cannot be
read or parsed is None.

>>> whole(Path("/nowhere/scaling_cur_freq")) is None
True
"""

import errno
import os
from pathlib import Path
from typing import Final

from penstock.core.errors import FileError

SYSFS: Final = Path("/sys")

_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_GONE: Final = (errno.ENOENT, errno.ENODEV, errno.EBUSY)
"""What the kernel answers for a processor that was taken offline."""


def text(path: Path) -> str | None:
    """The content of a file, or None if it is unreadable or empty."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def words(path: Path) -> tuple[str, ...]:
    """The words of a file; none where it cannot be read."""
    return tuple((text(path) or "").split())


def whole(path: Path) -> int | None:
    """The whole number in a file, or None where there is none."""
    return number(text(path))


def number(word: str | None) -> int | None:
    """A whole number as the kernel writes it.

    >>> number("1200000"), number("<unsupported>"), number("-5")
    (1200000, None, None)
    """
    return int(word) if word and word.isascii() and word.isdigit() else None


def write(path: Path, value: str) -> bool:
    """Write a value; False where the processor that it is for is gone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)  # must not create what is gone
        with os.fdopen(descriptor, "w", encoding="ascii") as file:  # closes it, whatever happens
            file.write(value)
    except OSError as error:
        if error.errno in _GONE:
            return False
        raise FileError(_refusal(path, value, error)) from error
    return True


def _refusal(path: Path, value: str, error: OSError) -> str:
    if error.errno in _FORBIDDEN:
        return (
            f"setting the CPU frequency needs root, and {path} cannot be written; "
            "run as root or leave the frequency alone"
        )
    return f"the kernel refused {value!r} for {path}: {error.strerror}; leave the frequency alone"
