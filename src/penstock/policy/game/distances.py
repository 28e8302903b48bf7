"""How far apart the modules of a graph are, by few breadth-first searches.

The code runs on lists as it is, and on arrays once compiled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any


def measure(
    starts: Any, near: Any, twins: Any, low: Any, high: Any, hops: Any, order: Any, searches: int
) -> bool:
    """Bound every module's hops to the farthest from it, searching from the most telling ones.

    With `far` hops to the farthest from where a search began, a module `d` hops away has at least
    `max(d, far - d)` and at most `far + d`; a twin, with the same neighbours, has exactly `far`.

    Returns whether so many searches left no doubt about the largest and the smallest number. If so,
    `hops` and `order` are those of a search from a centre, which has the smallest.
    """

    def search(root: int) -> int:
        for i in range(len(hops)):
            hops[i] = -1
        hops[root] = 0
        order[0] = root
        done, found = 0, 1
        while done < found:
            here = order[done]
            done += 1
            for k in range(starts[here], starts[here + 1]):
                other = near[k]
                if hops[other] < 0:
                    hops[other] = hops[here] + 1
                    order[found] = other
                    found += 1
        return hops[order[found - 1]]  # type: ignore[no-any-return]  # lists and arrays alike

    def crowd(i: int) -> int:
        return starts[i + 1] - starts[i]  # type: ignore[no-any-return]

    for turn in range(searches + 1):
        widest, centre, least, most = 0, 0, 0, 0
        for i in range(len(low)):
            if low[i] > low[most]:
                most = i
            if high[i] < high[least] or (high[i] == high[least] and crowd(i) > crowd(least)):
                least = i
            if high[i] > high[widest] or (high[i] == high[widest] and crowd(i) > crowd(widest)):
                widest = i
            if low[i] < low[centre] or (low[i] == low[centre] and crowd(i) > crowd(centre)):
                centre = i
        wide, narrow = high[widest] > low[most], low[centre] < high[least]
        if not wide and not narrow:
            search(least)
            return True
        here = widest if wide and (turn % 2 == 0 or not narrow) else centre
        far = search(here)
        for i in range(len(low)):
            d = 0 if twins[i] == twins[here] else hops[i]
            low[i] = max(low[i], d, far - d)
            high[i] = min(high[i], far + d)
    return False


@cache
def compiled() -> Callable[..., bool]:
    """The same as machine code, kept on disk where there is a folder for it."""
    from numba import njit  # slow to import, and small graphs never need it

    try:
        made: Callable[..., bool] = njit(cache=True)(measure)
    except RuntimeError:
        made = njit(measure)
    return made
