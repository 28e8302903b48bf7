"""Values of settings as people write them. Each reader refuses what cannot be, in one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock.core.convert import MISFITS, convert
from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.core.sizes import parse_size
from penstock.core.units import parse_duration

MODES: Final = ("advise", "apply", "off")


def or_off(read: Callable[[object], object]) -> Callable[[object], object]:
    """A reader that takes `off` for an answer.

    >>> or_off(duration)("off"), or_off(duration)("5m")
    (None, 300.0)
    """

    def read_or_off(given: object) -> object:
        switched_off = given is False or str(given).strip().lower() == "off"
        return None if switched_off else read(given)

    return read_or_off


def duration(given: object) -> float:
    """Seconds, above none."""
    seconds = parse_duration(given)
    if not seconds > 0:
        raise SettingError(f"must be above 0s, got {given!r}")
    return seconds


def pace(given: object) -> float:
    """Seconds from look to look, each of which asks Spark a dozen things."""
    seconds = duration(given)
    if seconds < 0.1:
        raise SettingError(f"must be 100ms or more, got {given!r}")
    return seconds


def mode(given: object) -> str:
    """Whether to advise, to act or to stand aside.

    >>> mode("aply")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no mode 'aply'; did you mean 'apply'?
    """
    # YAML of old reads a bare `off` as false
    word = "off" if given is False else str(given).strip().lower()
    if word not in MODES:
        raise SettingError(f"there is no mode {given!r}{near(word, MODES)}")
    return word


def count(given: object) -> int:
    """A whole number from one."""
    number = _number(given, int)
    if number < 1:
        raise SettingError(f"must be a whole number from 1, got {given!r}")
    return int(number)


def positive(given: object) -> float:
    """A number above zero."""
    number = _number(given, float)
    if not 0 < number < float("inf"):
        raise SettingError(f"must be a number above 0, got {given!r}")
    return number


def share(given: object) -> float:
    """A number above zero, at most one.

    >>> share("1.3")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: must be in (0, 1], got '1.3'
    """
    number = _number(given, float)
    if not 0 < number <= 1:
        raise SettingError(f"must be in (0, 1], got {given!r}")
    return number


def factor(given: object) -> float:
    """How many times as many; above zero, as Flink has it: 1 is twice as many."""
    return positive(given)


def switch(given: object) -> bool:
    """On or off."""
    try:
        return bool(convert(bool, given))
    except MISFITS:
        raise SettingError(f"must be true or false, got {given!r}") from None


def memory(given: object) -> float:
    """Bytes, from a size as Spark writes it.

    >>> memory("1g") / 2**20
    1024.0
    """
    return float(parse_size(str(given), "it"))


def periods(given: object) -> tuple[str, ...]:
    """Times of the day, a list or one text with semicolons.

    >>> periods("22:00-06:00; 12:00-13:00")
    ('22:00-06:00', '12:00-13:00')
    """
    parts = given.split(";") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise SettingError(f"must be a list such as [22:00-06:00], got {given!r}")
    return tuple(part.strip() for part in parts if part.strip())


def word(given: object) -> str:
    """A name."""
    if not isinstance(given, str) or not given.strip():
        raise SettingError(f"must be a name, got {given!r}")
    return given.strip()


def path(given: object) -> Path:
    """A folder."""
    if not isinstance(given, str | Path) or not str(given):
        raise SettingError(f"must be the name of a folder, got {given!r}")
    return Path(given)


def port(given: object) -> bool | int:
    """Whether there is a page, or the port of it."""
    try:
        return bool(convert(bool, given))
    except MISFITS:
        pass
    number = _number(given, int)
    if not 0 <= number < 2**16:
        raise SettingError(f"must be true, false or a port from 0 to 65535, got {given!r}")
    return int(number)


def _number(given: object, kind: type) -> float:
    try:
        if isinstance(given, bool):
            raise TypeError
        return float(convert(kind, given))  # type: ignore[arg-type]
    except MISFITS:
        what = "a whole number" if kind is int else "a number"
        raise SettingError(f"must be {what}, got {given!r}") from None
