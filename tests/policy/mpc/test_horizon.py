"""The optimum over a horizon: exact, the same by both searches, ties by the stated rule."""

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.mpc import Problem, branch_and_bound, solve


def few_costs(infinite: bool) -> st.SearchStrategy[float]:
    """Few different numbers, so that ties abound; with and without what must not be."""
    costs = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.5])
    return st.one_of(costs, st.just(inf)) if infinite else costs


@st.composite
def problems(
    draw: st.DrawFn, most_steps: int = 4, most_options: int = 5, wide: bool = False
) -> Problem:
    steps = draw(st.integers(1, most_steps))
    options = draw(st.integers(1, most_options))
    any_cost = st.floats(0.0, 1e9, allow_subnormal=False)
    cost = st.one_of(few_costs(infinite=True), any_cost) if wide else few_costs(infinite=True)

    def table(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(cost, min_size=size, max_size=size))).reshape(shape)

    return Problem(
        stages=table(steps, options),
        switching=table(options, options),
        start=table(options),
        current=draw(st.one_of(st.none(), st.integers(0, options - 1))),
        fallback=draw(st.integers(0, options - 1)),
    )


def every_course(problem: Problem) -> list[tuple[int, ...]]:
    steps, options = problem.size
    return list(product(range(options), repeat=steps))


def preference(problem: Problem, plan: tuple[int, ...]) -> list[tuple[bool, int]]:
    """The rule for ties: at the first step where courses part, stay, or take the first listed."""
    before = (problem.current, *plan)
    return [(after != here, after) for here, after in zip(before, plan, strict=False)]


@given(problems())
def test_no_course_is_better_than_the_one_found(problem: Problem) -> None:
    found = solve(problem)
    least = min(problem.exact.cost(plan) for plan in every_course(problem))
    if not np.isfinite(least):
        assert found.choices == (problem.fallback,) * len(found.choices)
        return
    best = [c for c in every_course(problem) if problem.exact.cost(c) == least]
    assert found.choices == min(best, key=lambda plan: preference(problem, plan))


@given(problems(most_steps=5, most_options=7, wide=True))
def test_the_tree_finds_the_same_course_as_dynamic_programming(problem: Problem) -> None:
    plan, tree = solve(problem), branch_and_bound(problem)
    assert tree.choices == plan.choices
    assert tree.cost == plan.cost
    assert tree.infeasible == plan.infeasible
    steps, options = problem.size
    assert tree.explored <= options**steps


@given(problems(wide=True))
def test_rounding_for_exact_ties_costs_next_to_nothing(problem: Problem) -> None:
    found = solve(problem)
    least = min(problem.cost(plan) for plan in every_course(problem))
    if np.isfinite(least):
        assert found.cost <= least * (1 + 1e-11)


@given(problems())
def test_costs_in_other_units_lead_to_the_same_course(problem: Problem) -> None:
    larger = Problem(
        stages=problem.stages * 1024,
        switching=problem.switching * 1024,
        start=problem.start * 1024,
        current=problem.current,
        fallback=problem.fallback,
    )
    assert solve(larger).choices == solve(problem).choices


def test_a_tie_is_broken_by_staying_and_then_by_the_first_listed() -> None:
    flat, free = np.ones((2, 3)), np.zeros((3, 3))
    staying = Problem(stages=flat, switching=free, start=free[0], current=2)
    assert solve(staying).choices == branch_and_bound(staying).choices == (2, 2)
    unlisted = Problem(stages=flat, switching=free, start=free[0])
    assert solve(unlisted).choices == branch_and_bound(unlisted).choices == (0, 0)


def test_a_rounding_error_does_not_break_a_tie() -> None:
    """0.1 + 0.2 is more than 0.3 to a computer, but to us it is a tie."""
    stages, apart = np.array([[0.1, 0.3], [0.2, 0.0]]), np.array([[0.0, inf], [inf, 0.0]])
    problem = Problem(stages=stages, switching=apart, start=np.zeros(2), current=0)
    assert solve(problem).choices == branch_and_bound(problem).choices == (0, 0)


def test_a_step_in_which_nothing_may_be_takes_the_refuge() -> None:
    stages = np.array([[1.0, 2.0, 3.0], [inf, inf, inf], [1.0, 2.0, 3.0]])
    apart = 0.1 * np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    problem = Problem(stages=stages, switching=apart, start=apart[0], current=0, fallback=2)
    found = solve(problem)
    assert found.choices == (0, 2, 0)
    assert found.infeasible == (1,)
    assert found.cost == inf
    assert branch_and_bound(problem).choices == found.choices


def test_where_nothing_is_possible_at_all_the_refuge_is_taken_throughout() -> None:
    nothing = np.full((3, 4), inf)
    problem = Problem(stages=nothing, switching=np.zeros((4, 4)), start=np.zeros(4), fallback=3)
    assert solve(problem).choices == branch_and_bound(problem).choices == (3, 3, 3)
    assert solve(problem).infeasible == (0, 1, 2)


def test_costs_beyond_all_bounds_do_not_blur_the_others() -> None:
    stages = np.array([[1e300, 1.0 + 1e-9, 1.0], [1e300, 1.0, 1.0]])
    problem = Problem(stages=stages, switching=np.zeros((3, 3)), start=np.zeros(3), current=1)
    assert solve(problem).choices == branch_and_bound(problem).choices == (2, 2)


def test_states_are_counted_as_the_paper_counts_them() -> None:
    draw = np.random.default_rng(3)
    apart = draw.random((108, 108))
    problem = Problem(stages=draw.random((1, 108)), switching=apart, start=apart[5], current=5)
    assert branch_and_bound(problem).explored == 108  # mpc, Tab. 5, h = 1
    longer = Problem(stages=draw.random((2, 108)), switching=apart, start=apart[5], current=5)
    assert 108 <= branch_and_bound(longer).explored <= 11_664
    assert solve(longer).explored == 108 + 108**2


def test_a_longer_horizon_moves_early_for_what_is_to_come() -> None:
    """A single jump costs more than two halves of it, so two steps ahead it begins now."""
    stages = np.array([[0.0, 0.5, 1.0], [9.0, 9.0, 0.0]])
    squares = np.square(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    near = Problem(stages=stages[:1], switching=squares, start=squares[0], current=0)
    far = Problem(stages=stages, switching=squares, start=squares[0], current=0)
    assert solve(near).choices == (0,)
    assert solve(far).choices == (1, 2)


@pytest.mark.parametrize(
    ("stages", "switching", "message"),
    [
        (np.zeros((0, 2)), np.zeros((2, 2)), "at least one step and one configuration, got 0, 2"),
        (np.zeros((1, 2)), np.zeros((3, 3)), "must be 2 x 2 and 2, got \\(3, 3\\)"),
        (np.array([[1.0, -1.0]]), np.zeros((2, 2)), "costs must be 0 or more"),
        (np.array([[1.0, np.nan]]), np.zeros((2, 2)), "costs must be 0 or more"),
    ],
)
def test_problems_that_are_none_are_refused(
    stages: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    switching: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    message: str,
) -> None:
    with pytest.raises(SettingError, match=message):
        Problem(stages=stages, switching=switching, start=np.zeros(2))
