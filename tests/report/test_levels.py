"""The page shows both levels of a pipeline of panes, and what load from outside did to it."""

from collections.abc import Callable
from math import pi, sin
from pathlib import Path

import numpy as np
import pytest

from penstock.cli.session import Written, lines
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Configuration, Decision, Latency, ModuleReading, Observation, Tick
from penstock.record import summarise
from tests.support.reports import Page, a_run, demo, read, settings

GRAPH = FlowGraph(
    source="plq",
    modules=(Module(name="plq", service_time=0.001), Module(name="wlq", service_time=0.002)),
    streams=(Stream(origin="plq", target="wlq", selectivity=0.01),),
)
BESIDE = {"processes": 2, "from": "40.0s", "until": "100.0s", "slowdown": 1.5}


def file(**other: object) -> dict[str, object]:
    query = {"kind": "skyline", "window": "1.0s", "slide": "0.2s"}
    policy = {"name": "fuzzy", "setpoint": 0.8}
    return {"pipeline": "preference", "query": query, "policy": policy, **other}


def tick(at: float, plq: int, wlq: int = 2, *, more: int = 0, **measured: float | None) -> Tick:
    """A step of four seconds that ends at that moment."""
    degrees = {"plq": plq, "wlq": wlq}
    readings = {
        name: ModuleReading(wanted=n, requested=n, running=n) for name, n in degrees.items()
    }
    readings["plq"] = ModuleReading(
        wanted=plq,
        requested=plq,
        running=plq,
        **measured,  # type: ignore[arg-type]
    )
    asked = Configuration(degrees={**degrees, "plq": plq + more}) if more else None
    decided = Decision(configuration=asked or Configuration(degrees=degrees), why="as it was")
    seen = Observation(at=at, step=4.0, modules=readings)
    return Tick(seen=seen, decided=decided, asked=asked)


def slowed(length: int = 36, seed: int = 1) -> list[Tick]:
    """A made-up run of two stages under a tide, slowed by a half from 40 s to 100 s."""
    random = np.random.default_rng(seed)
    plq, wlq, ticks = 2, 1, []
    for index in range(1, length + 1):
        at = 4.0 * index
        pace = 1.5 if 40 <= at - 4 < 100 else 1.0
        rate = 2600 + 500 * sin(2 * pi * index / 30) + random.normal(0, 150)
        parts = 1 + abs(random.normal(0.8, 0.4)) * pace
        rho = {"plq": rate * pace / (950 * plq), "wlq": rate * pace / (2300 * wlq)}
        wanted = {
            "plq": max(1, round(plq * rho["plq"] / 0.9)),
            "wlq": max(1, round(wlq * rho["wlq"] / 0.9)),
        }
        acts = wanted != {"plq": plq, "wlq": wlq}
        late = 0.5 + max(0.0, rho["plq"] - 0.8)
        done = {"processed_rate": rate / max(1.0, rho["plq"]), "arrival_rate": rate}
        readings = {
            name: ModuleReading(
                load=rho[name],
                utilisation=min(1.0, rho[name]),
                wanted=n,
                requested=n,
                running=n,
                **more,  # type: ignore[arg-type]
            )
            for name, n, more in (
                ("plq", plq, {"splitting": parts, "backlog": 900 * max(0, rho["plq"] - 1), **done}),
                ("wlq", wlq, {"results_rate": 5 / max(1.0, *rho.values())}),
            )
        }
        seen = Observation(
            at=at, step=4.0, modules=readings, latency=Latency(p50=late, p95=2 * late, p99=3 * late)
        )
        asked = Configuration(degrees=wanted) if acts else None
        why = f"load {rho['plq']:.0%} at plq, {rho['wlq']:.0%} at wlq"
        decided = Decision(configuration=asked or Configuration(degrees={}), why=why)
        ticks.append(Tick(seen=seen, decided=decided, asked=asked))
        plq, wlq = wanted["plq"], wanted["wlq"]
    return ticks


Show = Callable[..., Page]


@pytest.fixture
def shown(tmp_path: Path) -> Show:
    """The page of a run of two stages."""

    def show(ticks: list[Tick], plant: str = "spark", **other: object) -> Page:
        path = a_run(tmp_path / "run", ticks, graph=GRAPH, plant=plant, file=file(**other))
        return read(path)

    return show


def test_both_levels_have_plots_with_what_they_aim_at(shown: Show) -> None:
    page = shown(slowed())
    headings = page.titles
    assert headings.index("plq, splitting factor") == headings.index("plq") + 1
    assert {"Load", "Windows"} <= set(headings)
    assert {"setpoint: 80 %", "one a slide: 5/s"} <= page.legends
    limits = [data for data in page.figures if data["limit"]]
    assert len(limits) == 1 + 2  # the promised latency has one, too


def test_a_run_without_such_readings_has_no_such_plots(tmp_path: Path) -> None:
    page = read(a_run(tmp_path / "run", demo(5)))
    headings = page.titles
    assert not {"Load", "Windows", "splitter, splitting factor"} & set(headings)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ({"name": "fuzzy", "setpoint": 0.7}, "setpoint: 70 %"),
        ({"name": "fuzzy"}, "setpoint: 90 %"),
        ({"name": "threshold"}, None),
        ("threshold", None),
        (None, None),
        ({"name": "nobody-knows-it"}, None),
    ],
)
def test_the_setpoint_is_that_of_the_policy(shown: Show, policy: object, line: str | None) -> None:
    page = shown([tick(4, 2, load=0.9), tick(8, 2, load=0.3)], policy=policy)
    assert {text for text in page.legends if "setpoint" in text} == ({line} if line else set())


@pytest.mark.parametrize("query", [None, {}, {"slide": "never"}, {"slide": "0s"}, "skyline"])
def test_windows_without_a_slide_have_no_line_to_reach(shown: Show, query: object) -> None:
    page = shown([tick(4, 2, results_rate=5.0), tick(8, 2, results_rate=4.0)], query=query)
    assert not [text for text in page.legends if "slide" in text]
    assert "Windows" in page.titles


def test_load_from_outside_is_a_band_on_executors_and_load(shown: Show) -> None:
    page = shown(slowed(), interference=BESIDE)
    bands = [data["during"] for data in page.figures if data["during"]]
    assert len(bands) == 3 + 2  # two modules and the splitting; load and utilisation
    assert {(band["from"], band["to"]) for band in bands} == {(40.0, 100.0)}
    assert "beside 2 busy processes" in page.legends


def test_the_page_reports_with_how_many_executors_it_was_met(shown: Show) -> None:
    ticks = [tick(4 * n, 5 if 40 < 4 * n <= 100 else 1) for n in range(1, 31)]
    page = shown(ticks, interference=BESIDE)
    assert (
        "Beside the executors ran 2 busy processes from 40 s to 100 s: "
        "3 executors on average before, 7 during, 3 after." in page.text("p")
    )


def test_a_step_counts_by_how_much_of_it_lies_within(shown: Show) -> None:
    ticks = [tick(4, 1), tick(8, 3), tick(12, 3)]
    page = shown(ticks, interference={"processes": 1, "from": "6s"})
    assert "Beside the executors ran 1 busy process from 6 s on: " in page.text("p")
    assert f"{(3 * 4 + 5 * 2) / 6:.3g} executors on average before, 5 during." in page.text("p")


def test_a_twin_reports_how_much_longer_rows_took(shown: Show) -> None:
    page = shown([tick(4, 1, load=0.9), tick(8, 3)], plant="twin", interference={"processes": 2})
    assert "Rows took 3 times as long throughout, as beside 2 busy processes: " in page.text("p")
    assert "rows take 3 times as long" in page.legends


@pytest.mark.parametrize(
    ("plant", "given"),
    [
        ("spark", None),
        ("spark", {"processes": 0}),
        ("spark", {"processes": 2, "from": "300s"}),  # the run ended before
        ("spark", {"processes": -2}),  # somebody edited the recording
        ("spark", "2"),
        ("twin", {"processes": 2}),  # which measures no load, and so is not of panes
    ],
)
def test_interference_without_effect_is_not_reported(
    shown: Show, plant: str, given: object
) -> None:
    page = shown([tick(4, 1), tick(8, 3)], plant=plant, interference=given)
    assert not any(data["during"] for data in page.figures)
    assert "beside" not in page.text("p").lower()


def test_load_from_outside_is_reported_where_executors_are_unknown(shown: Show) -> None:
    seen = Observation(at=4.0, step=4.0, modules={"plq": ModuleReading()})
    decided = Decision(configuration=Configuration(degrees={}), why="as it was")
    page = shown([Tick(seen=seen, decided=decided, asked=None)], interference={"processes": 2})
    assert "Beside the executors ran 2 busy processes throughout." in page.text("p")


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_run_of_any_length_has_a_report(shown: Show, length: int) -> None:
    assert len(shown(slowed(length), interference=BESIDE).all("figure")) == (10 if length else 0)


def test_a_load_beyond_all_bounds_stays_on_its_plot(shown: Show) -> None:
    page = shown([tick(4, 1, load=40.0), tick(8, 1, load=float("inf")), tick(12, 1, load=0.9)])
    [plot] = [data for data in page.figures if data["title"] == "Load"]
    assert plot["series"][0]["y"] == [40.0, None, 0.9]


def test_the_terminal_reports_stages_only_where_something_was_measured() -> None:
    def printed(ticks: list[Tick]) -> list[str]:
        written = Written(folder=Path("r"), report=Path("r"), summary=summarise(ticks, None))
        return [" ".join(line.split()) for line in lines(settings(graph=GRAPH), written)]

    measured = tick(4, 2, load=1.234, splitting=2.25, results_rate=4.9)
    assert "stages load of plq 123 %; 2.25 parts a pane; 4.9 windows/s" in printed([measured])
    assert not [line for line in printed([tick(4, 2)]) if line.startswith("stages")]


def test_means_are_weighted_by_time_and_only_of_what_was_measured() -> None:
    ticks = [tick(4, 2, load=0.8, splitting=2.0), tick(8, 2, load=float("inf")), tick(12, 2)]
    summary = summarise([*ticks, tick(16, 2, load=1.0, results_rate=5.0)], None)
    assert summary.load_mean == {"plq": pytest.approx(0.9)}
    assert summary.splitting_mean == {"plq": 2.0}
    assert summary.results_rate_mean == {"plq": 5.0}
    assert summarise([tick(4, 2)], None).load_mean == {}
