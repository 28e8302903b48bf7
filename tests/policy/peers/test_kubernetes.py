"""Kubernetes' autoscaler and KEDA's Kafka scaler, by hand from their published formulas."""

from typing import Any

import pytest

from penstock.core.errors import SettingError
from penstock.core.signals import Decision
from penstock.policy import Hpa, KedaLag
from penstock.testing import seen


def hpa(policy: Hpa, at: float, utilisation: float | None, running: int | None, **more: int) -> int:
    return counter(
        policy(seen(at=at, counter={"utilisation": utilisation, "running": running, **more}))
    )


def keda(policy: KedaLag, at: float, backlog: float | None, running: int) -> int:
    return counter(policy(seen(at=at, counter={"backlog": backlog, "running": running})))


def counter(decided: Decision) -> int:
    return decided.configuration.degrees["counter"]


# HPA: the formula


@pytest.mark.parametrize(
    ("utilisation", "running", "degree"),
    [
        (0.93, 3, 4),  # ceil(3 * 0.93 / 0.7) = ceil(3.99)
        (1.00, 2, 3),  # ceil(2.86)
        (1.00, 10, 15),  # ceil(14.3)
        (0.77, 4, 4),  # 10 % above is still within tolerance
        (0.78, 4, 5),  # 11 % above is not: ceil(4.46)
        (0.63, 4, 4),  # 10 % below
        (0.75, 3, 3),
    ],
)
def test_hpa_is_the_formula(utilisation: float, running: int, degree: int) -> None:
    assert hpa(Hpa(), 0.0, utilisation, running) == degree


def test_hpa_takes_its_own_target() -> None:
    assert hpa(Hpa(target=0.5), 0.0, 0.9, 4) == 8  # ceil(7.2)


def test_hpa_counts_executors_to_come_as_idle_when_it_grows() -> None:
    # 90 % on 2 of 4 is 45 % on all: below the target where it was above, so it holds
    assert hpa(Hpa(), 0.0, 0.9, 2, requested=4) == 4
    # 100 % on 4 of 5 is 80 %: ceil(4 / 0.7) = 6
    assert hpa(Hpa(), 0.0, 1.0, 4, requested=5) == 6


def test_hpa_goes_down_to_the_highest_of_its_window() -> None:
    policy = Hpa(sync_period=0.0)
    assert hpa(policy, 0.0, 0.7, 8) == 8
    assert hpa(policy, 100.0, 0.5, 8) == 8  # ceil(5.7) = 6, but 8 were right 100 s ago
    assert hpa(policy, 200.0, 0.3, 8) == 8  # 4
    assert hpa(policy, 300.0, 0.3, 8) == 6  # the 8 are out of the window, the 6 are not
    assert hpa(policy, 400.0, 0.4, 6) == 4  # 4: the window has 4, 4 and ceil(3.43) = 4


def test_hpa_says_what_holds_it_back() -> None:
    policy = Hpa(sync_period=0.0)
    hpa(policy, 0.0, 0.7, 8)
    low = policy(seen(at=10.0, counter={"utilisation": 0.35, "running": 8}))
    assert low.why == (
        "counter holds at 8, 35 % busy for a target of 70 % wants 4, "
        "and 8 is the highest of the last 5 min"
    )


def test_hpa_never_shrinks_in_its_first_window() -> None:
    assert hpa(Hpa(), 0.0, 0.1, 8) == 8


def test_hpa_shrinks_at_once_without_a_window() -> None:
    assert hpa(Hpa(scale_down_window=0.0), 0.0, 0.1, 8) == 2  # ceil(1.14)


def test_hpa_grows_by_four_or_doubles_in_a_period() -> None:
    fast: dict[str, Any] = {"target": 0.1, "sync_period": 0.0}
    assert hpa(Hpa(**fast), 0.0, 1.0, 1) == 5  # wants 10, may have 1 + 4
    assert hpa(Hpa(**fast), 0.0, 1.0, 6) == 12  # wants 60, may double
    policy = Hpa(**fast)
    assert hpa(policy, 0.0, 1.0, 1) == 5
    assert hpa(policy, 5.0, 1.0, 5) == 5  # still the same period: it began with 1
    assert hpa(policy, 15.0, 1.0, 5) == 10  # a new one, that begins with 5
    assert (
        "and 5 is the most allowed in 15 s"
        in Hpa(**fast)(seen(counter={"utilisation": 1.0, "running": 1})).why
    )


def test_hpa_looks_every_sync_period_at_the_mean_since() -> None:
    policy = Hpa()
    assert hpa(policy, 0.0, 0.7, 4) == 4
    waiting = policy(seen(at=5.0, counter={"utilisation": 1.0, "running": 4}))
    assert waiting.why == "counter holds at 4, next evaluation in 10 s"
    assert hpa(policy, 10.0, 1.0, 4) == 4
    assert hpa(policy, 15.0, 0.7, 4) == 6  # the mean of 1, 1 and 0.7 is 0.9: ceil(5.14)


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        ({"running": 3}, "counter holds at 3, utilisation unknown"),
        ({"running": 3, "utilisation": float("nan")}, "counter holds at 3, utilisation unknown"),
        ({"requested": 3, "utilisation": 0.9}, "counter holds at 3, running executors unknown"),
        ({"requested": 3, "utilisation": 0.9, "running": 0}, "counter holds at 3, none runs yet"),
        ({"utilisation": 0.9}, "counter is left alone, its executors are unknown"),
    ],
)
def test_hpa_holds_what_it_knows_too_little_of(reading: dict[str, float], why: str) -> None:
    assert Hpa()(seen(counter=reading)).why == why


# KEDA


@pytest.mark.parametrize(
    ("backlog", "running", "degree"),
    [
        (25, 1, 3),  # ceil(2.5)
        (30, 3, 3),
        (33, 3, 3),  # 10 % more than 3 can have
        (34, 3, 4),
        (0, 1, 1),  # not to nothing
        (1000, 1, 5),  # wants 100, may have 1 + 4 in 15 s
    ],
)
def test_keda_has_an_executor_for_every_ten_rows(backlog: float, running: int, degree: int) -> None:
    assert keda(KedaLag(), 0.0, backlog, running) == degree


def test_keda_stops_at_the_partitions() -> None:
    assert keda(KedaLag(partitions=3), 0.0, 1000, 1) == 3
    assert keda(KedaLag(partitions=1), 0.0, 1000, 1) == 1


def test_keda_takes_its_own_threshold() -> None:
    assert keda(KedaLag(lag_threshold=500.0), 0.0, 1200, 1) == 3


def test_keda_polls_every_30_s() -> None:
    policy = KedaLag()
    assert keda(policy, 0.0, 10, 1) == 1
    assert keda(policy, 20.0, 50, 1) == 1
    assert keda(policy, 30.0, 50, 1) == 5


def test_keda_leaves_scaling_down_to_kubernetes() -> None:
    policy = KedaLag()
    assert keda(policy, 0.0, 40, 4) == 4
    assert keda(policy, 30.0, 12, 4) == 4
    assert keda(policy, 330.0, 12, 4) == 2  # ceil(1.2)
    assert keda(KedaLag(scale_down_window=0.0), 0.0, 12, 4) == 2


def test_keda_holds_without_a_backlog() -> None:
    assert KedaLag()(seen(counter={"running": 3})).why == "counter holds at 3, backlog unknown"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hpa(target=1.3), r"target of policy hpa must be in \(0, 1\], got 1.3"),
        (lambda: Hpa(tolerance=-1), "tolerance of policy hpa must be 0 or more, got -1"),
        (lambda: Hpa(scale_up_pods=-1), "scale_up_pods of policy hpa must be 0 or more"),
        (lambda: Hpa(sync_period=float("inf")), "sync_period of policy hpa must be 0s or more"),
        (lambda: KedaLag(lag_threshold=0), "lag_threshold of policy keda-lag must be above 0"),
        (lambda: KedaLag(partitions=0), "partitions of policy keda-lag must be 1 or more, got 0"),
    ],
)
def test_what_cannot_be_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(SettingError, match=message):
        make()
