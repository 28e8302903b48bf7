"""The window stage: an emitter that hands tasks to idle workers (ppq, Section 3.2, Alg. 2 and 3).

A part of a pane waits at every window that the pane belongs to. A task puts a part into a window's
result, one at a time for each window; where all windows with parts that wait are busy, tasks make
one part of two. With micro-batches the parts that have come by a trigger are taken then, and the
windows that they complete are done when the batch is committed.
"""

from math import inf
from typing import Any

from penstock.model.compiling import compiled, entry, inlined
from penstock.twin.batches import await_trigger, begin, commit, finish_tasks, is_late
from penstock.twin.panes.state import (
    MERGE,
    MORE_FINISHED,
    MORE_PARTS,
    MORE_WINDOWS,
    REACHED,
    UPDATE,
)
from penstock.twin.records import OPEN
from penstock.twin.rows import give_back, next_done, pop_done, push, take


@entry
def advance(state: Any, end: float) -> int:
    """Receive parts and do tasks until then; says what there is too little of, if anything."""
    other, stage = state.other[0], state.stages[1]
    while True:
        lack = _lack(state)
        if lack != REACHED:
            return lack
        done = next_done(state.tasks, other.tasks)
        came = stage.batch.moment if stage.batch.trigger > 0.0 else _next_part(state)
        now = min(done, came)
        idle = stage.batch.phase != OPEN and _next_part(state) == inf
        if now > end or now == inf or (end == inf and idle and other.tasks.busy == 0):
            _pass_time(state, end if end < inf else other.now)
            return REACHED
        _pass_time(state, now)
        if done <= came:
            _end_task(state)
        elif stage.batch.trigger > 0.0:
            _go_on_with_batch(state)
        else:
            _receive(state)
        _hand_out(state)
        if stage.batch.phase == OPEN and stage.batch.moment == inf and other.tasks.busy == 0:
            busy = finish_tasks(stage.batch, stage.chance, now)
            stage.totals.busy_seconds += stage.active * busy


@inlined
def _next_part(state: Any) -> float:
    """When the next part arrives."""
    return next_done(state.results, state.clock[0].sent)


@inlined
def _go_on_with_batch(state: Any) -> None:
    """Take the next part of the batch, or commit it, or open another."""
    stage, batch, now = state.stages[1], state.stages[1].batch, state.other[0].now
    if batch.unfinished > 0:
        there = _next_part(state) <= batch.opened
        batch.unfinished = batch.unfinished - 1 if there else 0
        if batch.unfinished == 0:
            batch.moment = inf
        if there:
            _receive(state)
        return
    ended = batch.phase == OPEN
    if ended:
        _commit(state)
    if _next_part(state) <= now and (not ended or is_late(batch, now)):
        begin(batch, stage.active, now)
        batch.unfinished, batch.moment = min(stage.active * batch.share, 2.0**53), now
    else:
        await_trigger(batch, now)


@inlined
def _commit(state: Any) -> None:
    """The windows that the batch has completed are done now."""
    other = state.other[0]
    commit(state.stages[1], other.now)
    for place in range(other.committed, other.finished):
        state.finished[place, 1] = other.now
    other.windows += other.finished - other.committed
    other.committed = other.finished


@entry
def resize(state: Any, active: int) -> None:
    """Let so many workers get tasks; those beyond end the ones that they have."""
    state.stages[1].active = active
    _hand_out(state)


@inlined
def _lack(state: Any) -> int:
    """Room for what one more event may bring."""
    other, last, sent = state.other[0], state.other[0].last, state.clock[0].sent
    if sent.busy > 0:  # a part of a late pane may come before those of panes before it
        last = max(last, state.results[sent.first_done].pane // other.stride + 1)
    if last - other.first > state.windows.size:
        return MORE_WINDOWS
    if other.finished + other.panes // other.stride + 2 > len(state.finished):
        return MORE_FINISHED
    if sent.busy > 0 and _crowded(state, state.results[sent.first_done].pane):
        return MORE_PARTS
    return REACHED


@inlined
def _crowded(state: Any, pane: int) -> bool:
    """Whether a window of the pane has no room for another part."""
    other = state.other[0]
    for k in range(_first_window(other, pane), min(pane // other.stride + 1, other.last)):
        window = state.windows[k % state.windows.size]
        if window.count + window.merging + 1 > state.parts.shape[1]:
            return True
    return False


@inlined
def _first_window(other: Any, pane: int) -> int:
    """Of those that contain a pane; none begins before the stream."""
    first: int = -((other.panes - 1 - pane) // other.stride)
    return max(first, 0)


@compiled
def _receive(state: Any) -> None:
    """A part has come: it waits at each window of its pane."""
    clock, other = state.clock[0], state.other[0]
    index = pop_done(state.results, clock.sent)
    pane, tuples = state.results[index].pane, state.results[index].tuples
    give_back(clock.results, state.results, index)
    ledger = state.ledger[pane % state.ledger.size]
    ledger.received += 1
    whole = ledger.received == ledger.expected
    state.stages[1].totals.arrived += 1
    for k in range(_first_window(other, pane), pane // other.stride + 1):
        _open_up_to(state, k)
        if tuples > 0:
            _put(state, k, tuples)
        if whole:
            state.windows[k % state.windows.size].panes += 1
            _finish_if_whole(state, k)
    _forget_whole_panes(state)


@inlined
def _open_up_to(state: Any, k: int) -> None:
    other = state.other[0]
    while other.last <= k:
        window = state.windows[other.last % state.windows.size]
        window.tuples = window.busy = window.merging = window.panes = 0
        window.head = window.count = window.done = 0
        other.last += 1


@inlined
def _forget_whole_panes(state: Any) -> None:
    clock = state.clock[0]
    while True:
        ledger = state.ledger[clock.expecting % state.ledger.size]
        if ledger.expected < 0 or ledger.received < ledger.expected:
            return
        ledger.expected, ledger.received = -1, 0
        clock.expecting += 1


@inlined
def _put(state: Any, k: int, tuples: int) -> None:
    place = k % state.windows.size
    window, room = state.windows[place], state.parts.shape[1]
    state.parts[place, (window.head + window.count) % room] = tuples
    window.count += 1
    state.other[0].pending += 1


@inlined
def _take(state: Any, k: int) -> int:
    place = k % state.windows.size
    window = state.windows[place]
    tuples = state.parts[place, window.head]
    window.head = (window.head + 1) % state.parts.shape[1]
    window.count -= 1
    state.other[0].pending -= 1
    return int(tuples)


@compiled
def _hand_out(state: Any) -> None:
    """Tasks for idle workers: windows first, then merges (ppq, Alg. 3)."""
    other = state.other[0]
    for kind in (UPDATE, MERGE):
        if kind == MERGE and not other.merges:
            return
        for k in range(other.first, other.last):
            if other.tasks.busy >= state.stages[1].active or other.pending == 0:
                return
            window = state.windows[k % state.windows.size]
            if kind == UPDATE and window.busy == 0 and window.count > 0:
                _begin_update(state, k)
            elif kind == MERGE and window.count >= 2:
                _begin_merge(state, k)


@inlined
def _begin_update(state: Any, k: int) -> None:
    window = state.windows[k % state.windows.size]
    window.busy = 1
    tuples = _take(state, k)
    _begin(state, UPDATE, k, tuples, _size(state, tuples) * max(_size(state, window.tuples), 1.0))


@inlined
def _begin_merge(state: Any, k: int) -> None:
    one, other = _take(state, k), _take(state, k)
    state.windows[k % state.windows.size].merging += 1
    _begin(state, MERGE, k, one + other, _size(state, one) * _size(state, other))


@inlined
def _begin(state: Any, kind: int, k: int, tuples: int, comparisons: float) -> None:
    other = state.other[0]
    index = take(other.idle, state.tasks)
    task = state.tasks[index]
    seconds = (state.rates[0] + state.rates[1] * comparisons) * state.stages[1].pace
    task.done, task.order = other.now + seconds, other.turns
    task.kind, task.window, task.tuples = kind, k, tuples
    push(state.tasks, other.tasks, index)
    other.turns += 1


@inlined
def _end_task(state: Any) -> None:
    """A feedback message (ppq, Alg. 2, line 10)."""
    other = state.other[0]
    index = pop_done(state.tasks, other.tasks)
    task = state.tasks[index]
    kind, k, tuples = task.kind, task.window, task.tuples
    give_back(other.idle, state.tasks, index)
    window = state.windows[k % state.windows.size]
    if kind == MERGE:
        window.merging -= 1
        other.merged += 1
        _put(state, k, tuples)
    else:
        window.busy = 0
        window.tuples += tuples
        other.updates += 1
        _finish_if_whole(state, k)


@inlined
def _finish_if_whole(state: Any, k: int) -> None:
    other, window = state.other[0], state.windows[k % state.windows.size]
    waits = window.count + window.busy + window.merging
    if window.done or waits > 0 or window.panes < other.panes:
        return
    window.done = 1
    state.finished[other.finished, 0] = (k * other.stride + other.panes) * state.clock[0].length
    state.finished[other.finished, 1] = other.now
    other.finished += 1
    if state.stages[1].batch.trigger == 0.0:
        other.committed += 1
        other.windows += 1
    while other.first < other.last and state.windows[other.first % state.windows.size].done:
        other.first += 1


@inlined
def _size(state: Any, tuples: int) -> float:
    return float(state.skyline[min(tuples, state.skyline.size - 1)])


@inlined
def _pass_time(state: Any, now: float) -> None:
    other, stage = state.other[0], state.stages[1]
    seconds = now - other.now
    stage.totals.busy_seconds += other.tasks.busy * seconds
    stage.totals.server_seconds += max(stage.active, other.tasks.busy) * seconds
    stage.totals.seconds = other.now = now
