"""Micro-batches of a module with keys, against what they must come to."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.twin import KeyedTwin, Totals, Twin
from tests.support.twins import SEEDS, Constant, assert_agrees, decide, keyed, only, table

TRIGGER, OVERHEAD, SERVICE = 2.0, 0.6, 0.003
ONE = {"initial_replicas": 1, "trigger": TRIGGER, "overhead": OVERHEAD}


def total(twin: Twin) -> Totals:
    for _ in twin.readings():
        pass
    return twin.totals()["only"]


def test_rows_wait_for_the_trigger_and_leave_with_the_batch() -> None:
    totals = total(keyed(50.0, 1000, module=ONE, arrivals="even", duration=30.0))
    in_batch = 50 * TRIGGER
    assert totals.finished == 1000
    assert totals.batch_duration == pytest.approx(in_batch * SERVICE + OVERHEAD)
    waits = (in_batch - 1) / (2 * 50.0)
    assert totals.sojourn_time == pytest.approx(waits + in_batch * SERVICE + OVERHEAD)


def test_mean_latency_is_half_a_trigger_the_batch_and_its_overhead() -> None:
    """Of Poisson rows, the batch that a row is in has 1 + rate * trigger of them on average."""
    rate = 20.0
    runs = [total(keyed(rate, module=ONE, duration=2000.0, seed=seed)) for seed in SEEDS]
    batch = SERVICE * (1 + rate * TRIGGER) + OVERHEAD
    assert_agrees([run.sojourn_time for run in runs], TRIGGER / 2 + batch, 0.01)
    assert_agrees([run.utilisation for run in runs], rate * SERVICE, 0.02)


def test_replicas_share_a_batch_by_their_keys() -> None:
    module = ONE | {"initial_replicas": 2}
    apart: dict[str, Any] = {
        "shares": {"a": 1.0, "b": 1.0},
        "routing": table(2, a=0, b=1),
        "duration": 60.0,
    }
    alone = apart | {"routing": table(2, a=0, b=0)}
    one, two = (total(keyed(200.0, module=module, **given)) for given in (alone, apart))
    assert (one.batch_duration or 0) - OVERHEAD == pytest.approx(
        2 * ((two.batch_duration or 0) - OVERHEAD), rel=0.1
    )


def test_a_batch_takes_no_more_rows_than_its_replicas_may() -> None:
    module = ONE | {"max_batch": 0.3}
    twin = keyed(100.0, module=module, arrivals="even", duration=40.0)
    last = [only(seen) for seen in twin.readings()][-1]
    assert twin.totals()["only"].batch_duration == pytest.approx(100 * SERVICE + OVERHEAD)
    assert (last.backlog or 0.0) > 1000


@pytest.mark.parametrize("migration", ["mp", "r-blk", "s-blk"])
def test_keys_that_move_between_batches_keep_their_rows_in_order(migration: str) -> None:
    module = {"initial_replicas": 2, "trigger": 0.5, "overhead": 0.1, "migration": migration}
    times = {"migration_time": 0.05, "hand_out_time": 0.0005, "duration": 30.0}
    twin = keyed(300.0, 4000, module=module, journal=True, arrivals="even", **times)
    rows = []
    for turn, _ in enumerate(twin.readings()):
        rows.append(twin.journal())
        degree = 2 + turn % 3
        owners = {key: (turn + place) % degree for place, key in enumerate("abcdefgh")}
        twin.apply(decide(degree, table(degree, **owners)))
    journal = np.concatenate(rows)
    assert sorted(journal["number"]) == list(range(4000))
    for key in range(8):
        mine = journal[journal["key"] == key]
        begun = mine[np.argsort(mine["number"])]["begun"].tolist()
        assert all(a < b for a, b in pairwise(begun))
    assert twin.moved > 0


def test_a_module_with_keys_works_between_others() -> None:
    modules = (
        Module(name="parse", service_time=0.001, initial_replicas=2),
        Module(name="only", service_time=0.002, keys=40, initial_replicas=3, trigger=1.0),
        Module(name="store", service_time=0.001, buffer=50),
    )
    streams = (
        Stream(origin="parse", target="only", selectivity=2.0),
        Stream(origin="only", target="store", selectivity=0.5),
    )
    graph = FlowGraph(source="parse", modules=modules, streams=streams)
    twin = KeyedTwin(graph, Constant(200.0, 2000), step=1.0, duration=30.0, arrivals="even")
    for turn, _ in enumerate(twin.readings()):
        twin.apply(decide(2 + turn % 3))
    totals = twin.totals()
    assert totals["only"].finished == totals["only"].arrived == 4000
    assert totals["store"].finished == totals["store"].arrived == pytest.approx(2000, rel=0.1)
    for station in totals.values():  # Little's law
        assert station.row_seconds == pytest.approx(station.stayed, rel=1e-9)
