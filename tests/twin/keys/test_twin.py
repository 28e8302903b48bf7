"""The twin of a keyed operator as a plant: what it reports, what it refuses, that it repeats."""

import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.loop import control
from penstock.core.roles import Plant
from penstock.core.signals import (
    Configuration,
    Decision,
    Observation,
    Power,
    current,
)
from penstock.testing import PLANT_CHECKS
from penstock.testing.checking import Check
from penstock.twin import KeyedTwin
from penstock.workload.keys import shares
from tests.support.twins import LETTERS, Constant, decide, keyed, only, table


def sway(seen: Observation) -> Decision:
    """Other replicas, another table and another clock at every step."""
    turn = int(seen.at)
    degree = 1 + turn % 4
    owners = {key: (turn * place) % degree for place, key in enumerate(LETTERS)}
    return decide(degree, table(degree, **owners), 1.2 + 0.1 * (turn % 9))


# A plant


@pytest.mark.parametrize("check", PLANT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("start_up", [0.0, 2.5])
def test_it_does_what_every_plant_promises(
    start_up: float, check: Check[Callable[[], Plant]]
) -> None:
    check(lambda: keyed(module={"start_up": start_up}))


def test_the_same_seed_and_decisions_give_the_same_observations() -> None:
    one, other = (list(control(keyed(seed=7, frequency=2.0), sway)) for _ in range(2))
    assert one == other
    assert one != list(control(keyed(seed=8, frequency=2.0), sway))


def test_a_copy_in_the_middle_of_a_run_lives_on_alone() -> None:
    twin = keyed(frequency=2.0, migration_time=0.3, duration=20.0)
    assert len([tick for tick, _ in zip(control(twin, sway), range(7), strict=False)]) == 7
    copy = deepcopy(twin)
    tried = list(control(copy, sway))
    assert list(control(twin, sway)) == tried
    assert len(tried) == 12  # one tick more was taken from the loop than was kept


def test_rows_have_the_same_keys_and_times_whatever_is_decided() -> None:
    calm, swayed = (
        keyed(
            rate=200.0,
            rows=1000,
            arrivals="normal",
            module={"service_cv": 0.7},
            frequency=2.0,
            journal=True,
        )
        for _ in range(2)
    )
    rows = [
        np.concatenate([calm.journal() for _ in calm.readings()]),
        np.concatenate([swayed.journal() for _ in control(swayed, sway)]),
    ]
    first, second = (np.sort(journal, order="number") for journal in rows)
    assert len(first) == len(second) == calm.totals()["only"].arrived > 900
    assert np.array_equal(first["key"], second["key"])
    assert calm.totals()["only"].service_time == pytest.approx(
        swayed.totals()["only"].service_time, rel=1e-9
    )


def test_numba_is_imported_only_when_a_run_starts() -> None:
    code = "import sys; import penstock.twin; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# What it reports


def test_it_counts_the_rows_of_every_key() -> None:
    twin = keyed(rate=1000.0, shares={"a": 3.0, "b": 1.0, "never": 0.0}, duration=50.0)
    for seen in twin.readings():
        loads = only(seen).keys
        assert loads is not None
        assert sum(loads.rates.values()) == pytest.approx(only(seen).arrival_rate)
        assert set(loads.rates) == {"a", "b"}
    totals = twin.totals()["only"]
    assert totals.arrived == pytest.approx(50_000, rel=0.02)


def test_keys_come_as_often_as_their_shares_say() -> None:
    asked = shares(50)
    twin = keyed(rate=400_000.0, module={"service_time": 0.0}, shares=asked, duration=1.0)
    (seen,) = twin.readings()
    loads, rate = only(seen).keys, only(seen).arrival_rate
    assert loads is not None
    assert rate is not None
    for key, share in asked.items():
        deviation = 4.5 * (share / rate) ** 0.5
        assert loads.rates.get(key, 0.0) / rate == pytest.approx(share, abs=deviation)


def test_each_key_takes_its_own_time_at_the_clock_in_force() -> None:
    twin = keyed(service_times={"a": 0.001, "b": 0.002}, frequency=2.0)
    readings = twin.readings()
    next(readings)
    twin.apply(decide(frequency=1.0))
    times = [only(next(readings)).keys for _ in range(2)][-1]
    assert times is not None
    wanted = dict.fromkeys("cdefgh", 0.006) | {"a": 0.002, "b": 0.004}
    assert dict(sorted(times.service_times.items())) == pytest.approx(dict(sorted(wanted.items())))


@pytest.mark.parametrize(("kind", "cv"), [("even", 0.0), ("normal", 0.3), ("poisson", 1.0)])
def test_it_measures_how_arrivals_scatter(kind: str, cv: float) -> None:
    twin = keyed(rate=20_000.0, arrivals=kind, module={"service_time": 1e-5}, duration=2.0)
    *_, seen = twin.readings()
    assert only(seen).arrival_cv == pytest.approx(cv, abs=0.03)


def test_mean_latency_is_waiting_time_and_service_time() -> None:
    twin = keyed(rows=2000, module={"service_cv": 1.0}, duration=100.0, step=100.0, frequency=1.5)
    (seen,) = twin.readings()
    reading, totals = only(seen), twin.totals()["only"]
    assert totals.finished == totals.arrived > 1800
    assert reading.waiting_time is not None
    assert reading.service_time is not None
    assert reading.waiting_time + reading.service_time == pytest.approx(totals.sojourn_time)


def test_what_had_no_sample_is_none_and_what_was_counted_is_zero() -> None:
    (seen,) = keyed(rows=0, duration=1.0).readings()
    reading = only(seen)
    assert reading.service_time is reading.service_cv is reading.arrival_cv is None
    unknown: list[object] = [reading.waiting_time, reading.latency, seen.power, seen.frequency]
    assert unknown == [None] * 4
    assert reading.arrival_rate == reading.processed_rate == reading.backlog == 0.0
    assert reading.keys is not None
    assert reading.keys.rates == reading.keys.service_times == {}


def test_power_is_modelled_for_the_replicas_at_work_and_the_clock_in_force() -> None:
    twin = keyed(frequency=2.0, power=lambda replicas, frequency: replicas * frequency)
    readings = twin.readings()
    assert next(readings).power == Power(watts=4.0, modelled=True)
    twin.apply(decide(3, frequency=1.5))
    assert next(readings).power == Power(watts=4.5, modelled=True)


def test_a_journal_has_the_rows_of_the_last_step() -> None:
    twin = keyed(journal=True, module={"service_cv": 1.0})
    done = 0
    for seen in twin.readings():
        journal = twin.journal()
        done += len(journal)
        assert len(journal) == pytest.approx(only(seen).processed_rate)
        assert np.all(journal["done"] > seen.at - seen.step)
        assert np.all(journal["done"] <= seen.at)
    assert done == twin.totals()["only"].finished > 2500


# What it does


def test_it_says_which_table_is_in_force_and_keeps_it_when_asked_to_go_on() -> None:
    twin = keyed()
    readings = twin.readings()
    assert only(next(readings)).routing == table(2)
    wanted = table(3, a=2, b=2)
    assert twin.apply(decide(3, wanted)) == Configuration(
        degrees={"only": 3}, routing={"only": wanted}
    )
    seen = next(readings)
    assert only(seen).routing == wanted
    assert twin.apply(Decision(configuration=current(seen), why="as it is")) is None


def test_the_table_in_force_stays_until_new_replicas_have_started() -> None:
    twin = keyed(module={"start_up": 2.5})
    readings = twin.readings()
    next(readings)
    twin.apply(decide(4, table(4, a=3)))
    for running in (2, 2, 4):
        seen = next(readings)
        assert (only(seen).requested, only(seen).running) == (4, running)
        assert twin.apply(Decision(configuration=current(seen), why="as it is")) is None
    assert only(seen).routing == table(4, a=3)


def test_a_start_that_is_cancelled_leaves_the_table_as_it_was() -> None:
    twin = keyed(module={"start_up": 2.5})
    readings = twin.readings()
    next(readings)
    twin.apply(decide(4))
    next(readings)
    assert twin.apply(decide(2)) is not None
    for seen in readings:
        assert (only(seen).requested, only(seen).running) == (2, 2)
    assert twin.moved == 0


def test_replicas_asked_for_one_by_one_start_one_by_one() -> None:
    twin, running = keyed(module={"start_up": 2.5}), []
    for degree, seen in enumerate(twin.readings(), 3):
        running.append(only(seen).running)
        twin.apply(decide(degree))
    assert running == [2, 2, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_degree_without_a_table_spreads_the_keys_by_their_checksums() -> None:
    twin = keyed()
    twin.apply(decide(3))
    seen = next(twin.readings())
    assert only(seen).routing == table(3)


def test_degrees_are_kept_within_the_bounds_and_wishes_are_remembered() -> None:
    twin = keyed(module={"max_replicas": 4})
    twin.apply(decide(9, table(9)))
    seen = next(twin.readings())
    assert (only(seen).wanted, only(seen).requested, only(seen).running) == (9, 4, 4)
    assert only(seen).routing == table(4)


def test_half_the_clock_makes_replicas_twice_as_busy() -> None:
    twin = keyed(frequency=2.0, arrivals="even", rate=100.0)
    readings = twin.readings()
    assert only(next(readings)).utilisation == pytest.approx(0.15, abs=0.002)
    twin.apply(decide(frequency=1.0))
    next(readings)
    seen = next(readings)
    assert seen.frequency == 1.0
    assert only(seen).utilisation == pytest.approx(0.30, abs=0.005)
    assert only(seen).service_time == pytest.approx(0.006)


def test_a_full_buffer_before_one_replica_holds_up_all_rows() -> None:
    """As many get through as the busiest replica lets (mpc, Expr. 3); else only its own lag."""

    def throughput(buffer: float) -> float | None:
        twin = keyed(
            rate=2000.0,
            shares={"a": 0.9, "b": 0.1},
            routing=table(2, a=0, b=1),
            module={"buffer": buffer},
            duration=50.0,
        )
        for _ in twin.readings():
            pass
        return twin.totals()["only"].processed_rate

    assert throughput(50) == pytest.approx(1 / 0.003 / 0.9, rel=0.02)
    assert throughput(np.inf) == pytest.approx(1 / 0.003 + 200, rel=0.02)


def test_keys_move_by_the_protocol_of_the_module_unless_set_otherwise() -> None:
    """Under S-BLK no row comes to the new owner before the state does; under MP some wait there."""

    def last_wait(**settings: Any) -> float:
        twin = keyed(
            rate=100.0,
            shares={"a": 1.0},
            routing=table(2, a=0),
            module={"migration": "s-blk"},
            migration_time=0.5,
            hand_out_time=1.0,
            duration=3.0,
            journal=True,
            **settings,
        )
        readings = twin.readings()
        next(readings)
        twin.apply(decide(2, table(2, a=1)))
        rows = np.concatenate([twin.journal() for _ in readings])
        return float(np.max(rows["begun"] - rows["arrived"]))

    assert last_wait() > 1.0
    assert last_wait(migration="mp") == pytest.approx(0.5, abs=0.05)


# What it refuses


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"migration": "mpp"}, "there is no migration protocol 'mpp'; did you mean 'mp'"),
        ({"migration_time": -1.0}, "migration_time of the twin must be 0 or more"),
        ({"hand_out_time": np.inf}, "hand_out_time of the twin must be 0 or more and finite"),
        ({"shares": {"a": -0.5}}, "share of key 'a' must be 0 or more, got -0.5"),
        ({"shares": {"a": 0.0}}, "one of the 1 keys must have a share above 0"),
        ({"service_times": {"z": 1.0}}, "key 'z' has a service time and no share"),
        ({"service_times": {"a": -1.0}}, "service time of key 'a' must be 0 or more"),
        ({"module": {"keys": 9}}, "module only has 9 keys, and shares are given of 8"),
        ({"shares": None}, "module only has no keys to route by; set its keys, or give shares"),
        ({"module": {"scaling": "saturating", "best_replicas": 2.0}}, "scaling must be ideal"),
        (
            {"routing": table(3)},
            "is for 3 replicas, and module only begins with 2; make them equal",
        ),
        ({"frequency": 0.0}, "a clock frequency must be above 0 GHz, got 0"),
        ({"module": {"max_replicas": 2000}}, "max_replicas of module only must be 1024 or less"),
    ],
)
def test_it_refuses_what_it_cannot_simulate(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        keyed(**settings)


def test_it_refuses_settings_of_keys_that_could_belong_to_two_modules() -> None:
    graph = FlowGraph(
        source="a",
        modules=(Module(name="a", keys=5), Module(name="b", keys=5)),
        streams=(Stream(origin="a", target="b"),),
    )
    with pytest.raises(SettingError, match=r"belong to one module, and there are 2: a, b; give"):
        KeyedTwin(graph, Constant(1.0), step=1.0, duration=1.0)


def test_it_refuses_a_clock_that_it_knows_nothing_about_and_tables_of_strangers() -> None:
    twin = keyed()
    with pytest.raises(SettingError, match=r"cannot be set to 1.5 GHz"):
        twin.apply(decide(frequency=1.5))
    strange = Configuration(degrees={}, routing={"onyl": table(2)})
    with pytest.raises(
        SettingError, match="there is no module 'onyl' to scale; did you mean 'only'"
    ):
        twin.apply(Decision(configuration=strange, why="a slip"))
