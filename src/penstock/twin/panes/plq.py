"""The pane stage: an emitter that splits panes over workers, and their queues (ppq, Section 3.1).

A worker serves its tuples in the order in which it got them, and what a tuple takes depends on the
tuples of its part that came before it. So the moment at which a tuple will be done is known when it
is scheduled, and nothing else has to be simulated.

With micro-batches the tuples that have come by a trigger are scheduled then, and what they close is
sent when the batch is committed.
"""

from math import floor, inf
from typing import Any

from penstock.model.compiling import compiled, entry, inlined
from penstock.twin.batches import await_trigger, begin, commit, finish_tasks, is_late
from penstock.twin.panes.state import (
    MORE_ARRIVALS,
    MORE_LEDGER,
    MORE_PANES,
    MORE_RESULTS,
    MORE_TUPLES,
    REACHED,
    REMEMBERED,
)
from penstock.twin.records import NO_INDEX, OPEN
from penstock.twin.rows import append, give_back, pop, push, take


@entry
def advance(state: Any, moments: Any, stamps: Any, end: float) -> int:
    """Schedule the tuples that come until then; says what there is too little of, if anything."""
    clock = state.clock[0]
    if state.stages[0].batch.trigger > 0.0:
        return _advance_by_batch(state, moments, stamps, end)
    while clock.cursor < moments.size:
        now = moments[clock.cursor]
        if now > end:
            clock.now = end
            return REACHED
        lack = _accept(state, now, now, stamps[clock.cursor])
        if lack != REACHED:
            return lack
    return MORE_ARRIVALS


@inlined
def _accept(state: Any, came: float, now: float, stamp: float) -> int:
    """Schedule a tuple that came, now, with all panes closed that it closes."""
    clock = state.clock[0]
    lack = _prepare(state, came, now, stamp)
    if lack != REACHED:
        return lack
    clock.cursor += 1
    state.stages[0].totals.arrived += 1
    if stamp < clock.punctuation:
        clock.dropped += 1
    else:
        _schedule(state, now, _pane_of(clock, stamp))
    return REACHED


@compiled
def _advance_by_batch(state: Any, moments: Any, stamps: Any, end: float) -> int:
    clock, stage, batch = state.clock[0], state.stages[0], state.stages[0].batch
    while True:
        if batch.phase == OPEN and batch.moment == inf:
            lack = _fill(state, moments, stamps)
            if lack != REACHED:
                return lack
            _finish_tasks(state)
        if moments.size == 0 or moments[-1] <= min(end, batch.moment):
            return MORE_ARRIVALS
        if batch.moment > end:
            clock.now = end
            return REACHED
        now = batch.moment
        ended = batch.phase == OPEN
        if ended:
            _elapse(state, now)
            stage.totals.finished = stage.totals.arrived - clock.dropped
            commit(stage, now)
        if moments[clock.cursor] <= now and (not ended or is_late(batch, now)):
            begin(batch, stage.active, now)
            batch.unfinished = min(stage.active * batch.share, 2.0**53)
        else:
            await_trigger(batch, now)


@inlined
def _fill(state: Any, moments: Any, stamps: Any) -> int:
    """Schedule the tuples of the batch that has been opened."""
    clock, batch = state.clock[0], state.stages[0].batch
    while batch.unfinished > 0 and moments[clock.cursor] <= batch.opened:
        at = clock.cursor
        lack = _accept(state, moments[at], batch.opened, stamps[at])
        if lack != REACHED:
            return lack
        batch.unfinished -= 1
    batch.unfinished = 0
    return REACHED


@inlined
def _finish_tasks(state: Any) -> None:
    """The last worker is done: send what was closed when both overheads have passed."""
    stage, batch = state.stages[0], state.stages[0].batch
    done = batch.opened
    for w in range(state.workers.size):
        done = max(done, state.workers[w].free_at)
    busy = finish_tasks(batch, stage.chance, done)
    for w in range(stage.active):
        worker = state.workers[w]
        worker.free_at = max(worker.free_at, batch.opened) + busy
        worker.service += busy
    _release(state, batch.moment)


@inlined
def _release(state: Any, now: float) -> None:
    """Send the results of a batch, which is committed at that moment."""
    clock = state.clock[0]
    while clock.uncommitted.count > 0:
        index = pop(state.results, clock.uncommitted)
        state.results[index].done = now + clock.distance
        push(state.results, clock.sent, index)


@entry
def close_all(state: Any, now: float) -> int:
    """No tuple comes any more: close every pane that has got one."""
    clock = state.clock[0]
    clock.punctuation = (clock.last + 1) * clock.length * (1 + 1e-12)
    lack = _close_panes(state, now)
    if lack == REACHED:
        _release(state, now)
    return lack


@entry
def resize(state: Any, now: float, active: int) -> int:
    """Let so many workers get tuples (ppq, Alg. 4): those that leave send what they have."""
    clock, stage = state.clock[0], state.stages[0]
    leaving = max(stage.active - active, 0)
    if leaving * (clock.last + 1 - clock.oldest) > clock.results.spare:
        return MORE_RESULTS
    _elapse(state, now)
    before, stage.active = stage.active, active
    for w in range(active, before):
        for pane in range(clock.oldest, clock.last + 1):
            _hand_over(state, now, pane, w)
    return REACHED


@entry
def settle(state: Any, now: float) -> None:
    """Count the tuples that are done by now, and what workers have done."""
    clock, totals = state.clock[0], state.stages[0].totals
    _elapse(state, now)
    waiting = 0
    for w in range(state.workers.size):
        _settle(state, w, now)
        waiting += state.workers[w].queue.count
    if state.stages[0].batch.trigger == 0.0:
        totals.finished = totals.arrived - clock.dropped - waiting


@inlined
def _elapse(state: Any, now: float) -> None:
    """Bring the totals over time up to now."""
    stage, totals = state.stages[0], state.stages[0].totals
    totals.server_seconds += stage.active * (now - stage.since)
    totals.seconds = stage.since = now
    totals.busy_seconds = 0.0
    for w in range(state.workers.size):
        worker = state.workers[w]
        totals.busy_seconds += worker.service - max(worker.free_at - now, 0.0)


@inlined
def _pane_of(clock: Any, stamp: float) -> int:
    """The pane of a time, by the same products that close panes: a quotient may round down."""
    pane: int = floor(stamp / clock.length)
    return pane + 1 if (pane + 1) * clock.length <= stamp else pane


@inlined
def _prepare(state: Any, came: float, now: float, stamp: float) -> int:
    """Room for one more tuple, with all panes closed that it closes."""
    clock = state.clock[0]
    if clock.spare < 1:
        return MORE_TUPLES
    _punctuate(clock, came, stamp)
    lack = _close_panes(state, now)
    if lack != REACHED:
        return lack
    if _pane_of(clock, stamp) - clock.oldest >= state.panes.size:
        return MORE_PANES
    return REACHED


@inlined
def _punctuate(clock: Any, now: float, stamp: float) -> None:
    """K-slack (ppq, Alg. 1, line 3)."""
    if stamp <= clock.newest:
        clock.delay = max(clock.delay, clock.newest - stamp)
        return
    clock.newest = stamp
    clock.slack = min(max(clock.slack, clock.delay), clock.max_slack)
    clock.delay = 0.0
    if now >= clock.announced + clock.gap:
        clock.punctuation = max(clock.punctuation, clock.newest - clock.slack)
        clock.announced = now


@inlined
def _close_panes(state: Any, now: float) -> int:
    clock = state.clock[0]
    while (clock.oldest + 1) * clock.length <= clock.punctuation:
        if state.workers.size > clock.results.spare:
            return MORE_RESULTS
        if clock.oldest - clock.expecting >= state.ledger.size - state.panes.size:
            return MORE_LEDGER
        _close(state, now)
    return REACHED


@compiled
def _close(state: Any, now: float) -> None:
    """Each worker sends its part once it is done with all that it got before."""
    clock = state.clock[0]
    number = clock.oldest
    place = number % state.panes.size
    pane, part = state.panes[place], 0
    remembered = state.sizes[clock.closed % REMEMBERED]
    remembered[:] = 0
    for w in range(state.workers.size):
        if state.counts[place, w] > 0:
            remembered[part] = state.counts[place, w]
            part += 1
            _send(state, now, number, w)
    if part == 0:  # an EMPTY meta-tuple: the window stage learns that the pane is closed
        _send_result(state, now, number, 0)
        pane.parts += 1
    state.ledger[number % state.ledger.size].expected = pane.parts
    clock.parts += pane.parts
    clock.closed += 1
    clock.oldest += 1
    pane.owner, pane.parts = NO_INDEX, 0


@inlined
def _send(state: Any, now: float, number: int, w: int) -> None:
    place = number % state.panes.size
    tuples = state.counts[place, w]
    state.counts[place, w] = 0
    state.clock[0].kept += state.skyline[min(tuples, state.skyline.size - 1)]
    _send_result(state, max(now, state.workers[w].free_at), number, tuples)


@inlined
def _send_result(state: Any, now: float, number: int, tuples: int) -> None:
    """Send a part to the window stage; those of a micro-batch are sent at its end."""
    clock = state.clock[0]
    index = take(clock.results, state.results)
    result = state.results[index]
    result.pane, result.tuples, result.order = number, tuples, clock.turns
    clock.turns += 1
    if state.stages[0].batch.trigger > 0.0:
        append(state.results, clock.uncommitted, index)
    else:
        result.done = now + clock.distance
        push(state.results, clock.sent, index)


@inlined
def _hand_over(state: Any, now: float, number: int, w: int) -> None:
    """What a worker that leaves does about an open pane, and who owns the pane after it."""
    place = number % state.panes.size
    if state.counts[place, w] > 0:
        _send(state, now, number, w)
    if state.panes[place].owner == w:
        state.panes[place].owner = _least_loaded(state, now)


@inlined
def _schedule(state: Any, now: float, number: int) -> None:
    """Which worker gets a tuple (ppq, Alg. 1, line 8)."""
    clock, place = state.clock[0], number % state.panes.size
    clock.last = max(clock.last, number)
    pane = state.panes[place]
    if pane.owner == NO_INDEX or state.counts[place, pane.owner] >= clock.threshold:
        pane.owner = _least_loaded(state, now)
    w = pane.owner
    if state.counts[place, w] == 0:
        pane.parts += 1
    _enqueue(state, w, now, state.counts[place, w])
    state.counts[place, w] += 1


@inlined
def _enqueue(state: Any, w: int, now: float, before: int) -> None:
    clock, worker = state.clock[0], state.workers[w]
    service = state.costs[min(before, state.costs.size - 1)] * state.stages[0].pace
    worker.free_at = max(worker.free_at, now) + service
    worker.service += service
    worker.scheduled += 1
    index = take(clock, state.tuples)
    state.tuples[index].done, state.tuples[index].service = worker.free_at, service
    append(state.tuples, worker.queue, index)


@compiled
def _least_loaded(state: Any, now: float) -> int:
    """The worker with the fewest tuples enqueued, of those that get any; of several, the one that
    has been done with its own for the longest."""
    best, least, since = 0, inf, inf
    for w in range(state.stages[0].active):
        _settle(state, w, now)
        waiting, free_at = state.workers[w].queue.count, state.workers[w].free_at
        if waiting < least or (waiting == least and free_at < since):
            best, least, since = w, waiting, free_at
    return best


@inlined
def _settle(state: Any, w: int, now: float) -> None:
    clock, worker = state.clock[0], state.workers[w]
    while worker.queue.count > 0 and state.tuples[worker.queue.first].done <= now:
        index = pop(state.tuples, worker.queue)
        worker.done += 1
        worker.done_service += state.tuples[index].service
        give_back(clock, state.tuples, index)
