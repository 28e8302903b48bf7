"""The twin as a plant: what it reports, what it refuses, and that it repeats itself."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from copy import deepcopy
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numba import njit

from penstock.core.errors import PlantError, SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.loop import control
from penstock.core.roles import Plant
from penstock.core.signals import Configuration, Decision, Observation
from penstock.model.compiling import entry
from penstock.twin import Twin
from tests.support.twins import Array, Constant, chain


def single(**settings: Any) -> FlowGraph:
    return FlowGraph(source="only", modules=(Module(name="only", **settings),))


def decide(**degrees: int) -> Decision:
    return Decision(configuration=Configuration(degrees=degrees), why="the test says so")


def sway(seen: Observation) -> Decision:
    """One more at every other step, one fewer at the others."""
    return decide(**{name: 2 + int(seen.at) % 2 for name in seen.modules})


WORDS = FlowGraph(
    source="split",
    modules=(
        Module(name="split", service_time=0.003, service_cv=1.0, initial_replicas=2),
        Module(name="filter", service_time=0.0003, service_cv=0.5, buffer=20),
        Module(name="count", service_time=0.0005, trigger=0.2, overhead=0.05, start_up=1.5),
    ),
    streams=(
        Stream(origin="split", target="filter", selectivity=5.0),
        Stream(origin="filter", target="count", selectivity=0.4),
    ),
)


def test_it_is_a_plant() -> None:
    assert isinstance(Twin(single(), Constant(1.0), step=1.0, duration=1.0), Plant)


def test_the_same_seed_and_decisions_give_the_same_observations() -> None:
    runs = [
        list(control(Twin(WORDS, Constant(300.0), step=1.0, duration=20.0, seed=7), sway))
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_another_seed_gives_other_observations() -> None:
    one, other = (
        list(Twin(WORDS, Constant(300.0), step=1.0, duration=5.0, seed=seed).readings())
        for seed in (1, 2)
    )
    assert one != other


def test_a_copy_in_the_middle_of_a_run_sees_the_same_future() -> None:
    twin = Twin(WORDS, Constant(300.0), step=1.0, duration=20.0)
    readings = twin.readings()
    for _ in range(7):
        next(readings)
    copy = deepcopy(twin)
    tried = list(control(copy, sway))
    assert list(control(twin, sway)) == tried
    assert len(tried) == 13


def test_service_times_do_not_depend_on_what_is_decided() -> None:
    """With as many rows served, two policies have met the same service times."""
    graph = FlowGraph(
        source="only",
        modules=(Module(name="only", service_time=0.5, service_cv=0.7), Module(name="next")),
        streams=(Stream(origin="only", target="next", selectivity=0.5),),
    )
    alone, helped = (
        Twin(graph, Constant(1.0, rows=200), step=1.0, duration=400.0, seed=3) for _ in range(2)
    )
    for _ in alone.readings():
        pass
    for _ in control(helped, sway):
        pass
    one, other = alone.totals()["only"], helped.totals()["only"]
    assert one.served == other.served > 150
    assert one.service_time == pytest.approx(other.service_time)
    assert one.waited != other.waited


def test_what_had_no_sample_is_none_and_what_was_counted_is_zero() -> None:
    twin = Twin(
        chain(Module(name="a"), Module(name="b", trigger=1.0)),
        Constant(1.0, rows=0),
        step=5.0,
        duration=5.0,
    )
    (seen,) = twin.readings()
    for module in seen.modules.values():
        assert module.service_time is None
        assert module.service_cv is None
        assert module.batch_duration is None
        assert module.latency is None
        assert module.arrival_rate == module.processed_rate == module.backlog == 0.0
        assert module.utilisation == 0.0
    assert seen.latency is None


def test_one_row_has_a_service_time_but_no_variation() -> None:
    twin = Twin(
        single(service_time=0.5, service_cv=1.0),
        Constant(1.0, rows=1),
        step=90.0,
        duration=90.0,
        arrivals="even",
    )
    (seen,) = twin.readings()
    assert seen.modules["only"].service_time is not None
    assert seen.modules["only"].service_cv is None


def test_a_fixed_service_time_is_measured_without_variation() -> None:
    twin = Twin(single(service_time=0.1), Constant(7.0), step=10.0, duration=1000.0)
    for seen in twin.readings():
        assert seen.modules["only"].service_time == 0.1
        assert seen.modules["only"].service_cv == 0.0


def test_readings_of_even_rows_are_those_worked_out_by_hand() -> None:
    """A row every half second takes 0.4 s; the one at the end of a step is done in the next."""
    twin = Twin(single(service_time=0.4), Constant(2.0), step=10.0, duration=30.0, arrivals="even")
    first, *others = (seen.modules["only"] for seen in twin.readings())
    assert first.processed_rate == 1.9
    for module in others:
        assert (module.arrival_rate, module.processed_rate, module.backlog) == (2.0, 2.0, 1.0)
        assert module.utilisation == pytest.approx(0.8)
        assert module.latency is not None
        assert (module.latency.p50, module.latency.p99) == pytest.approx((0.4, 0.4))
        assert module.batch_duration is None


def test_latency_counts_from_the_creation_at_the_source() -> None:
    modules = [Module(name=name, service_time=0.1) for name in "abc"]
    twin = Twin(chain(*modules), Constant(2.0), step=5.0, duration=5.0, arrivals="even")
    (seen,) = twin.readings()
    medians = [module.latency.p50 for module in seen.modules.values() if module.latency]
    assert medians == pytest.approx([0.1, 0.2, 0.3])
    assert seen.latency == seen.modules["c"].latency


def test_latency_end_to_end_is_that_of_all_sinks_together() -> None:
    graph = FlowGraph(
        source="root",
        modules=(
            Module(name="root"),
            Module(name="fast", service_time=0.1),
            Module(name="slow", service_time=1.0, initial_replicas=20),
        ),
        streams=(
            Stream(origin="root", target="fast", probability=0.75),
            Stream(origin="root", target="slow", probability=0.25),
        ),
    )
    (seen,) = Twin(graph, Constant(2.0), step=2e4, duration=2e4, arrivals="even").readings()
    assert seen.latency is not None
    assert seen.latency.p50 == pytest.approx(0.1)
    assert seen.latency.p95 == pytest.approx(1.0)


def test_the_observation_names_modules_in_the_order_of_the_graph() -> None:
    ends_first = FlowGraph(
        source="first",
        modules=(Module(name="last"), Module(name="first")),
        streams=(Stream(origin="first", target="last"),),
    )
    (seen,) = Twin(ends_first, Constant(1.0), step=1.0, duration=1.0).readings()
    assert list(seen.modules) == ["last", "first"]


def test_a_last_step_may_be_shorter() -> None:
    seen = list(Twin(single(), Constant(1.0), step=2.0, duration=5.0).readings())
    assert [(s.at, s.step) for s in seen] == [(2.0, 2.0), (4.0, 2.0), (5.0, 1.0)]


def test_steps_that_do_not_divide_evenly_in_binary_are_not_one_too_many() -> None:
    assert len(list(Twin(single(), Constant(1.0), step=0.1, duration=0.3).readings())) == 3
    assert len(list(Twin(single(), Constant(1.0), step=0.1, duration=100.0).readings())) == 1000


def test_rows_of_a_step_are_those_that_the_workload_says() -> None:
    twin = Twin(single(), Constant(1000.0), step=1.0, duration=30.0, arrivals="even")
    assert [s.modules["only"].arrival_rate for s in twin.readings()] == [1000.0] * 30


def test_poisson_rows_are_as_many_as_a_poisson_process_brings() -> None:
    """Counts in steps of a changing rate: mean and variance are both the rows expected."""

    class Ramp(Constant):
        def rate(self, at: Array) -> Array:
            return 2 * at

        def arrivals(self, at: Array) -> Array:
            return at**2

        def times(self, index: Array) -> Array:
            return np.sqrt(index + 1)

    twin = Twin(single(), Ramp(0.0), step=1.0, duration=1000.0, seed=5)
    counts = np.array([s.modules["only"].arrival_rate for s in twin.readings()], np.float64)
    expected = 2 * np.arange(1000) + 1.0
    scores = (counts - expected) / np.sqrt(expected)
    assert abs(scores.mean()) < 2.58 / np.sqrt(1000)
    assert abs((scores**2).mean() - 1) < 2.58 * np.sqrt(2 / 1000)


def test_memory_stays_flat_over_a_long_run() -> None:
    twin = Twin(WORDS, Constant(200.0), step=5.0, duration=1500.0)
    readings = twin.readings()
    tracemalloc.start()
    for _ in range(100):
        next(readings)
    early = tracemalloc.get_traced_memory()[0]
    for _ in readings:
        pass
    assert tracemalloc.get_traced_memory()[0] < early + 100_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Twin(single(), Constant(1.0), step=0.0, duration=1.0), "step .* got 0"),
        (lambda: Twin(single(), Constant(1.0), step=1.0, duration=np.inf), "duration .* got inf"),
        (lambda: Twin(single(), Constant(1.0), step=1.0, duration=1.0, seed=-1), "seed .* got -1"),
        (lambda: Twin(single(), Constant(1.0), step=1.0, duration=1.0, arrivals="evn"), "'even'"),
        (lambda: Twin(single(), Constant(np.inf), step=1.0, duration=1.0), "brings inf rows"),
        (lambda: Twin(single(trigger=1e-9), Constant(1.0), step=1.0, duration=1.0), "1e-09"),
        (lambda: Twin(single(service_cv=1e9), Constant(1.0), step=1.0, duration=1.0), "1e\\+09"),
    ],
)
def test_what_cannot_be_simulated_is_refused(make: Callable[[], Twin], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make()


def test_a_decision_that_cannot_be_is_refused_and_changes_nothing() -> None:
    twin = Twin(single(), Constant(1.0), step=1.0, duration=1.0)
    with pytest.raises(SettingError, match="no module 'onli' to scale; did you mean 'only'"):
        twin.apply(decide(only=3, onli=4))
    with pytest.raises(SettingError, match="module only needs at least one executor, got 0"):
        twin.apply(decide(only=0))
    (seen,) = twin.readings()
    assert seen.modules["only"].requested == seen.modules["only"].wanted == 1


def test_a_workload_that_runs_backwards_is_refused() -> None:
    class Backwards(Constant):
        def times(self, index: Array) -> Array:
            return 10.0 - index

    with pytest.raises(PlantError, match="do not come in order"):
        list(Twin(single(), Backwards(1.0), step=1.0, duration=9.0, arrivals="even").readings())


def test_streams_of_different_selectivity_carry_what_visits_says() -> None:
    graph = FlowGraph(
        source="root",
        modules=(Module(name="root"), Module(name="many"), Module(name="few")),
        streams=(
            Stream(origin="root", target="many", probability=0.5, selectivity=5.0),
            Stream(origin="root", target="few", probability=0.5, selectivity=0.5),
        ),
    )
    twin = Twin(graph, Constant(1000.0), step=100.0, duration=100.0, arrivals="even")
    list(twin.readings())
    arrived = {name: totals.arrived / 1e5 for name, totals in twin.totals().items()}
    assert arrived == pytest.approx(graph.visits(), rel=0.02)


def test_without_a_place_to_keep_machine_code_it_is_compiled_all_the_same() -> None:
    def double(x: int) -> int:
        return 2 * x

    nowhere = FunctionType(double.__code__.replace(co_filename="<nowhere>"), {})
    with pytest.raises(RuntimeError, match="cannot cache"):
        njit(cache=True)(nowhere)
    assert entry(nowhere)(21) == 42


def test_the_twin_imports_no_spark_and_numba_only_to_run() -> None:
    code = """if True:
        import sys
        from penstock.core.graph import FlowGraph, Module
        from penstock.twin import Twin

        class Even:
            def rate(self, at): return 0 * at + 1
            def arrivals(self, at): return at
            def times(self, index): return index + 1

        graph = FlowGraph(source="a", modules=(Module(name="a"),))
        twin = Twin(graph, Even(), step=1, duration=3)
        assert "numba" not in sys.modules
        assert len(list(twin.readings())) == 3
        assert "pyspark" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_machine_code_is_compiled_once_and_kept_for_later_runs() -> None:
    for _ in Twin(single(), Constant(1.0), step=1.0, duration=1.0).readings():
        pass
    code = """if True:
        from penstock.core.graph import FlowGraph, Module
        from penstock.twin import Twin
        from penstock.workload import Constant
        graph = FlowGraph(source="a", modules=(Module(name="a"),))
        for _ in Twin(graph, Constant(1.0), step=1.0, duration=1.0).readings():
            pass
        from penstock.twin import engine, kernels
        for compiled in (engine.advance, kernels.quantiles):
            assert compiled.stats.cache_hits and not compiled.stats.cache_misses
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_without_service_time_takes_no_time() -> None:
    (seen,) = Twin(single(), Constant(10.0), step=5.0, duration=5.0).readings()
    module = seen.modules["only"]
    assert module.service_time == 0.0
    assert module.service_cv is None
    assert module.utilisation == 0.0
    assert seen.latency is not None
    assert seen.latency.p99 == 0.0


def test_totals_before_the_first_step_are_of_no_time() -> None:
    totals = Twin(single(), Constant(1.0), step=1.0, duration=1.0).totals()["only"]
    assert totals.waiting_time is totals.mean_rows is totals.utilisation is None
