"""Prometheus gets names it can count on, and silence where nothing is known."""

import json
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    Power,
    RegionReading,
    Tick,
)
from penstock.dashboard import MetricsState, render
from penstock.dashboard.grafana import dashboard, expressions
from penstock.record import summarise
from tests.support.dashboard_runs import GRAPH, settings, ticks
from tests.support.paths import DOCS

Labels = frozenset[tuple[str, str]]


def scraped(text: str) -> dict[str, dict[Labels, float]]:
    """What Prometheus' own parser reads."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def label(**labels: str) -> Labels:
    return frozenset(labels.items())


def fed(run: list[Tick], **other: object) -> MetricsState:
    state = MetricsState.of(settings(**other))
    for tick in run:
        state.add(tick)
    return state


def everything() -> MetricsState:
    """A state in which every family has a sample."""
    reading = ModuleReading(
        arrival_rate=10.0,
        processed_rate=9.0,
        backlog=1.0,
        utilisation=0.5,
        load=1.2,
        batch_duration=0.4,
        service_time=0.01,
        failed_tasks=0,
        wanted=2,
        requested=2,
        running=1,
    )
    seen = Observation(
        at=1.0,
        step=1.0,
        pool=3,
        frequency=2.0,
        modules={"splitter": reading, "counter": reading},
        queries={"q": reading},
        latency=Latency(p50=0.1, p95=0.2, p99=0.3),
        power=Power(watts=30.0, modelled=True),
        regions={"dc1": RegionReading(nodes=1, wanted=2, requested=2)},
    )
    decided = Decision(
        configuration=Configuration(degrees={"splitter": 3}),
        why="-",
        expects={"arrival_rate:splitter": 12.0},
    )
    run = Tick(seen=seen, decided=decided, asked=decided.configuration)
    return fed([run])


def test_the_metrics_are_those_of_the_last_tick_and_the_sums_of_all() -> None:
    run = ticks(100)
    found = scraped(render(fed(run)))
    seen = run[-1].seen
    splitter = seen.modules["splitter"]
    module = label(module="splitter")
    assert found["penstock_arrival_rate_rows_per_second"][module] == splitter.arrival_rate
    assert found["penstock_forecast_rate_rows_per_second"][module] == pytest.approx(
        run[-1].decided.expects["arrival_rate:splitter"]
    )
    executors = found["penstock_executors"]
    assert executors[label(module="splitter", state="running")] == splitter.running
    assert found["penstock_ticks_total"][label()] == 100
    summary = summarise(run, 2.0, source="splitter", graph=GRAPH)
    assert summary.slo is not None
    assert summary.energy is not None
    assert found["penstock_slo_violations_total"][label()] == summary.slo.violated > 0
    assert found["penstock_cost_total"][label()] == pytest.approx(summary.cost)
    assert found["penstock_energy_joules_total"][label()] == pytest.approx(summary.energy.joules)
    assert found["penstock_executor_seconds_total"][label()] == pytest.approx(
        summary.executor_seconds_total
    )
    decisions = found["penstock_decisions_total"]
    assert sum(decisions.values()) == 2 * 100
    assert decisions[label(module="splitter", action="out")] == summary.scale_outs
    assert decisions[label(module="counter", action="hold")] == 100
    assert found["penstock_last_tick_timestamp_seconds"][label()] == (
        settings().started.timestamp() + 100
    )


def test_what_is_unknown_is_absent_and_never_zero() -> None:
    seen = Observation(at=1.0, step=1.0, modules={"splitter": ModuleReading(running=2)})
    decided = Decision(configuration=Configuration(degrees={}), why="-")
    state = fed([Tick(seen=seen, decided=decided, asked=None)], slo_latency_p95=None)
    assert set(scraped(render(state))) == {
        "penstock_info",
        "penstock_up",
        "penstock_last_tick_timestamp_seconds",
        "penstock_executors",
        "penstock_executor_seconds_total",
        "penstock_module_executor_seconds_total",
        "penstock_ticks_total",
        "penstock_decisions_total",
        "penstock_reconfigurations_total",
    }
    assert (
        label(module="splitter", state="wanted") not in scraped(render(state))["penstock_executors"]
    )


def test_there_is_something_to_scrape_before_the_first_tick() -> None:
    found = scraped(render(MetricsState(pipeline="p")))
    assert found["penstock_ticks_total"][label()] == 0
    assert "penstock_last_tick_timestamp_seconds" not in found


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "two\nlines", "ünï{}=,", "\\n"])
def test_any_name_survives_as_a_label(name: str) -> None:
    seen = Observation(at=1.0, step=1.0, modules={name: ModuleReading(backlog=5.0)})
    decided = Decision(configuration=Configuration(degrees={name: 1}), why="-")
    state = MetricsState(pipeline=name)
    state.add(Tick(seen=seen, decided=decided, asked=None))
    found = scraped(render(state))
    assert found["penstock_backlog_rows"] == {label(module=name): 5.0}
    assert dict(next(iter(found["penstock_info"])))["pipeline"] == name


def test_each_family_stands_once_with_its_kind_and_counters_end_in_total() -> None:
    text = render(everything())
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert len(re.findall(r"^# TYPE", text, re.MULTILINE)) == len(kinds)
    for name, kind in kinds.items():
        assert (kind == "counter") == name.endswith("_total")
        assert name.startswith("penstock_")
    assert text.endswith("\n")


def test_dry_runs_tell_what_they_recommend() -> None:
    seen = Observation(at=1.0, step=1.0, modules={"a": ModuleReading(running=1)})
    decided = Decision(
        configuration=Configuration(degrees={"a": 1}),
        proposed=Configuration(degrees={"a": 4}),
        why="dry run: a would go from 1 to 4",
    )
    state = MetricsState(pipeline="p")
    state.add(Tick(seen=seen, decided=decided, asked=None))
    assert scraped(render(state))["penstock_recommended_executors"] == {label(module="a"): 4.0}


def test_every_metric_is_documented_and_nothing_else_is() -> None:
    documented = set(
        re.findall(r"^\| `(penstock_\w+)", (DOCS / "metrics.md").read_text(), re.MULTILINE)
    )
    assert documented == set(scraped(render(everything())))


def test_grafana_asks_only_for_what_there_is() -> None:
    found = scraped(render(everything()))
    labels = {
        name: {key for sample in samples for key, _ in sample} for name, samples in found.items()
    }
    asked = expressions()
    assert len(asked) > 20
    for expression in asked:
        used = re.findall(r"(penstock_\w+)(?:\{([^}]*)\})?", expression)
        assert used, expression
        for name, matchers in used:
            keys = set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", matchers))
            assert keys <= labels[name] | {"instance"}, expression  # Prometheus adds the instance
            grouped = re.findall(r"by \(([^)]*)\)", expression)
            assert {key.strip() for group in grouped for key in group.split(",")} <= labels[name]
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            name = re.search(r"penstock_\w+", target["expr"])
            assert name is not None
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert shown <= labels[name[0]]


def test_the_dashboard_in_the_documentation_is_the_one_that_is_printed() -> None:
    assert json.loads((DOCS / "grafana" / "penstock.json").read_text()) == dashboard()
