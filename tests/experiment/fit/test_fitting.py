"""A twin fitted to the recording of a known twin is that twin again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.core.errors import FileError
from penstock.core.graph import Module
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.experiment.fit import Estimate, fit, judgement, predict
from penstock.experiment.fit.estimate import steady_mean, waits
from penstock.experiment.fit.predicting import RecordedDecisions, play, seeds
from penstock.record import load
from penstock.workload import Constant
from tests.support.fit_recordings import BATCHES, ROWS, pipeline, recorded, written


def by_setting(estimates: tuple[Estimate, ...]) -> dict[tuple[str, str], Estimate]:
    return {(one.of, one.setting): one for one in estimates}


@pytest.mark.parametrize("seed", [1, 2, 3])
class TestMicroBatches:
    def test_services_and_overheads_are_found_again(self, tmp_path: Path, seed: int) -> None:
        graph = fit(recorded(pipeline(BATCHES), tmp_path, seed=seed)).file.graph
        splitter, counter = graph["splitter"], graph["counter"]
        assert splitter.service_time == pytest.approx(0.005, rel=0.02)
        assert splitter.service_cv == pytest.approx(0.5, rel=0.05)
        assert splitter.overhead + splitter.task_overhead == pytest.approx(0.25, rel=0.15)
        assert counter.service_time == pytest.approx(0.002, rel=0.01)
        assert counter.overhead + counter.task_overhead == pytest.approx(0.55, rel=0.1)
        assert counter.task_overhead == pytest.approx(0.15, rel=0.3)

    def test_selectivity_and_start_up_are_found_again(self, tmp_path: Path, seed: int) -> None:
        graph = fit(recorded(pipeline(BATCHES), tmp_path, seed=seed)).file.graph
        assert graph.streams[0].selectivity == pytest.approx(2.5, rel=0.02)
        # a step of 2 s sees that an executor has come, not when
        assert graph["splitter"].start_up == pytest.approx(7, abs=1)
        assert graph["counter"].start_up == pytest.approx(5, abs=1)

    def test_another_run_is_predicted(self, tmp_path: Path, seed: int) -> None:
        known = fit(recorded(pipeline(BATCHES), tmp_path / "a", seed=seed))
        fixed = ("name: threshold", "name: static, degrees: 3")
        slower = ("period: 80s", "period: 110s")
        other = recorded(pipeline(BATCHES, fixed, slower), tmp_path / "b", seed=seed + 10)
        for prediction in predict(other, known.estimates):
            for name in ("latency_p50", "latency_p95", "latency_p99"):
                assert prediction.error(name) == pytest.approx(0, abs=0.06)
            assert prediction.error("executors_mean") == pytest.approx(0, abs=0.02)
            assert prediction.error("throughput") == pytest.approx(0, abs=0.02)

    def test_another_run_that_scales_is_predicted(self, tmp_path: Path, seed: int) -> None:
        """What chance does to such a run, at one setting, is some 10 % of its latency."""
        known = fit(recorded(pipeline(BATCHES), tmp_path / "a", seed=seed))
        slower = ("period: 80s", "period: 110s")
        other = recorded(pipeline(BATCHES, slower), tmp_path / "b", seed=seed + 10)
        by_policy, _ = predict(other, known.estimates)
        assert by_policy.error("executors_mean") == pytest.approx(0, abs=0.1)
        assert "good enough to compare policies" in judgement(by_policy)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_graph_with_two_ways_served_row_by_row_is_found_again(tmp_path: Path, seed: int) -> None:
    run = recorded(pipeline(ROWS), tmp_path, seed=seed)
    graph = fit(run).file.graph
    for name, mean, cv in (("left", 0.06, 1.0), ("right", 0.03, 0.3), ("join", 0.015, 0.0)):
        assert graph[name].service_time == pytest.approx(mean, rel=0.04)
        assert graph[name].service_cv == pytest.approx(cv, rel=0.06)
    shares = {(s.origin, s.target): s.probability * s.selectivity for s in graph.streams}
    assert shares["dispatcher", "left"] == pytest.approx(0.3, rel=0.03)
    assert shares["dispatcher", "right"] == pytest.approx(0.7, rel=0.03)
    assert shares["right", "join"] == pytest.approx(0.5, rel=0.03)
    assert graph["left"].start_up == pytest.approx(12, abs=2.5)
    by_policy, by_decisions = predict(run, fit(run).estimates)
    assert by_policy.error("executors_mean") == pytest.approx(0, abs=0.1)
    assert by_decisions.error("executor_seconds") == pytest.approx(0, abs=0.05)


def test_a_wrong_file_is_put_right(tmp_path: Path) -> None:
    """What the file assumed counts for nothing where there are measurements."""
    known = pipeline(BATCHES)
    ticks = play(known, seed=1)
    assumed: dict[str, Any] = {"service_time": 1.0, "overhead": 9.0, "start_up": 99.0}
    slower = [replace(m, **assumed) for m in known.graph.modules]
    wrong = replace(known, graph=replace(known.graph, modules=tuple(slower)))
    right = fit(written(known, ticks, tmp_path / "right"))
    assert fit(written(wrong, ticks, tmp_path / "wrong")).file.graph == right.file.graph


def test_the_twin_has_what_the_run_had(tmp_path: Path) -> None:
    known = pipeline(BATCHES, ("max_replicas: 4, trigger", "max_replicas: 3, trigger"))
    file = fit(recorded(known, tmp_path)).file
    assert (file.policy, file.guards, file.slo) == (known.policy, known.guards, known.slo)
    assert (file.step, file.duration) == pytest.approx((2.0, 240.0))
    assert [m.max_replicas for m in file.graph.modules] == [3, 3]
    assert [m.trigger for m in file.graph.modules] == [1.0, 1.0]


def test_max_batch_stays_the_same_number_of_rows(tmp_path: Path) -> None:
    known = pipeline(BATCHES, ("service_time: 5ms", "service_time: 5ms, max_batch: 1s"))
    ticks = play(known, seed=1)
    assumed = [replace(m, service_time=m.service_time / 2) for m in known.graph.modules]
    wrong = replace(known, graph=replace(known.graph, modules=tuple(assumed)))
    fitted = fit(written(wrong, ticks, tmp_path)).file.graph["splitter"]
    assert fitted.rows_a_batch == pytest.approx(400, abs=1)


def test_steps_that_do_not_tell_their_rate_lie_between_the_others(tmp_path: Path) -> None:
    known = pipeline(BATCHES)
    ticks = play(known, seed=1)
    gaps = [_without(tick, "arrival_rate") if 20 < tick.seen.at < 30 else tick for tick in ticks]
    whole = fit(written(known, ticks, tmp_path / "whole")).file.workload
    filled = fit(written(known, gaps, tmp_path / "gaps")).file.workload
    at = [float(tick.seen.at) for tick in ticks]
    assert filled.arrivals(np.array(at)) == pytest.approx(whole.arrivals(np.array(at)), rel=0.1)


def test_what_is_not_measured_keeps_the_files_value_and_says_so(tmp_path: Path) -> None:
    known = pipeline(BATCHES)
    ticks = [
        _without(tick, "service_time", "service_cv", "batch_duration", "utilisation")
        for tick in play(known, seed=1)
    ]
    estimates = by_setting(fit(written(known, ticks, tmp_path)).estimates)
    for setting in ("service_time", "service_cv", "overhead", "task_overhead"):
        one = estimates["splitter", setting]
        assert one.kept
        assert one.value == one.file == getattr(known.graph["splitter"], setting)
        assert one.how
    assert not estimates["splitter -> counter", "selectivity"].kept


def test_service_times_come_from_busy_executors_where_no_row_was_timed(tmp_path: Path) -> None:
    known = pipeline(ROWS)
    ticks = [_without(tick, "service_time", "service_cv") for tick in play(known, seed=1)]
    fitted = fit(written(known, ticks, tmp_path))
    assert fitted.file.graph["left"].service_time == pytest.approx(0.06, rel=0.04)
    assert (
        by_setting(fitted.estimates)["left", "service_time"].how
        == "busy executors by rows finished"
    )


class TestStartUp:
    def test_each_executor_is_counted_from_its_own_request(self) -> None:
        ticks = _scaling(running=[1, 1, 1, 2, 3, 3], asked={1: 2, 2: 3})
        assert waits(ticks, "count") == [1.5, 1.5]

    def test_one_that_was_given_up_is_left_out(self) -> None:
        ticks = _scaling(running=[1, 1, 1, 1, 2, 2], asked={1: 3, 2: 2})
        assert waits(ticks, "count") == [2.5]

    def test_one_that_comes_unasked_is_left_out(self) -> None:
        assert waits(_scaling(running=[1, 2, 2], asked={}), "count") == []


def _scaling(*, running: list[int], asked: dict[int, int]) -> list[Tick]:
    """A step a second; what was asked for, by step."""
    ticks, requested = [], running[0]
    for step, count in enumerate(running):
        reading = ModuleReading(requested=requested, running=count)
        requested = asked.get(step, requested)
        wanted = Configuration(degrees={"count": requested})
        ticks.append(
            Tick(
                seen=Observation(at=step + 1.0, step=1.0, modules={"count": reading}),
                decided=Decision(configuration=wanted, why="-"),
                asked=wanted if step in asked else None,
            )
        )
    return ticks


def test_recorded_decisions_are_made_again(tmp_path: Path) -> None:
    run = recorded(pipeline(BATCHES), tmp_path)
    again = play(fit(run).file, RecordedDecisions.of(run.ticks))
    assert [t.asked and t.asked.degrees for t in again] == [
        t.asked and t.asked.degrees for t in run.ticks
    ]


def test_a_flood_of_rows_is_played_once(tmp_path: Path) -> None:
    file = fit(recorded(pipeline(BATCHES), tmp_path)).file
    assert len(seeds(file)) == 5
    assert len(seeds(replace(file, workload=Constant(1e6)))) == 1


def test_one_mishap_moves_no_mean() -> None:
    assert steady_mean([2.0] * 9 + [900.0], [1.0] * 10) == 2.0


class TestRefusals:
    def test_too_short(self, tmp_path: Path) -> None:
        known = pipeline(BATCHES)
        run = written(known, play(known)[:9], tmp_path)
        with pytest.raises(FileError, match=r"has 9 steps, and a fit needs at least 10; record a"):
            fit(run)

    def test_nothing_ran(self, tmp_path: Path) -> None:
        known = pipeline(BATCHES)
        ticks = [_without(tick, "processed_rate") for tick in play(known)]
        with pytest.raises(FileError, match=r"no row was processed; record a run with rows in it"):
            fit(written(known, ticks, tmp_path))

    def test_rows_never_reported(self, tmp_path: Path) -> None:
        known = pipeline(BATCHES)
        ticks = [_without(tick, "arrival_rate") for tick in play(known)]
        with pytest.raises(FileError, match=r"has no arrival rate of splitter; record"):
            fit(written(known, ticks, tmp_path))

    def test_keys(self, tmp_path: Path) -> None:
        known = pipeline(BATCHES)
        keyed = replace(known.graph, modules=tuple(_keyed(m) for m in known.graph.modules))
        run = written(replace(known, graph=keyed), play(known), tmp_path)
        with pytest.raises(FileError, match=r"rows routed by key \(counter\), and `fit` makes no"):
            fit(run)

    def test_another_pipeline(self, tmp_path: Path) -> None:
        known = fit(recorded(pipeline(BATCHES), tmp_path / "a"))
        other = recorded(pipeline(ROWS), tmp_path / "b")
        with pytest.raises(FileError, match=r"a twin predicts runs of its own pipeline"):
            predict(other, known.estimates)

    def test_half_written_folders_are_fitted_and_reported(self, tmp_path: Path) -> None:
        recorded(pipeline(BATCHES), tmp_path)
        (tmp_path / "summary.json").unlink()
        lines = (tmp_path / "ticks.jsonl").read_text()
        (tmp_path / "ticks.jsonl").write_text(lines[: len(lines) - 100])
        (tmp_path / "progress.jsonl").write_text('{"name": "splitter", "durationMs": {"addB')
        fitted = fit(load(tmp_path))
        assert fitted.file.graph["splitter"].service_time == pytest.approx(0.005, rel=0.02)
        assert fitted.notes[0].endswith(
            "the run did not finish; the last line of ticks.jsonl was cut short and is left out"
        )


def test_a_dry_run_is_fitted_and_its_twin_acts(tmp_path: Path) -> None:
    known = pipeline(BATCHES, ("in: 12s}}]", "in: 12s}}, dry-run]"))
    run = recorded(known, tmp_path)
    fitted = fit(run)
    assert "dry-run" not in [guard.name for guard in fitted.file.guards]
    assert "dry run: no executor was asked for" in fitted.notes[0]
    assert by_setting(fitted.estimates)["splitter", "start_up"].kept
    by_policy, _ = predict(run, fitted.estimates)
    assert by_policy.error("executors_mean") == 0  # the prediction is as dry as the run


def _without(tick: Tick, *fields: str) -> Tick:
    blank = dict.fromkeys(fields)
    modules = {name: replace(seen, **blank) for name, seen in tick.seen.modules.items()}
    return replace(tick, seen=replace(tick.seen, modules=modules))


def _keyed(module: Module) -> Module:
    return replace(module, keys=9) if module.name == "counter" else module
