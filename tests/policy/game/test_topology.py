"""Diameter and spanning tree, beside a search from every module."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model import FlowModel
from penstock.policy.game.topology import Topology
from tests.support.game_graphs import SERVICE, chain, models

Neighbours = dict[str, tuple[str, ...]]


def linked(size: int, links: list[tuple[int, int]]) -> Neighbours:
    near: dict[str, list[str]] = {str(i): [] for i in range(size)}
    for a, b in links:
        near[str(a)].append(str(b))
        near[str(b)].append(str(a))
    return {name: tuple(others) for name, others in near.items()}


def eccentricities(neighbours: Neighbours) -> dict[str, int]:
    """By a plain search from every module."""
    found = {}
    for root in neighbours:
        hops, queue = {root: 0}, deque([root])
        while queue:
            here = queue.popleft()
            for other in neighbours[here]:
                if other not in hops:
                    hops[other] = hops[here] + 1
                    queue.append(other)
        found[root] = max(hops.values())
    return found


def ring(size: int) -> Neighbours:
    return linked(size, [(i, (i + 1) % size) for i in range(size)])


def fan(size: int) -> Neighbours:
    inner = range(1, size - 1)
    return linked(size, [(0, i) for i in inner] + [(i, size - 1) for i in inner])


def check(neighbours: Neighbours) -> None:
    shape, far = Topology.of(neighbours), eccentricities(neighbours)
    assert shape.diameter == max(far.values())
    assert shape.height == min(far.values()) == far[shape.names[shape.root]]
    for i, parent in enumerate(shape.parent.tolist()):
        if i == shape.root:
            assert parent == -1
        else:
            assert shape.names[parent] in neighbours[shape.names[i]]
            assert shape.depth[i] == shape.depth[parent] + 1
    assert sorted(shape.order.tolist()) == list(range(shape.size))
    assert (np.diff(shape.depth[shape.order]) >= 0).all()


@given(models())
@settings(max_examples=100)
def test_any_graph_is_measured_exactly(model: FlowModel) -> None:
    check(dict(model.neighbours))


@pytest.mark.parametrize(
    "neighbours",
    [linked(1, []), linked(2, [(0, 1)]), ring(3), ring(12), ring(13), fan(3), fan(20)],
    ids=["one", "two", "ring of 3", "of 12", "of 13", "fan of 3", "fan of 20"],
)
def test_graphs_whose_modules_are_alike_are_measured_exactly(neighbours: Neighbours) -> None:
    check(neighbours)


def test_the_papers_graph_is_three_hops_wide_and_its_tree_two_high() -> None:
    shape = Topology.of(FlowModel.of(SERVICE).neighbours)
    assert (shape.diameter, shape.height) == (3, 2)
    assert shape.names[shape.root] == "edge-detector"


def test_large_graphs_that_need_many_searches_are_measured_exactly() -> None:
    assert Topology.of(ring(1500)).diameter == 750
    assert Topology.of(fan(5000)).diameter == 2
    assert Topology.of(FlowModel.of(chain([0.1] * 5000)).neighbours).diameter == 4999


@given(models(), st.data())
def test_a_part_of_the_tree_leads_to_its_members_only(
    model: FlowModel, data: st.DataObject
) -> None:
    shape = Topology.of(model.neighbours)
    members = np.array(data.draw(st.lists(st.booleans(), min_size=shape.size, max_size=shape.size)))
    wanted = {shape.root}
    for i in np.flatnonzero(members).tolist():
        while i != -1:
            wanted.add(i)
            i = int(shape.parent[i])
    assert set(np.flatnonzero(shape.leading_to(members)).tolist()) == wanted
