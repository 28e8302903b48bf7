"""What a controller foresees and decides, in words for a tired operator."""

from typing import Final

from penstock.core.units import format_duration


def foreseen(rate: float, now: float, behind: float = 0.0) -> str:
    """The load of the next step beside that of the last, and what is to be caught up on.

    >>> foreseen(2310.4, 2150.0)
    '2,310 rows/s foreseen (2,150 now)'
    >>> foreseen(100.0, 100.0, behind=50e3)
    '100 rows/s foreseen (100 now) and 50,000 to catch up on'
    """
    late = f" and {rows(behind)} to catch up on" if behind else ""
    return f"{rows(rate)} rows/s foreseen ({rows(now)} now){late}"


def effect(
    replicas: int, most: int, clock: float | None, busy: float, responds: float | None
) -> str:
    """What so many replicas would be like.

    >>> effect(4, 12, 2.0, 0.78, None)
    '4 of 12 replicas at 2 GHz would be 78 % busy'
    >>> effect(1, 8, None, 0.5, 0.0032)
    '1 of 8 replicas would be 50 % busy and take 3.2 ms'
    """
    clocked, taking = _clocked(clock), _taking(responds)
    return f"{replicas} of {most} replicas{clocked} would be {_percent(busy)} busy{taking}"


def hot_key(useful: int, clock: float | None, busy: float, responds: float | None) -> str:
    """What one key does to the replica that has it, however many there are.

    >>> hot_key(2, None, 3.9, None)
    'one key alone would keep a replica 390 % busy, and more than 2 would not help'
    """
    clocked, taking = _clocked(clock), _taking(responds)
    return (
        f"one key alone would keep a replica{clocked} {_percent(busy)} busy{taking}, "
        f"and more than {useful} would not help"
    )


OVERLOAD: Final = "too many for any configuration, so the one with the most capacity"
"""Why the refuge is taken."""


def change(before: int, after: int, clock: float | None, next_clock: float | None) -> str:
    """What is asked for.

    >>> change(3, 4, None, None), change(4, 4, None, None), change(4, 4, 2.0, 1.6)
    ('3 -> 4', '4 stay', '4 stay, 2 -> 1.6 GHz')
    """
    degrees = f"{after} stay" if before == after else f"{before} -> {after}"
    if clock is None or next_clock is None or clock == next_clock:
        return degrees
    return f"{degrees}, {clock:g} -> {next_clock:g} GHz"


def rows(number: float) -> str:
    """Rows, or rows a second, as far as anybody reads their digits.

    >>> rows(0.25), rows(1973.2), rows(1.23e12)
    ('0.25', '1,973', '1.2e+12')
    """
    if number >= 1e9:
        return f"{number:.2g}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share < 1e4 else f"{100 * share:.2g} %"


def _clocked(clock: float | None) -> str:
    return "" if clock is None else f" at {clock:g} GHz"


def _taking(responds: float | None) -> str:
    return "" if responds is None else f" and take {format_duration(responds)}"
