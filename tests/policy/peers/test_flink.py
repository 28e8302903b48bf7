"""Flink's autoscaler, by hand from the formulas of its source."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Decision
from penstock.policy import Flink
from penstock.policy.peers.flink import Change, History, scalability
from penstock.testing import seen

QUICK: dict[str, Any] = {
    "metrics_window": 10.0,
    "stabilization_interval": 0.0,
    "scale_down_interval": 0.0,
    "restart_time": 0.0,
}


def counter(decided: Decision) -> int:
    return decided.configuration.degrees["counter"]


def reading(
    rate: float, utilisation: float, running: int, backlog: float = 0.0
) -> Mapping[str, Any]:
    """Of a module that keeps up, where nothing else is said."""
    return {
        "arrival_rate": rate,
        "processed_rate": rate,
        "utilisation": utilisation,
        "backlog": backlog,
        "running": running,
    }


def steady(policy: Flink, given: Mapping[str, Any], start: float = 0.0) -> Decision:
    """The decision after 10 s of the same readings."""
    policy(seen(at=start + 5.0, step=5.0, counter=given))
    return policy(seen(at=start + 10.0, step=5.0, counter=given))


# The target


@pytest.mark.parametrize(
    ("given", "settings", "degree"),
    [
        # 100 rows/s at 100 %: its capacity is 100, which is the edge of the band
        (reading(100.0, 1.0, 4), {}, 4),
        # with a narrower band it grows: 100 / 0.7 / 100 = 1.43, ceil(5.7)
        (reading(100.0, 1.0, 4), {"utilisation_boundary": 0.2}, 6),
        (reading(100.0, 1.0, 4), {"utilisation_max": 0.8}, 6),
        # 40 %: its capacity is 250, as many as at the lower edge, 100 / 0.4
        (reading(100.0, 0.4, 4), {}, 4),
        # 39 % is outside: 100 / 0.7 / 256.4 = 0.557, ceil(2.2)
        (reading(100.0, 0.39, 4), {}, 3),
        (reading(100.0, 0.5, 4), {"utilisation_min": 0.55}, 3),  # 0.714: ceil(2.86)
        # a backlog of 3,600 in half an hour is 2 rows/s more: 144.9 / 100 = 1.449, ceil(5.8)
        (reading(100.0, 1.0, 4, 3600.0), {}, 6),
        # in a minute 60 rows/s more: 202.9 / 100, ceil(8.1)
        (reading(100.0, 1.0, 4, 3600.0), {"catch_up_duration": 60.0}, 9),
        # and left to itself no more
        (reading(100.0, 1.0, 4, 3600.0), {"catch_up_duration": 0.0}, 4),
        # a restart of 5 min costs a sixth of half an hour: 142.9 + 16.7 + 2, ceil(6.5)
        (reading(100.0, 1.0, 4, 3600.0), {"restart_time": 300.0}, 7),
        # from 10 down to 0.4 of that at once, though 100 / 0.7 / 2000 of it would do
        (reading(100.0, 0.05, 10), {}, 4),
        (reading(100.0, 0.05, 10), {"scale_down_max_factor": 1.0}, 1),
        # and no more than twice as many where that is the most
        (reading(100.0, 1.0, 4, 3600.0), {"catch_up_duration": 1.0, "scale_up_max_factor": 1}, 8),
        # nothing comes: it can take in any number
        (reading(0.0, 0.0, 10), {}, 4),
    ],
)
def test_the_target_is_flinks(
    given: Mapping[str, Any], settings: Mapping[str, Any], degree: int
) -> None:
    assert counter(steady(Flink(**{**QUICK, **settings}), given)) == degree


def test_a_module_that_falls_behind_is_judged_by_what_comes() -> None:
    policy = Flink(**QUICK)
    for at, rows in ((5.0, 0.0), (10.0, 100.0)):  # of 100 rows/s 80 are finished, at 100 %
        given = {**reading(100.0, 1.0, 2), "backlog": rows}
        decided = policy(seen(at=at, step=5.0, counter=given))
    assert counter(decided) == 4  # (100 / 0.7 + 100 / 1800) / 80 = 1.786: ceil(3.57)
    assert decided.why == "counter needs 143 rows/s, its capacity is 80: 2 -> 4"


def test_what_is_seen_while_catching_up_is_believed_where_busy_time_says_much_more() -> None:
    # 100 rows/s at 50 % look like 200, but 100 are all that come while 3,100 rows wait: 31 s
    given = reading(100.0, 0.5, 2, 3100.0)
    assert "its capacity is 100:" in steady(Flink(**QUICK), given).why
    assert "its capacity is 200" in steady(Flink(**QUICK), reading(100.0, 0.5, 2, 2900.0)).why


def test_nothing_shrinks_while_a_source_lags_five_minutes() -> None:
    slow = {**QUICK, "catch_up_duration": 0.0, "backlog_lag_threshold": 10.0}
    assert counter(steady(Flink(**slow), reading(100.0, 0.2, 10, 900.0))) == 4
    assert counter(steady(Flink(**slow), reading(100.0, 0.2, 10, 1100.0))) == 10


# The graph

GRAPH = FlowGraph(
    source="scan",
    modules=(Module(name="scan"), Module(name="match")),
    streams=(Stream(origin="scan", target="match", selectivity=2.0),),
)


def both(policy: Flink, scan: Mapping[str, Any], match: Mapping[str, Any]) -> Decision:
    policy(seen(at=5.0, step=5.0, scan=scan, match=match))
    return policy(seen(at=10.0, step=5.0, scan=scan, match=match))


def test_targets_and_backlogs_flow_downstream() -> None:
    quick = {**QUICK, "catch_up_duration": 60.0}
    decided = both(
        Flink(GRAPH, **quick),
        reading(100.0, 0.8, 2, 600.0),  # 142.9 + 10 by 125: 1.22, ceil(2.4)
        reading(200.0, 0.8, 2, 300.0),  # 285.7 + 2 * 10 + 5 by 250: 1.24, ceil(2.5)
    )
    # of 125 and 250 that can be taken in 110 and 225 are the least, so both are within the band
    assert decided.configuration.degrees == {"scan": 2, "match": 2}
    assert decided.why == (
        "scan holds at 2, needs 153 rows/s, its capacity is 125, "
        "within 40 % to 100 % busy, though 3 would be enough; "
        "match holds at 2, needs 311 rows/s, its capacity is 250, "
        "within 40 % to 100 % busy, though 3 would be enough"
    )


def test_all_change_once_one_is_outside_its_band() -> None:
    decided = both(Flink(GRAPH, **QUICK), reading(100.0, 0.9, 2), reading(200.0, 0.2, 4))
    # scan is inside, and 1.29 times 2 are 3; match is not, and 0.4 times 4 are 2
    assert decided.configuration.degrees == {"scan": 3, "match": 2}


# Time


def test_it_settles_then_fills_its_window_then_decides() -> None:
    policy = Flink(
        metrics_window=20.0, stabilization_interval=10.0, scale_down_interval=0.0, restart_time=0.0
    )
    given = reading(100.0, 0.2, 4)
    whys = [policy(seen(at=at, step=5.0, counter=given)).why for at in range(5, 31, 5)]
    assert whys[0] == "counter holds at 4, stabilisation ends in 5 s"
    assert whys[1] == "counter holds at 4, the metrics window is full in 15 s"
    assert whys[3] == "counter holds at 4, the metrics window is full in 5 s"
    assert whys[4] == "counter needs 143 rows/s, its capacity is 500: 4 -> 2"
    after = policy(seen(at=35.0, step=5.0, counter=reading(100.0, 0.2, 2)))
    assert after.why == "counter holds at 2, stabilisation ends in 5 s"


def test_what_was_measured_before_a_change_is_forgotten() -> None:
    policy = Flink(**QUICK)
    assert counter(steady(policy, reading(100.0, 0.2, 4))) == 2
    # two executors at 80 %, and not the mean of that and of what four were like
    assert counter(steady(policy, reading(100.0, 0.8, 2), start=10.0)) == 2
    assert (
        "its capacity is 125" in policy(seen(at=25.0, step=5.0, counter=reading(100.0, 0.8, 2))).why
    )


def test_a_scale_down_waits_and_goes_to_the_windows_highest() -> None:
    policy = Flink(**{**QUICK, "scale_down_interval": 20.0, "metrics_window": 1.0})

    def see(at: float, utilisation: float) -> Decision:
        return policy(seen(at=at, step=5.0, counter=reading(100.0, utilisation, 10)))

    assert counter(see(0.0, 0.2)) == 10  # nothing is known yet of what it gets through
    assert see(5.0, 0.2).why == (
        "counter holds at 10, needs 143 rows/s, its capacity is 500, "
        "4 are enough, may shrink in 20 s"
    )
    assert counter(see(10.0, 0.35)) == 10  # for which 5 do
    assert counter(see(20.0, 0.2)) == 10
    assert see(25.0, 0.2).why == (
        "counter needs 143 rows/s, its capacity is 500, "
        "4 are enough, the highest in 20 s was 5: 10 -> 5"
    )


def test_a_scale_down_waits_again_after_a_moment_without() -> None:
    policy = Flink(**{**QUICK, "scale_down_interval": 20.0, "metrics_window": 1.0})
    for at, utilisation in ((5.0, 0.2), (15.0, 0.7), (20.0, 0.2), (30.0, 0.2)):
        given = reading(100.0, utilisation, 10)
        assert counter(policy(seen(at=at, step=5.0, counter=given))) == 10
    assert counter(policy(seen(at=40.0, step=5.0, counter=reading(100.0, 0.2, 10)))) == 4


# What came of earlier changes


def grown(rate: float) -> tuple[Flink, Decision]:
    """After going from 2 to 4 for 129 rows/s in place of 80, with so many that it can take in."""
    policy = Flink(**{**QUICK, "catch_up_duration": 0.0, "observed_scalability": False})
    for at, rows in ((5.0, 0.0), (10.0, 50.0)):
        given = {**reading(90.0, 1.0, 2), "backlog": rows}
        decided = policy(seen(at=at, step=5.0, counter=given))
    assert counter(decided) == 4
    for at, rows in ((15.0, 100.0), (20.0, 100.0 + 5 * (90.0 - rate))):
        given = {**reading(90.0, 1.0, 4), "backlog": rows}
        decided = policy(seen(at=at, step=5.0, counter=given))
    return policy, decided


def test_a_scale_up_that_did_not_help_is_not_followed_by_another() -> None:
    _, decided = grown(84.0)  # 4 of 48.6 rows/s expected, 8 %
    assert decided.why == (
        "counter holds at 4, needs 129 rows/s, its capacity is 84, "
        "but going from 2 to 4 added 4 rows/s instead of 48.6"
    )


def test_a_scale_up_that_helped_a_little_is() -> None:
    assert counter(grown(85.0)[1]) == 7  # 5 of 48.6, 10.3 %: 128.6 / 85 = 1.51, ceil(6.05)


def test_a_change_that_a_guard_refused_is_no_lesson() -> None:
    history = History(pending=Change(at=0.0, before=2, after=4, rate=80.0, expected=160.0))
    history.observe(1.0, 2)
    assert history == History()


def change(before: int, rate: float, at: float = 0.0) -> Change:
    return Change(at=at, before=before, after=before + 1, rate=rate, expected=rate)


@pytest.mark.parametrize(
    ("changes", "alpha"),
    [
        ([], 1.0),
        ([change(1, 100.0), change(2, 100.0)], 1.0),  # too few
        # (1 * 100 + 2 * 160 + 4 * 280) / (100 * 21) = 0.733, rounded up
        ([change(1, 100.0), change(2, 160.0), change(4, 280.0)], 0.74),
        ([change(1, 100.0), change(2, 40.0), change(4, 40.0)], 0.5),  # 0.16
        ([change(1, 100.0), change(2, 400.0), change(4, 900.0)], 1.0),
        # one executor of the smallest degree does 50: (200 + 480 + 800) / (50 * 36) = 0.822
        ([change(2, 100.0), change(4, 120.0), change(4, 200.0)], 0.83),
        # the latest of the smallest counts: 80 a one, (80 + 100 + 320) / (80 * 6)
        ([change(1, 100.0), change(1, 80.0), change(2, 160.0)], 1.0),
    ],
)
def test_scalability_is_fitted_by_least_squares(changes: list[Change], alpha: float) -> None:
    assert scalability(changes, 3, 0.5) == pytest.approx(alpha)


def test_degrees_are_corrected_by_scalability() -> None:
    policy = Flink(**QUICK)
    lessons = History(changes=[change(1, 100.0), change(2, 160.0), change(4, 280.0)])
    policy._histories["counter"] = lessons
    given = reading(100.0, 1.0, 4, 3600.0)
    assert counter(steady(policy, given)) == 8  # 1.449 / 0.74 = 1.958: ceil(7.83), not 6
    plain = Flink(**QUICK, observed_scalability=False)
    plain._histories["counter"] = lessons
    assert counter(steady(plain, given)) == 6


def test_three_changes_of_a_day_are_remembered() -> None:
    history = History(changes=[change(n, 1.0, at=at) for n, at in ((1, 0.0), (2, 9.0), (3, 9.0))])
    history.pending = Change(at=10.0, before=4, after=5, rate=1.0, expected=2.0)
    history.observe(11.0, 5)
    assert [one.before for one in history.changes] == [2, 3, 4]
    history.observe(86_409.5, 5)
    assert [one.before for one in history.changes] == [4]


# What is missing


@pytest.mark.parametrize(
    ("lacks", "why"),
    [
        ("arrival_rate", "arrival rate of its source unknown"),
        ("utilisation", "utilisation unknown"),
        ("backlog", "its backlog or that of an upstream module unknown"),
    ],
)
def test_it_holds_what_it_knows_too_little_of(lacks: str, why: str) -> None:
    given = {k: v for k, v in reading(100.0, 0.1, 4).items() if k != lacks}
    assert steady(Flink(**QUICK), given).why == f"counter holds at 4, {why}"


def test_it_holds_where_rows_finished_or_executors_are_unknown() -> None:
    given = {"arrival_rate": 1.0, "utilisation": 0.1, "running": 4}
    blind = Flink(**QUICK, catch_up_duration=0.0)
    assert "throughput unknown" in steady(blind, given).why
    asked = {**reading(100.0, 0.1, 4), "running": None, "requested": 4}
    assert steady(Flink(**QUICK), asked).why == "counter holds at 4, running executors unknown"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Flink(utilisation_target=0.0), r"utilisation_target of policy flink must be in"),
        (
            lambda: Flink(utilisation_min=0.9),
            r"must be between its utilisation_min and utilisation_max",
        ),
        (
            lambda: Flink(utilisation_max=0.5),
            r"must be between its utilisation_min and utilisation_max",
        ),
        (lambda: Flink(restart_time=-1.0), "restart_time of policy flink must be 0s or more"),
        (lambda: Flink(scale_down_max_factor=2.0), "scale_down_max_factor of policy flink must be"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make()
