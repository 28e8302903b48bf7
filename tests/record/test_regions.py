"""What is recorded of regions, nodes and requests comes back, and adds up to what happened."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import (
    Configuration,
    Decision,
    ModuleReading,
    Observation,
    RegionReading,
    Request,
    Tick,
)
from penstock.record import RunFolder, load, summarise, tick_from_json, tick_to_json
from penstock.record.acts import Act, Change, acts
from penstock.record.codec import dumps
from penstock.record.results import describe_nodes, describe_requests, describe_silent_regions
from penstock.record.summary import RegionUse, RequestCount, summary_from_json
from tests.record.test_codec import a_settings, a_tick
from tests.support.reports import with_regions

UP = Request(
    level="infrastructure",
    manager="dc1",
    change=1,
    why="no idle node",
    granted=True,
    answer="all are accepted",
)


def tick(
    at: float = 1.0,
    nodes: dict[str, int] | None = None,
    requests: tuple[Request, ...] = (),
    **regions: RegionReading,
) -> Tick:
    """A step of one second that asks for nodes, or for nothing where none are given."""
    asked = None if nodes is None else Configuration(degrees={}, nodes=nodes)
    return Tick(
        seen=Observation(at=at, step=1.0, modules={}, regions=regions),
        decided=Decision(
            configuration=asked or Configuration(degrees={}), why="-", requests=requests
        ),
        asked=asked,
    )


def having(nodes: int, unmet: int | None = None) -> RegionReading:
    return RegionReading(nodes=nodes, requested=nodes, unmet=unmet)


# Recording


def test_a_region_that_did_not_answer_comes_back_unknown() -> None:
    silent = tick(dc1=having(2), dc2=RegionReading(trouble="unreachable"), requests=(UP,))
    line = dumps(tick_to_json(silent))
    back = tick_from_json(json.loads(line))
    assert back == silent
    assert not back.seen.regions["dc2"].answers


def test_a_recording_from_before_there_were_regions_still_reads() -> None:
    line = tick_to_json(a_tick(running=3))
    del line["seen"]["regions"], line["decided"]["requests"]
    del line["decided"]["configuration"]["nodes"]
    assert tick_from_json(line) == a_tick(running=3)


def test_an_answer_that_is_neither_yes_nor_no_is_refused() -> None:
    line = tick_to_json(tick(requests=(UP,)))
    line["decided"]["requests"][0]["granted"] = "perhaps"
    with pytest.raises(ValueError, match=r"requests\.0\.granted must be true or false, got 'per"):
        tick_from_json(line)


def test_a_run_with_regions_comes_back_from_its_folder(tmp_path: Path) -> None:
    ticks = with_regions(40, silent=range(10, 20))
    summary = summarise(ticks, 2.0)
    with RunFolder.create(tmp_path / "run", a_settings()) as folder:
        for one in ticks:
            folder.write(one)
        folder.finish(summary)
    run = load(tmp_path / "run")
    assert run.ticks == tuple(ticks)
    assert run.summary == summary


# What was learned


def test_what_was_learned_is_in_the_folder_and_the_newest_replaces_the_older(
    tmp_path: Path,
) -> None:
    with RunFolder.create(tmp_path / "run", a_settings()) as folder:
        folder.write(a_tick())
        folder.write_learned({"q": [1.0, float("inf")]})
        folder.write_learned({"q": [2.0, float("inf")]})
        folder.finish(summarise([a_tick()], None))
    assert json.loads((tmp_path / "run" / "learned.json").read_text()) == {"q": [2.0, None]}
    assert not list((tmp_path / "run").glob("*.part"))


def test_a_run_that_learned_nothing_leaves_no_file_for_it(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", a_settings()) as folder:
        folder.write(a_tick())
        folder.write_learned({})
    assert not (tmp_path / "run" / "learned.json").exists()


def test_what_an_earlier_run_learned_does_not_pass_for_the_next_ones(tmp_path: Path) -> None:
    for learned in ({"q": 1}, {}):
        with RunFolder.create(tmp_path / "run", a_settings()) as folder:
            folder.write(a_tick())
            folder.write_learned(learned)
            folder.finish(summarise([a_tick()], None))
    assert not (tmp_path / "run" / "learned.json").exists()


def test_a_folder_that_is_gone_is_reported_where_learned_tables_should_go(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", a_settings()) as folder:
        folder.write(a_tick())
        for file in (tmp_path / "run").iterdir():
            file.unlink()
        (tmp_path / "run").rmdir()
        with pytest.raises(FileError, match="cannot write in the run folder"):
            folder.write_learned({"q": 1})


# Acts


def test_nodes_that_change_are_an_act_that_leaves_the_application_alone() -> None:
    [act] = acts([tick(nodes={"dc1": 3, "dc2": 1}, dc1=having(2), dc2=having(1))])
    assert act == Act(nodes={"dc1": Change(before=2, after=3)})
    assert act
    assert (act.reconfigures, act.grows, act.shrinks) == (False, False, False)


def test_an_ask_for_nodes_moves_no_keys() -> None:
    keyed = FlowGraph(source="match", modules=(Module(name="match", keys=9),))
    [act] = acts([tick(nodes={"dc1": 3}, dc1=having(2))], keyed)
    assert act.rerouted == ()


def test_a_node_that_failed_and_is_asked_for_again_is_acquired_again() -> None:
    lost = [tick(nodes={"dc1": 3}, dc1=having(2)), tick(at=2, nodes={"dc1": 3}, dc1=having(2))]
    assert [act.nodes["dc1"].before for act in acts(lost)] == [2, 2]


def test_a_silent_region_has_what_was_last_asked_for() -> None:
    asked = [tick(nodes={"dc1": 3}, dc1=having(2)), tick(nodes={"dc1": 4}, dc1=RegionReading())]
    *_, last = acts(asked)
    assert last.nodes == {"dc1": Change(before=3, after=4)}


# Summary


def test_a_run_without_regions_has_nothing_to_say_of_them() -> None:
    summary = summarise([a_tick(running=2)], None)
    assert summary.regions == {}
    assert summary.requests == {}
    assert (summary.nodes_min, summary.nodes_mean, summary.nodes_max) == (None, None, None)
    assert (
        describe_nodes(summary),
        describe_requests(summary),
        describe_silent_regions(summary),
    ) == ("", "", "")


def test_a_summary_from_before_there_were_regions_still_reads() -> None:
    summary = summarise([a_tick(running=2)], None)
    written = summary.to_json()
    for name in ("regions", "requests", "node_seconds_total", "nodes_min", "nodes_mean"):
        del written[name]
    assert summary_from_json(written) == summary


def test_node_seconds_are_nodes_times_seconds_and_a_silence_keeps_the_number_before() -> None:
    readings = (having(2), having(3), RegionReading(), having(1))
    ticks = [tick(at=float(n), dc1=r, dc2=having(1)) for n, r in enumerate(readings, 1)]
    summary = summarise(ticks, None)
    assert summary.regions["dc1"].node_seconds == 2 + 3 + 3 + 1
    assert summary.regions["dc1"].silent_steps == 1
    assert summary.node_seconds_total == 9 + 4
    assert (summary.nodes_min, summary.nodes_mean, summary.nodes_max) == (2, 13 / 4, 4)


def test_a_region_that_was_left_out_of_a_step_did_not_answer_in_it() -> None:
    ticks = [tick(dc1=having(1), dc2=having(1)), tick(at=2.0, dc1=having(1))]
    assert summarise(ticks, None).regions["dc2"].silent_steps == 1


def test_a_region_that_never_answered_makes_the_whole_unknown() -> None:
    summary = summarise([tick(dc1=having(1), dc2=RegionReading())], None)
    assert summary.regions["dc1"].node_seconds == 1
    assert summary.regions["dc2"].node_seconds is None
    assert summary.nodes_mean is None
    assert describe_nodes(summary).startswith("unknown, 0 acquired")


def test_unmet_demand_is_added_up_by_region_and_unknown_where_nobody_measured_it() -> None:
    ticks = [tick(at=n, dc1=having(1, unmet=n % 3), dc2=having(1)) for n in range(1, 6)]
    found = summarise(ticks, None).regions
    assert (found["dc1"].unmet, found["dc1"].unmet_steps) == (1 + 2 + 0 + 1 + 2, 4)
    assert (found["dc2"].unmet, found["dc2"].unmet_steps) == (None, 0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_what_was_acquired_less_what_was_released_is_what_was_gained(wanted: list[int]) -> None:
    before = [4, *wanted[:-1]]
    ticks = [
        tick(at=float(at), nodes={"dc1": after}, dc1=having(now))
        for at, (now, after) in enumerate(zip(before, wanted, strict=True))
    ]
    use = summarise(ticks, None).regions["dc1"]
    assert use.acquired - use.released == wanted[-1] - 4
    assert use.acquired + use.released == sum(
        abs(now - after) for now, after in zip(before, wanted, strict=True)
    )


def test_requests_are_counted_by_level_and_answer() -> None:
    replica = replace(UP, level="application", manager="counter")
    made = (UP, replace(UP, granted=False), replica)
    summary = summarise([tick(requests=made, dc1=having(1))] * 2, None)
    assert summary.requests == {
        "infrastructure": RequestCount(granted=2, refused=2),
        "application": RequestCount(granted=2, refused=0),
    }
    assert (
        describe_requests(summary) == "2 of 6 refused (infrastructure 2 of 4, application 0 of 2)"
    )


def test_changes_of_nodes_are_no_reconfigurations_of_the_application() -> None:
    reading = ModuleReading(requested=1, running=1)
    both = tick(nodes={"dc1": 2}, dc1=having(1))
    grown = replace(
        both,
        seen=replace(both.seen, modules={"count": reading}),
        asked=Configuration(degrees={"count": 2}, nodes={"dc1": 2}),
    )
    summary = summarise([both, grown], None)
    assert (summary.reconfigurations, summary.scale_outs) == (1, 1)
    assert summary.regions["dc1"].acquired == 2


# Words


def use(**other: int) -> RegionUse:
    none = {"acquired": 0, "released": 0, "unmet": 0, "unmet_steps": 0, "silent_steps": 0}
    return RegionUse(node_seconds=1.0, **{**none, **other})


def test_words_name_the_regions_that_lacked_room() -> None:
    nothing = replace(summarise([], None), nodes_mean=2.0, nodes_min=2, nodes_max=2)
    full = replace(nothing, regions={"dc1": use(), "dc2": use()})
    assert describe_nodes(full) == "2 throughout, 0 acquired, 0 released"
    two = replace(nothing, regions={"dc1": use(unmet=1), "dc2": use(unmet=1200)})
    assert describe_nodes(two).endswith("; 1,201 replicas found no room (dc1 1, dc2 1,200)")
    one = replace(nothing, regions={"dc1": use(unmet=1), "dc2": use()})
    assert describe_nodes(one).endswith("; 1 replica found no room (dc1)")


def test_requests_that_were_all_granted_are_reported_so() -> None:
    summary = replace(
        summarise([], None), requests={"application": RequestCount(granted=7, refused=0)}
    )
    assert describe_requests(summary) == "all 7 granted"
