"""How often the promise was broken: in time, and in rows.

A step keeps or breaks the promise by its 95th percentile. A step that measured no latency although
rows waited, or may have, is judged by those rows: it broke the promise if the latency measured next
does, or if nothing was heard for longer than was promised. A step in which nothing waited says
nothing and is left out, as is one at the end that nobody can judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency, Tick
from penstock.record.measures import Column, latencies, reporting, steps, total


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Shares of what was measured. None where nothing was."""

    time: float | None
    """Share of the time."""
    rows: float | None
    """Share of the rows that were later than promised, reckoned from the quantiles of each step:
    those above the 99th percentile of a step are not seen. Rows that came in a silence that broke
    the promise and lasted to the end never came out, and are late."""


def violations(
    ticks: Sequence[Tick], promised: float, rows: Column, arrived: Column | None = None
) -> Violations:
    """What was broken; `rows` are those that each step processed, `arrived` those that came."""
    broken = judged(ticks, promised)
    seconds, known = steps(ticks), ~np.isnan(broken)
    measured = float(seconds[known].sum())
    lost = 0.0 if arrived is None else float(np.nansum(arrived[_lost(ticks, broken) :]))
    return Violations(
        time=float((broken * seconds)[known].sum()) / measured if measured else None,
        rows=_late(ticks, promised, rows, lost),
    )


def _lost(ticks: Sequence[Tick], broken: Column) -> int:
    """The first step of a silence that broke the promise and lasted to the end."""
    first = len(ticks)
    while first and ticks[first - 1].seen.latency is None and broken[first - 1] == 1:
        first -= 1
    return first


def judged(ticks: Sequence[Tick], promised: float) -> Column:
    """1 for each step that broke the promise, 0 for one that kept it, NaN where nobody can tell."""
    p95 = latencies(ticks, "p95")
    verdict = np.where(np.isnan(p95), np.nan, p95 > promised)
    waited = total(reporting(ticks, "backlog"), len(ticks)) != 0  # unknown may be waiting
    silent = np.isnan(p95) & waited
    for first, last in _stretches(silent):
        verdict[first:last] = _silence(ticks, promised, first, last, verdict)
    return verdict


def _silence(
    ticks: Sequence[Tick], promised: float, first: int, last: int, verdict: Column
) -> float:
    """What to think of steps from which nothing was heard, `last` being the first after them."""
    seconds = sum(tick.seen.step for tick in ticks[first:last])
    if seconds > promised:
        return 1.0
    return float(verdict[last]) if last < len(ticks) else np.nan


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _late(ticks: Sequence[Tick], promised: float, rows: Column, lost: float) -> float | None:
    known = [
        (late(tick.seen.latency, promised), float(count))
        for tick, count in zip(ticks, rows, strict=True)
        if tick.seen.latency is not None and count > 0
    ]
    known.append((1.0, lost))
    all_rows = sum(count for _, count in known)
    return sum(share * count for share, count in known) / all_rows if all_rows else None


def late(latency: Latency, promised: float) -> float:
    """Share of a step's rows that took longer, spaced as in an exponential between quantiles.

    >>> late(Latency(p50=1, p95=2, p99=3), 2.0), late(Latency(p50=1, p95=2, p99=3), 3.0)
    (0.05, 0.0)
    """
    if promised >= latency.p99:
        return 0.0
    knots = np.maximum.accumulate([0.0, latency.p50, latency.p95, latency.p99])
    depth = np.interp(promised, knots, [0.0, log(2), log(20), log(100)])
    return round(exp(-float(depth)), 9)
