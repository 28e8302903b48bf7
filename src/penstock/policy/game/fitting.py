"""The replicas that fit a pace, for thousands of modules at once.

Does for all what `stake.fit` does for one; the two are held together by a test.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.model import Measured, Minimum
from penstock.model.flow_graph import ModuleModel
from penstock.policy.game.stake import fit, is_curved, most

Floats = NDArray[np.float64]
Fit = Callable[[Floats], Floats]
"""From the share of the running time that may pass between two results to the replicas."""


class Fitting:
    """What each module of a list needs at a pace of the source.

    >>> from penstock.model import Ideal
    >>> module = ModuleModel(
    ...     name="edges", reach=0.5, running_time=8.0, price=0.02, delay_cost=0.5,
    ...     max_replicas=32.0, scalability=Ideal(),
    ... )
    >>> Fitting([module]).replicas(0.5)
    array([8.])
    """

    def __init__(self, modules: Sequence[ModuleModel]) -> None:
        self.most = np.array([most(module) for module in modules])
        self.share = np.array([1.0 / (m.reach * m.running_time) for m in modules])
        """Of its running time that passes between two results at a pace of one second."""
        self._groups = [(np.array(of), by) for of, by in _groups(modules) if of]

    def replicas(self, source_pace: float) -> Floats:
        """Of every module at this pace."""
        needed = self.most.copy()
        for of, by in self._groups:
            needed[of] = by(source_pace * self.share[of])
        within: Floats = np.minimum(needed, self.most)
        return within


def _groups(modules: Sequence[ModuleModel]) -> list[tuple[list[int], Fit]]:
    """Modules that are computed alike, and how; those with one degree only are in none."""
    free = [i for i, module in enumerate(modules) if not module.fixed]
    elastic = [i for i in free if not is_curved(modules[i])]
    lowest = [i for i in free if isinstance(modules[i].scalability, Minimum)]
    measured = [i for i in free if isinstance(modules[i].scalability, Measured)]
    rest = sorted({*free} - {*elastic} - {*lowest} - {*measured})
    curved = ((lowest, _with_minimum), (measured, _on_lines), (rest, _one_by_one))
    return [
        (elastic, lambda share: 1.0 / share),
        *((of, fitting([modules[i] for i in of])) for of, fitting in curved if of),
    ]


def _with_minimum(modules: Sequence[ModuleModel]) -> Fit:
    """As `Minimum.replicas`."""
    best = np.array([module.scalability.best for module in modules])
    scale = 1.0 / (1.0 + 1.0 / best**2)

    def fits(share: Floats) -> Floats:
        half = share / (2.0 * scale)
        root: Floats = np.sqrt(np.maximum(half**2 - 1.0 / best**2, 0.0))
        return 1.0 / (half + root)

    return fits


def _on_lines(modules: Sequence[ModuleModel]) -> Fit:
    """As `Measured.replicas`: under one replica as ideal, then on the first line that is reached.

    Tables end at the best degree and are filled up with shares that every line is below.
    """
    speeds = [module.scalability.speedup for module in modules]  # type: ignore[attr-defined]
    best = [int(module.scalability.best) for module in modules]
    table = np.full((len(modules), max(best, default=1) + 1), -1.0)
    for row, speed, length in zip(table, speeds, best, strict=True):
        row[:length] = 1.0 / np.array(speed[:length])
    every, last = np.arange(len(modules)), np.array(best, dtype=np.int64)

    def fits(share: Floats) -> Floats:
        reached = np.minimum((table > share[:, None]).sum(axis=1), last)
        before, after = (
            table[every, np.maximum(reached - 1, 0)],
            table[every, np.maximum(reached, 1)],
        )
        on_line = reached + (before - share) / (before - after)
        needed: Floats = np.where(reached == last, last, on_line)
        return np.where(share >= 1.0, 1.0 / share, needed)

    return fits


def _one_by_one(modules: Sequence[ModuleModel]) -> Fit:
    """Whatever has no formula."""
    times = [module.running_time for module in modules]
    return lambda share: np.array(
        [fit(m, s * t) for m, s, t in zip(modules, share.tolist(), times, strict=True)]
    )
