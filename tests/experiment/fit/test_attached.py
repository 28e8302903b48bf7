"""A twin of an application that was attached to: one module, whatever its queries are."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Tick
from penstock.experiment.fit import decisive, fit, predict
from penstock.experiment.fit.predicting import play
from penstock.record import Run, RunFolder, RunSettings, load
from tests.support.fit_recordings import pipeline

APPLICATION = """
step: 5s
duration: 400s
workload: {kind: daily, low: 100/s, high: 400/s, period: 200s}
policy: {name: threshold, max_utilisation: 0.6}
source: {module: application}
modules:
  application: {service_time: 8ms, max_replicas: 8, trigger: 100ms, overhead: 300ms, start_up: 10s}
"""


def attached(path: Path, *blank: str, mode: str = "apply", policy: str = "threshold") -> Run:
    """What `attach` leaves: a graph without settings, and steps that lack what nobody told."""
    text = APPLICATION if mode == "apply" else APPLICATION + "guards: [dry-run]\n"
    ticks = [_as_attached(tick, blank) for tick in play(pipeline(text), seed=3)]
    module = Module(name="application", max_replicas=8)
    file: dict[str, Any] = {
        "attached": {"policy": policy, "policy.max_utilisation": 0.6, "mode": mode},
        "step": 5.0,
        "queries": [{"name": "orders", "feeds": []}],
        "guards": [] if mode == "apply" else ["dry-run"],
    }
    settings = RunSettings(
        pipeline="shop",
        plant="spark",
        started=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        graph=FlowGraph(source="application", modules=(module,)),
        policy=policy,
        slo_latency_p95=8.0,
        file=file,
    )
    with RunFolder.create(path, settings) as folder:
        for tick in ticks:
            folder.write(tick)
    return load(path)


def _as_attached(tick: Tick, blank: tuple[str, ...]) -> Tick:
    whole = tick.seen.modules["application"]
    reading = replace(whole, service_cv=None, **dict.fromkeys(blank))
    seen = replace(tick.seen, modules={"application": reading}, queries={"orders": reading})
    return replace(tick, seen=seen)


def test_the_graph_is_one_module_with_the_policy_that_was_attached(tmp_path: Path) -> None:
    run = attached(tmp_path)
    file = fit(run).file
    [module] = file.graph.modules
    assert module.service_time == pytest.approx(0.008, rel=0.02)
    assert module.overhead + module.task_overhead == pytest.approx(0.3, rel=0.15)
    assert module.start_up == pytest.approx(10, abs=2.5)
    assert module.trigger == 0.1  # batches follow one another
    assert (file.name, file.slo.latency_p95) == ("shop", 8.0)
    assert (file.policy.name, dict(file.policy.settings)) == ("threshold", {"max_utilisation": 0.6})
    by_policy, by_decisions = predict(run, fit(run).estimates)
    assert by_policy.error("executors_mean") == pytest.approx(0, abs=0.1)
    assert by_decisions.error("latency_p95") == pytest.approx(0, abs=0.15)


def test_without_service_times_executors_that_were_busy_tell_them(tmp_path: Path) -> None:
    run = attached(tmp_path, "service_time")
    [module] = fit(run).file.graph.modules
    assert module.service_time == pytest.approx(0.008, rel=0.05)


def test_advice_that_was_not_followed_is_a_dry_run(tmp_path: Path) -> None:
    run = attached(tmp_path, mode="advise")
    fitted = fit(run)
    assert any("dry run" in note for note in fitted.notes)
    by_policy, _ = predict(run, fitted.estimates)
    assert by_policy.error("executors_mean") == 0
    assert [guard.name for guard in fitted.file.guards] == ["hold"]


def test_a_policy_of_ones_own_is_replaced_and_that_is_reported(tmp_path: Path) -> None:
    fitted = fit(attached(tmp_path, policy="my_rule"))
    assert fitted.file.policy.name == "threshold"
    assert any("decided by my_rule, which is no policy of Penstock's" in n for n in fitted.notes)


def test_a_twin_is_not_blamed_for_a_policy_that_stands_in(tmp_path: Path) -> None:
    theirs, ours = attached(tmp_path / "a", policy="my_rule"), attached(tmp_path / "b")
    for run, by in ((theirs, "decisions"), (ours, "policy")):
        assert decisive(run, predict(run, fit(run).estimates)).by == by
