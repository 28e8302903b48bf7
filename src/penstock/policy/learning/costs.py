"""What actions cost by themselves, and the weights that costs are made of.

>>> known_costs(1, 4, each=0.4, change=0.2)
array([[inf, inf, 0.3, 0.4, 0.5],
       [0. , 0.1, 0.2, 0.3, 0.4],
       [0.3, 0.4, 0.5, 0.6, inf]])
"""

from collections.abc import Mapping
from math import isclose
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError

Floats = NDArray[np.float64]

MOST_STATES: Final = 1_000_000
SWEEPS: Final = 30
"""How often policies that run for minutes value every state anew at each step."""


def known_costs(least: int, most: int, *, each: float, change: float) -> Floats:
    """By action (-1, 0, 1) and number, from 0 to the most; inf where an action is not allowed.

    `each` is the weight of resources, paid in full where there are as many as can be; `change` that
    of a reconfiguration (e2df, Expr. 1 and 6). Doing nothing is always allowed.
    """
    numbers = np.arange(most + 1)
    costs = np.empty((3, most + 1))
    for row, action in enumerate((-1, 0, 1)):
        after = numbers + action
        allowed = ((least <= after) & (after <= most)) | (action == 0)
        costs[row] = np.where(allowed, each * after / most + change * (action != 0), np.inf)
    return costs


def check_weights(weights: Mapping[str, float], *, of: str) -> None:
    """Refuse weights that are negative or do not sum to one.

    >>> check_weights({"demand_weight": 0.7, "resource_weight": 0.5}, of="policy rl")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: demand_weight and resource_weight of policy rl must be 0 or \
more and sum to 1, got 0.7 and 0.5
    """
    given = list(weights.values())
    if not all(weight >= 0 for weight in given) or not isclose(sum(given), 1.0, abs_tol=1e-6):
        raise SettingError(
            f"{_listed(list(weights))} of {of} must be 0 or more and sum to 1, "
            f"got {_listed([f'{weight:g}' for weight in given])}"
        )


def check_pace(discount: float, learning_rate: float, *, of: str) -> None:
    """Refuse a future that never ends, and learning that does not."""
    if not 0 <= discount < 1:
        raise SettingError(f"discount of {of} must be in [0, 1), got {discount:g}")
    if not 0 < learning_rate <= 1:
        raise SettingError(f"learning_rate of {of} must be in (0, 1], got {learning_rate:g}")


def check_size(states: int, *, table: str, remedy: str) -> None:
    """Refuse a table that would take minutes to look through once.

    >>> check_size(2_000_000, table="dc1", remedy="raise quantum or lower max_nodes")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: the table of dc1 would have 2,000,000 states, and 1,000,000 \
are the most; raise quantum or lower max_nodes
    """
    if states > MOST_STATES:
        raise SettingError(
            f"the table of {table} would have {states:,} states, and {MOST_STATES:,} are the "
            f"most; {remedy}"
        )


def check_sweeps(sweeps: int, *, of: str) -> None:
    """Refuse never to look ahead.

    >>> check_sweeps(0, of="policy rl")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: sweeps of policy rl must be 1 or more, got 0
    """
    if sweeps < 1:
        raise SettingError(f"sweeps of {of} must be 1 or more, got {sweeps}")


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
