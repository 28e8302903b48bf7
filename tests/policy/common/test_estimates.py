"""Unknown and non-finite values are ignored by every estimate that policies share."""

from functools import partial
from math import inf, isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import ModuleReading
from penstock.forecast import Ewma
from penstock.policy.common.estimates import (
    Averages,
    Selectivities,
    Smoothed,
    Throughput,
    VisitRatios,
    Window,
    executor_time,
    known,
    service_time,
)
from penstock.testing import seen

UNUSABLE = st.sampled_from([None, nan, inf, -inf, -1.0])
RATES = st.floats(0.1, 1e6)
READINGS = st.one_of(UNUSABLE, RATES)

STREAM = Stream(origin="scan", target="match", selectivity=2.0)
GRAPH = FlowGraph(
    source="scan", modules=(Module(name="scan"), Module(name="match")), streams=(STREAM,)
)


@given(READINGS)
def test_what_is_known_is_finite_and_not_negative(value: float | None) -> None:
    usable = value is not None and isfinite(value) and value >= 0
    assert known(value) == (value if usable else None)


@given(st.lists(READINGS), st.floats(0.01, 1.0))
def test_averages_are_those_of_the_usable_values(values: list[float | None], alpha: float) -> None:
    averages, alone = Averages(alpha), Ewma(alpha)
    for value in values:
        averages.update("count", value)
        if (usable := known(value)) is not None:
            alone.update(usable)
    level = averages.of("count")
    assert level == (alone.level if any(known(v) is not None for v in values) else None)
    assert averages.of("split") is None


@given(st.lists(st.tuples(READINGS, READINGS, READINGS), max_size=20), st.booleans())
def test_selectivities_stay_finite_whatever_is_measured(
    steps: list[tuple[float | None, float | None, float | None]], windowed: bool
) -> None:
    average = partial(Window, 60.0) if windowed else partial(Smoothed, 0.1)
    ratios, reach = Selectivities(GRAPH, average, prior=not windowed), VisitRatios(GRAPH)
    for number, (processed, backlog, came) in enumerate(steps):
        scan = {"processed_rate": processed, "arrival_rate": processed, "backlog": backlog}
        now = seen(at=float(number + 1), step=1.0, scan=scan, match={"arrival_rate": came})
        assert all(isfinite(rate) and rate >= 0 for rate in ratios.observe(now).values())
        reach.observe(now)
    assert isfinite(ratios.of(STREAM))
    assert ratios.of(STREAM) > 0
    assert all(isfinite(rate) for rate in reach.of({"scan": 1.0}).values())


@given(UNUSABLE, UNUSABLE)
def test_without_a_usable_reading_the_declared_selectivity_holds(
    processed: float | None, came: float | None
) -> None:
    ratios, reach = Selectivities(GRAPH), VisitRatios(GRAPH)
    for _ in range(20):
        now = seen(scan={"processed_rate": processed}, match={"arrival_rate": came})
        ratios.observe(now)
        reach.observe(now)
    assert ratios.of(STREAM) == 2.0
    assert reach.of({"scan": 1.0}) == {"scan": 1.0, "match": 2.0}


@pytest.mark.parametrize("average", [partial(Window, 1e6), partial(Smoothed, 0.1)])
def test_selectivities_approach_the_measured_ratio(average: partial[Window | Smoothed]) -> None:
    ratios = Selectivities(GRAPH, average)
    for number in range(300):
        scan, match = {"processed_rate": 10.0}, {"arrival_rate": 5.0}
        ratios.observe(seen(at=float(number), scan=scan, match=match))
    assert ratios.of(STREAM) == pytest.approx(0.5, rel=0.02)


@given(RATES, st.floats(0.01, 1.0), st.integers(1, 50))
def test_a_time_by_utilisation_is_that_of_busy_executors(
    rate: float, busy: float, running: int
) -> None:
    reading = ModuleReading(processed_rate=rate, utilisation=busy, running=running)
    assert executor_time(reading) == pytest.approx(busy * running / rate)


@given(UNUSABLE)
def test_no_service_time_is_no_estimate(value: float | None) -> None:
    assert service_time(ModuleReading(service_time=value)) is None
    assert service_time(ModuleReading(service_time=0.0)) is None


@given(READINGS, READINGS, READINGS)
def test_what_gets_through_is_never_negative(
    before: float | None, after: float | None, came: float | None
) -> None:
    through = Throughput()
    for waiting in (before, after):
        rates = through.observe(seen(scan={"arrival_rate": came, "backlog": waiting}))
    assert all(isfinite(rate) and rate >= 0 for rate in rates.values())
