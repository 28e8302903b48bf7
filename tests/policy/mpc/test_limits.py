"""What model predictive control refuses to weigh, and what it makes of impossible measurements."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import KeyLoads, Observation
from penstock.policy import Mpc
from penstock.testing import seen

COUNT = Module(name="count", service_time=0.01, max_replicas=12)
STEP = {"arrival_rate": 450.0, "running": 5}


def mpc(most: int = 12, **settings: Any) -> Mpc:
    graph = FlowGraph(source="count", modules=(replace(COUNT, max_replicas=most),))
    return Mpc(graph, warm_up=0, **settings)


def step(frequency: float | None = None, **reading: Any) -> Observation:
    return replace(seen(count={**STEP, **reading}), frequency=frequency)


@pytest.mark.parametrize(
    ("most", "settings", "message"),
    [
        (12, {"horizon": 1001}, "must be 1 to 1,000, got 1,001"),
        (12, {"horizon": 10**18}, r"must be 1 to 1,000, got 1,000,000"),
        (12, {"horizon": 10**19}, r"must be a whole number below 2\^63, got 10000"),
        (1000, {"strategy": "th-power"}, "would weigh 9,000 configurations of module count"),
        (1000, {"horizon": 51}, "at most 50 steps with the 1,000 configurations of module count"),
        (1000, {"horizon": 51}, "got 51; shorten it, lower max_replicas or name fewer"),
        (
            12,
            {"optimiser": "branch-and-bound", "horizon": 4, "strategy": "th-power"},
            r"cannot search the 108\^4 courses of module count, at most 5,000,000 of 100 steps; "
            "use dynamic-programming, which finds the same, or a shorter horizon",
        ),
        (1, {"optimiser": "branch-and-bound", "horizon": 101}, r"the 1\^101 courses"),
    ],
)
def test_what_would_take_for_ever_is_refused(
    most: int, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        mpc(most, **settings)


@pytest.mark.parametrize(
    ("most", "settings"),
    [
        (12, {"horizon": 1000}),
        (1000, {"horizon": 2}),
        (12, {"optimiser": "branch-and-bound", "horizon": 3, "strategy": "th-power"}),
        (1, {"optimiser": "branch-and-bound", "horizon": 100}),
    ],
)
def test_what_takes_a_while_is_not(most: int, settings: dict[str, Any]) -> None:
    decided = mpc(most, **settings)(step(frequency=2.0))
    assert decided.configuration.degrees["count"] <= most


@pytest.mark.parametrize("clock", [nan, inf, 0.0, -2.0, 1e300])
def test_holds_while_the_clock_is_none_and_goes_on_afterwards(clock: float) -> None:
    policy, fresh = mpc(strategy="th-power"), mpc(strategy="th-power")
    held = policy(step(clock, service_time=0.9))
    assert held.why == f"count holds at 5, the clock cannot be {clock:g} GHz"
    assert held.configuration.degrees == {"count": 5}
    assert held.configuration.frequency is None
    assert policy(step(1.6)).configuration == fresh(step(1.6)).configuration


def test_impossible_numbers_of_executors_are_ignored() -> None:
    measured = {"service_time": 0.01, "waiting_time": 0.01, "requested": 5}
    policy = mpc(strategy="lat-node", threshold=0.05)
    decided = policy(step(**{**measured, "running": -3}))
    assert (
        decided.configuration
        == mpc(strategy="lat-node", threshold=0.05)(
            step(**{**measured, "running": None})
        ).configuration
    )


numbers = st.one_of(
    st.none(), st.sampled_from([nan, inf, -1.0, 0.0, 1e-300, 1e300]), st.floats(0.0, 1e6)
)
counts = st.one_of(st.none(), st.integers(-3, 2000))
keys = st.dictionaries(st.sampled_from("ABC"), st.floats(allow_nan=True))
readings = st.fixed_dictionaries(
    dict.fromkeys(
        ("arrival_rate", "backlog", "service_time", "service_cv", "arrival_cv", "waiting_time"),
        numbers,
    )
    | {"running": counts, "requested": counts}
    | {"keys": st.builds(KeyLoads, rates=keys, service_times=keys)}
)


@given(
    st.lists(st.tuples(readings, numbers), min_size=1, max_size=6),
    st.sampled_from(["th-node", "th-power", "lat-node", "lat-power"]),
    st.sampled_from(["holt", "moving-average"]),
    st.sampled_from([None, 1e-3, 20.0]),
)
def test_decides_in_a_short_sentence_whatever_was_measured(
    steps: list[tuple[dict[str, Any], float | None]],
    strategy: str,
    forecaster: str,
    catch_up: float | None,
) -> None:
    policy = mpc(strategy=strategy, forecaster=forecaster, catch_up=catch_up, threshold=0.05)
    for reading, clock in steps:
        decided = policy(step(clock, **reading))
        assert all(1 <= degree <= 2000 for degree in decided.configuration.degrees.values())
        assert len(decided.why) < 400
