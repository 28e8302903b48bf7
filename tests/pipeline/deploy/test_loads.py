"""The load of a stage is work that came by work that could be done, and splitting follows it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, active_count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError
from penstock.core.graph import Module
from penstock.core.signals import ModuleReading
from penstock.pipeline.deploy.loads import (
    LoadMeter,
    PaneMeter,
    WindowMeter,
    pane_seconds,
    window_seconds,
)
from penstock.pipeline.deploy.splitting import SplittingLoop
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.query.preference.splitting import Split, Splitting
from penstock.spark.progress import Batch

PLQ = Module(name="plq", service_time=0.001, max_batch=2.0)
WLQ = Module(name="wlq", service_time=0.002, max_batch=2.0)


def batch(
    at: float,
    rows: int = 0,
    *,
    duration: float = 0.0,
    service: float | None = None,
    observed: Mapping[str, Mapping[str, Any]] | None = None,
) -> Batch:
    """A progress event, so many seconds after the first."""
    return Batch(
        number=0,
        started=1000.0 + at,
        duration=duration,
        parts={},
        idle=not rows,
        rows=rows or None,
        service=service,
        service_squared=None,
        created=None,
        arrived=rows,
        read=rows,
        state_rows=None,
        observed=observed or {},
    )


def panes(at: float, *workers: int, panes: int = 10, parts: int = 10, **more: Any) -> Batch:
    """A batch of the pane stage that gave so many rows to each worker, a millisecond a row."""
    rows = sum(workers)
    metrics = {
        "rows": rows,
        "busy": 0.0,
        "tasks": len(workers),
        "rows_squared": float(sum(n * n for n in workers)),
        "parts": parts,
        "parts_squared": rows * rows / parts,
        "panes": panes,
    }
    longest = max(workers, default=0) / 1000
    settings = {"service": rows / 1000, "duration": longest, **more}
    return batch(at, rows, observed={"preference_panes": metrics}, **settings)


def windows(at: float, rows: int, busy: float, done: int = 10) -> Batch:
    metrics = {"windows": done, "busy": busy, "tasks": done, "slack": None}
    observed = {"preference_windows": metrics}
    return batch(at, rows, service=rows * 0.002, duration=busy + rows * 0.002, observed=observed)


@dataclass
class Clocked:
    """A meter of the pane stage that is asked whenever a batch has begun and nothing waits."""

    meter: LoadMeter = field(default_factory=lambda: LoadMeter.of(PLQ, pane_seconds))

    def __call__(self, *events: Batch, **seen: Any) -> float | None:
        return self.meter(events, ModuleReading(**seen), now=max(e.started for e in events))


def test_the_load_is_the_work_of_a_period_by_its_length() -> None:
    meter = Clocked()
    meter(panes(0, 500, 500))
    assert meter(panes(2, 500, 500), panes(4, 1000, 1000)) == pytest.approx(1.5 / 4)


def test_a_period_begins_with_the_last_batch_of_the_step_before() -> None:
    meter = Clocked()
    assert meter(panes(0, 500)) is None
    assert meter(panes(2, 500)) == pytest.approx(0.25)
    assert meter(batch(3)) is None
    assert meter(panes(4, 1000)) == pytest.approx(0.5)
    assert meter.meter([], ModuleReading(), now=1006.0) is None


def test_the_first_batch_is_judged_by_the_rate_at_which_rows_come() -> None:
    assert Clocked()(panes(0, 400, 400), backlog=200.0, arrival_rate=500.0) == pytest.approx(0.25)


def test_a_burst_after_a_pause_came_within_a_trigger() -> None:
    module = Module(name="plq", service_time=0.001, max_batch=2.0, trigger=2.0)
    meter = Clocked(LoadMeter.of(module, pane_seconds))
    meter(panes(0, 500))
    assert meter(panes(60, 1000)) == pytest.approx(1.0 / 2)
    assert meter(panes(62, 1000)) == pytest.approx(1.0 / 2)


def test_rows_that_wait_count_as_work_that_came() -> None:
    meter = Clocked()
    meter(panes(0, 1000, 1000))
    assert meter(panes(2, 1000, 1000), backlog=1000.0) == pytest.approx(0.75)


def test_a_stream_that_is_even_has_the_same_load_whenever_it_is_asked() -> None:
    """Rows that came since the batch began wait, and so they should."""
    meter = LoadMeter.of(PLQ, pane_seconds)
    meter([panes(0, 400, 400)], ModuleReading(), now=1000.0)
    load = meter([panes(2, 400, 400)], ModuleReading(backlog=1.3 * 400), now=1003.3)
    assert load == pytest.approx(0.4 / 2)


def test_time_that_batches_cost_is_no_time_for_rows() -> None:
    meter = Clocked()
    meter(panes(0, 1000, duration=1.5))
    assert meter(panes(2, 1000, duration=1.5)) == pytest.approx(0.5 * 2.5 / 2)


def test_one_batch_that_waits_for_a_newcomer_is_forgiven_but_not_two() -> None:
    meter = Clocked()
    meter(panes(0, 1000), panes(1, 1000))
    assert meter(panes(3, 1000, duration=9.0)) == pytest.approx(0.5)
    assert meter(panes(5, 1000, duration=9.0)) == pytest.approx(0.5 * 10 / 2)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=8))
def test_uneven_workers_never_lower_the_load(workers: list[int]) -> None:
    """By Cauchy and Schwarz, the even split is the least loaded one (ppq, Proposition 1)."""
    uneven, even = Clocked(), sum(workers) / 1000 / len(workers)
    uneven(panes(0, 1))
    load = uneven(panes(1, *workers, duration=0.0))
    assert load is not None
    assert even - 1e-9 <= load <= max(workers) / 1000 + 1e-9


READING = ModuleReading(backlog=0.0, running=2)


def test_a_batch_without_measures_says_nothing_of_the_load() -> None:
    times = iter([1000.0, 1002.0, 1004.0])
    meter = PaneMeter(load=LoadMeter.of(PLQ, pane_seconds), now=lambda: next(times))
    meter(READING, [panes(0, 500)])
    assert meter(READING, [batch(2, 500, service=0.5)]) == {"load": None, "splitting": None}
    assert meter(READING, [panes(4, 500)])["load"] == pytest.approx(0.25)


def test_parts_of_a_pane_are_counted_over_the_step() -> None:
    measured = PaneMeter.of(PLQ)(READING, [panes(0, 9, parts=10), panes(2, 9, parts=20)])
    assert measured["splitting"] == pytest.approx(1.5)


def test_executors_of_the_window_stage_share_its_work() -> None:
    times = iter([1000.0, 1004.0])
    meter = WindowMeter(load=LoadMeter.of(WLQ, window_seconds), now=lambda: next(times))
    assert meter(READING, [windows(0, 100, 0.4)]) == {"load": None, "results_rate": None}
    measured = meter(READING, [windows(2, 100, 0.4), windows(4, 100, 0.4)])
    share = 2 / (2 + 0.3)  # two executors take 0.3 s for work of 0.6 s, and the batch took 0.6 s
    assert measured == {"load": pytest.approx(0.6 / 4 / share), "results_rate": pytest.approx(5.0)}


def test_without_events_the_window_stage_is_unknown_not_idle() -> None:
    assert WindowMeter.of(WLQ)(READING, []) == {"load": None, "results_rate": None}


def loop(tmp_path: Path, batches: list[list[Batch]], **settings: Any) -> SplittingLoop:
    events: Iterator[list[Batch]] = iter(batches)
    times = (1000.0 + 2 * place for place in count())
    given: dict[str, Any] = {
        "control": SplittingControl(),
        "splitting": Splitting(path=tmp_path / "split", workers=4),
        "load": LoadMeter.of(PLQ, pane_seconds),
        "events": lambda: next(events),
        "arrived": lambda: 0,
        "now": lambda: next(times),
        "workers": lambda: 3,
    }
    return SplittingLoop(**given | settings)


def test_overloaded_workers_have_their_panes_split_from_the_next_batch_on(tmp_path: Path) -> None:
    heavy = [[panes(2.0 * place, 4000)] for place in range(8)]
    inner = loop(tmp_path, heavy)
    said = []
    for _ in heavy:
        inner.sample()
        said.append(inner.splitting.read())
    assert said[0] == Split(3, 400)  # panes of 400 rows, at alpha 1
    sizes = [split.threshold or 0 for split in said]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < sizes[1] < sizes[0]


def test_idle_workers_have_their_panes_put_together_again(tmp_path: Path) -> None:
    inner = loop(tmp_path, [[panes(0, 400)], [panes(2, 400)], [panes(4, 400)]])
    inner.sample()
    inner.sample()
    inner.sample()
    assert (inner.splitting.read().threshold or 0) > 40


def test_splitting_holds_while_nothing_is_measured(tmp_path: Path) -> None:
    inner = loop(tmp_path, [[panes(0, 4000)], [panes(2, 4000)], [], [batch(4, 10)], [batch(5)]])
    inner.sample()
    inner.sample()
    before = inner.splitting.read()
    for _ in range(3):
        inner.sample()
    assert inner.splitting.read() == before


def test_workers_follow_the_executors_within_the_most_there_may_be(tmp_path: Path) -> None:
    running = iter([2, 0, 9])
    inner = loop(tmp_path, [[], [], []], workers=lambda: next(running))
    seen = []
    for _ in range(3):
        inner.sample()
        seen.append(inner.splitting.read().workers)
    assert seen == [2, 1, 4]


def test_whole_panes_stay_whole(tmp_path: Path) -> None:
    inner = loop(tmp_path, [[panes(0, 4000)], [panes(2, 4000)]], control=None)
    inner.sample()
    inner.sample()
    assert inner.splitting.read() == Split(3)


def test_a_look_that_fails_ends_neither_the_loop_nor_the_run(tmp_path: Path) -> None:
    third, asked, before = Event(), Counter[str](), active_count()

    def events() -> list[Batch]:
        asked["times"] += 1
        if asked["times"] == 2:
            raise FileError("the progress cannot be read; look again")
        if asked["times"] > 3:
            third.set()
        return []

    inner = loop(tmp_path, [], events=events, control=SplittingControl(period=0.001))
    with inner.running():
        assert third.wait(30)
        assert inner.splitting.read().workers == 3
    assert active_count() == before
