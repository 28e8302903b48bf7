"""The reproduction of the mpc paper: what its authors found is found again."""

from statistics import fmean
from time import perf_counter

import pytest

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import spread
from penstock.papers.mpc.experiment import COMPARED, PUBLISHED, VARIANTS, Case, examine
from penstock.papers.mpc.results import no_more
from penstock.policy.mpc import STRATEGIES
from tests.support.papers import find, run

FIGURES_OF_DAY = ["11", "12", "13", "14a", "14b", "16", "17"]
STEPS = 5
"""Seconds that are enough where only the shape of what comes out is looked at."""
CHOICES = ("nosw", "sw-1", "sw-2")
BRAKED = [v for v in VARIANTS if v.strategy in ("th-power", "lat-node") and v.choice in CHOICES]
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def done() -> Reproduction:
    return run("mpc", seeds=1, steps=STEPS)


@pytest.fixture(scope="module")
def means() -> dict[tuple[str, str], float]:
    """Of every quantity, by the name of the variant: whole trading days."""
    cases = [Case(workload="day", seed=1, variant=variant) for variant in BRAKED]
    cases += [Case(workload="day", seed=s, variant=v) for s in SEEDS for v in COMPARED[:4]]
    values: dict[tuple[str, str], list[float]] = {}
    for index, done in spread(examine, cases, jobs=2):
        [(_, score)] = done.values
        for quantity, value in score.items():
            values.setdefault((cases[index].variant.name, quantity), []).append(value)
    return {place: fmean(each) for place, each in values.items()}


@pytest.fixture(params=["th-power", "lat-node"])
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_result_1_a_switching_cost_saves_reconfigurations_and_a_horizon_gives_some_back(
    means: dict[tuple[str, str], float], strategy: str
) -> None:
    free, braked, ahead = (means[f"{strategy} {c}", "reconfigurations"] for c in CHOICES)
    assert braked < ahead < free


def test_result_2_a_switching_cost_overshoots_and_a_horizon_mitigates_it(
    means: dict[tuple[str, str], float], strategy: str
) -> None:
    quantity = "watts" if STRATEGIES[strategy].power else "replicas"
    free, braked, ahead = (means[f"{strategy} {c}", quantity] for c in CHOICES)
    assert braked > 1.05 * free
    assert ahead < 0.95 * braked


def test_result_3_a_switching_cost_misses_less_often_and_a_horizon_offsets_that(
    means: dict[tuple[str, str], float], strategy: str
) -> None:
    free, braked, ahead = (means[f"{strategy} {c}", "violations"] for c in CHOICES)
    assert braked < ahead <= free


def test_result_4_a_switching_cost_makes_changes_smaller(
    means: dict[tuple[str, str], float], strategy: str
) -> None:
    free, braked, ahead = (means[f"{strategy} {c}", "amplitude"] for c in CHOICES)
    assert max(braked, ahead) < free


@pytest.mark.parametrize("baseline", ["rules-90 4s", "rules-95 4s", "spl 4s"])
@pytest.mark.parametrize("quantity", ["reconfigurations", "violations", "replicas"])
def test_table_7_has_the_papers_order(
    means: dict[tuple[str, str], float], baseline: str, quantity: str
) -> None:
    assert means["th-node 4s", quantity] < means[baseline, quantity]


@pytest.mark.parametrize("strategy", [variant.name for variant in COMPARED[:4]])
def test_table_7_has_about_the_replicas_that_the_day_was_fitted_to(
    means: dict[tuple[str, str], float], strategy: str
) -> None:
    name, step = strategy.split()
    paper = PUBLISHED.table_7[name, step]["replicas"]
    assert means[strategy, "replicas"] == pytest.approx(paper, rel=0.15)


def test_clocks_save_watts(done: Reproduction) -> None:
    for workload in ("rwalk", "day"):
        saved = find(done.entries, table="5.3.2", workload=workload, quantity="watts saved")
        assert saved is not None
        assert saved.ours.mean > 5.0


def test_the_watts_of_the_static_configuration_are_calibrated_and_shown_as_such(
    done: Reproduction,
) -> None:
    static = find(done.entries, workload="rwalk", strategy="static", quantity="watts")
    assert static is not None
    assert (static.paper, static.calibrated) == (68.25, True)
    [walk] = [table for table in done.tables if "numbers, random walk" in table.title]
    assert walk.rows[-1][-1] == "68.25 (68.25)†"
    assert any("is calibrated" in note for note in walk.notes)


def test_both_searches_agree_and_one_grows_linearly(done: Reproduction) -> None:
    explored = [
        find(done.entries, table="5", horizon=str(h), search=search, quantity="explored")
        for search in ("branch-and-bound", "dynamic-programming")
        for h in (1, 2, 3)
    ]
    tree, path = ([e.ours.mean for e in part if e] for part in (explored[:3], explored[3:]))
    assert tree[0] == path[0] == 108
    assert tree[1] < 11_664
    assert tree[2] < 1_259_712
    assert path[2] - path[1] == path[1] - path[0] == 108**2
    [claim] = [c for c in done.claims if "dynamic programming" in c.text]
    assert claim.holds


def test_nothing_is_timed_without_a_clock(done: Reproduction) -> None:
    assert find(done.entries, quantity="seconds") is None
    timed = run("mpc", seeds=1, steps=1, workloads=("rwalk",), clock=perf_counter)
    times = [e.ours.mean for e in timed.entries if e.where["quantity"] == "seconds"]
    assert len(times) == 6
    assert all(0 < seconds < 10 for seconds in times)


def test_every_result_is_answered_for_every_strategy(done: Reproduction) -> None:
    for number in range(1, 5):
        for strategy in STRATEGIES:
            assert any(c.text.startswith(f"Result {number}, {strategy}:") for c in done.claims)
    assert sum("Table 7" in claim.text for claim in done.claims) == 3


def test_figures_have_a_value_for_every_step_and_strategy(done: Reproduction) -> None:
    charts = {figure.number: figure.charts for figure in done.figures}
    assert [len(line.y) for chart in charts["11"] for line in chart.lines] == [STEPS] * 4
    assert [len(line.y) for line in charts["13"][0].lines] == [STEPS] * 4
    assert len(charts["15"]) == 3
    assert len(charts["12"][0].names) == 16
    assert len(charts["14a"][0].names) == len(charts["14b"][0].names) == 8


def test_of_a_part_the_papers_counts_are_left_out() -> None:
    done = run("mpc", seeds=1, steps=2, workloads=("day",))
    assert all(e.paper is None for e in done.entries if e.where["table"] == "7")
    assert "Only the first 2 seconds were played" in " ".join(done.remarks)
    assert [figure.number for figure in done.figures] == FIGURES_OF_DAY


def test_means_are_distinguished_by_a_percent_or_half_a_count() -> None:
    assert no_more(36.3, 36.0, "watts")
    assert not no_more(36.5, 36.0, "watts")
    assert no_more(3.5, 3.0, "violations")
    assert not no_more(3.6, 3.0, "violations")
