"""A good whole division of cores where there are too many to try them all: by moves that help.

A sink is raised to one of its next levels by more cores for the modules that hold it back, and the
level that brings most for its cores comes first. When nothing more fits, each sink in turn is
lowered, to see whether others make more of what is set free.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.policy.allocation.bounds import EXACTLY, Bounds
from penstock.policy.allocation.reach import Reach

_LEVELS: Final = 6
"""By which a sink is raised or lowered at once, at most."""
_EXCHANGES: Final = 500
"""Tried before the division is taken as it is."""
_BEYOND: Final = 1e9
"""Cores that nobody has."""

Cores = NDArray[np.int64]
Flows = NDArray[np.float64]


def climb(sinks: Sequence[Reach], bounds: Bounds, *, start: Mapping[str, float]) -> dict[str, int]:
    """The best division that was come across, from a real-valued one on.

    >>> fraud = Reach(sink="fraud", weight=5.0, unit={"read": 0.01, "match": 0.02}, most=90.0)
    >>> reports = Reach(sink="reports", weight=1.0, unit={"sum": 0.01}, most=1000.0)
    >>> one = dict.fromkeys(("read", "match", "sum"), 1)
    >>> bounds = Bounds(cores=6, low=one, high=dict.fromkeys(one, 8))
    >>> climb([fraud, reports], bounds, start={"read": 0.9, "match": 1.8, "sum": 3.3})
    {'read': 1, 'match': 2, 'sum': 3}
    """
    hill = _Hill(sinks, bounds)
    starts = (hill.low, hill.trimmed(_row(bounds.within(start))))
    filled = [hill.filled(at) for at in starts if at.sum() <= bounds.cores]
    best = hill.exchanged(max(filled, key=hill.value))
    return dict(zip(bounds.low, best.tolist(), strict=True))


class _Hill:
    """Divisions as rows of whole numbers, and what they are worth."""

    def __init__(self, sinks: Sequence[Reach], bounds: Bounds) -> None:
        self.low, self._high, self._total = _row(bounds.low), _row(bounds.high), bounds.cores
        unit = [[sink.unit.get(name, 0.0) for name in bounds.low] for sink in sinks]
        self._unit = np.array(unit)
        with np.errstate(divide="ignore"):
            self._carried = 1.0 / self._unit
            """Flow to a sink that a core of a module carries; inf where it is not on the way."""
        self._most = np.array([sink.most for sink in sinks])
        self._weight = np.array([sink.weight for sink in sinks])

    def flows(self, division: Cores) -> Flows:
        """What each sink gets under a division, or under each of many."""
        carried = (division[..., None, :] * self._carried).min(axis=-1)
        return np.asarray(np.minimum(carried, self._most))

    def value(self, division: Cores) -> float:
        return float(self._weight @ self.flows(division))

    def trimmed(self, division: Cores) -> Cores:
        """The fewest cores that bring the same."""
        return self._needed(self.flows(division))

    def filled(self, division: Cores) -> Cores:
        """Raise sinks, the most worthwhile first, while cores are left."""
        while (raised := self._raised(division)) is not None:
            division = raised
        return division

    def exchanged(self, division: Cores) -> Cores:
        """Lower one sink for others while that helps."""
        others, value = self._lowered(division), self.value(division)
        for _ in range(_EXCHANGES):
            other = next(others, None)
            if other is None:
                break
            other = self.filled(other)
            if self.value(other) > value * (1 + EXACTLY):
                division, value = other, self.value(other)
                others = self._lowered(division)
        return division

    def _needed(self, flows: Flows) -> Cores:
        return np.maximum(_up((flows[:, None] * self._unit).max(axis=0)), self.low)

    def _raised(self, division: Cores) -> Cores | None:
        """The division with the sink raised that brings most for its cores; None where none can."""
        best, most = None, 0.0
        before, spent = self.value(division), division.sum()
        sinks, flow = np.tile(division, (self._most.size, 1)), self.flows(division)
        going = flow < self._most
        for _ in range(_LEVELS):
            sinks = np.maximum(sinks, self._above(flow))
            going &= (sinks.sum(axis=1) <= self._total) & (sinks <= self._high).all(axis=1)
            if not going.any():
                break
            reached = self.flows(sinks)
            gains = (reached @ self._weight - before) / np.maximum(sinks.sum(axis=1) - spent, 1)
            place = int(np.argmax(np.where(going, gains, -1.0)))
            if gains[place] > most:
                best, most = sinks[place], float(gains[place])
            flow = reached.diagonal()
            going &= flow < self._most
        return best

    def _above(self, flow: Flows) -> Cores:
        """For each sink, cores with which it gets the next flow that fills a core somewhere."""
        steps = np.floor(flow[:, None] * self._unit * (1 + EXACTLY)) + 1
        return _up((steps * self._carried).min(axis=1)[:, None] * self._unit)

    def _lowered(self, division: Cores) -> Iterator[Cores]:
        """The division with each sink on each lower level, a few at most, and on its lowest."""
        flows, least = self.flows(division), self.flows(self.low)
        for sink, lowest in enumerate(least):
            lower = flows.copy()
            for _ in range(_LEVELS):
                if lower[sink] <= lowest:
                    break
                lower[sink] = max(self._below(sink, lower[sink]), lowest)
                yield self._needed(lower)
            else:
                lower[sink] = lowest
                yield self._needed(lower)

    def _below(self, sink: int, flow: float) -> float:
        """The next lower flow to a sink that fills a core somewhere."""
        unit = self._unit[sink][self._unit[sink] > 0]
        return float(((np.ceil(flow * unit * (1 - EXACTLY)) - 1) / unit).max())


def _row(division: Mapping[str, int]) -> Cores:
    return np.array(list(division.values()), dtype=np.int64)


def _up(resource: Flows) -> Cores:
    """The fewest whole cores that hold so much, or more than there are."""
    return np.asarray(np.ceil(np.minimum(resource, _BEYOND) * (1 - EXACTLY)), dtype=np.int64)
