"""The reproduction of the alloc paper: tables, claims and figures from a few graphs and trees."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock.core.errors import SettingError
from penstock.experiment.results import Entry, Reproduction, find
from penstock.papers.alloc import published
from penstock.papers.alloc.adaptation import HOPS, READINGS, SHARED
from penstock.papers.alloc.claims import claims
from penstock.papers.alloc.entries import entries, mean_of
from penstock.papers.alloc.graphs import EXACTLY, GRAPHS, ORDER, REDUCED, WITHIN
from penstock.papers.alloc.reproduce import BATCH, Settings, reproduce, run, tasks
from penstock.papers.alloc.runs import PLANNERS, Followed, Graph, Outcome, Plan, Runs, Task
from penstock.papers.alloc.tables import tables

Changes = Mapping[tuple[int, str], Mapping[str, Any]]
"""By nodes and kind of graph or perturbation, what is not as printed."""


@pytest.fixture(scope="module")
def done() -> Reproduction:
    return reproduce(Settings(seeds=2))


def made_up(changes: Changes | None = None) -> tuple[Entry, ...]:
    """Figures as the paper has them, and as agents should reach beyond it, but for some changes."""
    changed = changes or {}
    outcomes = [
        Outcome(task=_task("graphs", nodes, kind), graphs=(_graph(nodes, changed, kind),))
        for kind in GRAPHS
        for nodes in published.SIZES
    ]
    outcomes += [
        Outcome(task=_task("trees", nodes, kind), trees=(_trees(nodes, changed, kind),))
        for kind in (WITHIN, EXACTLY)
        for nodes in published.TREE_SIZES
    ]
    return entries(Runs(outcomes))


def _task(sort: str, nodes: int, kind: str) -> Task:
    return Task(sort=sort, nodes=nodes, kind=kind, seeds=(1,))


def _graph(nodes: int, changes: Changes, kind: str) -> Graph:
    first, second = published.TABLE_1[nodes], published.TABLE_2[nodes]
    given = {"edges": round(first.edges), "passes": 12, **changes.get((nodes, kind), {})}
    edges, passes = given.pop("edges"), given.pop("passes")
    shares = dict.fromkeys(PLANNERS, first.share)
    shares |= {"heuristic-b": second.share, "cutting-plane": 0.9995, **given}
    asked = dict.fromkeys(PLANNERS, round(2 * (second.iterations or 0) + 1))
    asked["cutting-plane"] = passes
    plans = {
        name: Plan(share=share, passes=asked[name], messages=9) for name, share in shares.items()
    }
    return Graph(edges=edges, sources=5, sinks=4, plans=plans)


def _trees(nodes: int, changes: Changes, kind: str) -> dict[str, Followed]:
    usual: dict[str, Any] = {
        "reached": published.TABLE_3[nodes],
        "course": np.full(HOPS, 0.995),
        "share": published.TABLE_4[nodes],
    }
    tree = Followed(**{**usual, **changes.get((nodes, kind), {})})
    return {reading.name: tree for reading in READINGS}


def test_the_papers_own_figures_confirm_its_findings() -> None:
    found = claims(made_up())
    assert [claim.text for claim in found if not claim.holds] == []
    assert len(found) == 16


@pytest.mark.parametrize(
    ("place", "change", "words"),
    [
        ((50, REDUCED), {"heuristic-a": 0.57}, "Heuristic A is as good"),
        ((20, REDUCED), {"heuristic-b": 0.82}, "Heuristic B is as good"),
        ((100, REDUCED), {"heuristic-a, one round": 0.6}, "consistently better"),
        ((100, REDUCED), {"heuristic-a": 0.58}, "the worse is Heuristic A"),
        ((100, REDUCED), {"edges": 326}, "as many edges"),
        ((100, REDUCED), {"cutting-plane": 0.99}, "99.9 % of the optimum"),
        ((100, REDUCED), {"passes": 16}, "15 passes"),
        ((1000, WITHIN), {"reached": 7.2}, "hops, where rates change by up to"),
        ((1000, EXACTLY), {"reached": 7.2}, "hops, where rates change by exactly"),
        ((50, WITHIN), {"course": np.full(HOPS, 0.98)}, "twice the depth"),
        ((500, WITHIN), {"share": 0.89}, "Tab. 4: 90 % of the optimum under a perturbation every "),
        ((500, WITHIN), {"share": 0.91}, "as close to the optimum"),
        ((500, WITHIN), {"share": 0.9184}, "as close to the optimum"),
        ((50, WITHIN), {"reached": 4.2}, "up to 20 %, as the text is read most plainly"),
    ],
)
def test_a_finding_that_is_not_there_is_not_confirmed(
    place: tuple[int, str], change: dict[str, Any], words: str
) -> None:
    before = {claim.text: claim.holds for claim in claims(made_up())}
    after = {claim.text: claim.holds for claim in claims(made_up({place: change}))}
    lost = [text for text in before if before[text] and not after[text]]
    assert any(words in text for text in lost)


def test_what_links_to_all_successors_show_confirms_nothing() -> None:
    worse = {
        (nodes, ORDER): {"heuristic-a": 0.1, "cutting-plane": 0.5} for nodes in published.SIZES
    }
    assert claims(made_up(worse)) == claims(made_up())


def test_a_tree_that_never_gets_there_counts_with_all_hops() -> None:
    found = made_up({(50, WITHIN): {"reached": float("nan")}})
    place = {"table": "3", "perturbation": WITHIN, "reading": SHARED.name, "nodes": "50"}
    assert mean_of(found, **place, quantity="hops") == HOPS
    assert mean_of(found, **place, quantity="never") == 1.0
    assert "nan" not in " ".join(cell for table in tables(found) for r in table.rows for cell in r)


def test_a_cell_has_the_papers_figure_in_brackets_and_a_mark_where_it_differs() -> None:
    first, second = tables(made_up({(20, REDUCED): {"heuristic-a": 0.9}}))[:2]
    assert first.rows[0][5] == "90.0 (74.4)*"
    assert second.rows[1][5] == "68.9 (68.9)"
    assert first.rows[3][:2] == ("20", ORDER)
    assert "(" not in first.rows[3][5]


def test_tables_have_as_many_cells_in_each_row_as_names_above(done: Reproduction) -> None:
    for table in done.tables:
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_every_figure_of_the_paper_has_one_of_ours_beside_it(done: Reproduction) -> None:
    assert sum(entry.paper is not None for entry in done.entries) == 3 * 6 + 3 * 7 + 4 + 4
    hops = find(done.entries, table="3", nodes="1000", quantity="hops")
    assert hops is not None
    assert hops.paper == 7.1


def test_both_figures_are_drawn_from_hop_0_on(done: Reproduction) -> None:
    after, under = done.figures
    assert (after.number, under.number) == ("7", "8")
    assert [len(chart.lines) for chart in after.charts] == [4, 4, 4]
    assert [line.name for line in under.charts[0].lines] == ["optimum", "achieved"]
    for figure in done.figures:
        for chart in figure.charts:
            assert all(line.x[0] == 0 and np.isfinite(line.y).all() for line in chart.lines)


def test_results_are_plain_values(done: Reproduction) -> None:
    told = json.loads(json.dumps(done.to_json(), allow_nan=False))
    assert {entry["table"] for entry in told["tables"]} == {"1", "2", "beyond", "3", "4"}


def test_a_single_graph_will_do() -> None:
    done = reproduce(Settings(seeds=1))
    json.dumps(done.to_json(), allow_nan=False)
    assert done.remarks[0].startswith("1 random graph ")


def test_figures_are_the_same_whatever_the_number_of_jobs(done: Reproduction) -> None:
    assert reproduce(Settings(seeds=2, jobs=2)).to_json() == done.to_json()


def test_progress_is_told_from_none_to_all() -> None:
    told: list[tuple[int, int]] = []
    run(Settings(seeds=1), lambda *of: told.append(of))
    assert told == [(done, 14) for done in range(15)]


def test_each_seed_is_drawn_once_however_many_there_are() -> None:
    seeds = [
        task.seeds for task in tasks(Settings(seeds=BATCH + 1)) if task == replace(task, **BIG)
    ]
    assert [seed for batch in seeds for seed in batch] == list(range(1, BATCH + 2))


BIG: dict[str, Any] = {"sort": "trees", "nodes": 1000, "kind": WITHIN}


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"jobs": -1}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    [(name, amount)] = wrong.items()
    with pytest.raises(SettingError, match=f"{name} must be 1 or more, got {amount}"):
        Settings(**wrong)
