"""Guards leave nodes alone, and no request passes for carried out that a guard held back."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, RegionReading, Request
from penstock.guard import Clamp, Cooldown, DryRun, Hold, StepLimit
from penstock.testing import seen

MORE = Request(
    level="application",
    manager="counter",
    change=3,
    why="93 % busy",
    granted=True,
    answer="no other asked",
)
NODE = Request(
    level="infrastructure",
    manager="dc1",
    change=1,
    why="no idle node",
    granted=True,
    answer="all are accepted",
)


@dataclass
class FixedDecision:
    """Decides what it was given."""

    decided: Decision

    def __call__(self, _: Observation, /) -> Decision:
        return self.decided


PLAN = FixedDecision(
    Decision(
        configuration=Configuration(degrees={"counter": 7}, nodes={"dc1": 3, "dc2": 1}),
        why="more of both",
        requests=(MORE, NODE),
    )
)
NOW = replace(
    seen(counter={"running": 4}),
    regions={"dc1": RegionReading(nodes=2, requested=2), "dc2": RegionReading(nodes=1)},
)


@pytest.mark.parametrize(
    "guard", [Clamp(PLAN, high=5), Cooldown(PLAN, out=60.0), StepLimit(PLAN), Hold(PLAN)]
)
def test_guards_of_executors_leave_nodes_and_their_requests_alone(guard: Policy) -> None:
    decided = guard(NOW)
    assert decided.configuration.nodes == {"dc1": 3, "dc2": 1}
    assert decided.requests[-1] == NODE


def test_a_request_that_a_guard_undoes_was_not_granted_and_says_so() -> None:
    decided = Hold(PLAN)(NOW)
    asked, _ = decided.requests
    assert decided.configuration.degrees == {"counter": 4}
    assert not asked.granted
    assert asked.change == 3
    assert asked.answer == (
        "its manager granted it, and a guard held it back: "
        "counter held at 4, arrival_rate and utilisation unknown"
    )


def test_a_request_of_which_a_guard_leaves_nothing_to_ask_was_not_granted() -> None:
    unknown = replace(NOW, modules=seen(counter={}).modules)
    decided = Hold(PLAN)(unknown)
    assert decided.configuration.degrees == {}
    assert not decided.requests[0].granted


def test_of_a_request_a_guard_leaves_a_part_and_the_rest_is_refused() -> None:
    left, rest, _ = StepLimit(PLAN, out=2)(NOW).requests
    assert left == replace(MORE, change=2)
    assert (rest.granted, rest.change) == (False, 1)
    assert rest.answer == (
        "its manager granted it, and a guard held it back: "
        "counter goes to 6, at most 2 more in a step"
    )


def test_a_request_that_a_guard_exceeds_says_so() -> None:
    asked = Clamp(PLAN, low=9)(NOW).requests[0]
    assert (asked.granted, asked.change) == (True, 5)
    assert asked.answer == "a guard made it more: counter raised to 9, the fewest allowed"


def test_fewer_can_be_held_back_as_well_as_more() -> None:
    fewer = FixedDecision(
        Decision(
            configuration=Configuration(degrees={"counter": 1}),
            why="idle",
            requests=(replace(MORE, change=-3),),
        )
    )
    left, rest = StepLimit(fewer, in_=1)(NOW).requests
    assert (left.granted, left.change) == (True, -1)
    assert (rest.granted, rest.change) == (False, -2)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(0, 4))
def test_nothing_passes_for_granted_that_was_not_done(
    now: int, wanted: int, high: int, step: int
) -> None:
    assume(wanted != now)
    asked = Decision(
        configuration=Configuration(degrees={"counter": wanted}),
        why="-",
        requests=(replace(MORE, change=wanted - now),),
    )
    guard = Clamp(StepLimit(FixedDecision(asked), out=step, in_=step), high=high)
    decided = guard(seen(counter={"requested": now}))
    done = decided.configuration.degrees["counter"] - now
    granted = sum(request.change for request in decided.requests if request.granted)
    assert granted in (done, 0)  # none where a guard moves what another had held
    assert granted == done or high < max(now, wanted)


def test_what_one_guard_left_another_can_still_undo() -> None:
    decided = Clamp(StepLimit(PLAN, out=2), high=4)(NOW)
    assert decided.configuration.degrees == {"counter": 4}
    assert not any(r.granted for r in decided.requests if r.level == "application")


def test_a_guard_that_changes_nothing_leaves_requests_as_they_were() -> None:
    assert Clamp(PLAN, high=8)(NOW).requests == (MORE, NODE)


def test_a_refusal_stays_a_refusal() -> None:
    refused = replace(MORE, granted=False, answer="the bucket is empty")
    policy = FixedDecision(replace(PLAN.decided, requests=(refused,)))
    assert Clamp(policy, high=5)(NOW).requests == (refused,)


def test_a_region_of_the_name_of_a_module_is_not_taken_for_it() -> None:
    twin = replace(NODE, manager="counter")
    policy = FixedDecision(replace(PLAN.decided, requests=(twin,)))
    assert Clamp(policy, high=5)(NOW).requests == (twin,)


def test_a_dry_run_asks_for_no_nodes_and_reports_which_it_would() -> None:
    decided = DryRun(PLAN)(NOW)
    assert decided.configuration == Configuration(degrees={"counter": 4})
    assert decided.proposed == PLAN.decided.configuration
    assert decided.why == (
        "dry run: counter would go from 4 to 7; dc1 would go from 2 to 3 nodes; more of both"
    )


def test_a_dry_run_reports_a_region_that_does_not_answer_where_it_would_go() -> None:
    silent = replace(NOW, regions={"dc1": RegionReading(trouble="unreachable")})
    assert "; dc1 would go to 3 nodes; dc2 would go to 1 node; " in DryRun(PLAN)(silent).why


def test_requests_of_a_dry_run_say_that_nothing_was_done() -> None:
    policy = FixedDecision(replace(PLAN.decided, requests=(MORE, replace(NODE, granted=False))))
    granted, refused = DryRun(policy)(NOW).requests
    assert granted == replace(MORE, answer="no other asked; dry run, nothing was done")
    assert refused == replace(NODE, granted=False)
