"""The twin of a keyed operator against queueing theory, as in `test_twin_theory`."""

from math import log
from typing import Any

import pytest

from penstock.twin import Totals
from tests.support.twins import SEEDS, assert_agrees, decide, keyed, table

FOUR = dict.fromkeys("abcd", 1.0)


def settled(rate: float, seed: int, rows: float = 80_000.0, **settings: Any) -> Totals:
    """Totals of a run without its first tenth, in which the queues fill."""
    seconds = rows / rate
    twin = keyed(rate=rate, seed=seed, step=seconds / 10, duration=seconds, **settings)
    readings = twin.readings()
    next(readings)
    filled = twin.totals()["only"]
    for _ in readings:
        pass
    return twin.totals()["only"] - filled


def one_replica(cv: float) -> dict[str, Any]:
    module = {"service_time": 1.0, "service_cv": cv, "initial_replicas": 1}
    return {"module": module, "shares": {"a": 1.0}}


@pytest.mark.parametrize("load", [0.3, 0.75])
def test_one_replica_with_one_key_is_an_mm1(load: float) -> None:
    runs = [settled(load, seed, **one_replica(1.0)) for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], load / (1 - load), 0.03)
    assert_agrees([run.sojourn_time for run in runs], 1 / (1 - load))
    assert_agrees([run.utilisation for run in runs], load)


def test_fixed_times_make_it_an_md1() -> None:
    runs = [settled(0.75, seed, **one_replica(0.0)) for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], 0.75 / (2 * 0.25), 0.03)


def test_replicas_with_balanced_keys_are_that_many_mg1s() -> None:
    """Poisson arrivals that are parted by chance are Poisson: Pollaczek and Khinchine hold."""
    module = {"service_time": 1.0, "service_cv": 0.5, "initial_replicas": 4}
    routing = table(4, a=0, b=1, c=2, d=3)
    runs = [
        settled(4 * 0.7, seed, 200_000.0, module=module, shares=FOUR, routing=routing)
        for seed in SEEDS
    ]
    assert_agrees([run.waiting_time for run in runs], 0.7 / 0.3 * (1 + 0.5**2) / 2)


def test_replicas_do_not_help_each_other() -> None:
    """Each of two has its own queue, so one with more keys makes its rows wait longer."""
    module = {"service_time": 1.0, "service_cv": 1.0, "initial_replicas": 2}
    routing = table(2, a=0, b=0, c=0, d=1)
    runs = [
        settled(1.0, seed, 100_000.0, module=module, shares=FOUR, routing=routing) for seed in SEEDS
    ]
    mean = 0.75 * (0.75 / 0.25) + 0.25 * (0.25 / 0.75)
    assert_agrees([run.waiting_time for run in runs], mean, 0.03)


def test_keys_that_take_different_times_add_to_the_variation() -> None:
    """A mixture of fixed times, 0.5 s and 1.5 s: an M/G/1 with that mixture's variation."""
    module = {"service_time": 1.0, "initial_replicas": 1}
    times, shares = {"a": 0.5, "b": 1.5}, {"a": 1.0, "b": 1.0}
    runs = [settled(0.6, seed, module=module, shares=shares, service_times=times) for seed in SEEDS]
    assert_agrees([run.service_cv for run in runs], 0.5)
    assert_agrees([run.waiting_time for run in runs], 0.6 / 0.4 * (1 + 0.5**2) / 2)


def test_a_faster_clock_makes_an_mm1_of_a_faster_server() -> None:
    runs = [settled(0.9, seed, frequency=1.5, reference=1.0, **one_replica(1.0)) for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], (0.6 / 0.4) / 1.5, 0.03)
    assert_agrees([run.utilisation for run in runs], 0.6)


def test_rows_at_the_operator_follow_from_how_long_they_stay() -> None:
    """Little's law, with keys that move all the time and replicas that come and go."""
    twin = keyed(rate=900.0, rows=20_000, migration_time=0.2, duration=60.0)
    for turn, _ in enumerate(twin.readings()):
        degree = 3 + turn % 3
        owners = {key: (turn + place) % degree for place, key in enumerate("abcdefgh")}
        twin.apply(decide(degree, table(degree, **owners)))
    totals = twin.totals()["only"]
    assert totals.arrived == totals.finished > 19_000
    assert totals.row_seconds == pytest.approx(totals.stayed, rel=1e-9)
    assert totals.busy_seconds == pytest.approx(totals.finished * 0.003, rel=1e-9)


def test_median_latency_is_that_of_an_mm1() -> None:
    twin = keyed(rate=0.5, step=2e6, duration=2e6, **one_replica(1.0))
    (seen,) = twin.readings()
    assert seen.latency is not None
    assert seen.latency.p50 == pytest.approx(log(2) / 0.5, rel=0.02)
    assert seen.latency.p99 == pytest.approx(log(100) / 0.5, rel=0.03)
