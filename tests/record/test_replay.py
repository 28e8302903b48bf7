"""A recording plays back as a plant."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.loop import control
from penstock.core.roles import Plant
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick, current
from penstock.record.replay import Replay


def recorded(*requested: int) -> tuple[Observation, ...]:
    return tuple(
        Observation(
            at=float(at), step=1.0, modules={"count": ModuleReading(requested=n, running=n)}
        )
        for at, n in enumerate(requested, start=1)
    )


def want(*degrees: int) -> list[Decision]:
    return [Decision(configuration=Configuration(degrees={"count": n}), why="so") for n in degrees]


def asked(observations: tuple[Observation, ...], decisions: list[Decision]) -> list[int | None]:
    script = iter(decisions)
    ticks = control(Replay(observations=observations), lambda _: next(script))
    return [None if tick.asked is None else tick.asked.degrees["count"] for tick in ticks]


def test_a_replay_is_a_plant() -> None:
    assert isinstance(Replay(observations=()), Plant)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.integers(1, 5)))
def test_the_past_does_not_answer_back(requested: list[int]) -> None:
    observations = recorded(*requested)
    plant = Replay(observations=observations)
    ticks = list(control(plant, lambda _: want(9)[0]))
    assert tuple(tick.seen for tick in ticks) == observations
    assert plant.decisions == want(9) * len(requested)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.integers(1, 5)))
def test_a_policy_that_holds_asks_for_nothing(requested: list[int]) -> None:
    def hold(seen: Observation) -> Decision:
        return Decision(configuration=current(seen), why="no reason to change")

    ticks = control(Replay(observations=recorded(*requested)), hold)
    assert all(tick.asked is None for tick in ticks)


def test_asks_once_for_what_the_recording_never_had() -> None:
    assert asked(recorded(2, 2, 2, 2), want(2, 4, 4, 3)) == [None, 4, None, 3]


def test_a_replay_of_ticks_sees_what_they_saw_and_can_begin_anew() -> None:
    observations = recorded(2, 3)
    ticks = [Tick(seen=seen, decided=want(1)[0], asked=None) for seen in observations]
    plant = Replay.of(ticks)
    for _ in range(2):
        first, second = control(plant, lambda _: want(4)[0])
        assert (first.seen, second.seen) == observations
        assert (first.asked, second.asked) == (want(4)[0].configuration, None)
        assert len(plant.decisions) == 2


def test_an_empty_recording_ends_at_once() -> None:
    assert list(control(Replay(observations=()), lambda _: want(1)[0])) == []
