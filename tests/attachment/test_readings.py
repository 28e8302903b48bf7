"""What is made of the progress of external queries; no Spark is needed to say."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.attachment import queries
from penstock.attachment.plant import combine, end_to_end
from penstock.core.signals import Latency, ModuleReading
from penstock.spark.backend import Executor, RunningTask
from penstock.spark.progress import Batch, parse_progress, rows_at, rows_waiting
from penstock.spark.rates import Occupancy, QueryRates, estimated_latency, reading_of
from tests.spark.test_progress import executor


def event(number: int, started: float, took: float, rows: int, **source: Any) -> Batch:
    """A batch that began so many seconds into a minute."""
    return parse_progress(
        {
            "batchId": number,
            "timestamp": f"2026-01-01T00:00:{started:06.3f}Z",
            "numInputRows": rows,
            "durationMs": {"addBatch": 1, "triggerExecution": 1000 * took},
            "sources": [{"description": "somewhere", **source}],
        }
    )


def step(rates: QueryRates, *events: Batch) -> ModuleReading:
    """What is measured of a query that brought these events."""
    return reading_of(events, rates.from_events(events), service_time=None)


def ends(**event: Any) -> queries.Endpoints:
    """Of a query whose first event says so much of its sources and its sink."""
    whole = {"batchId": 0, "timestamp": "2026-01-01T00:00:00.000Z", **event}
    return queries.ends(parse_progress(whole))


def kafka(*partitions: int) -> dict[str, Any]:
    return {"clicks": {str(place): offset for place, offset in enumerate(partitions)}}


def test_offsets_may_be_given_as_text() -> None:
    assert rows_at(json.dumps(kafka(3, 4))) == 7
    assert rows_at("not json") is None


def test_kafka_offsets_are_rows_over_all_partitions() -> None:
    source = {"latestOffset": kafka(100, 50), "endOffset": kafka(60, 50)}
    assert rows_waiting(source) == 40


def test_the_metrics_of_kafka_stand_in_for_a_newest_offset() -> None:
    metrics = {"avgOffsetsBehindLatest": "2.5", "maxOffsetsBehindLatest": "7"}
    assert rows_waiting({"endOffset": kafka(6, 9), "metrics": metrics}) == 5.0
    assert rows_waiting({"metrics": {"maxOffsetsBehindLatest": "7"}}) == 7.0


def test_rows_are_unknown_where_one_of_several_sources_does_not_tell() -> None:
    known = {"latestOffset": {"rows": 9}, "endOffset": {"rows": 4}}
    files = {"latestOffset": None, "endOffset": {"logOffset": 3}}
    event = {"batchId": 0, "timestamp": "2026-01-01T00:00:00.000Z"}
    assert parse_progress({**event, "sources": [known]}).waiting == 5
    both = parse_progress({**event, "sources": [known, files]})
    assert (both.waiting, both.arrived, both.read) == (None, None, None)


@pytest.mark.parametrize(
    ("sink", "source"),
    [
        ("FileSink[file:/data/out]", "FileStreamSource[file:/data/out]"),
        ("FileSink[s3a://lake/out]", "FileStreamSource[s3a://lake/out/]"),
        ("DeltaSink[/lake/table]", "DeltaSource[file:/lake/table]"),
    ],
)
def test_a_sink_is_linked_to_the_source_that_reads_it(sink: str, source: str) -> None:
    first = ends(sources=[{"description": "RateStreamV2["}], sink={"description": sink})
    second = ends(sources=[{"description": source}], sink={"description": "MemorySink"})
    assert queries.feeds({"first": first, "second": second}) == {"first": ("second",), "second": ()}


def test_a_kafka_sink_is_known_by_the_options_of_its_plan() -> None:
    written = queries.written({"topic": "clean", "kafka.bootstrap.servers": "h:1"})
    first = ends(sink={"description": "KafkaSourceProvider$KafkaTable@1"})
    first = replace(first, writes=first.writes | written)
    second = ends(sources=[{"description": "KafkaV2[Subscribe[clean]]"}])
    assert queries.feeds({"first": first, "second": second})["first"] == ("second",)


def test_a_query_that_reads_what_it_writes_does_not_feed_itself() -> None:
    both = queries.Endpoints(reads=frozenset({"path:/a"}), writes=frozenset({"path:/a"}))
    assert queries.feeds({"loop": both}) == {"loop": ()}


def test_sinks_that_do_not_tell_feed_nobody() -> None:
    quiet = ends(sources=[], sink={"description": "ForeachBatchSink"})
    assert quiet.writes == frozenset()


def test_rows_that_came_between_two_triggers_are_the_arrivals() -> None:
    reader = QueryRates()
    step(reader, event(1, 10, 2, 999))
    reading = step(reader, event(2, 20, 4, 100), event(3, 30, 4, 300))
    assert reading.arrival_rate == pytest.approx(400 / 20)
    assert reading.processed_rate == pytest.approx(400 / 22)
    assert reading.backlog is None
    assert reading.batch_duration == 4


def test_events_that_spark_has_forgotten_do_not_lower_the_rates() -> None:
    reader = QueryRates()
    step(reader, event(1, 0, 1, 100))
    reading = step(reader, event(40, 40, 1, 100), event(41, 41, 1, 100))
    assert reading.processed_rate == pytest.approx(100)
    assert reading.arrival_rate == pytest.approx(100)


def test_newest_offsets_tell_arrivals_that_a_limited_batch_leaves_behind() -> None:
    reader = QueryRates()
    step(reader, event(1, 10, 2, 50, latestOffset=kafka(100), endOffset=kafka(50)))
    reading = step(reader, event(2, 20, 2, 50, latestOffset=kafka(900), endOffset=kafka(100)))
    assert reading.arrival_rate == pytest.approx(80)
    assert reading.backlog == 800


def test_a_step_without_an_event_reports_nothing() -> None:
    assert step(QueryRates()) == ModuleReading()


def test_ages_run_from_the_duration_to_the_duration_and_the_interval() -> None:
    reader = QueryRates(trigger=10.0)
    step(reader, event(1, 10, 2, 100))
    ages = step(reader, event(2, 20, 4, 100)).latency
    assert ages is not None
    assert ages.p50 == pytest.approx(9, abs=0.2)
    assert ages.p95 == pytest.approx(13.5, abs=0.2)


def test_rows_that_find_an_idle_query_are_as_old_as_their_batch_takes() -> None:
    reader = QueryRates(trigger=0.0)
    step(reader, event(1, 10, 0.5, 100))
    ages = step(reader, event(2, 25, 0.5, 100)).latency
    assert ages is not None
    assert ages.p99 == pytest.approx(0.5)


def test_batches_without_a_pause_have_rows_from_all_of_the_batch_before() -> None:
    reader = QueryRates(trigger=0.0)
    step(reader, event(1, 10, 8, 100))
    ages = step(reader, event(2, 18, 8, 100)).latency
    assert ages is not None
    assert ages.p95 == pytest.approx(15.6, abs=0.2)


def test_rows_that_wait_are_older_by_the_time_that_those_before_them_take() -> None:
    offsets = {"latestOffset": kafka(1100), "endOffset": kafka(100)}
    reader = QueryRates(trigger=0.0)
    step(reader, event(1, 10, 1, 100))
    ages = step(reader, event(2, 20, 1, 100, **offsets)).latency
    assert ages is not None
    assert ages.p50 == pytest.approx(1 + 1000 / 10)


def test_a_batch_without_rows_has_no_latency() -> None:
    assert estimated_latency([event(1, 10, 2, 0)]) is None


def test_an_application_is_as_busy_as_its_queries_together() -> None:
    light = ModuleReading(arrival_rate=100, processed_rate=90, backlog=50, service_time=0.01)
    heavy = ModuleReading(arrival_rate=20, processed_rate=10, backlog=10, service_time=0.5)
    both = combine({"light": light, "heavy": heavy})
    work = 50 * 0.01 + 10 * 0.5
    assert (both.arrival_rate, both.processed_rate) == (120, 100)
    assert both.service_time == pytest.approx((90 * 0.01 + 10 * 0.5) / 100)
    assert both.backlog is not None
    assert both.service_time is not None
    assert both.backlog * both.service_time == pytest.approx(work)


def test_what_no_query_reports_stays_unknown() -> None:
    assert combine({"a": ModuleReading(arrival_rate=5.0)}).backlog is None
    assert combine({}) == ModuleReading()


def test_rows_of_a_query_whose_cost_is_unknown_count_as_they_are() -> None:
    readings = {"a": ModuleReading(backlog=7.0, processed_rate=1.0)}
    assert combine(readings).backlog == 7.0


def test_latency_adds_up_along_the_longest_way() -> None:
    ages = {name: Latency(p50=1, p95=n, p99=n) for n, name in enumerate("abc", start=1)}
    feeds = {"a": ["b", "c"], "b": [], "c": []}
    whole = end_to_end(dict(ages), feeds)
    assert whole == Latency(p50=2, p95=4, p99=4)


def test_queries_in_a_circle_are_passed_once() -> None:
    one = Latency(p50=1, p95=1, p99=1)
    whole = end_to_end({"a": one, "b": one}, {"a": ["b"], "b": ["a"]})
    assert whole == Latency(p50=2, p95=2, p99=2)


def test_slots_are_cores() -> None:
    wide = [replace(executor("1", busy=busy), cores=4) for busy in (0.0, 10.0)]
    before, after = (_at(e, now) for e, now in zip(wide, (0.0, 10.0), strict=True))
    assert after.share_since(before, ["1"]) == pytest.approx(0.25)


def _at(one: Executor, now: float) -> Occupancy:
    return Occupancy.of([one], list[RunningTask](), now)
