"""A summary adds up, says None where it does not know, and pools latencies by rows."""

import json
from collections.abc import Mapping
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.signals import Configuration, Decision, Latency, ModuleReading, Observation, Tick
from penstock.record import Summary, summarise
from penstock.record.codec import dumps
from penstock.record.latency import pooled
from penstock.record.summary import summary_from_json


def a_tick(
    at: float = 1.0,
    step: float = 1.0,
    latency: float | None = None,
    asked: Mapping[str, int] | None = None,
    **modules: Mapping[str, Any],
) -> Tick:
    return Tick(
        seen=Observation(
            at=at,
            step=step,
            modules={name: ModuleReading(**reading) for name, reading in modules.items()},
            latency=None if latency is None else Latency(p50=latency, p95=latency, p99=latency),
        ),
        decided=Decision(configuration=Configuration(degrees=asked or {}), why="for the test"),
        asked=None if asked is None else Configuration(degrees=asked),
    )


def test_nothing_is_known_of_a_run_without_steps() -> None:
    summary = summarise([], None)
    assert (summary.steps, summary.duration, summary.reconfigurations) == (0, 0.0, 0)
    assert summary.rows_arrived is None
    assert summary.latency is None
    assert summary.slo is None
    assert summary.executors_mean is None
    assert summary.failed_tasks is None


def test_rows_are_counted_at_the_source_and_over_the_length_of_each_step() -> None:
    ticks = [
        a_tick(at=2, step=2, a={"arrival_rate": 10, "processed_rate": 8}, b={"arrival_rate": 99}),
        a_tick(at=5, step=3, a={"arrival_rate": 20, "processed_rate": 24}, b={"arrival_rate": 99}),
    ]
    summary = summarise(ticks, None)
    assert (summary.duration, summary.rows_arrived, summary.rows_processed) == (5, 80, 88)
    assert (summary.arrival_rate_mean, summary.arrival_rate_max) == (16, 20)
    assert summarise(ticks, None, source="b").arrival_rate_mean == 99


def test_a_step_that_measured_nothing_is_not_a_step_without_rows() -> None:
    summary = summarise([a_tick(a={"arrival_rate": 10}), a_tick(at=2, a={})], None)
    assert (summary.rows_arrived, summary.arrival_rate_mean) == (10, 10)
    assert summary.steps_with_gaps == 1


def test_backlog_is_the_sum_over_the_modules_that_have_one() -> None:
    ticks = [
        a_tick(a={"backlog": 5}, b={"backlog": 7}, stage={}),
        a_tick(a={"backlog": 50}, b={}, stage={}),
        a_tick(a={"backlog": 1}, b={"backlog": 2}, stage={}),
    ]
    summary = summarise(ticks, None)
    assert (summary.backlog_max, summary.backlog_final) == (12, 3)
    assert summary.steps_with_gaps == 1
    assert summarise(ticks[:2], None).backlog_final is None


def test_executor_seconds_are_the_integral_of_what_ran() -> None:
    ticks = [
        a_tick(at=2, step=2, a={"running": 1}, b={"running": 2}),
        a_tick(at=3, step=1, a={"running": None}, b={"running": 4}),
        a_tick(at=6, step=3, a={"running": 3}, b={"running": 2}),
    ]
    summary = summarise(ticks, None)
    assert summary.executor_seconds == {"a": 1 * 2 + 1 * 1 + 3 * 3, "b": 2 * 2 + 4 * 1 + 2 * 3}
    assert summary.executor_seconds_total == 26
    assert (summary.executors_min, summary.executors_max) == (3, 5)
    assert summary.executors_mean == pytest.approx(26 / 6)


def test_executors_of_a_silent_module_are_unknown_and_so_is_the_total() -> None:
    summary = summarise([a_tick(a={"running": 1}, b={})], None)
    assert summary.executor_seconds == {"a": 1, "b": None}
    assert summary.executor_seconds_total is None
    assert summary.executors_mean is None


def test_a_step_without_latency_neither_keeps_nor_breaks_the_promise() -> None:
    ticks = [a_tick(latency=value) for value in (1.0, 2.0, 2.1, None, None)]
    slo = summarise(ticks, 2.0).slo
    assert slo is not None
    assert (slo.met, slo.violated, slo.unknown) == (2, 1, 2)
    assert slo.violated_share == pytest.approx(1 / 3)


def test_a_step_without_latency_is_idle_only_where_no_row_was_waiting() -> None:
    ticks = [
        a_tick(latency=1.0, a={"backlog": 5}),
        a_tick(a={"backlog": 0}),
        a_tick(a={"backlog": 7}),
        a_tick(a={}),
    ]
    slo = summarise(ticks, 2.0).slo
    assert slo is not None
    assert (slo.measured, slo.unknown, slo.idle, slo.stalled) == (1, 3, 1, 2)


def test_an_overloaded_module_is_not_hidden_by_an_idle_one() -> None:
    slo = summarise([a_tick(a={"backlog": 0}, b={"backlog": 7})], 2.0).slo
    assert slo is not None
    assert (slo.idle, slo.stalled) == (0, 1)


def test_what_the_drain_left_is_known_by_module_where_the_plant_says_so() -> None:
    summary = summarise([a_tick(a={"backlog": 9})], None)
    assert summary.left is None
    assert replace(summary, results={"rows_waiting": {"a": 3}}).left == {"a": 3}
    assert replace(summary, results={"rows_waiting": 3}).left is None


def test_a_step_may_scale_out_and_in() -> None:
    ticks = [
        a_tick(a={"requested": 1}, b={"requested": 4}),
        a_tick(a={"requested": 1}, b={"requested": 4}, asked={"a": 2, "b": 3}),
        a_tick(a={"requested": 2}, b={"requested": 3}, asked={"a": 2, "b": 3}),
        a_tick(a={"requested": 2}, b={"requested": 3}, asked={"a": 2, "b": 1}),
    ]
    summary = summarise(ticks, None)
    assert (summary.reconfigurations, summary.scale_outs, summary.scale_ins) == (2, 1, 2)


def test_what_a_slow_plant_was_asked_before_is_not_counted_again() -> None:
    ticks = [a_tick(a={"running": 1}, asked={"a": 3}) for _ in range(5)]
    assert summarise(ticks, None).scale_outs == 1


def test_an_ask_from_an_unknown_degree_is_a_change_without_a_direction() -> None:
    summary = summarise([a_tick(a={}, asked={"a": 3})], None)
    assert (summary.reconfigurations, summary.scale_outs, summary.scale_ins) == (1, 0, 0)


def test_failed_tasks_add_up_over_modules() -> None:
    ticks = [a_tick(a={"failed_tasks": 1}, b={"failed_tasks": 2}), a_tick(a={}, b={})]
    assert summarise(ticks, None).failed_tasks == 3


def test_a_summary_comes_back_as_it_was() -> None:
    tick = a_tick(latency=1.5, a={"running": 2, "arrival_rate": 3.5}, b={})
    summary = summarise([tick, tick], 2.0)
    assert summary_from_json(json.loads(dumps(summary.to_json()))) == summary
    assert isinstance(summary, Summary)


latencies = st.lists(
    st.floats(min_value=0, max_value=1e6, allow_subnormal=False), min_size=3, max_size=3
).map(lambda values: Latency(**dict(zip(("p50", "p95", "p99"), sorted(values), strict=True))))


@settings(deadline=None)  # a busy machine is no failure
@given(latencies, st.lists(st.floats(min_value=0.1, max_value=1e6), min_size=1, max_size=20))
def test_a_run_of_equal_steps_has_their_latency(step: Latency, rows: list[float]) -> None:
    whole = pooled([step] * len(rows), rows)
    assert whole is not None
    for quantile in ("p50", "p95", "p99"):
        assert getattr(whole, quantile) == pytest.approx(getattr(step, quantile), rel=1e-6)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.tuples(latencies, st.floats(min_value=0, max_value=1e6)), min_size=1))
def test_quantiles_of_a_run_rise_and_stay_between_those_of_its_steps(
    steps: list[tuple[Latency, float]],
) -> None:
    whole = pooled([step for step, _ in steps], [rows for _, rows in steps])
    assert whole is not None
    assert whole.p50 <= whole.p95 <= whole.p99 <= max(step.p99 for step, _ in steps)
    assert whole.p99 >= min(step.p99 for step, _ in steps) * (1 - 1e-9)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(latencies, min_size=1, max_size=5), st.floats(min_value=1e-3, max_value=1e3))
def test_what_counts_is_the_share_of_the_rows(steps: list[Latency], scale: float) -> None:
    rows = [float(index + 1) for index in range(len(steps))]
    whole, scaled = pooled(steps, rows), pooled(steps, [scale * count for count in rows])
    assert whole is not None
    assert scaled is not None
    assert scaled.p95 == pytest.approx(whole.p95, rel=1e-6, abs=1e-9)


def test_pooled_quantiles_come_close_to_those_of_the_rows() -> None:
    """A calm minute and a short storm, both exponential: against the rows themselves."""
    random = np.random.default_rng(3)
    rows = [random.exponential(mean, size) for mean, size in ((0.5, 60_000), (4.0, 6_000))]
    steps = [Latency(**_quantiles(values)) for values in rows]
    whole = pooled(steps, [len(values) for values in rows])
    expected = _quantiles(np.concatenate(rows))
    assert whole is not None
    assert whole.p50 == pytest.approx(expected["p50"], rel=0.15)
    assert whole.p95 == pytest.approx(expected["p95"], rel=0.15)
    assert whole.p99 == pytest.approx(expected["p99"], rel=0.15)


def test_the_median_of_a_run_follows_a_latency_that_drifts() -> None:
    """From 1 to 21 seconds, every step within half a second of its own median."""
    random = np.random.default_rng(4)
    rows = [random.normal(mean, 0.25, 2000) for mean in np.linspace(1, 21, 41)]
    whole = pooled([Latency(**_quantiles(values)) for values in rows], [2000.0] * len(rows))
    expected = _quantiles(np.concatenate(rows))
    assert whole is not None
    for quantile in ("p50", "p95", "p99"):
        assert getattr(whole, quantile) == pytest.approx(expected[quantile], rel=0.02)


@settings(deadline=None, max_examples=50)  # a busy machine is no failure
@given(st.lists(st.tuples(latencies, st.integers(1, 50)), min_size=1, max_size=6))
def test_the_error_of_a_pooled_quantile_is_bounded(steps: list[tuple[Latency, int]]) -> None:
    """Each of a hundred rows lies between the recorded quantiles around it."""
    whole = pooled([step for step, _ in steps], [float(rows) for _, rows in steps])
    assert whole is not None
    lower = [
        [0.0] * 49 + [s.p50] * 45 + [s.p95] * 4 + [s.p99] * 2
        for s, rows in steps
        for _ in range(rows)
    ]
    upper = [[s.p50] * 50 + [s.p95] * 45 + [s.p99] * 5 for s, rows in steps for _ in range(rows)]
    for name, low in _quantiles(np.ravel(lower), method="inverted_cdf").items():
        high = _quantiles(np.ravel(upper), method="inverted_cdf")[name]
        assert low * (1 - 1e-9) <= getattr(whole, name) <= high * (1 + 1e-9)


def test_rows_that_are_unknown_count_as_the_others_do() -> None:
    calm, storm = (Latency(p50=v, p95=v, p99=v) for v in (1.0, 9.0))
    assert pooled([calm, storm], [nan, nan]) == pooled([calm, storm], [5.0, 5.0])
    assert pooled([calm, storm], [100.0, nan]) == pooled([calm, storm], [100.0, 100.0])
    assert pooled([calm, storm], [0.0, 0.0]) == pooled([calm, storm], [5.0, 5.0])
    assert pooled([None, storm], [100.0, 1.0]) == storm


def _quantiles(
    values: np.ndarray[Any, np.dtype[np.float64]], method: Any = "linear"
) -> dict[str, float]:
    p50, p95, p99 = np.quantile(values, [0.5, 0.95, 0.99], method=method)
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99)}
