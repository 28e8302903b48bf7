"""Micro-batches, as every stage of every twin has them.

All rows that wait at a trigger are one batch. The servers work through it in parallel; when the
last row is done, and both overheads have passed, the results leave. Triggers fall on multiples of
the interval; after a batch that overran, the next starts at once if rows wait.
"""

from math import inf
from typing import Any

from penstock.model.compiling import inlined
from penstock.twin.kernels import lognormal
from penstock.twin.records import IDLE, OPEN


@inlined
def begin(batch: Any, servers: int, now: float) -> None:
    """Open a batch, with the servers that there are."""
    find_next_trigger(batch, now)
    batch.fresh, batch.warm = int(servers > batch.warm), servers
    batch.phase, batch.opened, batch.moment = OPEN, now, inf


@inlined
def finish_tasks(batch: Any, chance: Any, now: float) -> float:
    """The last row is done: set the moment of release; returns how long servers are busy till then.

    What tasks take beyond their rows keeps every server busy, the rest of the batch none. New
    servers lengthen both alike: while they load, they take processors from the others.
    """
    beyond = batch.task_overhead + batch.overhead
    lasts = beyond
    if batch.sigma > 0.0:
        lasts *= lognormal(chance, batch.sigma)
    if batch.fresh > 0:
        lasts += batch.warm_up
    batch.moment = now + lasts
    return lasts * batch.task_overhead / beyond if beyond > 0.0 else 0.0


@inlined
def commit(stage: Any, now: float) -> None:
    """A batch ends: its duration counts, and how busy the servers have been up to now."""
    totals = stage.totals
    stage.closed_busy, stage.closed_servers = totals.busy_seconds, totals.server_seconds
    totals.batches += 1
    totals.batch_seconds += now - stage.batch.opened


@inlined
def is_late(batch: Any, now: float) -> bool:
    """Whether a batch that ends now overran the next trigger."""
    return bool(now >= batch.tick * batch.trigger)


@inlined
def await_trigger(batch: Any, now: float) -> None:
    """No batch is open until the next trigger."""
    find_next_trigger(batch, now)
    batch.phase, batch.moment = IDLE, batch.tick * batch.trigger


@inlined
def find_next_trigger(batch: Any, now: float) -> None:
    """The first multiple of the interval after now."""
    batch.tick = max(batch.tick, int(now / batch.trigger))
    while batch.tick * batch.trigger <= now:
        batch.tick += 1
