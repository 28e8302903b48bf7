"""The game paper's workloads: what its text and tables say of them, over many seeds."""

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.papers.game.experiment import EQUILIBRIUM, SCENARIOS, images, inter_arrivals
from penstock.twin import Twin

SLOW = {"cyclic": [(200, 400)], "trend": [(0, 300)], "rwalk": [(0, 100), (400, 550)]}
"""Game, Section 6.2: steps in which both strategies decide alike."""


def slow_steps(name: str) -> NDArray[np.bool_]:
    return np.array([any(a <= step < b for a, b in SLOW[name]) for step in range(600)])


@pytest.mark.parametrize(
    ("name", "selfish", "cooperative"),
    [("cyclic", 402.9, 483.1), ("trend", 414.0, 518.4), ("rwalk", 401.4, 500.7)],
)
def test_as_many_images_could_be_completed_as_in_the_papers_table(
    name: str, selfish: float, cooperative: float
) -> None:
    """Game, Tab. V, by the paces of the equilibrium and of the social optimum.

    Not closer: the efficiencies of Tab. IV, fitted as well, ask for more images.
    """
    gaps = np.stack([inter_arrivals(name, seed) for seed in range(40)])
    assert np.mean(300.0 / np.maximum(gaps, EQUILIBRIUM)) == pytest.approx(selfish, rel=0.04)
    assert np.mean(300.0 / np.maximum(gaps, 0.45125)) == pytest.approx(cooperative, rel=0.04)


@pytest.mark.parametrize("name", SLOW)
def test_phases_are_slow_and_fast_where_the_paper_says(name: str) -> None:
    """On average over the seeds in nearly every step, and in four of five steps of each seed:
    slow phases are slow by a few percent, about as much as single steps scatter."""
    gaps = np.stack([inter_arrivals(name, seed) for seed in range(40)])
    slow = slow_steps(name)
    assert np.mean(gaps.mean(axis=0)[slow] > EQUILIBRIUM) > 0.9
    assert np.mean(gaps.mean(axis=0)[~slow] < EQUILIBRIUM) > 0.9
    agreeing = np.where(slow, gaps > EQUILIBRIUM, gaps < EQUILIBRIUM)
    assert agreeing.mean() > 0.8
    assert agreeing.mean(axis=1).min() > 0.7


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_seed_is_another_workload_and_the_same_seed_the_same(name: str) -> None:
    assert np.array_equal(inter_arrivals(name, 3), inter_arrivals(name, 3))
    assert not np.allclose(inter_arrivals(name, 3), inter_arrivals(name, 4))


@pytest.mark.parametrize("name", SCENARIOS)
def test_rows_of_each_step_come_as_often_as_its_inter_arrival_time_says(name: str) -> None:
    workload, ends = images(name, 1, 50), 300.0 * np.arange(51.0)
    counts = np.diff(workload.arrivals(ends))
    assert counts == pytest.approx(300.0 / inter_arrivals(name, 1, steps=50))


def test_fewer_steps_have_the_same_phases_played_faster() -> None:
    few, all_ = inter_arrivals("cyclic", 1, steps=60), inter_arrivals("cyclic", 1)
    assert few == pytest.approx(all_[5::10], rel=0.1)


def test_the_twin_is_fed_by_them_like_by_any_workload() -> None:
    graph = FlowGraph(source="only", modules=(Module(name="only", service_time=0.1),))
    workload = images("trend", 1, 10)
    twin = Twin(graph, workload, step=300.0, duration=3000.0, arrivals="normal")
    rates = np.array([seen.modules["only"].arrival_rate for seen in twin.readings()], np.float64)
    assert 1.0 / rates == pytest.approx(inter_arrivals("trend", 1, steps=10), rel=0.05)


def test_a_workload_that_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(
        SettingError, match=r"no workload 'rwlk' in Section 6.2; did you mean 'rwal"
    ):
        inter_arrivals("rwlk", 1)
    with pytest.raises(SettingError, match="steps of workload trend must be at least 1, got 0"):
        inter_arrivals("trend", 1, steps=0)
    with pytest.raises(SettingError, match="seed of workload trend must be at least 0, got -1"):
        inter_arrivals("trend", -1)
