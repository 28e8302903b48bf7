"""What every workload promises: exactly-once replay stands on it."""

import pickle
from collections.abc import Sequence
from copy import deepcopy
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.roles import Workload
from penstock.testing.checking import Check, global_random_state_untouched, require, run_all

_SECONDS: Final = np.linspace(0.0, 7200.0, 4001)
_ROUNDING: Final = 1e-9


def starts_at_zero(workload: Workload) -> None:
    """No row has come at the start."""
    first = workload.arrivals(np.array([0.0]))[0]
    require(first == 0, f"{first} rows have come at second 0")


def never_falls(workload: Workload) -> None:
    """Neither the count nor the rate below zero."""
    counts, rates = workload.arrivals(_SECONDS), workload.rate(_SECONDS)
    require(bool(np.isfinite(counts).all()), "its count of rows is not finite")
    fall = np.diff(counts).min()
    require(bool(fall >= -_ROUNDING * counts[-1]), f"its count of rows falls by {-fall:g}")
    require(bool(rates.min() >= 0), f"its rate falls to {rates.min():g}")


def counts_what_its_rate_brings(workload: Workload) -> None:
    """The count is the integral of the rate."""
    edges = np.linspace(0.0, 600.0, 200_001)
    middles = (edges[1:] + edges[:-1]) / 2
    brought = float(np.sum(workload.rate(middles)) * (edges[1] - edges[0]))
    counted = float(workload.arrivals(edges[-1:])[0])
    close = abs(brought - counted) <= 1e-3 * max(counted, 1.0)
    require(close, f"in 600 s its rate brings {brought:g} rows, and it counts {counted:g}")


def tells_when_each_row_comes(workload: Workload) -> None:
    """Row `i` comes when the count reaches `i + 1`, and rows come in order."""
    index = _some_rows(workload)
    moments = workload.times(index)
    require(bool((np.diff(moments) >= 0).all()), "its rows do not come in order")
    wrong = np.abs(workload.arrivals(moments) - (index + 1))
    limit = _ROUNDING * (index + 1) + 1e-6
    require(bool((wrong <= limit).all()), f"its times are off by {wrong.max(initial=0.0):g} rows")


def has_brought_as_many_rows_as_it_counts(workload: Workload) -> None:
    """By any moment, those rows have come that the count says, and the next has not."""
    for moment in _SECONDS[100::400] + np.pi / 100:  # not just when a row comes
        count = workload.arrivals(np.array([moment]))[0]
        rounding = 1e-6 + _ROUNDING * count
        last, following = np.floor([count - rounding, count + rounding]) - [1.0, 0.0]
        come, to_come = workload.times(np.array([last, following]))
        early = _ROUNDING * moment
        require(last < 0 or come <= moment + early, f"row {last:g} comes late, at {come:g} s")
        require(to_come >= moment - early, f"row {following:g} comes early, at {to_come:g} s")


def answers_alike_in_any_order(workload: Workload) -> None:
    """What was asked before, or with it, makes no difference to a bit."""
    with global_random_state_untouched():
        near_first = [workload.arrivals(_SECONDS[i : i + 1])[0] for i in range(0, 4001, 100)]
        all_at_once = workload.arrivals(_SECONDS)[::100]
        index = _some_rows(workload)
        backwards = workload.times(index[::-1])[::-1]
    require(bool((all_at_once == near_first).all()), "its counts depend on what was asked before")
    one_by_one = [workload.times(index[i : i + 1])[0] for i in range(0, len(index), 50)]
    same = np.array_equal(workload.times(index), backwards) and np.array_equal(
        backwards[::50], one_by_one
    )
    require(same, "its times depend on what was asked before")


def answers_in_the_shape_asked(workload: Workload) -> None:
    """An array for an array, the empty one too."""
    for question in (workload.rate, workload.arrivals, workload.times):
        for shape in (0, 1, 7):
            answer = question(np.zeros(shape))
            require(answer.shape == (shape,), f"asked {shape} it answered {answer.shape}")


def travels_to_other_processes(workload: Workload) -> None:
    """Spark ships it to executors."""
    copy = pickle.loads(pickle.dumps(workload))  # noqa: S301  # our own, a moment ago
    require(copy == workload, f"{workload!r} comes back from pickle as {copy!r}")
    same = np.array_equal(copy.arrivals(_SECONDS), workload.arrivals(_SECONDS))
    require(same, "a pickled copy counts other rows")


def is_equal_by_its_settings(workload: Workload) -> None:
    """A copy is equal and looks alike."""
    copy = deepcopy(workload)
    require(copy == workload, f"a copy of {workload!r} is not equal to it")
    require(" at 0x" not in repr(workload), f"its repr does not show its settings: {workload!r}")


WORKLOAD_CHECKS: Final[Sequence[Check[Workload]]] = (
    starts_at_zero,
    never_falls,
    counts_what_its_rate_brings,
    tells_when_each_row_comes,
    has_brought_as_many_rows_as_it_counts,
    answers_alike_in_any_order,
    answers_in_the_shape_asked,
    travels_to_other_processes,
    is_equal_by_its_settings,
)


def check_workload(workload: Workload) -> None:
    """Run `WORKLOAD_CHECKS` on a workload, and fail with all that is wrong."""
    run_all(WORKLOAD_CHECKS, workload)


def _some_rows(workload: Workload) -> NDArray[np.float64]:
    total = float(np.floor(workload.arrivals(_SECONDS[-1:])[0] * (1 - _ROUNDING)))
    return np.unique(np.floor(np.linspace(0.0, max(total - 1.0, 0.0), 5001)))[: int(total)]
