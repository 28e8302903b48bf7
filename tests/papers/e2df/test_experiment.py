"""The reproduction of the e2df paper: what its authors found is found again."""

import json
from math import inf
from typing import Any

import numpy as np
import pytest

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import repeat
from penstock.papers.e2df.closed_loop import Course
from penstock.papers.e2df.experiment import (
    APPLICATIONS,
    BLOCK,
    CEILING,
    COMBINATIONS,
    DAY,
    EARLY,
    FIRST,
    INFRASTRUCTURES,
    LEARNED,
    OBJECTIVES,
    PLAYS,
    PUBLISHED,
    STATIC_NODES,
    WHOLE,
    Curves,
    Measured,
    Play,
    Task,
    counted,
    examine,
    stretches,
)
from penstock.papers.e2df.results import printed_row
from penstock.papers.framework import Options, gather
from tests.support.papers import find, paper, run

STEPS = 300
FORTNIGHT = 14 * DAY
SCARCE = Play(infrastructure="rl", application="threshold", demand_weight=0.1)


@pytest.fixture(scope="module")
def done() -> Reproduction:
    return run("e2df", seeds=2, steps=STEPS)


@pytest.fixture(scope="module")
def runs() -> Measured:
    """Two weeks, of which nine days count, of Tab. 1 and of a row of Tab. 2."""
    tasks = [Task(play=play, seed=1, slots=FORTNIGHT) for play in (*COMBINATIONS, SCARCE)]
    options = Options(seeds=1, steps=FORTNIGHT)
    return gather(paper("e2df"), options, repeat(examine, tasks, jobs=1))


def value(runs: Measured, play: Play, quantity: str, stretch: str = LEARNED) -> float:
    found = runs.mean((play, stretch), quantity)
    assert found is not None
    return found


@pytest.mark.parametrize("play", COMBINATIONS, ids=lambda p: f"{p.infrastructure}-{p.application}")
def test_table_1_is_near_the_papers(runs: Measured, play: Play) -> None:
    """The load and the bound of an operator were chosen so: a test of the calibration."""
    row = printed_row("1", play)
    for quantity, share in {"replicas": 0.1, "nodes": 0.2, "reconfigurations": 0.3}.items():
        assert value(runs, play, quantity) == pytest.approx(row[quantity], rel=share)
    assert value(runs, play, "violations") < 0.005


@pytest.mark.parametrize("infrastructure", INFRASTRUCTURES)
def test_operators_that_learn_are_scaled_far_less_often(
    runs: Measured, infrastructure: str
) -> None:
    fixed, learned = (
        value(runs, Play(infrastructure=infrastructure, application=name), "reconfigurations")
        for name in APPLICATIONS
    )
    assert learned < 0.5 * fixed


@pytest.mark.parametrize("application", APPLICATIONS)
def test_regions_that_learn_take_far_fewer_nodes(runs: Measured, application: str) -> None:
    static, simple, learned = (
        value(runs, Play(infrastructure=name, application=application), "nodes")
        for name in INFRASTRUCTURES
    )
    assert static == 3 * STATIC_NODES
    assert learned < 0.75 * simple < 0.5 * static


def test_regions_that_hardly_mind_demand_starve_the_application(runs: Measured) -> None:
    assert value(runs, SCARCE, "violations") > 0.5
    assert value(runs, SCARCE, "unmet") > 1000 > value(runs, COMBINATIONS[4], "unmet")


def test_learning_costs_violations_on_the_first_day_and_few_later(runs: Measured) -> None:
    both = COMBINATIONS[-1]
    assert value(runs, both, "violations", FIRST) > 4 * value(runs, both, "violations", EARLY)


def test_static_nodes_leave_no_request_unmet(runs: Measured) -> None:
    for play in COMBINATIONS[:2]:
        assert value(runs, play, "unmet", WHOLE) == 0


def test_a_play_of_both_tables_runs_once() -> None:
    assert (len(COMBINATIONS), len(OBJECTIVES), len(PLAYS)) == (6, 10, 14)
    assert set(COMBINATIONS) & set(OBJECTIVES) == set(COMBINATIONS[4:])
    assert printed_row("1", COMBINATIONS[4])["nodes"] == 9.66
    assert printed_row("2", COMBINATIONS[4])["nodes"] == 9.66


def test_every_row_of_the_paper_is_played() -> None:
    assert {(p.infrastructure, p.application) for p in COMBINATIONS} == set(PUBLISHED.table_1)
    assert {(f"{p.demand_weight:g}", p.application) for p in OBJECTIVES} == set(PUBLISHED.table_2)


def test_only_static_regions_begin_with_many_nodes() -> None:
    for play in PLAYS:
        expected = STATIC_NODES if play.infrastructure == "static" else 1
        assert {region.initial_nodes for region in play.places.regions} == {expected}
        assert play.levels.demand_weight == play.demand_weight


def test_every_part_of_the_paper_is_answered(done: Reproduction) -> None:
    assert [figure.number for figure in done.figures] == ["4", "5", "6", "7"]
    titles = [table.title for table in done.tables]
    for words in ("Tab. 1", "Tab. 2", "whole runs", "no free slot", "Fig. 6 and 7", "leaves open"):
        assert sum(words in title for title in titles) == 1
    for words in ("Tab. 1", "Tab. 2, threshold", "Tab. 2, rl", "a third", "about half"):
        assert any(words in claim.text for claim in done.claims), words


def test_what_the_paper_leaves_open_stands_under_both_of_its_tables(done: Reproduction) -> None:
    for table in done.tables[:2]:
        notes = " ".join(table.notes)
        assert "11 ms as the bound of an operator" in notes
        assert "Counted from day 6 on" in notes
    assert (
        "bound of an operator",
        "of 11 ms; a quarter of 60 ms would be 15 ms",
        "Levels.bound",
    ) in (done.tables[-1].rows)


@pytest.mark.parametrize(
    ("table", "play", "quantity", "tolerance"),
    [
        ("1", COMBINATIONS[0], "replicas", 0.1),
        ("1", COMBINATIONS[0], "reconfigurations", 0.15),
        ("1", COMBINATIONS[0], "violations", 50.0),
        ("2", OBJECTIVES[1], "nodes", 0.15),
        ("2", OBJECTIVES[0], "nodes", 0.4),
        ("2", OBJECTIVES[0], "violations", 0.25),
    ],
)
def test_how_far_a_figure_may_be_off(
    done: Reproduction, table: str, play: Play, quantity: str, tolerance: float
) -> None:
    entry = find(done.entries, table=table, **play.where, quantity=quantity)
    assert entry is not None
    assert entry.tolerance == pytest.approx(tolerance)


@pytest.mark.parametrize("steps", [1, 2, 59, DAY + 1])
def test_a_run_may_be_as_short_as_it_likes(steps: int) -> None:
    done = run("e2df", seeds=1, steps=steps)
    json.dumps(done.to_json(), allow_nan=False)
    assert "nan" not in " ".join(claim.found for claim in done.claims)
    assert "figures are left out" in " ".join(done.remarks)


def course(slots: int, **changed: np.ndarray) -> Course:
    """Nothing ever happens, but for what is changed."""
    usual: dict[str, Any] = {
        "response": np.full(slots, 0.03),
        "replicas": np.full(slots, 4),
        "nodes": np.full(slots, 3),
        "reconfigured": np.zeros(slots, bool),
        "unmet": np.zeros(slots, np.int64),
        "costs": np.full((slots, 3), 0.1),
    }
    return Course(**{**usual, **changed})


def test_a_violation_is_a_response_above_the_bound_or_without_end() -> None:
    answers = course(4, response=np.array([0.06, 0.0601, inf, 0.01]))
    for stretch in (WHOLE, LEARNED):
        assert counted(answers, stretches(4)[stretch])["violations"] == 0.5


def test_what_happens_while_learning_counts_in_whole_runs_only() -> None:
    slots = 10 * DAY
    unmet = np.zeros(slots, np.int64)
    unmet[:7200] = 1
    learning = course(slots, unmet=unmet, reconfigured=unmet > 0)
    counts = {name: counted(learning, minutes) for name, minutes in stretches(slots).items()}
    both = {name: (c["unmet"], c["reconfigurations"]) for name, c in counts.items()}
    assert (both[WHOLE], both[LEARNED]) == ((DAY / 2, 0.5), (0.0, 0.0))
    assert counts[FIRST]["unmet"] == counts[EARLY]["unmet"] == DAY


def test_stretches_of_learning_never_overlap_what_is_compared() -> None:
    for slots in (1, 2, 100, DAY, 2 * DAY + 1, 10 * DAY, 100_000):
        found = stretches(slots)
        for name in (FIRST, EARLY):
            assert name not in found or found[name].stop <= found[LEARNED].start
        assert found[WHOLE] == slice(0, slots)


def test_curves_keep_the_worst_minute_of_each_half_hour() -> None:
    response = np.full(12 * DAY, 0.03)
    response[5], response[-1] = 0.09, inf
    curves = Curves.of(course(12 * DAY, response=response))
    assert curves.first.response[:2].tolist() == [0.09, 0.03]
    assert curves.last.response[-2:].tolist() == [0.03, CEILING]
    assert curves.last.at[0] == 7.0
    assert len(curves.first.at) == len(curves.last.nodes) == 5 * DAY // BLOCK
    assert (len(curves.running_cost), len(curves.daily_cost)) == (240, 12)


def test_only_the_first_seed_is_drawn() -> None:
    first, second = (examine(Task(play=PLAYS[0], seed=seed, slots=10)) for seed in (1, 2))
    assert (list(first.details), list(second.details)) == ([PLAYS[0]], [])
