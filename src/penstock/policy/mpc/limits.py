"""How much a controller may have to weigh at each step: what would never end is refused at once."""

from typing import Final

from penstock.core.errors import SettingError
from penstock.core.module import Module

LONGEST: Final = 1000
"""Steps of a horizon: up to here the optimum is exact, and nothing can be foreseen further."""
_MOST_OPTIONS: Final = 3000
"""Configurations of a module up to which the table of switching costs fits into memory."""
_MOST_PAIRS: Final = 50_000_000
"""Pairs of consecutive configurations: about a second of dynamic programming."""
_MOST_COURSES: Final = 5_000_000
"""Leaves of the tree that branch and bound may have to visit if it can pass over none."""
_DEEPEST: Final = 100
"""Levels of that tree, as many as its search has calls within calls."""


def check_horizon(horizon: int) -> None:
    """Refuse a horizon that is none, or beyond all that can be foreseen.

    >>> check_horizon(100_000)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: horizon of policy mpc must be 1 to 1,000 steps, got 100,000
    """
    if not 1 <= horizon <= LONGEST:
        raise SettingError(
            f"horizon of policy mpc must be 1 to {LONGEST:,} steps, got {_count(horizon)}"
        )


def check_effort(module: Module, *, clocks: int, horizon: int, tree: bool) -> None:
    """Refuse what would take too long at every step; `tree` is for branch and bound.

    >>> count = Module(name="count", max_replicas=12)
    >>> check_effort(count, clocks=9, horizon=1000, tree=False)
    >>> check_effort(count, clocks=9, horizon=3, tree=True)
    """
    size = (module.max_replicas - module.min_replicas + 1) * clocks
    if size > _MOST_OPTIONS:
        raise SettingError(
            f"policy mpc would weigh {size:,} configurations of module {module.name}, at most "
            f"{_MOST_OPTIONS:,} are possible; lower its max_replicas or name fewer frequencies"
        )
    if tree:
        _check_tree(module, size, horizon)
    elif horizon * size**2 > _MOST_PAIRS:
        raise SettingError(
            f"horizon of policy mpc can be at most {_MOST_PAIRS // size**2:,} steps with the "
            f"{size:,} configurations of module {module.name}, got {horizon:,}; shorten it, lower "
            "max_replicas or name fewer frequencies"
        )


def _check_tree(module: Module, size: int, horizon: int) -> None:
    if size**horizon > _MOST_COURSES or horizon > _DEEPEST:
        raise SettingError(
            f"optimiser branch-and-bound of policy mpc cannot search the {size:,}^{horizon} "
            f"courses of module {module.name}, at most {_MOST_COURSES:,} of {_DEEPEST} steps; "
            "use dynamic-programming, which finds the same, or a shorter horizon"
        )


def _count(number: int) -> str:
    return f"{number:,}" if abs(number) < 1e9 else f"{number:.2g}"
