"""The policy that keeps the promised latency with the fewest executors."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.loop import control
from penstock.core.signals import Latency, Tick
from penstock.policy import LatencyPolicy
from penstock.policy.latency.estimate import Stage
from penstock.policy.latency.policy import at_most, fewest, slowest
from penstock.testing import seen
from penstock.twin import Twin
from penstock.workload import Constant, parse

SERVICE = 0.01


def one(**settings: object) -> FlowGraph:
    module = Module(name="count", service_time=SERVICE, **settings)  # type: ignore[arg-type]
    return FlowGraph(source="count", modules=(module,))


def two(**settings: object) -> FlowGraph:
    modules = tuple(
        Module(name=name, service_time=SERVICE, **settings)  # type: ignore[arg-type]
        for name in ("split", "count")
    )
    return FlowGraph(
        source="split", modules=modules, streams=(Stream(origin="split", target="count"),)
    )


def settled(graph: FlowGraph, rate: float) -> float:
    """The 95th percentile on the twin after five minutes."""
    twin = Twin(graph, Constant(rate), step=150.0, duration=450.0, seed=3)
    *_, last = twin.readings()
    assert last.latency is not None
    return last.latency.p95


class TestModel:
    @pytest.mark.parametrize("busy", [0.5, 0.8, 0.9])
    @pytest.mark.parametrize(("overhead", "trigger"), [(0.5, 1.0), (0.3, 0.5), (0.5, 5.0)])
    def test_one_module_takes_as_long_as_on_the_twin(
        self, busy: float, overhead: float, trigger: float
    ) -> None:
        rate = busy * 4 / SERVICE
        bounds = {"min_replicas": 4, "initial_replicas": 4, "max_replicas": 4}
        graph = one(trigger=trigger, overhead=overhead, **bounds)
        stage = Stage(
            rate=rate, service_time=SERVICE, overhead=overhead, trigger=trigger, batches=True
        )
        assert stage.sojourn(4).p95 == pytest.approx(settled(graph, rate), rel=0.05)

    def test_two_modules_take_no_longer_than_foreseen_and_not_much_less(self) -> None:
        rate = 0.8 * 4 / SERVICE
        bounds = {"min_replicas": 4, "initial_replicas": 4, "max_replicas": 4}
        stage = Stage(rate=rate, service_time=SERVICE, overhead=0.5, trigger=1.0, batches=True)
        expected = (stage.sojourn(4) + stage.sojourn(4)).p95
        measured = settled(two(trigger=1.0, overhead=0.5, **bounds), rate)
        assert 0.85 * expected < measured < 1.02 * expected

    def test_nothing_is_through_where_rows_come_faster_than_they_are_served(self) -> None:
        assert Stage(rate=400.0, service_time=SERVICE).sojourn(4).p95 == inf

    def test_short_batches_may_be_all_overhead(self) -> None:
        stage = Stage(rate=90.0, service_time=0.01, overhead=2.0, max_batch=1.0, batches=True)
        assert stage.sojourn(1).p95 == inf
        assert stage.sojourn(4).p95 < inf


class TestChoice:
    @given(
        rates=st.tuples(*[st.floats(0.0, 1500.0)] * 2), limit=st.floats(0.5, 60.0), most=st.just(20)
    )
    def test_one_executor_fewer_would_break_the_promise(
        self, rates: tuple[float, float], limit: float, most: int
    ) -> None:
        stages = {
            name: Stage(rate=rate, service_time=SERVICE, overhead=0.4, trigger=1.0, batches=True)
            for name, rate in zip(("split", "count"), rates, strict=True)
        }
        chosen = fewest(two(), stages, limit)
        if slowest(two(), stages, chosen)[0] > limit:
            assert chosen == {name: at_most(stage, 0.7) for name, stage in stages.items()}
            return
        for name in chosen:
            fewer = {**chosen, name: chosen[name] - 1}
            if fewer[name] >= 1 and chosen[name] > stages[name].needs:
                later = slowest(two(), stages, fewer)[0]
                # one was added for another module's sake, or this one was needed
                assert later > limit or later >= slowest(two(), stages, chosen)[0]

    def test_a_promise_that_cannot_be_kept_does_not_take_all_there_is(self) -> None:
        stage = Stage(rate=300.0, service_time=SERVICE, overhead=0.5, trigger=5.0, batches=True)
        assert fewest(one(), {"count": stage}, 1.0) == {"count": 5}


def play(
    graph: FlowGraph, workload: str, *, duration: float = 900.0, **settings: object
) -> list[Tick]:
    twin = Twin(graph, parse(workload), step=5.0, duration=duration, seed=1)
    return list(control(twin, LatencyPolicy(graph, slo=10.0, **settings)))  # type: ignore[arg-type]


class TestOnTheTwin:
    GRAPH = two(trigger=1.0, overhead=0.3, start_up=10.0)
    DAY = "daily:100/s..1200/s,period=15m,noise=0.03"

    def late(self, ticks: list[Tick]) -> float:
        measured = [t.seen.latency.p95 for t in ticks if t.seen.latency is not None]
        return sum(p95 > 10.0 for p95 in measured) / len(measured)

    def cores(self, ticks: list[Tick]) -> float:
        return sum(max(t.seen.requested or 0, t.seen.running or 0) for t in ticks) / len(ticks)

    def test_the_promise_is_kept_through_a_day(self) -> None:
        assert self.late(play(self.GRAPH, self.DAY)) < 0.02

    def test_a_looser_promise_takes_fewer_executors(self) -> None:
        twin = Twin(self.GRAPH, parse(self.DAY), step=5.0, duration=900.0, seed=1)
        loose = list(control(twin, LatencyPolicy(self.GRAPH, slo=60.0)))
        assert self.cores(loose) < self.cores(play(self.GRAPH, self.DAY))

    def test_it_takes_few_more_than_the_work_asks_for(self) -> None:
        work = sum(650.0 * SERVICE for _ in self.GRAPH.modules)
        assert self.cores(play(self.GRAPH, self.DAY)) < 1.4 * work

    def test_late_rows_are_caught_up_on(self) -> None:
        ticks = play(one(trigger=1.0, overhead=0.3, start_up=10.0), "step:100/s,900/s@200s")
        last = ticks[-1].seen
        assert last.latency is not None
        assert last.latency.p95 < 10.0
        assert max(t.seen.running or 0 for t in ticks) > (last.running or 0)  # more, for a while

    def test_it_learns_how_long_executors_take_to_come(self) -> None:
        graph = one(trigger=1.0, overhead=0.3, start_up=30.0)
        believes = one(trigger=1.0, overhead=0.3)
        policy = LatencyPolicy(believes, slo=10.0)
        twin = Twin(graph, parse("daily:50/s..900/s,period=10m"), step=5.0, duration=1800.0, seed=1)
        list(control(twin, policy))
        assert policy._modules["count"].start_up == pytest.approx(30.0, abs=6.0)

    def test_it_learns_what_a_batch_takes_beyond_its_rows(self) -> None:
        graph = one(trigger=1.0, overhead=0.6)
        policy = LatencyPolicy(one(trigger=1.0), slo=10.0)
        list(control(Twin(graph, Constant(250.0), step=5.0, duration=200.0, seed=1), policy))
        assert policy._modules["count"].overhead == pytest.approx(0.6, rel=0.15)


def test_rows_that_take_longer_than_estimated_are_given_more_executors() -> None:
    graph = one(trigger=1.0, overhead=0.5)
    reading = {"arrival_rate": 350.0, "processed_rate": 350.0, "backlog": 350.0}
    reading |= {"running": 4, "requested": 4}
    as_reckoned, slower = LatencyPolicy(graph, slo=10.0), LatencyPolicy(graph, slo=10.0)
    for turn in range(6):
        at = 5.0 * (turn + 1)
        good = as_reckoned(seen(count=reading, at=at, latency=Latency(p50=4.0, p95=7.5, p99=8.0)))
        bad = slower(seen(count=reading, at=at, latency=Latency(p50=12.0, p95=22.0, p99=25.0)))
    assert good.configuration.degrees == {"count": 4}
    assert bad.configuration.degrees["count"] > 4


def behind(policy: LatencyPolicy, rate: float, *, cap: int, overhead: float) -> float:
    """Rows a second that it brings a module to whose source hands over so many rows a batch, does
    not tell those that wait, and gets more than it hands over."""
    running, through = 1, 0.0
    for turn in range(1, 40):
        through = min(cap / (overhead + cap * SERVICE / running), rate)
        measured = {"arrival_rate": through, "processed_rate": through, "service_time": SERVICE}
        measured |= {"batch_duration": overhead + cap * SERVICE / running}
        reading = {**measured, "running": running, "requested": running}
        decided = policy(seen(count=reading, at=10.0 * turn, step=10.0))
        running = decided.configuration.degrees["count"]
    return through


class TestHiddenBacklog:
    """Sources that limit their batches and do not count what is left, such as files."""

    @pytest.mark.parametrize("slo", [None, 10.0, 60.0])
    def test_an_overloaded_module_grows_though_only_its_utilisation_shows_it(
        self, slo: float | None
    ) -> None:
        policy = LatencyPolicy(one(), slo=slo)
        assert behind(policy, 450.0, cap=200, overhead=0.1) == pytest.approx(450.0)

    def test_a_module_that_reports_what_waits_may_be_busier(self) -> None:
        measured = {"arrival_rate": 270.0, "processed_rate": 270.0, "running": 3, "requested": 3}
        hidden, open_ = (LatencyPolicy(one(), slo=60.0) for _ in range(2))
        assert hidden(seen(count=measured)).configuration.degrees == {"count": 4}
        measured["backlog"] = 0.0
        assert open_(seen(count=measured)).configuration.degrees == {"count": 3}

    def test_a_busy_share_that_was_given_holds_without_a_promise_too(self) -> None:
        measured = {"arrival_rate": 350.0, "running": 4, "requested": 4}
        policy = LatencyPolicy(one(), max_utilisation=0.9)
        assert policy(seen(count=measured)).configuration.degrees == {"count": 4}


class TestWords:
    def test_what_is_not_measured_is_held(self) -> None:
        policy = LatencyPolicy(one(), slo=10.0)
        decided = policy(seen(count={"running": 3, "requested": 3}))
        assert decided.configuration.degrees == {"count": 3}
        assert decided.why == "count holds at 3, arrival rate unknown"

    def test_more_than_is_allowed_is_reported(self) -> None:
        policy = LatencyPolicy(one(max_replicas=2), slo=10.0)
        decided = policy(seen(count={"arrival_rate": 900.0, "running": 2, "requested": 2}))
        assert decided.why.endswith("; the allowed executors cannot keep up")

    def test_without_a_promise_executors_are_kept_from_being_too_busy(self) -> None:
        decided = LatencyPolicy(one())(seen(count={"arrival_rate": 300.0, "running": 9}))
        assert decided.configuration.degrees == {"count": 4}

    def test_executors_are_kept_for_a_while(self) -> None:
        policy = LatencyPolicy(one(trigger=1.0), slo=10.0, margin=False, keep=20.0)
        running, degrees = 1, []
        for turn, rate in enumerate([750.0, *[100.0] * 7]):
            reading = {"arrival_rate": rate, "running": running, "requested": running}
            decided = policy(seen(count=reading, at=5.0 * (turn + 1), step=5.0))
            running = decided.configuration.degrees["count"]
            degrees.append(running)
        assert degrees == [8, 8, 8, 8, 8, 2, 2, 2]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"safety": 1.5}, "safety of policy latency must be in (0, 1], got 1.5"),
            (
                {"max_utilisation": 1.5},
                "max_utilisation of policy latency must be in (0, 1], got 1.5",
            ),
            ({"slo": 0.0}, "slo of policy latency must be above 0s, got 0s"),
            ({"catch_up": 0.0}, "catch_up of policy latency must be above 0s, got 0s"),
            ({"keep": -1.0}, "keep of policy latency must be 0s or more, got -1s"),
        ],
    )
    def test_settings_that_make_no_sense_are_reported(
        self, settings: dict[str, float], message: str
    ) -> None:
        with pytest.raises(SettingError) as error:
            LatencyPolicy(one(), **settings)  # type: ignore[arg-type]
        assert str(error.value) == message
