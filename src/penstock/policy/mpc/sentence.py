"""What a controller foresees and decides, in words for a tired operator."""

from typing import Final

from penstock.core.units import format_duration


def foreseen(rate: float, now: float) -> str:
    """The load of the next step beside that of the last.

    >>> foreseen(2310.4, 2150.0)
    '2,310 rows/s foreseen (2,150 now)'
    """
    return f"{_rows(rate)} rows/s foreseen ({_rows(now)} now)"


def effect(
    replicas: int, most: int, clock: float | None, busy: float, responds: float | None
) -> str:
    """What so many replicas would be like.

    >>> effect(4, 12, 2.0, 0.78, None)
    '4 of 12 replicas at 2 GHz would be 78 % busy'
    >>> effect(1, 8, None, 0.5, 0.0032)
    '1 of 8 replicas would be 50 % busy and take 3.2 ms'
    """
    clocked = "" if clock is None else f" at {clock:g} GHz"
    taking = "" if responds is None else f" and take {format_duration(responds)}"
    return f"{replicas} of {most} replicas{clocked} would be {100 * busy:.0f} % busy{taking}"


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


def _rows(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
