"""Criteria for the best tuples: not dominated, least dominated, or a preference of the user."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from penstock.core.errors import SettingError
from penstock.model.compiling import require_compiler
from penstock.query.kernels import dominance_factors_of_groups, skyline_of_groups
from penstock.query.preference.tuples import Floats, Ints

Dominates = Callable[[Floats, Floats], bool]
"""Whether the first tuple is better than the second."""
Merge = Callable[[Floats, Floats], Ints]
"""Which rows of two results are the best of both: places in the first followed by the second."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of an answer, with their scores if the criterion has scores."""

    rows: Ints
    scores: Ints | None = None


class Criterion:
    """Chooses the best of groups of points; `starts` says where groups begin and the last ends."""

    __slots__ = ()
    score: str | None = None
    """The column with the score of a row."""
    merge: Merge | None = None
    """Merges two results; None to choose again from both together."""

    @property
    def limit(self) -> int | None:
        """Maximum rows of a group in an answer; ties are broken by the rows' values."""
        return None

    def keep(self, points: Floats, starts: Ints) -> Ints:
        """The points of a part that may be in an answer, or affect one."""
        raise NotImplementedError

    def answer(self, points: Floats, starts: Ints) -> Chosen:
        """The best of all that was kept; more than `limit` only for equal scores. Not called where
        there is a `merge`."""
        return Chosen(self.keep(points, starts))


@dataclass(frozen=True, slots=True)
class Skyline(Criterion):
    """The tuples that no other dominates; equal ones are all among them.

    >>> Skyline().keep(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0]]), np.array([0, 3]))
    array([0, 1])
    """

    def keep(self, points: Floats, starts: Ints) -> Ints:
        """The skyline: a dominated tuple never becomes part of an answer."""
        return skyline_of_groups(points, starts)


@dataclass(frozen=True, slots=True)
class TopDelta(Criterion):
    """The `delta` tuples that are dominated in the fewest dimensions.

    The factor of a tuple is the largest k for which another tuple is no worse in k dimensions and
    better in one of those. Ties go to the better value in the first column, then the second, and
    so on.

    >>> TopDelta(delta=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: delta must be at least 1, got 0; write 100
    """

    delta: int = 100
    score: str | None = "dominance_factor"

    def __post_init__(self) -> None:
        """Check delta."""
        if isinstance(self.delta, bool) or not isinstance(self.delta, Integral):
            raise SettingError(f"delta must be a whole number, got {self.delta!r}; write 100")
        if self.delta < 1:
            raise SettingError(f"delta must be at least 1, got {self.delta}; write 100")

    @property
    def limit(self) -> int | None:
        """`delta`."""
        return int(self.delta)

    def keep(self, points: Floats, starts: Ints) -> Ints:
        """The skyline, and as many of the dominated tuples as an answer could ever contain.

        Whatever a dominated tuple dominates in k dimensions, its dominator does as well, so the
        factors of others do not change without it.
        """
        best = skyline_of_groups(points, starts)
        rest = np.ones(len(points), np.bool_)
        rest[best] = False
        small = np.repeat(np.diff(starts) <= self.delta, np.diff(starts))
        fill = [
            self._first(points, begin + np.flatnonzero(rest[begin:end]))
            for begin, end in _longer(starts, self.delta)
        ]
        kept = [best, np.flatnonzero(rest & small), *fill]
        return np.sort(np.concatenate(kept)).astype(np.int64)

    def _first(self, points: Floats, rows: Ints) -> Ints:
        """The first so many of these rows in the order of their values, and their equals."""
        if len(rows) <= self.delta:
            return rows
        edge = np.partition(points[rows, 0], self.delta - 1)[self.delta - 1]
        rows = rows[points[rows, 0] <= edge]
        ordered = rows[np.lexsort(points[rows].T[::-1])]
        same = (points[ordered[self.delta :]] == points[ordered[self.delta - 1]]).all(axis=1)
        return ordered[: self.delta + int(same.sum())]

    def answer(self, points: Floats, starts: Ints) -> Chosen:
        """The rows of the lowest factors, with all that tie for the last place."""
        factors = dominance_factors_of_groups(points, starts).astype(np.int64)
        chosen = np.ones(len(points), np.bool_)
        for begin, end in _longer(starts, self.delta):
            scored = factors[begin:end]
            chosen[begin:end] = scored <= np.partition(scored, self.delta - 1)[self.delta - 1]
        rows = np.flatnonzero(chosen)
        return Chosen(rows, factors[rows])


def _longer(starts: Ints, size: int) -> list[tuple[int, int]]:
    """Begin and end of the groups with more rows than that."""
    large = np.flatnonzero(np.diff(starts) > size)
    return list(zip(starts[large].tolist(), starts[large + 1].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Preference(Criterion):
    """A user's preference: when one tuple is better than another, and how results merge.

    `dominates` must be transitive, or answers depend on the order of rows. A function that numba
    has compiled is called from compiled code.

    >>> closer = Preference(dominates=lambda p, q: abs(p[0] - 5) < abs(q[0] - 5))
    >>> closer.keep(np.array([[9.0], [4.0], [6.0]]), np.array([0, 3]))
    array([1, 2])
    """

    dominates: Dominates
    merge: Merge | None = None

    def __post_init__(self) -> None:
        """Check that both are callable, before a query starts."""
        for name, given in (("dominates", self.dominates), ("merge", self.merge or len)):
            if not callable(given):
                raise SettingError(
                    f"{name} must be a function of two tuples, got {given!r}; "
                    f"write {name}=lambda p, q: ..."
                )

    def try_out(self, dimensions: int) -> None:
        """Check that `dominates` can be called with tuples of so many dimensions."""
        one = np.zeros(dimensions)
        try:
            bool(self.dominates(one, one))
        except Exception as error:
            raise SettingError(
                f"dominates failed on two arrays of {dimensions} zeros ({_first_line(error)}); "
                "it must take two tuples and return whether the first is better"
            ) from error

    def keep(self, points: Floats, starts: Ints) -> Ints:
        """Compare each tuple with the current best."""
        loop = _compiled_loop() if hasattr(self.dominates, "py_func") else _nested_loop
        kept = [
            begin + loop(points[begin:end], self.dominates)
            for begin, end in pairwise(starts.tolist())
        ]
        return np.concatenate([np.empty(0, np.int64), *kept]).astype(np.int64)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _nested_loop(points: Floats, dominates: Any) -> Ints:
    """Places of the tuples that no other dominates, in their order."""
    best = np.empty(len(points), np.int64)
    count = 0
    for row in range(len(points)):
        kept, beaten = 0, False
        for place in range(count):
            if dominates(points[best[place]], points[row]):
                beaten = True
                break
        if beaten:
            continue
        for place in range(count):
            if not dominates(points[row], points[best[place]]):
                best[kept] = best[place]
                kept += 1
        best[kept] = row
        count = kept + 1
    return best[:count]


@cache
def _compiled_loop() -> Any:
    require_compiler("a preference query", extra="query")
    from numba import njit

    return njit(_nested_loop)
