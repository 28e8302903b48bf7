"""The policy `fuzzy`: when it moves both stages, when it holds, and how it says so."""

from itertools import pairwise
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.settings import build
from penstock.core.signals import Decision
from penstock.policy import POLICIES
from penstock.policy.fuzzy import Fuzzy, next_degrees
from penstock.testing import seen

LOAD = st.floats(0, 3)
COUNT = st.integers(1, 30)
Reading = dict[str, Any]


def in_a_row(*names: str, **settings: Any) -> FlowGraph:
    streams = pairwise(names)
    return FlowGraph(
        source=names[0],
        modules=tuple(Module(name=name, **settings) for name in names),
        streams=tuple(Stream(origin=origin, target=target) for origin, target in streams),
    )


STAGES = in_a_row("plq", "wlq")


def decide(plq: Reading, wlq: Reading, **settings: Any) -> Decision:
    return Fuzzy(STAGES, **settings)(seen(plq=plq, wlq=wlq))


def degrees(decided: Decision) -> tuple[int, int]:
    return decided.configuration.degrees["plq"], decided.configuration.degrees["wlq"]


# Moves


def test_moves_both_stages_and_expects_their_loads() -> None:
    decided = decide({"load": 1.5, "running": 4}, {"load": 0.9, "running": 12})
    assert decided.configuration.degrees == {"plq": 6, "wlq": 15}
    assert decided.expects == pytest.approx({"load:plq": 1.0, "load:wlq": 0.72})
    assert decided.why == (
        "plq 50 % too slow (load 1.5); wlq acceptable (load 0.9): plq 4 -> 6, wlq 12 -> 15"
    )


def test_holds_both_where_both_are_acceptable() -> None:
    decided = decide({"load": 0.91, "splitting": 1.0, "running": 4}, {"load": 0.88, "running": 12})
    assert degrees(decided) == (4, 12)
    assert decided.expects == {}
    assert decided.why == (
        "plq acceptable (load 0.91), panes in one part; wlq acceptable (load 0.88): "
        "plq holds at 4, wlq holds at 12"
    )


def test_splitting_a_lot_asks_for_more_pane_executors() -> None:
    wlq = {"load": 0.9, "running": 4}
    assert degrees(decide({"load": 0.9, "splitting": 6.0, "running": 4}, wlq)) == (5, 4)
    assert degrees(decide({"load": 0.9, "splitting": 1.0, "running": 4}, wlq)) == (4, 4)
    assert degrees(decide({"load": 0.9, "running": 4}, wlq)) == (4, 4)


@given(LOAD, LOAD, COUNT, COUNT)
def test_decides_as_one_step_of_the_controller(
    rho_plq: float, rho_wlq: float, plq: int, wlq: int
) -> None:
    policy = Fuzzy(in_a_row("plq", "wlq", max_replicas=59), pool=59)
    decided = policy(
        seen(
            plq={"load": rho_plq, "splitting": 2.5, "running": plq},
            wlq={"load": rho_wlq, "running": wlq},
        )
    )
    assert degrees(decided) == next_degrees(rho_plq, 2.5, rho_wlq, plq, wlq)


def test_computes_the_load_from_rows_and_their_time_and_not_from_utilisation() -> None:
    wlq = {"load": 0.9, "running": 4}
    rows = {"arrival_rate": 600.0, "service_time": 0.01, "utilisation": 1.0, "running": 4}
    assert "plq 50 % too slow (load 1.5)" in decide(rows, wlq).why
    assert "load of plq unknown" in decide({"utilisation": 0.3, "running": 4}, wlq).why


def test_the_points_of_the_words_can_be_set() -> None:
    plq, wlq = {"load": 0.7, "running": 10}, {"load": 0.7, "running": 10}
    assert degrees(decide(plq, wlq)) == (8, 8)
    points = {"fast": (0.3, 0.7), "acceptable": (0.3, 0.7, 1.1), "slow": (0.7, 1.1)}
    assert degrees(decide(plq, wlq, **points)) == (10, 10)


# The pool


def test_the_pool_is_what_both_modules_may_have_unless_given() -> None:
    plq, wlq = {"load": 1.5, "running": 15}, {"load": 1.5, "running": 15}
    decided = decide(plq, wlq)
    assert degrees(decided) == (19, 20)
    assert degrees(decide(plq, wlq, pool=30)) == (15, 15)
    assert decide(plq, wlq, pool=30).why.endswith("; the pool of 30 is used up")


def test_stages_that_may_have_the_whole_pool_share_it_by_what_they_ask_for() -> None:
    policy = Fuzzy(in_a_row("plq", "wlq", max_replicas=58), pool=59)
    full = seen(plq={"load": 0.9, "running": 3}, wlq={"load": 2.0, "running": 56})
    assert degrees(policy(full)) == next_degrees(0.9, 1.0, 2.0, 3, 56) == (2, 57)


def test_what_a_stage_cannot_have_is_for_the_other() -> None:
    graph = FlowGraph(
        source="plq",
        modules=(Module(name="plq", max_replicas=4), Module(name="wlq", max_replicas=2)),
        streams=(Stream(origin="plq", target="wlq"),),
    )
    slow = seen(plq={"load": 1.34, "running": 3}, wlq={"load": 3.0, "running": 2})
    assert degrees(Fuzzy(graph)(slow)) == (4, 2)


@given(LOAD, LOAD, COUNT, COUNT, st.integers(-3, 3), st.integers(-3, 3))
def test_never_asks_for_more_than_the_pool(
    rho_plq: float, rho_wlq: float, plq: int, wlq: int, more_plq: int, more_wlq: int
) -> None:
    decided = decide(
        {"load": rho_plq, "requested": plq, "running": max(plq + more_plq, 0)},
        {"load": rho_wlq, "requested": wlq, "running": max(wlq + more_wlq, 0)},
        pool=60,
    )
    assert sum(degrees(decided)) <= 60
    assert min(degrees(decided)) >= 1


def test_executors_of_a_stage_in_doubt_are_not_given_away() -> None:
    decided = decide({"load": nan, "running": 12}, {"load": 1.5, "running": 15}, pool=30)
    assert degrees(decided) == (12, 18)
    assert decided.why.endswith("plq holds at 12, wlq 15 -> 18; the pool of 30 is used up")


def test_executors_that_are_still_to_come_count_as_if_they_worked() -> None:
    decided = decide({"load": 1.35, "requested": 6, "running": 4}, {"load": 0.9, "running": 12})
    assert degrees(decided) == (6, 12)
    assert "(load 1.35), 2 executors still to come" in decided.why


def test_a_stage_far_behind_does_not_wait_for_executors_that_are_still_to_come() -> None:
    decided = decide({"load": 4.0, "requested": 6, "running": 4}, {"load": 0.9, "running": 12})
    assert degrees(decided) == (9, 15)


def test_executors_to_come_are_kept_while_more_than_a_step_of_work_waits() -> None:
    coming = {"load": 0.3, "service_time": 0.001, "requested": 2, "running": 1}
    wlq = {"load": 0.9, "running": 12}
    assert degrees(decide({**coming, "backlog": 500.0}, wlq)) == (1, 12)
    decided = decide({**coming, "backlog": 5000.0}, wlq)
    assert degrees(decided) == (2, 12)
    assert "1 executor still to come, more than a step of work waiting" in decided.why


def test_executors_that_are_still_to_leave_count_as_gone() -> None:
    plq = {"load": 0.6, "requested": 4, "running": 6}
    decided = decide(plq, {"load": 0.9, "running": 12})
    assert degrees(decided) == (4, 12)
    assert "2 executors still to leave" in decided.why


# Holds


def test_a_stage_does_without_executors_that_it_no_longer_needs() -> None:
    decided = decide({"load": 0.3, "requested": 6, "running": 5}, {"load": 0.9, "running": 12})
    assert degrees(decided) == (3, 12)


@pytest.mark.parametrize(
    ("plq", "said"),
    [
        ({"load": nan}, "load of plq is nan, as where no pane was completed"),
        ({"utilisation": 0.0}, "load of plq unknown"),
        ({"load": -1.0}, "load of plq is -1, as where no pane was completed"),
        (
            {"load": 1.5, "splitting": nan},
            "splitting of plq is nan, as where no pane was completed",
        ),
        ({}, "load of plq unknown"),
        ({"load": 1.5, "requested": 4, "running": 0}, "no executor of plq runs yet"),
    ],
)
def test_a_stage_that_cannot_be_judged_holds_and_the_other_goes_on(plq: Reading, said: str) -> None:
    decided = decide({"running": 4, **plq}, {"load": 1.5, "running": 12})
    assert degrees(decided) == (4, 18)
    assert decided.why == f"{said}; wlq 50 % too slow (load 1.5): plq holds at 4, wlq 12 -> 18"
    assert list(decided.expects) == ["load:wlq"]


def test_holds_both_where_neither_can_be_judged() -> None:
    decided = decide({"load": nan, "running": 4}, {"running": 12})
    assert degrees(decided) == (4, 12)
    assert decided.expects == {}


@pytest.mark.parametrize(
    ("executors", "said"),
    [
        ({"requested": 4}, "executors of plq unknown: plq holds at 4, wlq holds at 12"),
        ({}, "executors of plq unknown: wlq holds at 12"),
    ],
)
def test_holds_both_where_executors_are_unknown(executors: Reading, said: str) -> None:
    decided = decide({"load": 1.5, **executors}, {"load": 1.5, "running": 12})
    assert decided.why.startswith(said)
    assert decided.configuration.degrees.get("wlq") == 12


def test_says_which_stage_was_not_seen() -> None:
    policy = Fuzzy(STAGES)
    assert policy(seen(wlq={"load": 2.0, "running": 3})).why == ("plq was not seen: wlq holds at 3")
    assert policy(seen()).why == "plq was not seen; wlq was not seen: nothing to hold"


def test_a_load_without_end_is_too_slow_and_nothing_is_expected_of_it() -> None:
    decided = decide({"load": inf, "running": 4}, {"load": 0.9, "running": 4})
    assert degrees(decided) == (6, 5)
    assert "plq far too slow (load inf)" in decided.why
    assert list(decided.expects) == ["load:wlq"]


# Settings


def test_the_inner_level_aims_lower_than_the_rules() -> None:
    policy = Fuzzy(STAGES, setpoint=0.7, margin=0.2, sampling=0.5)
    assert policy.inner is not None
    assert policy.inner.setpoint == pytest.approx(0.5)
    assert policy.inner.period == 0.5


def test_the_words_for_loads_move_with_the_setpoint() -> None:
    loads: dict[str, Any] = {
        "plq": {"load": 0.6, "running": 10},
        "wlq": {"load": 0.6, "running": 10},
    }
    assert Fuzzy(STAGES)(seen(**loads)).configuration.degrees["wlq"] < 10
    assert Fuzzy(STAGES, setpoint=0.6)(seen(**loads)).configuration.degrees["wlq"] == 10


def test_is_built_from_a_file() -> None:
    written = {
        "setpoint": "0.8",
        "sampling": "500ms",
        "split": "no",
        "pool": 12,
        "fast": [0.4, 0.8],
    }
    policy = build(POLICIES["fuzzy"], written, of="policy fuzzy", graph=STAGES)
    assert policy == Fuzzy(
        STAGES, setpoint=0.8, sampling=0.5, split=False, pool=12, fast=(0.4, 0.8)
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"setpoint": 0.0}, r"setpoint of policy fuzzy must be in \(0, 1\], got 0"),
        ({"setpoint": 1.01}, "got 1.01"),
        ({"setpoint": nan}, "got nan"),
        ({"margin": 0.9}, "margin of policy fuzzy must be below its setpoint of 0.9, got 0.9"),
        ({"margin": -0.1}, "got -0.1"),
        ({"sampling": 0.0}, "sampling of policy fuzzy must be 0.001s or more, got 0s"),
        ({"sampling": inf}, "got inf"),
        ({"pool": 1}, "pool of policy fuzzy must be 2 or more, the min_replicas of both stages"),
        ({"fast": (1.0, 3.0)}, "a load of 0.9, the middle of acceptable, must not be wholly fast"),
        ({"slow": (0.0, 0.1)}, "must not be wholly slow, got 0.1; move the points of slow"),
        ({"fast": ()}, "fast needs 2 points, got none"),
        ({"fast": (0.9, 0.5)}, "points of fast must be rising numbers of 0 or more, got 0.9, 0.5"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Fuzzy(STAGES, **settings)


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three")])
def test_refuses_other_than_two_stages(names: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match=f"two modules in a row.* got {len(names)}, one"):
        Fuzzy(in_a_row(*names))
