"""What every workload asks of its settings."""

from math import isfinite
from typing import Final

from penstock.core.errors import SettingError

_MOST_ROWS: Final = 1e15
"""In one slot; counts beyond lose their last digit in a float soon after."""


def not_negative(value: float, what: str) -> None:
    """Refuse a value below zero, infinite or not a number.

    >>> not_negative(-3.0, "rate of workload constant")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: rate of workload constant must be 0 or more, got -3
    """
    if not (isfinite(value) and value >= 0):
        raise SettingError(f"{what} must be 0 or more, got {value:g}")


def positive(value: float, what: str) -> None:
    """Refuse a value that is not above zero, infinite or not a number."""
    if not (isfinite(value) and value > 0):
        raise SettingError(f"{what} must be above 0, got {value:g}")


def at_least(value: float, least: float, what: str) -> None:
    """Refuse a value below the least, infinite or not a number."""
    if not (isfinite(value) and value >= least):
        raise SettingError(f"{what} must be {least:g} or more, got {value:g}")


def drawable(highest: float, slot: float, of: str) -> None:
    """Refuse slots that cannot be, or that bring more rows than anyone can count."""
    positive(slot, f"slot of {of}")
    if highest * slot > _MOST_ROWS:
        raise SettingError(
            f"{of} must bring at most {_MOST_ROWS:g} rows a slot, got {highest * slot:g}; "
            f"lower its rate or its slot"
        )
