"""Results of parts on their way to the window stage, as a heap by the moment of their arrival."""

from typing import Any

from penstock.model.compiling import inlined


@inlined
def push(state: Any, at: float, pane: int, tuples: int) -> None:
    """Send a result."""
    results, clock = state.results, state.clock[0]
    place, turn = clock.sent, clock.turns
    clock.sent += 1
    clock.turns += 1
    while place > 0 and results[(place - 1) // 2].at > at:
        _move(results, (place - 1) // 2, place)
        place = (place - 1) // 2
    results[place].at, results[place].turn = at, turn
    results[place].pane, results[place].tuples = pane, tuples


@inlined
def drop_first(state: Any) -> None:
    """Forget the result that arrived first."""
    results, clock = state.results, state.clock[0]
    clock.sent -= 1
    size, place = clock.sent, 0
    last = results[size]
    at, turn, pane, tuples = last.at, last.turn, last.pane, last.tuples
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(results[child + 1], results[child].at, results[child].turn):
            child += 1
        if not _before(results[child], at, turn):
            break
        _move(results, child, place)
        place = child
    results[place].at, results[place].turn = at, turn
    results[place].pane, results[place].tuples = pane, tuples


@inlined
def _before(one: Any, at: float, turn: int) -> bool:
    return bool(one.at < at or (one.at == at and one.turn < turn))


@inlined
def _move(results: Any, origin: int, to: int) -> None:
    results[to].at = results[origin].at
    results[to].turn = results[origin].turn
    results[to].pane = results[origin].pane
    results[to].tuples = results[origin].tuples
