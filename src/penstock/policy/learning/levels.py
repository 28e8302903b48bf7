"""Measured quantities as the few levels that a table is made of.

>>> level_of(410.0, span=650.0, levels=10), utilisation_level(0.57, quantum=0.1)
(6, 6)
"""

from math import floor

from penstock.core.errors import SettingError


def level_of(rate: float, span: float, levels: int) -> int:
    """The level of a rate, of so many that divide the span evenly; the last one has no end.

    >>> level_of(0.0, 650.0, 10), level_of(649.0, 650.0, 10), level_of(5000.0, 650.0, 10)
    (0, 9, 9)
    """
    if span <= 0:
        return levels - 1 if rate > 0 else 0
    return min(floor(min(rate / span, 1.0) * levels), levels - 1)


def utilisation_level(utilisation: float, quantum: float) -> int:
    """The nearest multiple of the quantum, the higher of two.

    >>> utilisation_level(0.25, 0.25), utilisation_level(0.125, 0.25), utilisation_level(1.4, 0.25)
    (1, 1, 4)
    """
    nearest = floor(min(utilisation, 1.0) / quantum + 0.5)
    return min(nearest, utilisation_levels(quantum) - 1)


def utilisation_levels(quantum: float) -> int:
    """How many multiples of the quantum there are from 0 to 1.

    >>> utilisation_levels(0.1), utilisation_levels(1.0)
    (11, 2)
    """
    return round(1 / quantum) + 1


def check_quantum(quantum: float, *, of: str) -> None:
    """Refuse a quantum that does not divide a share.

    >>> check_quantum(1.5, of="policy rl of infrastructure")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: quantum of policy rl of infrastructure must be in (0, 1], \
got 1.5
    """
    if not 0 < quantum <= 1:
        raise SettingError(f"quantum of {of} must be in (0, 1], got {quantum:g}")
    if utilisation_levels(quantum) > _MOST_LEVELS:
        raise SettingError(
            f"quantum of {of} makes {utilisation_levels(quantum)} levels, which nothing could "
            f"learn; take {1 / (_MOST_LEVELS - 1):g} or more, got {quantum:g}"
        )


def check_levels(levels: int, *, of: str) -> None:
    """Refuse levels that tell nothing apart, or more than could be learned."""
    if not 1 <= levels <= _MOST_LEVELS:
        raise SettingError(f"levels of {of} must be 1 to {_MOST_LEVELS}, got {levels}")


_MOST_LEVELS = 1001  # the table of transitions has the square of that
