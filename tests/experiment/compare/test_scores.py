"""Every measure of a tournament, by hand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Configuration, Decision, Latency, ModuleReading, Observation, Tick
from penstock.experiment.compare.scores import (
    MEASURES,
    TABLES,
    Yardstick,
    elasticity,
    judged,
    late,
    reversals,
    saso,
    scores,
    violations,
)
from penstock.experiment.compare.track import (
    Prices,
    aligned,
    core_seconds,
    follow,
    idle_share,
    joules,
    money,
)
from penstock.model.power import power

GRAPH = FlowGraph(source="count", modules=(Module(name="count", service_time=0.01),))


def tick(
    at: float,
    *,
    running: int,
    requested: int | None = None,
    p95: float | None = 1.0,
    backlog: float | None = 0.0,
    busy: float | None = 0.5,
    asked: int | None = None,
    step: float = 2.0,
    rate: float = 10.0,
) -> Tick:
    """One step of the module `count`; `asked` is what was asked for at its end."""
    reading = ModuleReading(
        running=running,
        requested=running if requested is None else requested,
        backlog=backlog,
        utilisation=busy,
        processed_rate=rate,
    )
    latency = None if p95 is None else Latency(p50=p95 / 2, p95=p95, p99=2 * p95)
    seen = Observation(at=at, step=step, modules={"count": reading}, latency=latency)
    wanted = Configuration(degrees={"count": asked if asked is not None else running})
    decided = Decision(configuration=wanted, why="by hand")
    return Tick(seen=seen, decided=decided, asked=None if asked is None else wanted)


def ticks(running: Sequence[int], **more: float) -> list[Tick]:
    """Steps of two seconds with so many executors; changes are asked for in the step before."""
    after = [*running[1:], running[-1]]
    return [
        tick(2.0 * (i + 1), running=n, asked=m if m != n else None, **more)  # type: ignore[arg-type]
        for i, (n, m) in enumerate(zip(running, after, strict=True))
    ]


class TestCost:
    def test_an_executor_is_paid_for_from_its_request_until_it_has_left(self) -> None:
        run = [
            tick(2, running=1, requested=3),
            tick(4, running=3, requested=3),
            tick(6, running=3, requested=1),
        ]
        assert core_seconds(follow(run)) == 2 * (3 + 3 + 3)

    def test_a_gap_in_the_count_keeps_what_was_before(self) -> None:
        run = ticks([2, 2, 2])
        blind = replace(run[1].seen.modules["count"], running=None, requested=None)
        run[1] = replace(run[1], seen=replace(run[1].seen, modules={"count": blind}))
        assert core_seconds(follow(run)) == 12

    def test_money_is_for_whole_billing_periods_of_each_executor(self) -> None:
        track = follow(ticks([1, 2, 1, 2]))  # one for 8 s, two more of 2 s each
        assert money(track, Prices(executor_hour=3600.0, billing=1.0)) == pytest.approx(12)
        assert money(track, Prices(executor_hour=3600.0, billing=5.0)) == pytest.approx(20)
        assert money(track, Prices(executor_hour=0.0)) == 0

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"executor_hour": -0.1}, "price must not be negative, got -0.1"),
            ({"executor_hour": float("nan")}, "price must be a finite number, got nan"),
            ({"billing": 0.0}, "billing must be above 0s, got 0s"),
        ],
    )
    def test_impossible_prices_are_refused(self, settings: dict[str, float], message: str) -> None:
        with pytest.raises(SettingError, match=message):
            Prices(**settings)

    def test_energy_is_that_of_executors_that_run(self) -> None:
        run = [tick(2, running=1, requested=4), tick(4, running=4)]
        assert joules(run, follow(run)) == pytest.approx(2 * (power(1, 2.0) + power(4, 2.0)))

    def test_idle_is_what_was_paid_for_and_not_used(self) -> None:
        run = [tick(2, running=2, requested=4, busy=0.5), tick(4, running=4, busy=1.0)]
        assert idle_share(run, follow(run)) == pytest.approx(1 - (1 + 4) / 8)

    def test_idle_is_unknown_where_utilisation_is_unknown(self) -> None:
        run = [tick(2, running=2, busy=None)]
        assert idle_share(run, follow(run)) is None


class TestViolations:
    def share(self, *p95: float | None, backlog: float | None = 5.0) -> float | None:
        run = [tick(2.0 * i + 2, running=1, p95=p, backlog=backlog) for i, p in enumerate(p95)]
        return violations(run, 4.0, np.ones(len(run)))["violations"]

    def test_are_a_share_of_the_measured_time(self) -> None:
        assert self.share(1.0, 5.0, 4.0, 6.0) == 0.5

    def test_count_a_silence_that_lasts_longer_than_was_promised(self) -> None:
        assert self.share(1.0, None, None, None, 1.0) == pytest.approx(3 / 5)

    def test_count_a_short_silence_that_ends_late(self) -> None:
        assert self.share(1.0, None, 5.0, 1.0) == 0.5
        assert self.share(1.0, None, 3.0, 1.0) == 0

    def test_leave_out_what_cannot_be_judged(self) -> None:
        assert self.share(5.0, None) == 1.0
        assert self.share(5.0, None, backlog=0.0) == 1.0
        assert self.share(None, backlog=0.0) is None

    def test_take_an_unknown_backlog_for_rows_that_wait(self) -> None:
        assert self.share(1.0, None, None, None, backlog=None) == 0.75

    def test_idle_steps_say_nothing(self) -> None:
        run = [tick(2, running=1, p95=None, backlog=0.0), tick(4, running=1)]
        assert np.isnan(judged(run, 4.0)).tolist() == [True, False]

    def test_rows_are_counted_by_the_quantiles(self) -> None:
        latency = Latency(p50=1.0, p95=2.0, p99=3.0)
        assert [late(latency, x) for x in (0.0, 1.0, 2.0, 9.0)] == [1.0, 0.5, 0.05, 0.0]
        slow = Latency(p50=20.0, p95=21.0, p99=22.0)
        assert [late(slow, x) for x in (10.0, 20.0, 22.0)] == [1.0, 0.5, 0.0]
        run = [tick(2, running=1, p95=4.0), tick(4, running=1, p95=1.0)]
        measured = violations(run, 4.0, np.array([30.0, 10.0]))
        assert measured["late_rows"] == pytest.approx(0.05 * 0.75)

    def test_rows_that_never_came_out_are_late(self) -> None:
        silent = [tick(2.0 * i, running=1, p95=None, backlog=9.0) for i in (2, 3, 4)]
        run = [tick(2, running=1), *silent]
        came = np.full(4, 20.0)
        assert violations(run, 4.0, came, came)["late_rows"] == pytest.approx(60 / 80)
        run.append(tick(10, running=1))
        assert violations(run, 4.0, np.ones(5), np.ones(5))["late_rows"] == 0


class TestElasticity:
    def test_lacking_and_wasted_executors_do_not_cancel_out(self) -> None:
        measured = elasticity(follow(ticks([1, 4, 2, 2])), {"count": np.array([2.0, 2, 2, 2])})
        assert measured["theta_u"] == pytest.approx(100 * 0.5 / 4)
        assert measured["theta_o"] == pytest.approx(100 * 1.0 / 4)
        assert (measured["tau_u"], measured["tau_o"]) == (25.0, 25.0)


class TestSaso:
    def test_a_reversal_is_a_change_against_the_one_before(self) -> None:
        assert reversals(ticks([1, 2, 3, 2, 2, 3, 4])) == 2

    def test_properties_beside_a_steady_clairvoyant(self) -> None:
        run = ticks([1, 5, 4, 3, 2, 2, 2, 2])
        ideal = follow(ticks([2] * 8))
        measured = saso(run, follow(run), ideal, GRAPH)
        assert measured["rescales_per_hour"] == pytest.approx(4 * 3600 / 16)
        assert measured["reversals_per_hour"] == pytest.approx(1 * 3600 / 16)
        assert measured["overshoot"] == 3
        assert measured["settling_time"] == 6  # steps two and three are still off by more than one
        assert measured["accuracy"] == pytest.approx((2 + 1) / 6)  # of the six steps after 4 s

    def test_accuracy_is_measured_while_the_clairvoyant_is_steady(self) -> None:
        run = ticks([4, 4, 4, 4, 3, 3])
        measured = saso(run, follow(run), follow(ticks([2] * 6)), GRAPH)
        assert measured["accuracy"] == pytest.approx((2 + 2 + 1 + 1) / 4)  # the first 4 s are not

    def test_a_stretch_that_never_settles_counts_with_its_length(self) -> None:
        run = ticks([6, 6, 6, 6])
        measured = saso(run, follow(run), follow(ticks([2, 2, 3, 3])), GRAPH)
        assert measured["settling_time"] == 4
        assert measured["accuracy"] is None

    def test_runs_with_other_moments_are_compared_by_time(self) -> None:
        seen = np.array([2.1, 3.9, 6.2])
        assert aligned(follow(ticks([1, 2, 3])), seen).running["count"].tolist() == [1, 2, 3]


def test_every_measure_is_there_and_in_some_table() -> None:
    run = ticks([2, 2, 3, 3])
    by = Yardstick(
        graph=GRAPH,
        promised=4.0,
        prices=Prices(executor_hour=3600.0),
        demand={"count": np.array([2.0, 2, 3, 3])},
        step=2.0,
        ideal=follow(run),
    )
    measured = scores(run, by)
    assert list(measured) == list(MEASURES)
    assert {name for table in TABLES.values() for name in table} == set(MEASURES)
    assert (measured["core_seconds"], measured["money"], measured["violations"]) == (20, 20, 0)
    assert (measured["overshoot"], measured["theta_u"], measured["backlog_max"]) == (0, 0, 0)
    assert (measured["latency_p95"], measured["reconfigurations"]) == (1.0, 1)
