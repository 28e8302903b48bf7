"""How old rows are at the end of their batch: an estimate, because foreign rows carry no date.

Rows of a batch came after the query had last looked for some, which it does at the start of every
batch, and at every trigger while there are none. At the end of the batch they are as old as it
took, and up to the time since that look more. Where rows wait in the source, all are older by the
time that those take.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from penstock.core.signals import Latency, worst
from penstock.plant.spark import monitor
from penstock.plant.spark.monitor import LEVELS, Batch

_AT_ONCE: Final = 0.1
"""Seconds between two batches that follow each other without a pause."""


def estimate(
    batches: Sequence[Batch],
    *,
    before: Batch | None = None,
    trigger: float | None = None,
    waits: float = 0.0,
) -> Latency | None:
    """Ages of the rows of these batches at the end of each; None where no row came.

    `before` is the batch before the first, `trigger` the seconds between two triggers, 0 where a
    query looks for rows all the time. `waits` are the seconds that rows spent in the source.

    >>> every = {"parts": {}, "idle": False, "service": None, "service_squared": None}
    >>> every |= {"created": None, "arrived": None, "read": None, "state_rows": None}
    >>> two = [Batch(number=n, started=10.0 * n, duration=4.0, rows=50, **every) for n in (1, 2)]
    >>> round(estimate(two, before=two[0], trigger=10.0).p95), round(estimate(two, trigger=0.0).p95)
    (13, 4)
    """
    if not batches:
        return None
    pairs = pairwise([before or batches[0], *batches])
    dated = [_dated(own, gap(last, own, trigger), waits) for last, own in pairs]
    return monitor.latency([batch for batch in dated if batch.rows])


def gap(last: Batch, own: Batch, trigger: float | None) -> float:
    """Seconds since a query had looked for rows, when it began a batch."""
    since = max(own.started - last.started, 0.0)
    if trigger is None or own.started - last.ended <= trigger + _AT_ONCE:
        return since
    return trigger  # it was idle, and looked at every trigger


def _dated(batch: Batch, since: float, waits: float) -> Batch:
    first = batch.started - waits - since
    return replace(batch, created=tuple(first + since * level for level in LEVELS))


def end_to_end(
    latencies: Mapping[str, Latency | None], feeds: Mapping[str, Sequence[str]]
) -> Latency | None:
    """The worst way through the queries: rows that pass several add up their times in each.

    >>> one = Latency(p50=1.0, p95=2.0, p99=3.0)
    >>> end_to_end({"a": one, "b": one, "c": one}, {"a": ["b"]})
    Latency(p50=2.0, p95=4.0, p99=6.0)
    """
    fed = {target for targets in feeds.values() for target in targets}
    starts = [name for name in latencies if name not in fed] or list(latencies)
    return worst(_onwards(name, latencies, feeds, frozenset()) for name in starts)


def _onwards(
    name: str,
    latencies: Mapping[str, Latency | None],
    feeds: Mapping[str, Sequence[str]],
    passed: frozenset[str],
) -> Latency | None:
    """From a query to the end of the worst way from it; a circle is gone round once."""
    here = passed | {name}
    ways = [target for target in feeds.get(name, ()) if target not in here]
    after = worst(_onwards(way, latencies, feeds, here) for way in ways if way in latencies)
    return _added([latencies[name], after])


def _added(parts: Iterable[Latency | None]) -> Latency | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Latency(
        p50=sum(part.p50 for part in known),
        p95=sum(part.p95 for part in known),
        p99=sum(part.p99 for part in known),
    )
