"""Whatever a turn asked for is an act: degrees, the clock, or nothing but other owners of keys."""

from collections.abc import Mapping

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.record import summarise
from penstock.record.acts import Act, Change, acts

KEYED = FlowGraph(source="match", modules=(Module(name="match", keys=100),))
PLAIN = FlowGraph(source="match", modules=(Module(name="match"),))


def tick(
    asked: Mapping[str, int] | None = None, ghz: float | None = None, seen: float | None = 2.0
) -> Tick:
    reading = ModuleReading(requested=2)
    wanted = None if asked is None else Configuration(degrees=asked, frequency=ghz)
    return Tick(
        seen=Observation(at=1, step=1, modules={"match": reading}, frequency=seen),
        decided=Decision(configuration=wanted or Configuration(degrees={}), why="-"),
        asked=wanted,
    )


def test_a_hold_is_no_act() -> None:
    assert list(acts([tick()], KEYED)) == [Act()]
    assert not Act()


def test_a_change_of_the_clock_alone_is_an_act() -> None:
    [act] = acts([tick({"match": 2}, ghz=1.9)], KEYED)
    assert act == Act(clock=Change(before=2.0, after=1.9))
    assert act
    assert (act.grows, act.shrinks) == (False, False)


def test_a_clock_that_is_only_repeated_is_no_change() -> None:
    first, second = acts([tick({"match": 3}, ghz=1.9), tick({"match": 4}, ghz=1.9)], KEYED)
    assert first == Act(degrees={"match": Change(before=2, after=3)}, clock=first.clock)
    assert second == Act(degrees={"match": Change(before=3, after=4)})


def test_a_clock_that_is_left_alone_keeps_what_was_asked_before() -> None:
    *_, last = acts([tick({"match": 3}, ghz=1.9), tick({"match": 4}), tick({"match": 4}, ghz=1.8)])
    assert last.clock == Change(before=1.9, after=1.8)


def test_a_clock_nobody_knew_has_no_direction() -> None:
    [act] = acts([tick({"match": 2}, ghz=1.9, seen=None)])
    assert act.clock is not None
    assert (act.clock.grows, act.clock.shrinks) == (False, False)


def test_an_ask_for_what_is_there_already_moves_keys_where_there_are_any() -> None:
    moved = [tick({"match": 2})]
    assert list(acts(moved, KEYED)) == [Act(rerouted=("match",))]
    assert list(acts(moved, PLAIN)) == [Act()]
    assert list(acts(moved)) == [Act()]


def test_a_summary_counts_every_kind_of_act() -> None:
    ticks = [
        tick(),
        tick({"match": 2}),
        tick({"match": 3}, ghz=1.9),
        tick({"match": 3}, ghz=1.8),
        tick({"match": 1}),
    ]
    summary = summarise(ticks, None, graph=KEYED)
    assert (summary.reconfigurations, summary.scale_outs, summary.scale_ins) == (4, 1, 1)
    assert (summary.clock_changes, summary.reroutings) == (2, 1)
    plain = summarise(ticks, None, graph=PLAIN)
    assert (plain.reconfigurations, plain.reroutings) == (3, 0)
