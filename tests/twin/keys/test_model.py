"""What the models foresee of a keyed operator comes about on the twin: mpc, Expr. 1 to 8.

Learnt under one configuration, foreseen for another. The benchmark `mpc_model` has many more
operators, and more rows of each.
"""

import numpy as np
import pytest
from benchmarks.mpc_model import BY_TABLE, ONE_QUEUE, ONE_QUEUE_FED_BACK, OWN_QUEUES, Case, measure
from benchmarks.mpc_model import random_case as random_operator

ROWS = 250_000


def case(load: float, seed: int, *, balanced: bool = True) -> Case:
    return random_operator(np.random.default_rng(seed), load, balanced=balanced)


def of_one_degree(load: float) -> Case:
    """With the same replicas before and after, and several of them."""
    drawn = (case(load, seed) for seed in range(100))
    return next(c for c in drawn if c.before.degree == c.after.degree >= 4)


@pytest.mark.parametrize("load", [0.5, 0.95, 1.3])
@pytest.mark.parametrize("balanced", [True, False], ids=["balanced", "unbalanced"])
def test_throughput_is_within_5_percent_of_what_the_table_lets_through(
    load: float, balanced: bool
) -> None:
    for seed in range(3):
        found = measure(case(load, seed, balanced=balanced), seed, ROWS)
        assert found.utilisation == pytest.approx(load, rel=0.03)
        assert abs(found.throughput) < 0.05


@pytest.mark.parametrize("load", [0.4, 0.7, 0.9])
def test_waiting_time_is_within_25_percent_with_a_queue_for_each_replica(load: float) -> None:
    for seed in range(3):
        found = measure(case(load, seed), seed, ROWS)
        assert abs(found.waits[BY_TABLE]) < 0.25
        assert abs(found.waits[OWN_QUEUES]) < 0.25


@pytest.mark.parametrize("load", [0.4, 0.7, 0.9])
def test_one_queue_for_all_replicas_has_to_be_corrected_by_about_their_number(load: float) -> None:
    """Feedback does that where the degree stays (mpc, Expr. 8)."""
    drawn = of_one_degree(load)
    found = measure(drawn, 1, ROWS)
    assert found.waits[ONE_QUEUE] == pytest.approx(1 / drawn.after.degree - 1, abs=0.1)
    assert abs(found.waits[ONE_QUEUE_FED_BACK]) < 0.25
