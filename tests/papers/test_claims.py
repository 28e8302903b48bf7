"""When each claim holds, and which reason stands under a table, from values that were made up."""

from typing import Any

import pytest

from penstock.experiment.results import Interval
from penstock.papers.alloc.adaptation import READINGS, SHARED
from penstock.papers.alloc.experiment import KINDS, PLANNERS
from penstock.papers.alloc.experiment import PUBLISHED as ALLOC
from penstock.papers.alloc.graphs import EXACTLY, GRAPHS, ORDER, REDUCED, WITHIN
from penstock.papers.e2df.experiment import (
    COMBINATIONS,
    EARLY,
    FIRST,
    LEARNED,
    OBJECTIVES,
    PLAYS,
    STRETCHES,
    Play,
)
from penstock.papers.e2df.results import printed_row
from penstock.papers.framework import Cell, Options, Results, Table, present
from penstock.papers.game.experiment import BOTH
from penstock.papers.game.results import least_cost
from penstock.papers.mpc.experiment import COMPARED
from penstock.papers.mpc.results import CHOICES, variant_of
from penstock.papers.ppq import experiment as runs
from penstock.policy.mpc import STRATEGIES
from penstock.report.paper import paper_page
from tests.support.papers import answer, answers, made_up, notes, paper, tables

Changes = dict[tuple[Any, str], float]


# What settings were fitted to is shown as calibrated, and nothing else is.


@pytest.mark.parametrize(
    ("name", "cells", "claims"),
    [
        (
            "game",
            {"IV reconfigurations", "IV efficiency", "V images", "V throughput"},
            ["The relative efficiency of every module"],
        ),
        (
            "mpc",
            {
                *("strategies watts", "7 replicas", "7 reconfigurations"),
                *("5.3.2 share saved", "5.3.2 watts saved"),
            },
            [
                *("Result 2, th-power", "Result 3, th-node", "Result 3, th-power"),
                *("Table 7: th-node",) * 3,
            ],
        ),
        (
            "ppq",
            {"9 plq", "5 plq", "5 wlq"},
            ["Workers of the pane stage follow the rate", "7 workers, and no fewer"],
        ),
        (
            "e2df",
            {
                f"{table} {quantity}"
                for table in (1, 2)
                for quantity in ("violations", "reconfigurations", "replicas", "nodes")
            },
            ["Tab. 1: replicas", "Tab. 1: reconfig", "Tab. 2, threshold: rep", "Tab. 2, rl: rep"],
        ),
        (
            "alloc",
            {"3 hops", "4 share"},
            [
                *("Tab. 3: 95 % of the new",) * 2,
                *("Tab. 4: 90 % of the optimum",) * 2,
                "Tab. 4: as close",
            ],
        ),
    ],
)
def test_what_was_fitted_is_marked_as_calibrated(
    name: str, cells: set[str], claims: list[str]
) -> None:
    one = paper(name)
    empty = made_up({}, steps=one.steps, workloads=one.workloads)
    made = [table for table in one.tables(empty) if isinstance(table, Table)]
    rows = [row for table in made for row in table.rows]
    compared = [c for row in rows for c in row.cells if isinstance(c, Cell) and c.paper is not None]
    fitted = {f"{c.where['table']} {c.where['quantity']}" for c in compared if c.calibrated}
    assert fitted == cells
    texts = [claim.text for claim in one.claims if claim.calibrated]
    assert len(texts) == len(claims)
    assert all(text.startswith(words) for text, words in zip(texts, claims, strict=True))


def test_only_one_row_of_top_delta_was_fitted() -> None:
    [table] = [
        t
        for t in paper("ppq").tables(made_up({}))
        if isinstance(t, Table) and t.title.startswith("Tab. 5")
    ]
    cells = [c for row in table.rows for c in row.cells if isinstance(c, Cell)]
    assert {c.where["workload"] for c in cells if c.calibrated} == {"map-1k"}


def test_a_calibrated_value_is_no_agreement_in_text_and_json() -> None:
    fitted = answers("alloc", made_up(as_alloc_printed()))[-1]
    assert fitted.answer.endswith("[at least the paper's, calibrated]")
    assert (fitted.to_json()["calibrated"], fitted.to_json()["kind"]) == (True, "at least")
    page = paper_page(present(paper("alloc"), made_up(as_alloc_printed())), subtitle="")
    assert "All 11 findings were found again; 5 more by calibration." in page
    assert page.count('<li class="tied">') == 5


def test_shorter_runs_say_nothing_about_why_a_claim_does_not_hold() -> None:
    values: Changes = {(runs.summary("rw", "top-delta", published=False), "delta"): 0.5}
    for steps, words in ((None, "workers are used up"), (2, "")):
        [claim] = present(paper("ppq"), made_up(values, steps=steps)).claims
        assert (words in claim.reason, bool(claim.reason)) == (True, bool(words))


def test_a_claim_has_its_reason_only_where_it_does_not_hold() -> None:
    printed = as_alloc_printed()
    few: Changes = {(("heuristic-a", REDUCED, 100), "edges"): 326.0}
    for values, reason in ((printed, False), ({**printed, **few}, True)):
        claim = answer("alloc", made_up(values), "as many edges")
        assert ("cannot come from its generator" in claim.answer) == reason
        assert bool(claim.to_json()["reason"]) == reason


# alloc: the paper's own values, and what agents should reach beyond it.


def as_alloc_printed() -> Changes:
    values: Changes = {}
    for nodes in ALLOC.sizes:
        first, second = (rows[f"{nodes}"] for rows in (ALLOC.heuristic_a, ALLOC.heuristic_b))
        for kind in GRAPHS:
            for planner in PLANNERS:
                row = second if planner == "heuristic-b" else first
                made = {**row, "once": first["share"], "messages": 9.0, "worst": 0.995}
                made |= {"iterations": second["iterations"], "passes": 12.0}
                made["edges"] = first["edges"]
                made["share"] = 0.9995 if planner == "cutting-plane" else row["share"]
                values |= {((planner, kind, nodes), q): float(v) for q, v in made.items()}
    for nodes in ALLOC.tree_sizes:
        made = {**ALLOC.trees[f"{nodes}"], "never": 0.0}
        made |= dict.fromkeys(("at once", "in the end", "later"), 0.995)
        for kind in KINDS:
            for reading in READINGS:
                values |= {((kind, reading.name, nodes), q): v for q, v in made.items()}
    return values


def of_tree(kind: str, nodes: int) -> tuple[str, str, int]:
    return kind, SHARED.name, nodes


# e2df: the paper's own values at all times, but for the time of learning.


BOTH_LEARN = Play(infrastructure="rl", application="rl")


def as_e2df_printed() -> Changes:
    values: Changes = {}
    for play in PLAYS:
        row = printed_row("2" if play in OBJECTIVES else "1", play)
        for stretch in STRETCHES:
            made = {**row, "unmet": 1.0, "cost": 0.02}
            values |= {((play, stretch), quantity): v for quantity, v in made.items()}
    early = {FIRST: 0.05, EARLY: 0.002}
    return values | {((BOTH_LEARN, s), "violations"): share for s, share in early.items()}


def e2df(play: Play, stretch: str = LEARNED, **change: float) -> Changes:
    return {((play, stretch), quantity): value for quantity, value in change.items()}


PRINTED = {"alloc": (as_alloc_printed, 16), "e2df": (as_e2df_printed, 15)}


@pytest.mark.parametrize("name", PRINTED)
def test_the_papers_own_figures_confirm_its_findings(name: str) -> None:
    printed, claims = PRINTED[name]
    found = answers(name, made_up(printed()))
    assert [claim.text for claim in found if not claim.holds] == []
    assert len(found) == claims


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("alloc", {(("heuristic-a", REDUCED, 50), "share"): 0.57}, "Heuristic A is as good"),
        ("alloc", {(("heuristic-b", REDUCED, 20), "share"): 0.82}, "Heuristic B is as good"),
        ("alloc", {(("heuristic-a", REDUCED, 100), "once"): 0.6}, "consistently better"),
        ("alloc", {(("heuristic-a", REDUCED, 100), "share"): 0.58}, "the worse is Heuristic A"),
        ("alloc", {(("heuristic-b", REDUCED, 50), "iterations"): 10.2}, "iterations are few"),
        ("alloc", {(("heuristic-a", REDUCED, 100), "edges"): 326.0}, "as many edges"),
        ("alloc", {(("heuristic-a", REDUCED, 100), "edges"): 2300.0}, "as many edges"),
        ("alloc", {(("cutting-plane", REDUCED, 100), "share"): 0.99}, "99.9 % of the optimum"),
        ("alloc", {(("cutting-plane", REDUCED, 100), "worst"): 0.98}, "99.9 % of the optimum"),
        ("alloc", {(("cutting-plane", REDUCED, 100), "passes"): 16.0}, "15 passes"),
        ("alloc", {(of_tree(WITHIN, 1000), "hops"): 7.2}, "hops, where rates change by up to"),
        ("alloc", {(of_tree(EXACTLY, 1000), "hops"): 7.2}, "hops, where rates change by exactly"),
        ("alloc", {(of_tree(WITHIN, 50), "in the end"): 0.98}, "twice the depth"),
        ("alloc", {(of_tree(WITHIN, 500), "share"): 0.89}, "Tab. 4: 90 % of the optimum under a"),
        ("alloc", {(of_tree(WITHIN, 500), "share"): 0.91}, "as close to the optimum"),
        ("alloc", {(of_tree(WITHIN, 500), "share"): 0.9184}, "as close to the optimum"),
        (
            "alloc",
            {((WITHIN, READINGS[2].name, 50), "hops"): 4.2},
            "up to 20 %, as the text is read most plainly",
        ),
        ("e2df", e2df(BOTH_LEARN, nodes=10.8), "Tab. 1: replicas and nodes"),
        ("e2df", e2df(BOTH_LEARN, nodes=8.7), "Tab. 1: replicas and nodes"),
        ("e2df", e2df(COMBINATIONS[0], reconfigurations=0.038), "Tab. 1: reconfigurations"),
        ("e2df", e2df(COMBINATIONS[2], violations=0.005), "Tab. 1: violations"),
        ("e2df", e2df(OBJECTIVES[-1], violations=0.0018), "Tab. 2, rl: the more"),
        ("e2df", e2df(OBJECTIVES[0], nodes=4.5), "Tab. 2, threshold: replicas and nodes"),
        ("e2df", e2df(OBJECTIVES[1], nodes=9.9), "Tab. 2, threshold: replicas and nodes"),
        ("e2df", e2df(COMBINATIONS[1], reconfigurations=0.02), "a third as often"),
        ("e2df", e2df(COMBINATIONS[2], replicas=19.0), "simple policy"),
        ("e2df", e2df(COMBINATIONS[2], violations=0.002), "simple policy"),
        ("e2df", e2df(COMBINATIONS[4], nodes=12.0), "about half"),
        ("e2df", e2df(OBJECTIVES[0], violations=0.4), "most of the time"),
        ("e2df", e2df(OBJECTIVES[4], nodes=9.0), "hardly helps"),
        ("e2df", e2df(BOTH_LEARN, cost=0.03), "with a weight of 0.7."),
        ("e2df", e2df(OBJECTIVES[5], cost=0.03), "whatever the weight"),
        ("e2df", e2df(BOTH_LEARN, EARLY, violations=0.04), "soon get better"),
    ],
)
def test_a_finding_that_is_not_there_is_not_confirmed(
    name: str, change: Changes, words: str
) -> None:
    values = PRINTED[name][0]()
    before = {claim.text: claim.holds for claim in answers(name, made_up(values))}
    after = {claim.text: claim.holds for claim in answers(name, made_up({**values, **change}))}
    lost = [text for text in before if before[text] and not after[text]]
    assert any(words in text for text in lost)


def test_alloc_links_to_all_successors_confirm_nothing() -> None:
    worse: Changes = {
        ((planner, ORDER, nodes), "share"): 0.1
        for planner in ("heuristic-a", "cutting-plane")
        for nodes in ALLOC.sizes
    }
    printed = as_alloc_printed()
    assert answers("alloc", made_up({**printed, **worse})) == answers("alloc", made_up(printed))


def test_alloc_cells_have_the_papers_figure_and_a_mark_where_they_differ() -> None:
    change: Changes = {(("heuristic-a", REDUCED, 20), "share"): 0.9}
    first, second = tables("alloc", made_up({**as_alloc_printed(), **change}))[:2]
    assert first.rows[0][5] == "90.0 (74.4)*"
    assert second.rows[1][5] == "68.9 (68.9)"
    assert first.rows[3][:2] == ("20", ORDER)
    assert "(" not in first.rows[3][5]


@pytest.mark.parametrize(
    "change",
    [
        e2df(BOTH_LEARN, nodes=10.7),
        e2df(COMBINATIONS[0], reconfigurations=0.036),
        e2df(COMBINATIONS[2], violations=0.0049),
        e2df(OBJECTIVES[-1], violations=0.0017),
        e2df(OBJECTIVES[0], nodes=4.3),
        e2df(OBJECTIVES[1], nodes=9.8),
    ],
)
def test_e2df_figures_may_be_off_by_their_tolerance(change: Changes) -> None:
    found = answers("e2df", made_up({**as_e2df_printed(), **change}))
    assert [c.text for c in found if not c.holds and c.text.startswith("Tab. ")] == []


def test_e2df_claims_and_cells_name_what_is_off() -> None:
    results = made_up({**as_e2df_printed(), **e2df(BOTH_LEARN, nodes=12.0)})
    claim = answer("e2df", results, "Tab. 1: replicas and nodes")
    assert claim.found.startswith("11 of 12 are; furthest off is rl and rl, nodes")
    first = tables("e2df", results)[0]
    assert first.rows[-1] == (
        *("rl", "rl", "0.17 (0.17)†", "1.10 (1.1)†", "18.25 (18.25)†"),
        "12.00 (9.76)†*",
    )
    assert first.rows[0][2] == "0.01 (0.01)†"


def test_e2df_nothing_of_the_papers_figures_is_claimed_of_short_runs() -> None:
    brief = made_up(as_e2df_printed(), steps=300)
    assert not any("within 10 %" in c.text for c in answers("e2df", brief) if "Tab." in c.text)
    made = [t for t in paper("e2df").tables(brief) if isinstance(t, Table)]
    assert all(entry.paper is None for table in made for entry in table.entries(brief))
    long = made_up(as_e2df_printed())
    whole = [t for t in paper("e2df").tables(long) if isinstance(t, Table)]
    found = [entry.paper for table in whole for entry in table.entries(long)]
    assert sum(value is not None for value in found) == 4 * (6 + 10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (e2df(OBJECTIVES[0], nodes=4.6), "Threshold, 0.1: in 50,000"),
        (e2df(OBJECTIVES[1], violations=0.046), "Threshold, 0.3: violations"),
        (e2df(OBJECTIVES[5], violations=0.25), "Rl, 0.1: violations"),
    ],
)
def test_e2df_figures_that_differ_have_a_reason(change: Changes, words: str) -> None:
    assert words not in notes("e2df", made_up(as_e2df_printed()))
    assert words in notes("e2df", made_up({**as_e2df_printed(), **change}))


# game: which reasons stand under its tables.


@pytest.mark.parametrize(
    ("subject", "quantity", "message"),
    [
        (("trend", "nash"), "cost", "Cost, trend, selfish: by Expr. 5"),
        (("trend", "incentive"), "cost", "the paper's cost is 10 % more, ours 50"),
        (("trend", "incentive/nash"), "stability", "1,812 / 2,123 = 0.854"),
        (("trend", "nash"), "images", "Images: the workloads are generated"),
        (("trend", "nash"), "throughput", "Images: the workloads are generated"),
        (("trend", "nash", "denoiser-2"), "reconfigurations", "at 0.61 to 0.915 s"),
        (("trend", "nash", "recognizer"), "reconfigurations", "the newest step in the EWMA"),
        (("trend", "nash", "denoiser-1"), "efficiency", "Efficiencies"),
    ],
)
def test_game_figures_that_differ_have_a_reason_and_others_have_none(
    subject: tuple[str, ...], quantity: str, message: str
) -> None:
    options = {"steps": 600, "workloads": ("trend",)}
    off = made_up({(subject, quantity): 1.5 * least_cost("trend", "incentive")}, **options)
    assert message in notes("game", off)
    fine = made_up({(("trend", "nash"), "throughput"): 414.0}, **options)
    assert notes("game", fine) == "" or notes("game", fine).startswith("Ours with its 95 %")


@pytest.mark.parametrize(("ratio", "holds"), [(0.9, True), (0.96, False), (0.79, False)])
def test_game_cooperation_has_to_cost_5_to_20_percent_less(ratio: float, holds: bool) -> None:
    results = made_up({(("trend", BOTH), "cost"): ratio}, workloads=("trend",))
    assert answer("game", results, "Cooperation costs").holds == holds


@pytest.mark.parametrize(("ratio", "holds"), [(1.2, True), (1.14, False), (1.31, False)])
def test_game_cooperation_has_to_complete_more(ratio: float, holds: bool) -> None:
    results = made_up({(("trend", BOTH), "images"): ratio}, workloads=("trend",))
    assert answer("game", results, "more images").holds == holds


# mpc: Results 1 to 4, and which reasons stand under its tables.


def braked(by_workload: dict[str, list[float]]) -> dict[str, bool]:
    """What is said of th-node, from one value for each choice of switching cost and horizon."""
    values: Changes = {
        ((workload, variant_of(strategy, choice)), quantity): value
        for workload, made in by_workload.items()
        for strategy in STRATEGIES
        for choice, value in zip(CHOICES, made, strict=True)
        for quantity in ("reconfigurations", "violations", "amplitude", "replicas", "watts")
    }
    results = made_up(values, workloads=tuple(by_workload))
    return {claim.text[:17]: claim.holds for claim in answers("mpc", results)}


def test_mpc_results_must_show_somewhere_and_be_contradicted_nowhere() -> None:
    better, none, worse = [30.0, 10.0, 20.0], [30.0, 30.0, 30.0], [10.0, 30.0, 20.0]
    for found, holds in (
        ({"rwalk": better, "day": better}, True),
        ({"rwalk": better, "day": none}, True),
        ({"rwalk": none, "day": none}, False),
        ({"rwalk": better, "day": worse}, False),
    ):
        assert braked(found)["Result 3, th-node"] == holds
        assert braked(found)["Result 1, th-node"] == holds
    assert braked({"rwalk": worse})["Result 2, th-node"]
    assert not braked({"rwalk": better})["Result 2, th-node"]


@pytest.mark.parametrize(
    ("subject", "quantity", "fine", "message"),
    [
        ((2, "branch-and-bound"), "explored", 2_537.0, "How much of the tree"),
        ((2, "branch-and-bound"), "seconds", 608e-6, "Times are of this machine"),
        (("rwalk", variant_of("th-power", "sw-2")), "violations", 26.0, "Violations of th-power"),
        (("day", "th-power"), "share saved", 0.486, "On the trading day fewer replicas"),
        (("day", COMPARED[0]), "violations", 62.0, "Violations: how far"),
        (("day", COMPARED[0]), "reconfigurations", 39.0, "Reconfigurations depend"),
    ],
)
def test_mpc_figures_that_differ_have_a_reason_and_others_have_none(
    subject: Any, quantity: str, fine: float, message: str
) -> None:
    workloads = ("rwalk", "day")
    assert message in notes("mpc", made_up({(subject, quantity): 2 * fine}, workloads=workloads))
    assert message not in notes("mpc", made_up({(subject, quantity): fine}, workloads=workloads))


# ppq: each claim on both sides of its limit.


def of_streams(
    quantity: str, values: dict[str, float], query: str = "skyline", *, real: bool = False
) -> Changes:
    return {
        (runs.summary(s, query, published=real), quantity): value for s, value in values.items()
    }


def of_splits(workers: int, *, even: bool, **values: float) -> Changes:
    return {(runs.split(workers, even=even), quantity): v for quantity, v in values.items()}


def even_loads(work: float) -> Changes:
    return {(runs.split(n, even=True), "load"): work / n for n in runs.WORKERS}


def levels(alone: float, both: float, few: float) -> Changes:
    one, two = (runs.bursty("map-1k", levels=n) for n in (1, 2))
    first: Changes = {(one, "load"): alone, (one, "settled"): 60.0}
    return {**first, (two, "load"): both, (two, "settled"): few}


def variation(*values: float) -> Changes:
    streams = ("map-1k", "map-2k", "map-3k", "map-4k")
    return of_streams("cv", dict(zip(streams, values, strict=True)))


def workers_by_stream(sign: float) -> Changes:
    paper = {name: row["plq"] + row["wlq"] for name, row in runs.PUBLISHED.table_4.items()}
    none = of_streams("plq", dict.fromkeys(paper, 0.0))
    return {**none, **of_streams("wlq", {name: sign * total for name, total in paper.items()})}


def distances(seldom: float) -> Changes:
    """By the sampling period, with one that is different."""
    by_period = {runs.SAMPLINGS[0]: 0.2, runs.SAMPLINGS[-1]: 0.3}
    made: Changes = {
        (runs.sensitivity(interval, sampling, published=False), "distance"): off
        for interval in runs.INTERVALS
        for sampling, off in by_period.items()
    }
    changed = runs.sensitivity(5.0, runs.SAMPLINGS[-1], published=False)
    return {**made, (changed, "distance"): seldom}


def by_interval(slope: float) -> Changes:
    return {
        (runs.sensitivity(interval, sampling, published=False), "cv"): 1.0 + slope * interval
        for interval in runs.INTERVALS
        for sampling in runs.SAMPLINGS
    }


def slowed(most: float, slowest: float) -> Changes:
    made: Changes = {}
    for place, slowdown in enumerate(runs.SLOWDOWNS):
        share, play = place / (len(runs.SLOWDOWNS) - 1), runs.beside(slowdown, published=False)
        made[play, "workers"] = 20.0 + share * (most - 20.0)
        made[play, "results"] = 4.95 + share * (slowest - 4.95)
    return made


def aimed(many: float, lazy: float) -> Changes:
    same, lower = runs.aimed(0.0), runs.aimed(0.2)
    first: Changes = {(same, "plq"): many, (same, "busy"): lazy}
    return {**first, (lower, "plq"): 3.3, (lower, "busy"): 0.83}


def loads(other: float) -> Changes:
    """Of a generated stream and of the published one."""
    after = {**of_streams("load", {"rw": 0.9}), **of_streams("load", {"rw": other}, real=True)}
    return {**after, **of_streams("load_of_all", {"rw": 2.0})}


def phases(workers: float) -> Changes:
    return {(rate, "plq"): n for rate, n in {40e3: 3.0, 50e3: workers, 70e3: 6.0}.items()}


def pid(parts: float, kept: float) -> Changes:
    chosen = of_splits(8, even=False, splitting=parts, kept=kept)
    return {**chosen, **of_splits(8, even=True, kept=0.53)}


def kept(share: float) -> Changes:
    return {
        (runs.split(n, even=True), "kept"): v for n, v in {**runs.PUBLISHED.kept, 1: share}.items()
    }


def merges(less: float) -> Changes:
    return {("merging", "less idle"): less, (runs.merging(on=True), "merges"): 0.5}


@pytest.mark.parametrize(
    ("values", "words", "holds"),
    [
        (of_streams("delta", {"rw": 0.002, "map-4k": 0.031}), "Throughput", True),
        (of_streams("delta", {"rw": 0.002, "map-4k": 0.032}), "Throughput", False),
        (loads(0.90), "load of the pane stage is within", True),
        (loads(0.98), "load of the pane stage is within", True),
        (loads(1.02), "load of the pane stage is within", False),
        (loads(0.6), "load of the pane stage is within", False),
        (workers_by_stream(1.0), "the paper's order", True),
        (workers_by_stream(-1.0), "the paper's order", False),
        (variation(0.8, 0.9, 1.3, 1.8), "index of dispersion", True),
        (variation(1.0, 1.3, 1.29, 1.4), "index of dispersion", True),
        (variation(1.0, 1.3, 1.2, 1.4), "index of dispersion", False),
        (variation(1.16, 1.16, 1.17, 1.2), "index of dispersion", False),
        (phases(4.9), "Fig. 9", True),
        (phases(5.1), "Fig. 9", False),
        (phases(2.9), "Fig. 9", False),
        (levels(1.8, 0.85, 7.0), "Fig. 10, map-1k", True),
        (levels(1.2, 0.85, 7.0), "Fig. 10, map-1k", False),
        (levels(1.8, 1.1, 7.0), "Fig. 10, map-1k", False),
        (levels(1.8, 0.8, 60.0), "Fig. 10, map-1k", False),
        (even_loads(6.0), "7 workers", True),
        (even_loads(5.3), "7 workers", False),
        (even_loads(6.9), "7 workers", False),
        (pid(5.2, 0.45), "no further than it takes", True),
        (pid(8.0, 0.45), "no further than it takes", False),
        (pid(5.2, 0.53), "no further than it takes", False),
        (kept(0.285), "as theory says", True),
        (kept(0.3), "as theory says", False),
        (merges(0.3), "Merges", True),
        (merges(0.29), "Merges", False),
        (distances(0.4), "Fig. 17, left", True),
        (distances(0.1), "Fig. 17, left", False),
        (by_interval(0.1), "Fig. 17, right", True),
        (by_interval(0.0), "Fig. 17, right", False),
        (by_interval(-0.05), "Fig. 17, right", False),
        (slowed(40.0, 4.9), "Fig. 18", True),
        (slowed(20.0, 4.9), "Fig. 18", False),
        (slowed(40.0, 4.0), "Fig. 18", False),
        (aimed(14.0, 0.4), "run away", True),
        (aimed(4.0, 0.4), "run away", False),
        (aimed(14.0, 0.9), "run away", False),
    ],
)
def test_ppq_claims_hold_up_to_their_limits(values: Changes, words: str, holds: bool) -> None:
    assert answer("ppq", made_up(values), words).holds == holds


def test_ppq_nothing_is_claimed_of_what_was_not_played() -> None:
    assert answers("ppq", made_up({})) == ()
    three = dict(list(variation(0.8, 0.9, 1.3, 1.8).items())[:3])
    assert answers("ppq", made_up(three)) == ()


def test_ppq_claims_name_the_stream_that_is_furthest_off() -> None:
    late = of_streams("delta", {"rw": 0.002, "map-4k": 0.032})
    assert "map-4k" in answer("ppq", made_up(late), "Throughput").found
    claim = answer("ppq", made_up(loads(0.98)), "load of the pane stage")
    assert "2.000 over whole runs" in claim.found
    assert "rw, published" in claim.found


@pytest.mark.parametrize(
    ("subject", "quantity", "fine", "message"),
    [
        (runs.summary("game1", "skyline", published=False), "plq", 3.8, "Pane workers of game1"),
        (runs.summary("map-1k", "skyline", published=False), "plq", 4.3, "Pane workers: ours"),
        (runs.summary("rw", "skyline", published=False), "cv", 1.6, "CV: the paper's"),
        (runs.summary("map-4k", "skyline", published=False), "delta", 0.027, "a stream ends late"),
        (
            *(runs.summary("game1", "skyline", published=False), "load_of_all"),
            *(0.88, "Game1, whole run"),
        ),
        (runs.summary("rw", "top-delta", published=False), "wlq", 17.0, "Other rows"),
        (40e3, "plq", 3.0, "Half a worker more"),
        (runs.bursty("map-1k", levels=1), "load", 3.0, "Without splits the few panes"),
        (runs.split(8, even=False), "splitting", 5.2, "The PID's parts depend"),
        (runs.merging(on=True), "merges", 0.37, "Merges: we have not found out"),
    ],
)
def test_ppq_figures_that_differ_have_a_reason_and_others_have_none(
    subject: Any, quantity: str, fine: float, message: str
) -> None:
    assert message in notes("ppq", made_up({(subject, quantity): 2 * fine}))
    assert message not in notes("ppq", made_up({(subject, quantity): fine}))


def test_ppq_intervals_stand_in_the_unit_of_their_figure() -> None:
    play = runs.summary("rw", "skyline", published=True)
    results: Results[Any] = Results(
        options=Options(seeds=3), measured={(play, "delta"): Interval(0.0142, 0.0038, 3)}
    )
    [table, *_] = tables("ppq", results)
    assert table.rows == (("rw, published", "", "", "", "1.42 ±0.38 (0.4)*", ""),)
