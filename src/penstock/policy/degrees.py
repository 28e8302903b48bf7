"""Degrees of parallelism as policies and guards speak of them."""

from collections.abc import Iterable, Mapping

from penstock.core.errors import SettingError
from penstock.core.signals import Observation, current

PerModule = int | Mapping[str, int]
"""A number of executors: one for every module, or one for each by name."""


def of_module(setting: PerModule | None, module: str) -> int | None:
    """The number that holds for a module, or None where there is none.

    >>> of_module(3, "counter"), of_module({"splitter": 2}, "counter")
    (3, None)
    """
    return setting.get(module) if isinstance(setting, Mapping) else setting


def numbers(setting: PerModule | None) -> tuple[int, ...]:
    """Every number in a setting."""
    if setting is None:
        return ()
    return tuple(setting.values()) if isinstance(setting, Mapping) else (setting,)


def check_degrees(setting: PerModule | None, what: str) -> None:
    """Refuse a number of executors below one.

    >>> check_degrees({"counter": 0}, "degrees of policy static")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: degrees of policy static must be 1 or more, got 0
    """
    for number in numbers(setting):
        if not number >= 1:
            raise SettingError(f"{what} must be 1 or more, got {number}")


def in_force(seen: Observation) -> dict[str, int]:
    """The degree of each module whose degree is known.

    A module with no executors, not even asked for, has no degree to keep: asking for it would be
    a change that nobody decided.
    """
    return {name: degree for name, degree in current(seen).degrees.items() if degree >= 1}


def sentence(clauses: Iterable[str], *, otherwise: str) -> str:
    """Clauses as one sentence."""
    return "; ".join(clauses) or otherwise
