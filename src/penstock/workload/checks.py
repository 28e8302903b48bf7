"""What every workload asks of its settings."""

from math import isfinite

from penstock.core.errors import SettingError


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
