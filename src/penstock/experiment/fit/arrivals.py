"""The rows of a recording as a workload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar

import numpy as np

from penstock.core.errors import FileError, SettingError
from penstock.core.roles import Workload
from penstock.core.signals import Tick
from penstock.record import Run
from penstock.record.measures import column, steps, times
from penstock.workload import WORKLOADS, Step
from penstock.workload.curve import Curve, Curved


@dataclass(frozen=True, slots=True)
class Recorded(Curved):
    """Rows as they came, evenly within each second; after the last second none come.

    >>> Recorded((2.0, 4.0)).times(np.array([0.0, 1.0, 2.0, 5.0, 6.0])).tolist()
    [0.5, 1.0, 1.25, 2.0, inf]
    """

    drawn: ClassVar[bool] = True

    counts: tuple[float, ...]
    """Rows that came in each second."""

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # it ends
        """A segment for each second."""
        return _curve(self.counts)

    def trace(self) -> str:
        """As a file that the workload `trace` reads."""
        lines = (f"{second} {count:.6g}" for second, count in enumerate(self.counts))
        return "# second, rows that came\n" + "\n".join(lines) + "\n"


@lru_cache(maxsize=32)
def _curve(counts: tuple[float, ...]) -> Curve:
    starts = np.arange(len(counts) + 1, dtype=np.float64)
    return Curve.through(starts=starts, rates=np.append(counts, 0.0))


def arrivals(run: Run) -> Workload:
    """What came to the source module.

    Within a step, the rows of Spark's own sources and of traces come evenly, as they did. Those of
    a twin that drew its rows at random, and of an application that was attached to, are drawn.
    """
    levels = _levels(run.ticks, run.settings.graph.source)
    step = Step(levels=levels)
    if not _even(run):
        return step
    seconds = ceil(run.ticks[-1].seen.at)
    edges = np.arange(seconds + 1, dtype=np.float64)
    counts = np.diff(step.arrivals(np.minimum(edges, run.ticks[-1].seen.at)))
    return Recorded(tuple(float(f"{count:.6g}") for count in counts))


def stated(workload: Workload) -> dict[str, Any]:
    """The same as a section of a pipeline file, which needs no other file."""
    if isinstance(workload, Recorded):
        levels = {f"{second}s": f"{count!r}/s" for second, count in enumerate(workload.counts)}
        return {"kind": "step", "levels": levels}
    if not isinstance(workload, Step):
        raise TypeError(f"a recording gives no {type(workload).__name__}")
    return {"kind": "step", "levels": {f"{at!r}s": f"{rate!r}/s" for rate, at in workload.levels}}


def _levels(ticks: Sequence[Tick], source: str) -> tuple[tuple[float, float], ...]:
    """Rates and the moments from which they hold; those that are unknown lie between the others."""
    rates, ends = column(ticks, source, "arrival_rate"), times(ticks)
    known = ~np.isnan(rates)
    if not known.any():
        raise FileError(
            f"the recording never tells how many rows came to {source}; record another run"
        )
    filled = np.interp(ends, ends[known], rates[known])
    begins = np.maximum(ends - steps(ticks), 0.0)
    begins[0] = 0.0
    pairs = dict(zip(begins.tolist(), filled.tolist(), strict=True))
    return tuple((rate, at) for at, rate in sorted(pairs.items()))


def _even(run: Run) -> bool:
    given = run.settings.file.get("workload")
    if run.settings.plant == "spark":
        return given is not None
    kind = given.get("kind") if isinstance(given, Mapping) else WORKLOADS.split(str(given))[0]
    try:
        return bool(getattr(WORKLOADS.get(str(kind)), "drawn", False))
    except SettingError:  # a plug-in that is not installed here
        return False
