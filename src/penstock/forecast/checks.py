"""What forecasters refuse, in one sentence each."""

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError


def check_weight(value: float, what: str, *, zero: bool = False) -> None:
    """Refuse a weight that would not average; zero, which never learns, only where it may be.

    >>> check_weight(1.1, "a of forecaster holt")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: a of forecaster holt must be in (0, 1], got 1.1
    """
    if not (0 < value <= 1 or (zero and value == 0)):
        raise SettingError(f"{what} must be in {'[' if zero else '('}0, 1], got {value:g}")


def check_count(value: int, what: str, *, least: int = 1, most: int | None = None) -> None:
    """Refuse what is not a whole number of steps, too few of them, or too many.

    >>> check_count(9, "trial of forecaster trusted", most=5)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: trial of forecaster trusted must be 1 to 5 steps, got 9
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise SettingError(f"{what} must be {bounds} steps, got {value!r}")


def coming(steps: int) -> NDArray[np.float64]:
    """The numbers of the steps to come, the first being 1.

    >>> coming(3).tolist()
    [1.0, 2.0, 3.0]
    """
    if steps < 0:
        raise SettingError(f"a forecast looks 0 steps or more ahead, got {steps}")
    return np.arange(1.0, steps + 1.0)
