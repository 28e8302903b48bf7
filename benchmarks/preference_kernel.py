"""How fast the kernels of preference queries are: tuples a second of one core's time.

Panes of 1,000 to 10,000 tuples with 8 coordinates, each pane drawn anew. Beside the skyline: a
block nested loop, compiled as well, that takes tuple by tuple in the order in which they come
and keeps those that nothing before has dominated; and the library paretoset. Beside the dominance
factors: a compiled loop over all pairs. All of them run in turn, on the same panes, on one thread.
Run with `python -m benchmarks.preference_kernel`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from paretoset import paretoset

from benchmarks.points import anti_correlated, correlated, uniform
from penstock.query.kernels import dominance_factors, skyline

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Kernel = Callable[[Floats], Longs]

DIMENSIONS: Final = 8
SIZES: Final = (1_000, 3_000, 10_000)
REPEATS: Final = 7
TUPLES: Final = 60_000
"""Of a repeat, in as many panes as that takes, so that no branch is learnt by heart."""
SLOW_PANES: Final = 2
"""That many for the others, which take up to a second for one."""
KINDS: Final = {
    "uniform": uniform,
    "correlated": correlated,
    "anti-correlated": anti_correlated,
}


def block_nested_loop(points: Floats) -> Longs:
    """The skyline, tuple by tuple."""
    window = np.empty(len(points), np.int64)
    return np.sort(window[: _fill_window(points, window)])


@njit(cache=True, error_model="numpy")
def _fill_window(points: Any, window: Any) -> Any:
    size = 0
    for row in range(len(points)):
        place, dominated = 0, False
        while place < size:
            not_above, not_below = _compare(points, window[place], row)
            if not_above and not not_below:
                dominated = True
                break
            if not_below and not not_above:
                size -= 1
                window[place] = window[size]
            else:
                place += 1
        if not dominated:
            window[size] = row
            size += 1
    return size


@njit(inline="always", error_model="numpy")
def _compare(points: Any, one: Any, other: Any) -> Any:
    """Whether one is nowhere above the other, and nowhere below; known early if neither."""
    not_above, not_below = True, True
    for j in range(points.shape[1]):
        if points[one, j] > points[other, j]:
            not_above = False
        elif points[one, j] < points[other, j]:
            not_below = False
        if not not_above and not not_below:
            break
    return not_above, not_below


@njit(cache=True, error_model="numpy")
def all_pairs(points: Any) -> Any:
    """Dominance factors as they are defined."""
    factors = np.zeros(len(points), np.int64)
    for row in range(len(points)):
        for other in range(len(points)):
            count, better = 0, False
            for j in range(points.shape[1]):
                count += points[other, j] <= points[row, j]
                better |= points[other, j] < points[row, j]
            if better and count > factors[row]:
                factors[row] = count
    return factors


def by_paretoset(points: Floats) -> Longs:
    """The skyline as the library finds it."""
    return np.flatnonzero(paretoset(points, distinct=False))


def speed(kernel: Kernel, panes: Sequence[Floats]) -> float:
    """Million tuples a second of CPU time."""
    start = time.process_time()
    for pane in panes:
        kernel(pane)
    return sum(map(len, panes)) / (time.process_time() - start) / 1e6


def speeds(kernels: Mapping[str, Kernel], kind: str, size: int) -> list[list[float]]:
    """Of each kernel, all repeats; the first is ours, which gets more panes than the others."""
    draw, found = np.random.default_rng(size), []
    for _ in range(REPEATS):
        panes = [KINDS[kind](size, DIMENSIONS, draw) for _ in range(TUPLES // size)]
        for kernel in kernels.values():
            assert np.array_equal(kernel(panes[0]), next(iter(kernels.values()))(panes[0]))
        ours, *others = kernels.values()
        found.append([speed(ours, panes), *(speed(k, panes[-SLOW_PANES:]) for k in others)])
    return [sorted(column) for column in zip(*found, strict=True)]


def table(kernels: Mapping[str, Kernel], sizes: Sequence[int]) -> None:
    """A line for each kind of data and size: speeds, and how many times the others' ours is."""
    ours, *others = kernels
    columns = f"{'low':>8}{ours:>20}{'high':>8}" + "".join(f"{name:>20}{'x':>6}" for name in others)
    print(f"{'':<24}{columns}{'best':>9}")
    for kind in KINDS:
        for size in sizes:
            mine, *slow = speeds(kernels, kind, size)
            middle = median(mine)
            line = f"{kind:<16}{size:>8,}{mine[0]:>8.2f}{middle:>20.2f}{mine[-1]:>8.2f}"
            line += "".join(f"{median(s):>20.3f}{middle / median(s):>6.1f}" for s in slow)
            best = len(skyline(KINDS[kind](size, DIMENSIONS, np.random.default_rng(size))))
            print(f"{line}{best:>9,}", flush=True)


def main() -> None:
    """Print both tables."""
    print(f"million tuples a second of CPU time, {DIMENSIONS} dimensions, median of {REPEATS}")
    skylines: dict[str, Kernel] = {
        "skyline": skyline,
        "block nested loop": block_nested_loop,
        "paretoset": by_paretoset,
    }
    table(skylines, SIZES)
    table({"dominance_factors": dominance_factors, "all pairs": all_pairs}, SIZES[:2])


if __name__ == "__main__":
    main()
