"""What every plant refuses to be asked for."""

from collections.abc import Iterable, Mapping

from penstock.core.errors import SettingError
from penstock.core.settings import near


def check_degrees(degrees: Mapping[str, int], modules: Iterable[str]) -> None:
    """Refuse degrees of modules that are not there, and degrees below one.

    >>> check_degrees({"counter": 0}, ["counter"])
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: module counter needs at least one executor, got 0
    """
    known = tuple(modules)
    for module, degree in degrees.items():
        if module not in known:
            raise SettingError(f"there is no module {module!r} to scale{near(module, known)}")
        if degree < 1:
            raise SettingError(f"module {module} needs at least one executor, got {degree}")
