"""The page shows the clock, the power and every decision about them; what is modelled says so."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Power, Tick
from penstock.record import RunFolder, summarise
from penstock.report.decisions import rows
from tests.support.reports import Page, a_run, demo, read, settings

KEYED = FlowGraph(source="splitter", modules=(Module(name="splitter", keys=50),))


def tick(
    at: float,
    *,
    ghz: float | None = 2.0,
    power: Power | None = None,
    asked: Configuration | None = None,
    why: str = "as it was",
) -> Tick:
    reading = ModuleReading(requested=2, running=2, processed_rate=100.0)
    seen = Observation(at=at, step=4, modules={"splitter": reading}, frequency=ghz, power=power)
    decided = Decision(configuration=asked or Configuration(degrees={"splitter": 2}), why=why)
    return Tick(seen=seen, decided=decided, asked=asked)


def asking(degree: int, ghz: float | None = None) -> Configuration:
    return Configuration(degrees={"splitter": degree}, frequency=ghz)


def shown(path: Path, ticks: Sequence[Tick], graph: FlowGraph = KEYED) -> Page:
    made = settings(graph=graph)
    with RunFolder.create(path / "run", made) as folder:
        for one in ticks:
            folder.write(one)
        folder.finish(summarise(ticks, None, graph=graph))
    return read(path / "run")


def test_a_run_that_knows_no_clock_and_no_power_has_no_such_plots(tmp_path: Path) -> None:
    page = read(a_run(tmp_path / "run", demo(5)))
    assert "Energy" not in page.text("h2", "dt")


@pytest.mark.parametrize(("modelled", "word"), [(True, "modelled"), (False, "measured")])
def test_power_says_whether_it_is_modelled(tmp_path: Path, modelled: bool, word: str) -> None:
    power = Power(watts=20.0, modelled=modelled)
    page = shown(tmp_path, [tick(4 * n, power=power) for n in range(1, 4)])
    assert "Energy" in page.text("h2")
    for title in ("Clock", "Power"):
        assert title in page.titles
    legend = [data["series"][0]["name"] for data in page.figures[-2:]]
    assert legend == ["modelled" if modelled else "in force", word]
    assert ("modelled" in page.text("dd", "p")) == modelled
    assert f"240 J, 20 W and 2 GHz on average, {'all ' * modelled}{word}." in page.text("p")
    assert {"240 J", "200 mJ", "20 W", "2 GHz"} <= {text for tag, text in page.texts if tag == "dd"}


def test_power_that_is_modelled_in_part_has_two_lines(tmp_path: Path) -> None:
    ticks = [tick(4 * n, power=Power(watts=20.0, modelled=n > 2)) for n in range(1, 6)]
    page = shown(tmp_path, ticks)
    assert {"measured", "modelled"} <= page.legends
    assert "partly modelled" in page.text("dd")


def test_a_clock_alone_is_drawn_alone(tmp_path: Path) -> None:
    page = shown(tmp_path, [tick(4), tick(8)])
    assert "Clock" in page.titles
    assert "Power" not in page.titles
    assert "modelled" not in page.text("dd", "p")
    assert "modelled" not in page.legends


def test_a_change_of_the_clock_is_a_decision_with_a_mark(tmp_path: Path) -> None:
    ticks = [
        tick(4, asked=asking(2, 1.9), why="2 -> 1.9 GHz"),
        tick(8, ghz=1.9),
        tick(12, ghz=1.9, asked=asking(2, 2.0)),
    ]
    page = shown(tmp_path, ticks)
    found = [row["class"] for row in page.all("tr") if "data-at" in row]
    assert found == ["slower", "hold", "faster"]
    assert "clock 2 \u2192 1.9 GHz" in page.text("span")
    assert "2 -> 1.9 GHz" in page.text("td")
    assert (page.marks("in"), page.marks("out")) == (1, 1)
    assert "\u25b2 out or faster" in page.text("p")
    assert "Reconfigured in 2 steps: 0 out, 0 in, 2 of the clock." in page.text("p")


def test_keys_that_move_alone_are_a_decision_with_a_mark(tmp_path: Path) -> None:
    ticks = [tick(4, asked=asking(2), why="50 % of the keys move"), tick(8)]
    page = shown(tmp_path, ticks)
    assert [row["class"] for row in page.all("tr") if "data-at" in row] == ["moved", "hold"]
    assert "splitter: keys moved" in page.text("span")
    assert "50 % of the keys move" in page.text("td")
    assert page.marks("moved") == 1
    assert "keys moved" in page.text("p")
    assert "Reconfigured in 1 step: 0 out, 0 in, 1 of keys only." in page.text("p")


def test_a_degree_and_a_clock_that_change_together_are_one_decision() -> None:
    [row] = rows([tick(4, asked=asking(3, 1.7))], KEYED)
    assert row.kind == "out"
    assert row.what == ("splitter 2 \u2192 3", "clock 2 \u2192 1.7 GHz")


def test_an_unknown_clock_is_set() -> None:
    [row] = rows([tick(4, ghz=None, asked=asking(2, 1.7))], KEYED)
    assert (row.kind, row.what) == ("set", ("clock ? \u2192 1.7 GHz",))


def test_a_clock_that_a_guard_did_not_allow_is_reported() -> None:
    held = tick(4)
    decided = replace(held.decided, proposed=asking(2, 1.7), why="splitter stays")
    [row] = rows([replace(held, decided=decided)], KEYED)
    assert row.reasons == {"splitter stays (proposed: splitter 2, 1.7 GHz)": 1}


def test_long_results_are_folded_and_short_ones_read_well(tmp_path: Path) -> None:
    results = {"rows_refused": {"splitter": {"late": 3, "empty": 0}}, "table": list(range(500))}
    ticks = demo(3)
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        folder.finish(replace(summarise(ticks, None), results=results))
    page = read(tmp_path / "run")
    assert "rows refused" in page.text("dt")
    assert "3 by splitter: 3 late" in page.text("dd")
    assert "498, 499" not in page.text("dd")
    assert "499" in page.text("pre")
