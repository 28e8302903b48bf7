"""The reproduction of the ppq paper: what its authors found is found again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.core.errors import FileError
from penstock.experiment.results import Reproduction
from penstock.experiment.workers import repeat
from penstock.papers.framework import Options, Run, Table, gather
from penstock.papers.ppq import experiment as plays
from penstock.papers.ppq.experiment import (
    FILES,
    MARGIN,
    SECONDS,
    SETPOINT,
    STREAMS,
    WORKLOADS,
    Course,
    Measured,
    Play,
    Setup,
    Task,
    costs,
    examine,
    generated,
    measure,
    policy,
    published,
    score,
    splitting,
)
from penstock.policy import Static
from penstock.twin.panes.observing import PaneTotals
from tests.support.papers import find, paper, run
from tests.support.paths import PUBLISHED

PPQ = PUBLISHED / "ppq"
PRINTED = plays.PUBLISHED
needs_published = pytest.mark.skipif(not PPQ.is_dir(), reason="the data are not here")
STEPS = 2
FIGURES = ["9", "10a", "10b", "11", "12", "13", "14", "15", "17", "18"]


@pytest.fixture(scope="module")
def done() -> Reproduction:
    return run("ppq", seeds=1, steps=STEPS)


@pytest.fixture(scope="module")
def runs() -> Measured:
    """Whole streams, of what the paper's main findings are about."""
    wanted = [plays.aimed(0.0), plays.aimed(MARGIN)]
    wanted += [plays.merging(on=on) for on in (True, False)]
    wanted += [plays.summary("game1", "skyline", published=False)]
    wanted += [plays.bursty("map-1k", levels=levels) for levels in (1, 2)]
    wanted += [plays.split(workers, even=True) for workers in (6, 7, 8)]
    wanted += [plays.split(8, even=False)]
    tasks = [Task(play=play, seed=1) for play in wanted]
    brief = replace(tasks[0], seconds=2.5)
    done = repeat(examine, tasks, jobs=2, compile_with=brief)
    return gather(paper("ppq"), Options(seeds=1), done)


def value(runs: Measured, play: Play, quantity: str) -> float:
    found = runs.mean(play, quantity)
    assert found is not None
    return found


def test_fig_10_elasticity_alone_stays_overloaded_and_two_levels_do_not(runs: Measured) -> None:
    alone, both = (plays.bursty("map-1k", levels=levels) for levels in (1, 2))
    assert value(runs, alone, "settled") == 60
    assert value(runs, alone, "load") > 1.3
    assert value(runs, both, "load") < 1.0
    assert value(runs, both, "settled") < 12


def test_fig_11_seven_workers_are_enough_and_the_pid_splits_no_further(runs: Measured) -> None:
    assert value(runs, plays.split(6, even=True), "load") > 0.9
    assert value(runs, plays.split(7, even=True), "load") < 0.9
    even, pid = (plays.split(8, even=even) for even in (True, False))
    assert value(runs, even, "splitting") == pytest.approx(8.0, rel=0.02)
    assert value(runs, pid, "splitting") == pytest.approx(PRINTED.pid_at_8["splitting"], rel=0.15)
    assert value(runs, pid, "kept") == pytest.approx(PRINTED.pid_at_8["kept"], abs=0.04)
    assert value(runs, even, "kept") == pytest.approx(PRINTED.kept[8], abs=0.02)


def test_fig_13_merges_lower_the_idle_time_by_at_least_30_percent(runs: Measured) -> None:
    with_merges, without = (value(runs, plays.merging(on=on), "idle") for on in (True, False))
    assert with_merges < 0.7 * without
    assert value(runs, plays.merging(on=False), "merges") == 0
    assert 0.3 < value(runs, plays.merging(on=True), "merges") < 0.6


def test_table_4_has_the_papers_workers_and_is_on_time(runs: Measured) -> None:
    for workload in ("map-1k", "game1"):
        play, row = plays.summary(workload, "skyline", published=False), PRINTED.table_4
        assert value(runs, play, "wlq") == pytest.approx(row[workload]["wlq"], rel=0.15)
        assert value(runs, play, "delta") < PRINTED.latest
        assert value(runs, play, "load") == pytest.approx(SETPOINT, abs=0.1)
        assert value(runs, play, "window_load") == pytest.approx(SETPOINT, abs=0.1)


def test_with_one_setpoint_for_both_levels_the_pane_stage_runs_away(runs: Measured) -> None:
    same, lower = plays.aimed(0.0), plays.aimed(MARGIN)
    assert value(runs, same, "plq") > 2 * value(runs, lower, "plq")
    assert value(runs, same, "busy") < 0.6 < value(runs, lower, "busy")


def test_every_part_of_the_paper_is_answered(done: Reproduction) -> None:
    for words in (
        "(skyline)",
        "(top-delta)",
        "Fig. 10",
        "Fig. 11",
        "Fig. 13",
        "Fig. 17",
        "Fig. 18",
    ):
        assert any(words in claim.text for claim in done.claims), words
    assert sum("load of the" in claim.text for claim in done.claims) == 3
    assert [figure.number for figure in done.figures] == FIGURES
    assert len(done.tables) == 10  # none of Fig. 9, whose workers count from 10 s on


def test_figures_have_a_value_for_every_step(done: Reproduction) -> None:
    charts = {figure.number: figure.charts for figure in done.figures}
    assert [len(line.y) for chart in charts["9"] for line in chart.lines] == [STEPS] * 6
    assert [len(line.y) for line in charts["15"][0].lines] == [STEPS] * 2
    assert len(charts["10a"]) == len(charts["10b"]) == 4
    assert [len(line.y) for line in charts["11"][0].lines] == [12, 12]
    assert len(charts["17"][0].lines) == 4


def test_a_workload_brings_only_what_it_takes_part_in() -> None:
    done = run("ppq", seeds=1, steps=1, workloads=("ss-0.6",))
    assert {entry.where["table"] for entry in done.entries} == {"4", "5", "10"}
    assert [figure.number for figure in done.figures] == ["10a", "10b"]
    assert {play.workload for play in plays.plays(("steps",), published=False)} == {"steps"}


def test_a_run_that_two_figures_ask_for_is_played_once() -> None:
    wanted = plays.plays(WORKLOADS, published=False)
    assert len(wanted) == len(set(wanted)) == 77
    shared = plays.summary("game1", "skyline", published=False)
    assert plays.sensitivity(2.5, 0.25, published=False) == shared
    assert plays.beside(1.0, published=False) == shared
    both = plays.plays(WORKLOADS, published=True)
    assert len(both) == 77 + 2 * len(FILES)
    assert plays.fixed(published=True) in both


def test_only_the_files_of_chosen_workloads_are_needed(tmp_path: Path) -> None:
    paper("ppq").options(data=str(tmp_path), workloads=("steps", "map-4k"))
    with pytest.raises(FileError, match=r"cannot read the trace .*arrivals_elastic.txt"):
        paper("ppq").options(data=str(tmp_path), workloads=("rw",))


@pytest.mark.parametrize("workload", STREAMS)
def test_generated_streams_are_those_of_table_3(workload: str) -> None:
    for seed in (1, 2):
        flow = generated(workload, seed)
        counts = np.diff(flow.workload.arrivals(np.arange(flow.duration + 1.0)))
        paper = PRINTED.table_3[workload]
        assert counts.mean() == pytest.approx(paper["rate"], rel=0.1)
        assert counts.max() / counts.mean() == pytest.approx(
            PRINTED.table_3[workload]["peak"], rel=0.25
        )
    assert generated(workload, 1).workload != flow.workload


@needs_published
@pytest.mark.parametrize("workload", FILES)
def test_published_streams_last_as_long_and_are_those_of_table_3(workload: str) -> None:
    flow = published(workload, str(PPQ))
    assert flow.duration == SECONDS[workload]
    rate = flow.workload.arrivals(np.array([flow.duration]))[0] / flow.duration
    assert rate == pytest.approx(PRINTED.table_3[workload]["rate"], rel=0.1)


@needs_published
def test_a_published_stream_is_played_beside_a_generated_one() -> None:
    done = run("ppq", seeds=1, steps=1, workloads=("game2",), data=str(PPQ))
    for source in ("generated", "published"):
        assert find(done.entries, table="4", workload="game2", source=source, quantity="plq")
    assert "Published streams are played" in " ".join(done.remarks)
    assert str(PPQ) not in json.dumps(done.to_json())


def test_a_setup_says_who_decides_and_who_splits() -> None:
    assert splitting(Setup(margin=None)) is None
    inner, even = splitting(Setup()), splitting(Setup(even=True))
    assert inner is not None
    assert even is not None
    assert inner.setpoint == pytest.approx(0.7)
    assert even.low == 19.0
    assert isinstance(policy(Setup(outer=False)), Static)
    assert costs(Setup(windows=False)).of_tasks[1] == 0.0
    skyline, top = (costs(Setup(query=query)) for query in plays.QUERIES)
    assert top.comparison == 2.25 * skyline.comparison


def course(**changed: Any) -> Course:
    """Five steps of 30 s, half of which count as the start."""
    at = np.arange(30.0, 151.0, 30.0)
    usual: dict[str, Any] = {name: np.ones(5) for name in Course.__dataclass_fields__}
    totals = PaneTotals(tuples=110, dropped=10, panes=10, parts=25, kept=40.0, updates=3, merges=1)
    usual |= {"at": at, "totals": totals, "duration": 150.0, "ended": 153.0}
    return Course(**{**usual, "by_slide": np.array([0.0, 2.0]), **changed})


def test_a_score_counts_loads_only_after_the_start() -> None:
    loads = np.array([9.0, 9.0, 0.6, np.nan, 0.8])
    values = score(course(load=loads), aim=0.8)
    assert values["load"] == pytest.approx(0.7)
    assert values["load_of_all"] == pytest.approx(4.85)
    assert values["distance"] == pytest.approx(0.125)
    assert [values[name] for name in ("splitting", "kept", "merges")] == [2.5, 0.4, 0.25]
    assert values["delta"] == pytest.approx(0.02)
    assert values["cv"] == 1.0


def test_what_was_never_measured_is_no_entry() -> None:
    nothing = course(load=np.full(5, np.nan), totals=PaneTotals())
    play = plays.bursty("map-1k", levels=1)
    results = gather(paper("ppq"), Options(seeds=1), [Run(measure(play, nothing))])
    tables = [table for table in paper("ppq").tables(results) if isinstance(table, Table)]
    found = [entry for table in tables for entry in table.entries(results)]
    assert {entry.where["quantity"] for entry in found} == {"settled"}
