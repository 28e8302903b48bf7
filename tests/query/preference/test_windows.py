"""Panes become windows: what the emitter holds, what it finds complete, and who merges it."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.panes import Panes
from penstock.query.preference.emitter import Emitter, Part, schedule
from penstock.query.preference.punctuation import AdaptiveKSlack, Arrivals, KSlack

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6)).map(
    lambda sides: Panes(window=10 * max(sides), slide=10 * min(sides))
)
BATCHES = st.lists(st.lists(st.integers(0, 400), max_size=12), max_size=12)


def part(pane: int, *times: int) -> Part:
    return Part(pane, rows=len(times), best=len(times), payload=repr(sorted(times)).encode())


def parts_of(panes: Panes, times: list[int]) -> list[Part]:
    homes = panes.of(np.array(times, np.int64)).tolist()
    return [
        part(pane, *(t for t, home in zip(times, homes, strict=True) if home == pane))
        for pane in sorted(set(homes))
    ]


def run(emitter: Emitter, batches: list[list[int]]) -> tuple[Emitter, list[tuple[int, list[int]]]]:
    """The windows in the order in which they came, with the times of their rows."""
    found = []
    for times in batches:
        arrivals = Arrivals.of(np.array(times, np.int64))
        emitter, complete = emitter.step(parts_of(emitter.panes, times), arrivals)
        for number, parts in complete.windows.items():
            rows = [t for one in parts for t in eval(one.payload)]  # noqa: S307  # our own text
            found.append((number, sorted(rows)))
    return emitter, found


@given(SHAPES, BATCHES)
def test_each_window_comes_once_and_in_order_with_all_its_rows(
    panes: Panes, batches: list[list[int]]
) -> None:
    enough = KSlack(slack=400)
    emitter, found = run(Emitter(panes=panes, slack=enough), [*batches, [2000]])
    rows = sorted(t for times in batches for t in times)
    first, last = (rows or [0])[0] - panes.window, (rows or [0])[-1] + panes.slide
    expected = {
        number: [t for t in rows if panes.start(number) <= t < panes.end(number)]
        for number in range(first // panes.slide, last // panes.slide + 1)
    }
    assert found == [(number, held) for number, held in expected.items() if held]
    assert emitter.slack.dropped == 0


@given(SHAPES, BATCHES, st.booleans())
def test_every_row_is_in_its_windows_or_counted_as_late(
    panes: Panes, batches: list[list[int]], adaptive: bool
) -> None:
    slack = AdaptiveKSlack(target=0.2) if adaptive else KSlack()
    emitter, found = run(Emitter(panes=panes, slack=slack), [*batches, [5000], [9000]])
    per_row = dict.fromkeys(range(401), 0)
    for _, rows in found:
        for t in rows:
            per_row[t] = per_row.get(t, 0) + 1
    came = [t for times in batches for t in times]
    kept = 0
    for t, count in per_row.items():
        windows = len(panes.windows_of(t // panes.length))
        assert count % windows == 0, "a row is in all of its windows or in none"
        kept += count // windows if t <= 400 else 0
    assert kept == len(came) - emitter.slack.dropped
    assert [number for number, _ in found] == sorted({number for number, _ in found})


@given(SHAPES, BATCHES)
def test_holds_no_pane_that_no_window_to_come_has(panes: Panes, batches: list[list[int]]) -> None:
    emitter = Emitter(panes=panes, slack=KSlack(slack=20))
    for times in batches:
        arrivals = Arrivals.of(np.array(times, np.int64))
        emitter, _ = emitter.step(parts_of(panes, times), arrivals)
        reached = emitter.slack.punctuation
        for pane in emitter.open:
            assert reached is not None
            assert any(panes.end(number) > reached for number in panes.windows_of(pane))


def test_windows_without_rows_are_counted_and_cost_nothing() -> None:
    panes, century = Panes(window=1_000_000, slide=200_000), 100 * 365 * 86_400 * 1_000_000
    emitter = Emitter(panes=panes, slack=KSlack(slack=1))
    emitter, _ = emitter.step([part(0, 5)], Arrivals(1, 5, 5))
    emitter, complete = emitter.step(
        [part(century // 200_000, century)], Arrivals(1, century, century)
    )
    assert list(complete.windows) == [-4, -3, -2, -1, 0]
    assert complete.empty == len(range(1, (century - 1 - 1_000_000) // 200_000 + 1))
    assert list(emitter.open) == [century // 200_000]


def test_rows_of_a_closed_pane_are_late() -> None:
    emitter = Emitter(panes=Panes(window=20, slide=10), slack=KSlack(slack=1))
    emitter, _ = emitter.step([part(3, 35)], Arrivals(1, 35, 35))
    emitter, complete = emitter.step([part(2, 21, 22), part(3, 31)], Arrivals(3, 21, 31))
    assert complete.late == 2
    assert len(emitter.open[3]) == 2


WINDOWS = st.dictionaries(
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 50)), min_size=1, max_size=9),
    max_size=8,
)


def closing(drawn: dict[int, list[tuple[int, int]]]) -> dict[int, tuple[Part, ...]]:
    """Windows that share the parts of the panes that they share."""
    panes: dict[int, tuple[Part, ...]] = {}
    for those in drawn.values():
        for pane, size in those:
            panes.setdefault(pane, (Part(pane, size, size, b"a"), Part(pane, size, size, b"b")))
    return {
        number: tuple(p for pane in sorted({pane for pane, _ in those}) for p in panes[pane])
        for number, those in sorted(drawn.items())
    }


@given(WINDOWS, st.integers(1, 6))
def test_every_window_gets_each_of_its_parts_once(
    drawn: dict[int, list[tuple[int, int]]], slots: int
) -> None:
    windows = closing(drawn)
    made = schedule(windows, slots)
    for number, parts in windows.items():
        got = [p for task in made.merges if number in task.windows for p in task.parts]
        assert sorted(map(repr, got)) == sorted(map(repr, parts))
    assert set(made.slots) == set(windows)
    assert all(0 <= task.slot < slots for task in made.merges)


@given(WINDOWS, st.integers(1, 6))
def test_windows_fill_the_slots_in_their_order(
    drawn: dict[int, list[tuple[int, int]]], slots: int
) -> None:
    placed = list(schedule(closing(drawn), slots).slots.values())
    assert all(0 <= slot < slots for slot in placed)
    assert all(a <= b for a, b in pairwise(placed))


def test_parts_of_a_shared_pane_are_merged_once() -> None:
    windows = closing({1: [(0, 5), (1, 5)], 2: [(1, 5), (2, 5)]})
    made = schedule(windows, slots=2)
    assert sorted(task.windows for task in made.merges) == [(1,), (1, 2), (2,)]


def test_idle_slots_merge_the_parts_of_a_window_that_is_alone() -> None:
    windows = closing({1: [(pane, 7) for pane in range(6)]})
    made = schedule(windows, slots=4)
    assert [len(task.parts) for task in made.merges] == [3, 3, 3, 3]
    assert sorted(task.slot for task in made.merges) == [0, 1, 2, 3]
    assert len(schedule(windows, slots=1).merges) == 6
