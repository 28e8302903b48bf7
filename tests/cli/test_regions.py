"""A terminal shows regions where there are any, and says of one that it does not answer."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from penstock.cli.session import Written, lines
from penstock.cli.view import Table, line
from penstock.core.signals import Configuration, Decision, RegionReading, Tick
from penstock.pipeline.file import load as load_file
from penstock.record import summarise
from penstock.testing import seen
from tests.support.reports import demo, settings, with_regions

BUSY = {"arrival_rate": 1234.0, "backlog": 56789.0, "utilisation": 0.5, "running": 3}
REGIONS = {
    "dc1": RegionReading(nodes=2, idle=1, unmet=0, wanted=3, requested=3, utilisation=0.6),
    "dc2": RegionReading(trouble="unreachable"),
}


def a_tick() -> Tick:
    asked = Configuration(degrees={"splitter": 2, "counter": 3}, nodes={"dc1": 4, "dc2": 1})
    return Tick(
        seen=replace(seen(at=2.0, splitter=BUSY, counter=BUSY), regions=REGIONS),
        decided=Decision(configuration=asked, why="no room in dc1"),
        asked=asked,
    )


def rendered(*ticks: Tick, width: int, height: int = 25) -> str:
    table = Table(StringIO(), load_file("wordcount"))
    table.live.console = Console(width=width, height=height, file=StringIO(), force_terminal=True)
    for tick in ticks:
        table.show(tick)
    with table.live.console.capture() as captured:
        table.live.console.print(table.render())
    return captured.get()


def row_text(ticks: list[Tick], row: str) -> str:
    written = Written(folder=Path("run"), report=Path("r.html"), summary=summarise(ticks, 2.0))
    found = [text for text in lines(settings(), written) if text.split()[:1] == [row]]
    return " ".join(found[0].split()[1:]) if found else ""


def test_a_line_reports_every_region() -> None:
    shown = line(a_tick(), total=60)
    assert " | dc1: nodes 3/3/2, idle 1, unmet 0, busy 60 % | dc2: no answer, unreachable" in shown
    assert shown.endswith(" | no room in dc1")


def test_a_line_without_regions_is_as_it_was() -> None:
    alone = replace(a_tick(), seen=replace(a_tick().seen, regions={}))
    assert "dc1:" not in line(alone, total=60)


@pytest.mark.parametrize("width", [20, 30, 50, 80, 120])
def test_the_table_shows_regions_on_any_terminal_and_cuts_nothing(width: int) -> None:
    shown = rendered(a_tick(), width=width)
    assert "\u2026" not in shown
    for text in ("dc1", "dc2", *(["3/3/2", "no answer"] if width > 20 else [])):
        assert text in shown


def test_the_table_says_what_is_wrong_with_a_region_and_what_was_asked_of_it() -> None:
    shown = " ".join(rendered(a_tick(), width=120).split())
    assert "dc2 no answer - - - unreachable" in shown
    assert "2/3 dc1 4 dc2 1" in shown


def test_where_all_is_well_there_is_no_column_for_trouble() -> None:
    well = replace(a_tick().seen, regions={"dc1": REGIONS["dc1"]})
    assert "trouble" not in rendered(replace(a_tick(), seen=well), width=120)
    alone = replace(a_tick().seen, regions={})
    assert "region" not in rendered(replace(a_tick(), seen=alone), width=120)


@pytest.mark.parametrize(("height", "shown"), [(100, 4), (24, 2), (23, 1), (5, 1)])
def test_a_low_terminal_shows_the_newest_changes_and_cuts_off_none(height: int, shown: int) -> None:
    long = [replace(a_tick().decided, why=f"reason {n} {'and so on ' * 30}") for n in range(6)]
    ticks = [replace(a_tick(), decided=decided) for decided in long]
    text = rendered(*ticks, width=120, height=height)
    assert [n for n in range(6) if f"reason {n}" in text] == list(range(6 - shown, 6))
    assert len(text.splitlines()) < height or shown == 1


def test_the_end_reports_nodes_silence_and_requests() -> None:
    ticks = with_regions(100)
    shown = row_text(ticks, "nodes")
    assert shown.endswith("; 3 replicas found no room (dc3); dc2 did not answer in 20 steps")
    assert " acquired, " in shown
    assert row_text(ticks, "requests").startswith("4 of ")


def test_the_end_of_a_run_without_regions_reports_none() -> None:
    assert row_text(demo(5), "nodes") == ""
    assert row_text(demo(5), "requests") == ""
