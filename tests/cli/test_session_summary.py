"""The printed summary of a run hides no overload and fits the terminal."""

from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from penstock.cli.session import Written, lines
from penstock.cli.view import MODULE, Table, fitting, line
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Configuration, Decision, Latency, Power, Tick
from penstock.core.words import percent
from penstock.pipeline.file import load as load_file
from penstock.record import RunSettings, SloCheck, Summary, summarise
from penstock.record.running import Energy
from penstock.testing import seen

SETTINGS = RunSettings(
    pipeline="wordcount",
    plant="spark",
    started=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    graph=FlowGraph(source="count", modules=(Module(name="count"),)),
)

RUN = replace(
    summarise([], None),
    steps=30,
    rows_arrived=5000.0,
    rows_processed=4200.0,
    backlog_max=900.0,
    backlog_final=800.0,
    latency=Latency(p50=1.0, p95=2.0, p99=3.0),
)


def row_text(summary: Summary, row: str, settings: RunSettings = SETTINGS) -> str:
    written = Written(folder=Path("run"), report=Path("run/report.html"), summary=summary)
    found = [text for text in lines(settings, written) if text.strip().startswith(row)]
    return " ".join(found[0].split()[1:]) if found else ""


def slo(met: int, violated: int, unknown: int = 0, idle: int = 0) -> SloCheck:
    share = violated / (met + violated) if met + violated else None
    return SloCheck(
        latency_p95=10.0,
        met=met,
        violated=violated,
        unknown=unknown,
        violated_share=share,
        idle=idle,
    )


@pytest.mark.parametrize(
    ("check", "kept"),
    [
        (slo(28, 0), "kept in 28 of 28 steps (100 %)"),
        (slo(25, 3, unknown=2), "kept in 25 of 28 steps (89 %), 2 more measured none"),
        (slo(28, 0, unknown=2, idle=2), "kept in 28 of 28 steps (100 %)"),
        (slo(3, 0, unknown=27, idle=1), "kept in 3 of 3 steps (100 %), 26 more measured none"),
        (slo(999, 1), "kept in 999 of 1000 steps (>99 %)"),
        (slo(1, 999), "kept in 1 of 1000 steps (<1 %)"),
        (slo(0, 0, unknown=30), "promised p95 10 s, which no step could measure"),
    ],
)
def test_steps_that_measured_no_latency_are_reported_beside_those_that_kept_it(
    check: SloCheck, kept: str
) -> None:
    assert row_text(replace(RUN, slo=check), "latency").endswith(kept)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_share_is_all_or_nothing_only_if_it_is(met: int, violated: int) -> None:
    share = met / (met + violated)
    for shown in (percent(share, "whole"), percent(share, "fine")):
        assert shown not in ("100 %", "0 %")
    for shown in (percent(1.0, "whole"), percent(1.0, "fine")):
        assert shown == "100 %"


def test_the_backlog_of_the_last_step_is_not_what_was_left() -> None:
    assert row_text(RUN, "rows").endswith("backlog at most 900, 800 at the end")
    through = replace(RUN, results={"rows_waiting": {"splitter": 0, "counter": 0}})
    assert row_text(through, "rows").endswith("800 at the last step, none after the drain")
    stuck = replace(RUN, results={"rows_waiting": {"splitter": 12, "counter": 1200}})
    assert row_text(stuck, "rows").endswith(
        "800 at the last step, 12 before splitter and 1,200 before counter after the drain"
    )


def test_what_the_rows_line_says_is_not_repeated() -> None:
    results = {"rows_waiting": {"counter": 0}, "rows_fed": 5000}
    summary = replace(RUN, results=results)
    written = Written(folder=Path("run"), report=Path("run/report.html"), summary=summary)
    text = "\n".join(lines(SETTINGS, written))
    assert "rows waiting" not in text
    assert "rows fed        5,000" in text


def test_energy_is_shown_where_there_is_any_and_says_that_it_is_modelled() -> None:
    assert row_text(RUN, "energy") == ""
    spending = Energy(
        joules=4956.0, seconds=120.0, watts_mean=41.3, frequency_mean=1.62, modelled_share=1.0
    )
    summary = replace(RUN, duration=120.0, energy=spending)
    shown = "4.96 kJ, 41.3 W and 1.62 GHz on average, all modelled"
    assert row_text(summary, "energy") == shown


def test_changes_are_counted_by_their_kind() -> None:
    changed = replace(RUN, reconfigurations=3, scale_outs=2, scale_ins=1)
    assert row_text(changed, "changes") == "in 3 steps: 2 out, 1 in"
    clocked = replace(changed, reconfigurations=12, clock_changes=8, reroutings=4)
    shown = "in 12 steps: 2 out, 1 in, 8 of the clock, 4 of keys only"
    assert row_text(clocked, "changes") == shown


def test_a_step_that_scales_one_module_out_and_another_in_is_one_step() -> None:
    both = replace(RUN, reconfigurations=1, scale_outs=1, scale_ins=1)
    assert row_text(both, "changes") == "in 1 step: 1 out, 1 in"
    held = replace(RUN, reconfigurations=0, scale_outs=0, scale_ins=0)
    assert row_text(held, "changes") == "none"


def test_results_read_well_and_do_not_flood_the_terminal() -> None:
    results = {
        "rows_refused": {"algotrader": {"late": 2, "malformed": 40, "empty": 0}},
        "candlesticks": {"length": 5.0, "symbols": [{"bars": [[1.0] * 5] * 240}]},
    }
    summary = replace(RUN, results=results)
    assert row_text(summary, "rows refused") == "refused 42 by algotrader: 40 malformed, 2 late"
    assert row_text(summary, "candlesticks") == "in the report"
    nothing = replace(RUN, results={"candlesticks": {"length": 5.0, "symbols": []}})
    assert row_text(nothing, "candlesticks") == "none"


def test_a_line_reports_the_clock_and_the_power_of_its_step() -> None:
    observed = replace(
        seen(at=2.0, count={}), frequency=1.9, power=Power(watts=20.6, modelled=True)
    )
    held = Decision(configuration=Configuration(degrees={}), why="idle")
    tick = Tick(seen=observed, decided=held, asked=None)
    assert line(tick, total=60).endswith(" | 1.9 GHz, 20.6 W modelled | idle")
    measured = replace(observed, power=Power(watts=20.6, modelled=False), frequency=None)
    assert line(replace(tick, seen=measured), total=60).endswith(" | 20.6 W | idle")


@given(st.integers(0, 300), st.text(alphabet="ab-", min_size=1, max_size=60))
def test_a_terminal_of_any_width_shows_the_module_and_as_many_columns_as_fit(
    width: int, name: str
) -> None:
    row = (name, "230", "221", "225", "66 %", "863 ms", "1.81 s", "1/1/1")
    columns = [("module", 0), *((field.title, field.rank) for field in MODULE)]
    shown, wider = (fitting([row], room, columns) for room in (width, width + 9))
    assert shown[0] == 0
    assert set(shown) <= set(wider)
    assert fitting([row], 300, columns) == list(range(len(row)))


@pytest.mark.parametrize("width", [20, 30, 50, 80, 120])
def test_nothing_is_cut_short_on_a_narrow_terminal(width: int) -> None:
    table = Table(StringIO(), load_file("wordcount"))
    table.live.console = Console(width=width, file=StringIO(), force_terminal=True)
    busy = {"arrival_rate": 1234.0, "backlog": 56789.0, "utilisation": 0.5, "running": 3}
    power = Power(watts=20.6, modelled=True)
    observed = replace(seen(at=2.0, splitter=busy, counter=busy), frequency=1.9, power=power)
    asked = Configuration(degrees={"splitter": 2, "counter": 3}, frequency=1.8)
    decided = Decision(configuration=asked, why="-")
    table.show(Tick(seen=observed, decided=decided, asked=asked))
    with table.live.console.capture() as captured:
        table.live.console.print(table.render())
    assert "\u2026" not in captured.get()
    shown = " ".join(captured.get().split())
    for text in ("splitter", "1.9 GHz", "20.6 W modelled", "2/3 1.8 GHz"):
        assert text in shown
