"""What a run did over time, as numbers by step: the one thing that every score is reckoned from.

>>> from penstock.core.signals import (
...     Configuration, Decision, ModuleReading, Observation, Tick)
>>> reading = ModuleReading(requested=3, running=2)
>>> seen = Observation(at=2.0, step=2.0, modules={"count": reading})
>>> held = Decision(configuration=Configuration(degrees={}), why="-")
>>> track = follow([Tick(seen=seen, decided=held, asked=None)])
>>> track.running["count"].tolist(), track.paid["count"].tolist()
([2.0], [3.0])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.signals import Tick
from penstock.record.measures import Column, column, held, modules, steps, times


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Executors of each module, step by step; a gap keeps the value before it."""

    at: Column
    """When each step ended, in seconds since the run began."""
    seconds: Column
    """How long each step lasted."""
    running: Mapping[str, Column]
    """Executors that could take tasks at the end of each step."""
    paid: Mapping[str, Column]
    """Executors that were requested or running, whichever is more: whoever asks for an executor
    pays for it from then on, and for one that is sent away until it has left."""

    @property
    def duration(self) -> float:
        """Seconds of the whole run."""
        return float(self.seconds.sum())

    @property
    def supply(self) -> Column:
        """Executors that ran, in all."""
        return _sum(self.running, len(self.at))

    @property
    def bill(self) -> Column:
        """Executors to be paid for, in all."""
        return _sum(self.paid, len(self.at))


def sampled(values: Column, ends: Column, at: Column) -> Column:
    """Values of steps that end at some moments, for steps that end at others.

    >>> sampled(np.array([5.0, 7.0]), np.array([2.0, 4.0]), np.array([2.1, 3.9, 6.0])).tolist()
    [5.0, 7.0, 7.0]
    """
    slack = 0.25 * float(np.median(np.diff(ends, prepend=0.0)))
    found: Column = values[np.clip(np.searchsorted(ends, at - slack), 0, len(ends) - 1)]
    return found


def aligned(track: Track, at: Column) -> Track:
    """The track as if its steps had ended at these moments, as those of another run did."""
    return Track(
        at=at,
        seconds=np.diff(at, prepend=0.0),
        running={name: sampled(n, track.at, at) for name, n in track.running.items()},
        paid={name: sampled(n, track.at, at) for name, n in track.paid.items()},
    )


def follow(ticks: Sequence[Tick]) -> Track:
    """The track of a run."""
    names = modules(ticks)
    running = {name: _known(ticks, name, "running") for name in names}
    asked = {name: _known(ticks, name, "requested") for name in names}
    return Track(
        at=times(ticks),
        seconds=steps(ticks),
        running=running,
        paid={name: np.fmax(running[name], asked[name]) for name in names},
    )


def _known(ticks: Sequence[Tick], name: str, metric: str) -> Column:
    return held(column(ticks, name, metric))


def _sum(columns: Mapping[str, Column], length: int) -> Column:
    total: Column = np.sum(list(columns.values()), axis=0) if columns else np.zeros(length)
    return total
