"""One step of the controller: from what was measured of both stages to their next degrees."""

from math import floor, isnan
from typing import Final

from penstock.core.errors import SettingError
from penstock.policy.fuzzy.rules import factors
from penstock.policy.fuzzy.terms import PAPERS, Terms

POOL: Final = 59
"""Workers that the paper's machine has for both stages."""
Bounds = tuple[int, int]
"""The fewest workers of a stage, and the most."""
_STAYS: Final = {1: (0.0, 1.25), 2: (0.563, 1.25), 3: (0.793, 1.17)}
"""Factors from the first up to the second, at which so few workers stay as many: rounding alone
would let them go back and forth."""


def next_degrees(
    rho_plq: float,
    splitting: float,
    rho_wlq: float,
    plq: int,
    wlq: int,
    pool: int = POOL,
    *,
    terms: Terms = PAPERS,
    bounds: tuple[Bounds, Bounds] | None = None,
) -> tuple[int, int]:
    """The next degrees of the pane stage and of the window stage.

    `rho_plq` and `rho_wlq` are the loads of the stages: work that came by the work that could have
    been done. `splitting` is the mean number of parts of a pane. `plq` and `wlq` are the workers of
    the stages, of which there are `pool` in all, and of each stage at least and at most as many as
    its `bounds` say.

    >>> next_degrees(0.9, 1.0, 0.9, plq=4, wlq=12)  # both as they should be
    (4, 12)
    >>> next_degrees(0.9, 4.0, 1.5, plq=4, wlq=12)  # a slow window stage comes first
    (4, 18)
    >>> next_degrees(0.9, 1.0, 2.8, plq=2, wlq=57)  # the pool is used up
    (1, 58)

    A number that is not known, as where no pane was completed, leaves both as they are:

    >>> next_degrees(float("nan"), 1.0, 1.5, plq=4, wlq=12)
    (4, 12)
    """
    _check(rho_plq, splitting, rho_wlq, plq, wlq, pool)
    if isnan(rho_plq) or isnan(splitting) or isnan(rho_wlq):
        return int(plq), int(wlq)
    for_plq, for_wlq = factors(rho_plq, splitting, rho_wlq, terms)
    wanted = _next(plq, for_plq), _next(wlq, for_wlq)
    if bounds is not None:  # before they share: what a stage cannot have is for the other
        wanted = _within(wanted[0], bounds[0]), _within(wanted[1], bounds[1])
    return _share(*wanted, pool)


def _within(degree: int, bounds: Bounds) -> int:
    return min(max(degree, bounds[0]), bounds[1])


def _next(degree: int, factor: float) -> int:
    low, below = _STAYS.get(degree, (1.0, 1.0))
    if low <= factor < below:
        return int(degree)
    return 2 if degree == 1 else max(_half_up(degree * factor), 1)


def _share(plq: int, wlq: int, pool: int) -> tuple[int, int]:
    """Both in proportion, where they ask for more than there are."""
    total = plq + wlq
    if total <= pool:
        return plq, wlq
    plq, wlq = max(_half_up(plq * pool / total), 1), max(_half_up(wlq * pool / total), 1)
    if plq + wlq <= pool:
        return plq, wlq
    return (plq - 1, wlq) if plq > 1 else (plq, wlq - 1)  # both were rounded up


def _half_up(value: float) -> int:
    return floor(value + 0.5)


def _check(rho_plq: float, splitting: float, rho_wlq: float, plq: int, wlq: int, pool: int) -> None:
    measured = {"rho_plq": rho_plq, "splitting": splitting, "rho_wlq": rho_wlq}
    for name, value in measured.items():
        if value < 0:
            raise SettingError(f"{name} must be 0 or more, got {value:g}")
    for name, workers in {"plq": plq, "wlq": wlq}.items():
        if workers < 1:
            raise SettingError(f"{name} must be 1 worker or more, got {workers}")
    if pool < 2:
        raise SettingError(f"pool must be 2 workers or more, one for each stage, got {pool}")
