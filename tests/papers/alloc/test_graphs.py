"""Random graphs of the alloc paper, and what planners make of them."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.papers.alloc.experiment import ONCE
from penstock.papers.alloc.experiment import planned as plan_in_every_way
from penstock.papers.alloc.graphs import GRAPHS, ORDER, REDUCED, draw_graph
from penstock.policy.allocation.network import Network

Pairs = set[tuple[str, str]]
SEEDS = st.integers(0, 10_000)


def drawn(nodes: int, seed: int, graph: str = REDUCED) -> Network:
    return draw_graph(nodes, np.random.default_rng(seed), graph=graph)


def pairs(network: Network) -> Pairs:
    return {(link.origin, link.target) for link in network.links}


def closed(links: Pairs) -> Pairs:
    """With a link wherever there is a way."""
    after: dict[str, set[str]] = {}
    for origin, target in links:
        after.setdefault(origin, set()).add(target)

    def reach(name: str) -> set[str]:
        return {b for a in after.get(name, ()) for b in {a, *reach(a)}}

    return {(origin, target) for origin in after for target in reach(origin)}


@given(nodes=st.integers(1, 12), seed=SEEDS)
def test_links_as_written_and_to_all_successors_lead_to_the_same_modules(
    nodes: int, seed: int
) -> None:
    few, all_of_them = (pairs(drawn(nodes, seed, graph)) for graph in (REDUCED, ORDER))
    assert closed(few) == all_of_them == closed(all_of_them)


@given(nodes=st.integers(2, 12), seed=SEEDS)
def test_no_link_as_written_can_be_left_out(nodes: int, seed: int) -> None:
    links = pairs(drawn(nodes, seed))
    for link in links:
        assert link not in closed(links - {link})


@given(nodes=st.integers(1, 15), seed=SEEDS, graph=st.sampled_from(GRAPHS))
def test_sources_feed_what_nothing_else_feeds_and_sinks_end_what_feeds_nothing(
    nodes: int, seed: int, graph: str
) -> None:
    network = drawn(nodes, seed, graph)
    assert {inflow.target for inflow in network.inflows} == {
        name for name in network.modules if not network.inputs[name]
    }
    assert {outflow.origin for outflow in network.outflows} == {
        name for name in network.modules if not network.outputs[name]
    }


@pytest.mark.parametrize("nodes", [20, 50])
def test_links_to_all_successors_are_a_quarter_of_all_pairs_with_order(nodes: int) -> None:
    """Both coordinates of one point are larger with a chance of 1/4."""
    counts = [len(drawn(nodes, seed, ORDER).links) for seed in range(200)]
    margin = 4 * np.std(counts) / np.sqrt(len(counts))
    assert fmean(counts) == pytest.approx(nodes * (nodes - 1) / 4, abs=margin)
    assert fmean(len(drawn(nodes, seed).links) for seed in range(200)) < 0.5 * fmean(counts)


def test_sources_and_sinks_are_as_many_as_records_of_a_permutation() -> None:
    """By the order of one coordinate, a point without predecessors is a new least of the other."""
    networks = [drawn(30, seed) for seed in range(300)]
    harmonic = sum(1 / k for k in range(1, 31))
    for counts in (
        [len(network.inflows) for network in networks],
        [len(network.outflows) for network in networks],
    ):
        margin = 4 * np.std(counts) / np.sqrt(len(counts))
        assert fmean(counts) == pytest.approx(harmonic, abs=margin)


def test_rates_and_weights_lie_between_0_and_1_and_are_all_different() -> None:
    network = drawn(40, 3)
    rates = [inflow.consumes for inflow in network.inflows]
    rates += [rate for link in network.links for rate in (link.produces, link.consumes)]
    rates += [rate for out in network.outflows for rate in (out.produces, out.weight)]
    assert all(0 < rate < 1 for rate in rates)
    assert len(set(rates)) == len(rates)


Plans = list[dict[str, dict[str, float]]]
"""Of each graph, by planner and quantity."""


@pytest.fixture(scope="module")
def planned() -> Plans:
    return [plan_in_every_way(drawn(50, seed)) for seed in range(30)]


def test_exact_agents_are_near_the_optimum_on_every_graph(planned: Plans) -> None:
    shares = [graph["cutting-plane"]["share"] for graph in planned]
    assert fmean(shares) >= 0.999
    assert min(shares) >= 0.99
    assert fmean(graph["cutting-plane"]["passes"] for graph in planned) <= 15


@pytest.mark.parametrize("planner", ["heuristic-a", ONCE, "heuristic-b", "cutting-plane"])
def test_no_planner_beats_the_linear_program(planned: Plans, planner: str) -> None:
    assert max(graph[planner]["share"] for graph in planned) <= 1 + 1e-7


def test_heuristics_reach_the_papers_averages_on_50_nodes(planned: Plans) -> None:
    assert fmean(graph["heuristic-a"]["share"] for graph in planned) >= 0.576
    assert fmean(graph["heuristic-b"]["share"] for graph in planned) >= 0.689


def test_rounds_of_heuristic_a_never_harm(planned: Plans) -> None:
    for graph in planned:
        assert graph["heuristic-a"]["share"] >= graph[ONCE]["share"] * (1 - 1e-9)
