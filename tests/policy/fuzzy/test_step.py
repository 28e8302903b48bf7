"""One step of the controller of two stages: words, rules, rounding and the pool."""

from math import floor, inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.fuzzy import RULES, Rule, Terms, factors, next_degrees

LOAD = st.integers(0, 2500).map(lambda thousandths: thousandths / 1000)
PARTS = st.integers(10, 80).map(lambda tenths: tenths / 10)
WORKERS = st.integers(1, 80)
AT = {"fast": 0.3, "acceptable": 0.9, "slow": 1.5, "moderate": 1.0, "intensive": 6.0, None: 2.7}
"""A number that is wholly what the word says; any number of parts where a rule asks for none."""


# Words


@pytest.mark.parametrize(
    ("load", "fast", "acceptable", "slow"),
    [
        (0.0, 1.0, 0.0, 0.0),
        (0.5, 1.0, 0.0, 0.0),
        (0.6, 0.75, 0.25, 0.0),  # the example in ppq, Section 4.2
        (0.9, 0.0, 1.0, 0.0),
        (1.2, 0.0, 0.25, 0.75),
        (1.3, 0.0, 0.0, 1.0),
        (7.0, 0.0, 0.0, 1.0),
        (inf, 0.0, 0.0, 1.0),
    ],
)
def test_a_load_is_in_words_what_the_paper_says(
    load: float, fast: float, acceptable: float, slow: float
) -> None:
    assert Terms().of_load(load) == pytest.approx(
        {"fast": fast, "acceptable": acceptable, "slow": slow}
    )


@pytest.mark.parametrize(
    ("parts", "moderate", "intensive"),
    [(1.0, 1.0, 0.0), (2.0, 1.0, 0.0), (3.5, 0.5, 1.0), (5.0, 0.0, 1.0), (40.0, 0.0, 1.0)],
)
def test_splitting_is_moderate_or_intensive(
    parts: float, moderate: float, intensive: float
) -> None:
    expected = {"moderate": moderate, "intensive": intensive}
    assert Terms().of_splitting(parts) == pytest.approx(expected)


@given(LOAD)
def test_the_words_for_a_load_add_up_to_one(load: float) -> None:
    assert sum(Terms().of_load(load).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({"fast": (0.9, 0.5)}, "points of fast must be rising numbers of 0 or more, got 0.9, 0.5"),
        ({"slow": (1.3, 1.3)}, "points of slow must be rising .* got 1.3, 1.3"),
        ({"acceptable": (0.5, 1.4, 1.3)}, "points of acceptable .* got 0.5, 1.4, 1.3"),
        ({"moderate": (-1.0, 5.0)}, "points of moderate .* got -1, 5"),
        ({"intensive": (2.0, nan)}, "points of intensive .* got 2, nan"),
        ({"fast": (0.0, 0.0, 0.5, 0.9)}, "fast needs 2 points, got 0, 0, 0.5, 0.9"),
        ({"acceptable": ()}, "acceptable needs 3 points, got none"),
        ({"fast": (0.2, 0.4)}, "fast must end after acceptable begins.* a load of 0.4"),
        ({"slow": (1.3, 1.4)}, "acceptable must end after slow begins.* a load of 1.3"),
        ({"intensive": (6.0, 7.0)}, "moderate must end after intensive begins.* splitting of 5"),
    ],
)
def test_refuses_words_out_of_order(points: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Terms(**points)


# Rules


def test_the_rules_are_those_of_the_table() -> None:
    changes = [(rule.plq_factor, rule.wlq_factor) for rule in RULES]
    assert changes == [
        *((0.5, 0.5), (0.5, 1.0), (0.5, 1.5)),
        *((1.0, 0.5), (1.0, 1.0), (1.0, 1.5)),
        *((1.25, 0.5), (1.25, 1.0), (1.0, 1.5)),
        *((1.5, 0.75), (1.5, 1.25), (1.25, 1.5)),
    ]


@pytest.mark.parametrize("rule", RULES, ids=range(1, 13))
def test_a_rule_alone_decides_where_its_words_are_wholly_true(rule: Rule) -> None:
    measured = (AT[rule.plq], AT[rule.splitting], AT[rule.wlq])
    assert factors(*measured) == (rule.plq_factor, rule.wlq_factor)
    workers = (round(20 * rule.plq_factor), round(16 * rule.wlq_factor))
    assert next_degrees(*measured, 20, 16) == workers


def test_between_two_words_the_outputs_are_weighted() -> None:
    plq, wlq = factors(0.6, 1.0, 0.9)
    assert plq == pytest.approx(0.75 * 0.5 + 0.25 * 1.0)
    assert wlq == 1.0


def test_two_rules_with_the_same_output_count_once_with_the_stronger() -> None:
    # All at a strength of 0.5: rules 5, 6 and 9 leave the pane stage as it is, rule 8 does not.
    plq, _ = factors(0.9, 3.5, 1.1)
    assert plq == pytest.approx((1.0 * 0.5 + 1.25 * 0.5) / 1.0)


# Rounding and the pool


@pytest.mark.parametrize(
    ("workers", "load", "after"),
    [
        (1, 0.0, 1),
        (1, 1.09, 1),
        (1, 1.11, 2),
        (1, 2.0, 2),
        (2, 0.55, 1),  # factor 0.5625
        (2, 0.551, 2),  # factor 0.56375
        (2, 1.09, 2),
        (2, 1.11, 3),
        (3, 0.734, 2),  # factor 0.7925
        (3, 0.735, 3),  # factor 0.79375
        (3, 1.034, 3),  # factor 1.1675
        (3, 1.037, 4),  # factor 1.17125
        (4, 0.5, 2),
        (4, 0.79, 3),  # 3.45
        (4, 0.81, 4),  # 3.55
        (7, 0.0, 4),  # 3.5 is rounded up
    ],
)
def test_few_workers_stay_as_they_are_unless_much_is_asked(
    workers: int, load: float, after: int
) -> None:
    # Beside an acceptable pane stage, the factor of the window stage is a matter of its own load.
    assert next_degrees(0.9, 1.0, load, 1, workers)[1] == after


@pytest.mark.parametrize(
    ("before", "pool", "after"),
    [
        ((2, 41), 59, (2, 57)),  # 2 and 62
        ((2, 57), 59, (1, 58)),  # 2 and 86
        ((28, 28), 59, (24, 35)),  # 28 and 42: 23.6 and 35.4
        ((14, 14), 35, (14, 21)),
        ((15, 10), 15, (7, 8)),  # both 7.5, rounded up: the first stage gives up one
        ((1, 200), 59, (1, 58)),  # the first stage keeps its last worker
        ((1, 1), 2, (1, 1)),
    ],
)
def test_the_pool_is_shared_in_proportion(
    before: tuple[int, int], pool: int, after: tuple[int, int]
) -> None:
    assert next_degrees(0.9, 1.0, 1.5, *before, pool) == after


@given(LOAD, PARTS, LOAD, WORKERS, WORKERS, st.integers(2, 120))
def test_never_below_one_worker_nor_above_the_pool(
    rho_plq: float, parts: float, rho_wlq: float, plq: int, wlq: int, pool: int
) -> None:
    after = next_degrees(rho_plq, parts, rho_wlq, plq, wlq, pool)
    assert min(after) >= 1
    assert sum(after) <= pool


@given(LOAD, PARTS, LOAD, WORKERS, WORKERS)
def test_no_stage_changes_by_more_than_half(
    rho_plq: float, parts: float, rho_wlq: float, plq: int, wlq: int
) -> None:
    after = next_degrees(rho_plq, parts, rho_wlq, plq, wlq, pool=1000)
    for before, then in zip((plq, wlq), after, strict=True):
        assert floor(before * 0.5) <= then <= floor(before * 1.5 + 0.5)


@given(LOAD, LOAD, PARTS, LOAD, WORKERS, WORKERS)
def test_more_load_of_a_stage_never_brings_it_fewer_workers(
    a: float, b: float, parts: float, other: float, plq: int, wlq: int
) -> None:
    low, high = sorted((a, b))
    few = next_degrees(low, parts, other, plq, wlq, pool=1000)
    many = next_degrees(high, parts, other, plq, wlq, pool=1000)
    assert few[0] <= many[0]
    few = next_degrees(other, parts, low, plq, wlq, pool=1000)
    many = next_degrees(other, parts, high, plq, wlq, pool=1000)
    assert few[1] <= many[1]


@given(st.integers(10, 20).map(lambda tenths: tenths / 10), WORKERS, WORKERS)
def test_acceptable_loads_and_moderate_splitting_change_nothing(
    parts: float, plq: int, wlq: int
) -> None:
    assert next_degrees(0.9, parts, 0.9, plq, wlq, pool=1000) == (plq, wlq)


@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_what_is_not_a_number_holds_both(unknown: int) -> None:
    rho_plq, splitting, rho_wlq = (nan if i == unknown else 1.5 for i in range(3))
    assert next_degrees(rho_plq, splitting, rho_wlq, 4, 12) == (4, 12)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rho_plq": -0.1}, "rho_plq must be 0 or more, got -0.1"),
        ({"rho_wlq": -inf}, "rho_wlq must be 0 or more, got -inf"),
        ({"splitting": -1.0}, "splitting must be 0 or more, got -1"),
        ({"plq": 0}, "plq must be 1 worker or more, got 0"),
        ({"wlq": -3}, "wlq must be 1 worker or more, got -3"),
        ({"pool": 1}, "pool must be 2 workers or more, one for each stage, got 1"),
    ],
)
def test_refuses_what_cannot_be_measured(changed: dict[str, Any], said: str) -> None:
    given = {"rho_plq": 1.0, "splitting": 1.0, "rho_wlq": 1.0, "plq": 2, "wlq": 2}
    with pytest.raises(SettingError, match=said):
        next_degrees(**(given | changed))
