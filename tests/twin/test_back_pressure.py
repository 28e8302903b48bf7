"""Back-pressure in the twin comes out as the flow-graph model says: game, Prop. 4.1."""

import numpy as np
import pytest
from benchmarks.back_pressure import BUFFER, Case, deviations, random_case

from penstock.twin import Twin
from penstock.workload import Constant


@pytest.mark.parametrize("size", [3, 20, 50])
@pytest.mark.parametrize("balanced", [True, False], ids=["alike", "unlike"])
@pytest.mark.parametrize("flooded", [True, False], ids=["flooded", "fed"])
def test_every_module_of_a_random_graph_goes_at_the_pace_that_the_model_foresees(
    size: int, balanced: bool, flooded: bool
) -> None:
    """Within 3 %; the benchmark of the same name has many more graphs, and rarer modules."""
    random = np.random.default_rng(size)
    case = random_case(random, size, balanced=balanced, flooded=flooded, least_reach=0.05)
    found = deviations(case, seed=size, rarest=12_000)
    assert len(found) == size
    assert max(abs(off) for off in found.values()) < 0.03


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_within_stay_bounded_and_the_rest_waits_at_a_source_that_is_held_back(
    seed: int,
) -> None:
    case = held_back(seed)
    pace = case.model.pace(case.degrees()).inter_departure[case.graph.source]
    duration = 40_000 * pace
    twin = Twin(
        case.graph,
        Constant(1.0 / case.inter_arrival),
        step=duration / 200,
        duration=duration,
        seed=seed,
    )
    outside = []
    for seen in twin.readings():
        outside.append(seen.modules[case.graph.source].backlog or 0.0)
        for module in case.graph.modules:
            if module.name != case.graph.source:
                backlog = seen.modules[module.name].backlog or 0.0
                assert backlog <= BUFFER + module.initial_replicas
    # once the buffers are full, what comes in excess of the pace stays outside
    grown = (outside[-1] - outside[100]) / (duration * 99 / 200)
    assert grown == pytest.approx(1.0 / case.inter_arrival - 1.0 / pace, rel=0.06)


def held_back(seed: int) -> Case:
    """A graph of 20 modules whose source is faster than the rest, with rows always waiting."""
    random = np.random.default_rng(seed)
    while True:
        case = random_case(random, 20, balanced=False, flooded=True, least_reach=0.05)
        if case.model.pace(case.degrees()).efficiency[case.graph.source] < 0.8:
            return case
