"""An application as a plant, on figures that a test makes up."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from penstock.attachment.errors import held
from penstock.attachment.plant import AttachedPlant
from penstock.attachment.queries import RunningQuery
from penstock.core.errors import SettingError
from penstock.core.signals import Configuration, Decision, ModuleReading
from penstock.testing import PLANT_CHECKS
from penstock.testing.checking import Check
from tests.attachment.test_executors import Books, actuator_of
from tests.spark.test_progress import executor


@dataclass
class Clock:
    """Time that a test moves on."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Scripted:
    """Queries that report what a test says."""

    running: dict[str, Any] = field(default_factory=dict)
    reports: bool = True
    starts: bool = False

    def refresh(self) -> bool:
        return self.starts

    def read(self, at: float, *, slots: float, since: float) -> bool:
        for each in self.running.values():
            each.fresh = each.last if self.reports else ModuleReading()
            each.reported_at = at if self.reports else each.reported_at
        return self.reports and bool(self.running)

    def feeds(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.running, ())


@dataclass
class World:
    plant: AttachedPlant
    clock: Clock
    cluster: Books
    queries: Scripted

    def step(self, seconds: float, busy: float = 0.0, *, reports: bool = True) -> Any:
        """Let time pass in which every executor is busy for a while."""
        self.clock.now += seconds
        self.cluster.there = {
            name: replace(each, busy=each.busy + busy) for name, each in self.cluster.there.items()
        }
        self.queries.reports = reports
        return self.plant.observe()


@pytest.fixture
def world() -> World:
    clock = Clock()
    cluster = Books({"0": executor("0"), "1": executor("1")})
    queries = Scripted({"shop": a_query()})
    plant = AttachedPlant(
        queries=queries,  # type: ignore[arg-type]
        actuator=actuator_of(cluster),
        step=10.0,
        window=60.0,
        timer=clock,
        clock=clock,
        began=clock.now,
    )
    made = World(plant, clock, cluster, queries)
    made.step(0.0)
    return made


def a_query() -> RunningQuery:
    reading = ModuleReading(arrival_rate=50.0, processed_rate=50.0, service_time=0.01)
    nothing: Any = None
    return RunningQuery(name="shop", run="r", query=nothing, watched=nothing, last=reading)


def wish(number: int) -> Decision:
    return Decision(configuration=Configuration(degrees={"application": number}), why="a wish")


def test_utilisation_is_the_busy_share_of_all_slots(world: World) -> None:
    assert world.step(10.0, busy=4.0).modules["application"].utilisation == pytest.approx(0.4)


def test_in_the_middle_of_a_batch_only_a_full_share_is_new(world: World) -> None:
    world.step(10.0, busy=6.0)
    assert world.step(10.0, busy=5.0, reports=False).modules["application"].utilisation == 0.6
    assert world.step(10.0, busy=10.0, reports=False).modules["application"].utilisation == 1.0
    whole = world.step(10.0, busy=0.0).modules["application"].utilisation
    assert whole == pytest.approx(15 / 30)


def test_the_share_that_was_reported_last_does_not_outlast_its_executors(world: World) -> None:
    world.step(10.0, busy=6.0)
    world.plant.apply(wish(3))
    assert world.step(10.0, busy=5.0, reports=False).modules["application"].utilisation is None
    world.cluster.there["2"] = executor("2")
    assert world.step(10.0, busy=5.0, reports=False).modules["application"].utilisation is None
    world.step(10.0, busy=5.0)
    assert world.step(10.0, reports=False).modules["application"].utilisation is not None
    assert world.step(70.0, reports=False).modules["application"].utilisation is None


def test_what_a_query_reported_last_stands_in_for_a_while(world: World) -> None:
    world.step(10.0)
    seen = world.step(10.0, reports=False)
    assert seen.modules["application"].arrival_rate == 50.0
    assert seen.queries["shop"].arrival_rate is None
    assert world.step(70.0, reports=False).modules["application"].arrival_rate is None


def test_silence_is_reported_when_it_outlasts_the_window(world: World) -> None:
    world.step(10.0)
    world.step(50.0, reports=False)
    assert world.plant.silence() is None
    world.step(20.0, reports=False)
    silence = world.plant.silence()
    assert silence is not None
    assert silence.startswith("no query has reported progress for 1.17 min")
    world.step(10.0)
    assert world.plant.silence() is None


def test_a_query_that_starts_late_has_the_window_to_tell_something(world: World) -> None:
    world.queries.running = {}
    world.step(600.0)
    world.queries.running, world.queries.starts = {"shop": a_query()}, True
    world.step(10.0, reports=False)
    assert world.plant.silence() is None
    world.queries.starts = False
    world.step(61.0, reports=False)
    assert (world.plant.silence() or "").startswith("no query has reported progress for 1.02 min")


def test_without_a_query_there_is_nothing_to_decide(world: World) -> None:
    world.queries.running.clear()
    world.step(10.0)
    assert world.plant.silence() == "no streaming query runs"


def test_executors_that_come_by_themselves_are_not_sent_away(world: World) -> None:
    world.step(10.0)
    world.cluster.there["2"] = executor("2")  # between the look and the decision to hold
    assert world.plant.apply(wish(2)) is None
    assert world.cluster.requests == []
    assert world.cluster.decommissioned == []


def test_a_decision_is_carried_out_and_seen(world: World) -> None:
    world.step(10.0)
    asked = world.plant.apply(wish(5))
    assert asked is not None
    assert asked.degrees == {"application": 5}
    reading = world.step(10.0).modules["application"]
    assert (reading.wanted, reading.requested, reading.running) == (5, 5, 2)


def test_failed_tasks_are_those_of_the_step(world: World) -> None:
    world.cluster.there["0"] = replace(world.cluster.there["0"], failed_tasks=3)
    assert world.step(10.0).modules["application"].failed_tasks == 3
    assert world.step(10.0).modules["application"].failed_tasks == 0


def test_no_executors_at_all_cannot_be_asked_for(world: World) -> None:
    with pytest.raises(SettingError, match="needs at least one executor, got 0"):
        world.plant.apply(wish(0))


def test_a_hold_without_any_executor_asks_for_nothing(world: World) -> None:
    world.cluster.there.clear()
    seen = world.step(10.0)
    assert world.plant.apply(held(seen, "no figures")) is None
    assert world.cluster.requests == []


def test_what_the_cluster_answers_is_never_raised(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.cluster.deaf = True
    assert [world.plant.apply(wish(number)) for number in (3, 4, 5)] == [None] * 3
    assert not world.plant.acts
    assert len(world.cluster.requests) == 3
    world.plant.apply(wish(3))
    assert len(world.cluster.requests) == 3  # it only advises now


@pytest.mark.parametrize("check", PLANT_CHECKS, ids=lambda check: check.__name__)
def test_an_attached_application_does_what_every_plant_promises(check: Check[Any]) -> None:
    def factory() -> AttachedPlant:
        cluster = Books({"0": executor("0"), "1": executor("1")})
        queries: Any = Scripted({"shop": a_query()})
        return AttachedPlant(queries=queries, actuator=actuator_of(cluster), step=0.01, window=60.0)

    check(factory)
