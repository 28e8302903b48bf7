"""Topics of Kafka in a pipeline file, and the count of their offsets; no broker is needed."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from penstock.core.errors import ClusterError, SettingError
from penstock.pipeline.deploy.kafka import KafkaFeed, TopicWriter
from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.file import load
from penstock.pipeline.format.kafka import KafkaSink, KafkaSource, NoWorkload
from penstock.record.settings import HIDDEN, redact
from penstock.spark import kafka
from penstock.spark.kafka import Packages, _name, jars_of
from penstock.spark.progress import WatchedQuery, parse_progress, rows_at
from penstock.workload import Constant
from tests.conftest import Write
from tests.support.paths import DOCS
from tests.support.pipeline_files import mistakes
from tests.support.processes import penstock

TEXT = """\
pipeline: wordcount
step: 2s
source:
  module: splitter
  kafka:
    servers: localhost:9092
    topic: lines
    starting_offsets: earliest
    options: {kafka.sasl.jaas.config: hush, failOnDataLoss: false}
modules:
  splitter: {operators: [splitter, filter], service_time: 3ms, max_replicas: 4, max_batch: 3s}
  counter: {operators: [counter, consumer], service_time: 1ms}
streams: [{from: splitter, to: counter, selectivity: 2}]
sink:
  kafka: {servers: "localhost:9092,other:9093", topic: counts, key: word}
"""


def line_of(part: str, text: str = TEXT) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def feed(path: Path, **changes: Any) -> KafkaFeed:
    file = load(path)
    assert file.source.kafka is not None
    values: dict[str, Any] = {
        "source": file.source.kafka,
        "schema": "sentence string",
        "format": "text",
        "module": file.graph["splitter"],
        "max_rows": None,
        "offsets": ScriptedOffsets({0: 100, 1: 50}),
        "begun": {0: 90, 1: 50},
    }
    return KafkaFeed(**values | changes)


class ScriptedOffsets:
    """Offsets as a broker would report them."""

    def __init__(self, latest: dict[int, int]) -> None:
        self.now = latest

    def latest(self) -> dict[int, int]:
        if not self.now:
            raise ClusterError("no broker")
        return self.now


class TestFile:
    def test_topics_are_read_and_no_workload_is_needed(self, write: Write) -> None:
        file = load(write(TEXT), to_run=True)
        assert file.source.kafka == KafkaSource(
            servers="localhost:9092",
            topic="lines",
            starting_offsets="earliest",
            options={"kafka.sasl.jaas.config": "hush", "failOnDataLoss": False},
        )
        assert file.source.kafka.format_for(file.name) == "text"
        assert file.sink == KafkaSink(
            servers="localhost:9092,other:9093", topic="counts", key="word"
        )
        assert isinstance(file.workload, NoWorkload)

    def test_what_is_recorded_of_a_file_is_the_same_file(self, write: Write) -> None:
        file = load(write(TEXT))
        again = load(write(json.dumps(file.resolved)))
        assert (again.source, again.sink, again.graph) == (file.source, file.sink, file.graph)

    def test_the_example_of_the_handbook_is_sound(self, write: Write) -> None:
        page = DOCS / "kafka.md"
        example = page.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
        file = load(write(example), to_run=True)
        assert file.source.kafka is not None
        assert file.sink is not None

    def test_a_key_that_results_do_not_have_is_refused(self, write: Write) -> None:
        sink = load(write(TEXT)).sink
        assert sink is not None
        spark: Any = None  # which is not asked
        writer = TopicWriter(spark=spark, sink=sink, run="a")
        writer.check(["ts", "word", "count"])
        with pytest.raises(SettingError, match=r"key of kafka of sink is 'word', which results"):
            writer.check(["ts", "number"])

    def test_a_secret_of_the_options_is_not_recorded(self, write: Write) -> None:
        redacted = redact(load(write(TEXT)).resolved)
        options = redacted["source"]["kafka"]["options"]
        assert options == {"kafka.sasl.jaas.config": HIDDEN, "failOnDataLoss": False}
        assert redact({"kafka.ssl.keystore.key": "hush"}) == {"kafka.ssl.keystore.key": HIDDEN}

    def test_several_pipelines_may_each_have_topics(self, write: Write) -> None:
        own = "{pipeline: wordcount, source: {module: splitter, kafka: {servers: 'a:1', topic: t}}}"
        parts = f"  words: {own}\n  fraud: {{pipeline: enrichment}}\n"
        file = load(write(f"cores: 5\npolicy: static\npipelines:\n{parts}"))
        assert [part.source.kafka is not None for part in file.parts.values()] == [True, False]

    @pytest.mark.parametrize(
        ("right", "wrong", "message"),
        [
            ("localhost:9092\n", "localhost\n", "servers of kafka of source must be host:port"),
            (
                "localhost:9092\n",
                "localhost:99999\n",
                "between several, got 'localhost:99999'",
            ),
            ("topic: lines", "topic: my lines", "topic of kafka of source must be letters, digits"),
            ("starting_offsets:", "starting_offset:", "has no setting 'starting_offset'; did you"),
            ("    topic: lines\n", "", "kafka of source needs a value for topic"),
            ("earliest", "first", "must be latest or earliest, got 'first'"),
            (
                "starting_offsets: earliest",
                "format: avro",
                "format of kafka of source must be json or text, got 'avro'",
            ),
            ("failOnDataLoss: false", "subscribe: x", "cannot have subscribe; set topic instead"),
            ("key: word", "kye: word", "kafka of sink has no setting 'kye'; did you mean 'key'?"),
            ("sink:", "sink: {file: x}", "sink has no section 'file'"),
        ],
    )
    def test_a_mistake_is_reported_with_the_line_it_stands_on(
        self, write: Write, right: str, wrong: str, message: str
    ) -> None:
        assert right in TEXT
        text = TEXT.replace(right, wrong, 1)
        if "file: x" in wrong:
            text = text[: text.index("  kafka: {servers")]
        found = mistakes(write(text))
        assert len(found) == 1
        assert message in found[0]
        assert f"line {line_of(wrong.strip() or 'kafka:', text)}" in found[0]

    def test_a_section_that_is_no_mapping_is_reported(self, write: Write) -> None:
        text = TEXT[: TEXT.index("sink:")] + "sink: counts\n"
        assert "sink must be a mapping such as" in mistakes(write(text))[0]
        text = TEXT[: TEXT.index("sink:")] + "sink: {kafka: counts}\n"
        assert "kafka of sink must be a mapping such as" in mistakes(write(text))[0]

    @pytest.mark.parametrize(
        ("name", "kafka", "message"),
        [
            ("enrichment", "{format: text}", "rows of pipeline enrichment have several columns"),
            ("preference", "{}", "pipeline preference makes its rows itself"),
        ],
    )
    def test_what_an_application_cannot_read_is_refused(
        self, name: str, kafka: str, message: str
    ) -> None:
        settings = [f"source.kafka={kafka}", "source.kafka.servers=a:1", "source.kafka.topic=t"]
        with pytest.raises(SettingError.__bases__[0], match=message):
            load(name, settings)


class TestCommands:
    def test_simulating_needs_a_workload_and_says_so(self, write: Write, tmp_path: Path) -> None:
        path = str(write(TEXT))
        done = penstock("simulate", path, cwd=tmp_path)
        assert done.returncode == 2
        assert "rows come from topic lines of Kafka" in done.stderr
        assert "--workload constant:100/s" in done.stderr
        assert load(path, ["workload=constant:100/s"]).workload == Constant(100.0)

    def test_a_broker_that_does_not_answer_is_reported_before_anything_starts(
        self, write: Write
    ) -> None:
        with socket.socket() as taken:  # bound and not listening, so there is no answer
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            file = load(write(TEXT.replace("localhost:9092\n", f"{address}\n")))
            message = rf"no Kafka broker answers at {address} .*correct servers of kafka of source"
            with pytest.raises(ClusterError, match=message):
                prepare(file, None)

    def test_of_several_brokers_one_is_enough(self) -> None:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            kafka.check_reachable(
                ["127.0.0.1:1", f"127.0.0.1:{listening.getsockname()[1]}"], "kafka of sink"
            )


class Query:
    """A query whose only progress event is given."""

    def __init__(self, event: dict[str, Any]) -> None:
        self._jsq, self._event = self, event

    def lastProgress(self) -> "Query":  # noqa: N802
        return self

    def recentProgress(self) -> list["Query"]:  # noqa: N802
        return [self]

    def json(self) -> str:
        return json.dumps(self._event)


class TestOffsets:
    EVENT: dict[str, Any] = {  # noqa: RUF012
        "batchId": 3,
        "timestamp": "2026-01-01T00:00:10.000Z",
        "durationMs": {"addBatch": 600, "triggerExecution": 800},
        "sources": [
            {
                "startOffset": {"lines": {"0": 90, "1": 50}},
                "endOffset": {"lines": {"0": 95, "1": 58}},
                "latestOffset": {"lines": {"0": 99, "1": 60, "2": 4}},
            }
        ],
        "observedMetrics": {"penstock-refused": {"malformed": 2, "incomplete": 0}},
    }

    def test_offsets_of_all_partitions_add_up(self) -> None:
        seen = parse_progress(self.EVENT)
        assert (seen.arrived, seen.read) == (163, 153)

    @pytest.mark.parametrize(
        "offset", [None, "null", "", [], {}, 3, {"lines": 3}, {"lines": {"0": None}}, {"rows": "x"}]
    )
    def test_an_offset_that_is_none_is_unknown(self, offset: object) -> None:
        assert rows_at(offset) is None

    def test_offsets_may_be_a_text_and_a_topic_may_be_called_rows(self) -> None:
        assert rows_at('{"lines": {"0": 3, "1": 4}}') == 7
        assert rows_at({"rows": {"0": 3}}) == 3

    def test_rows_count_from_where_the_run_began(self, write: Write) -> None:
        fed = feed(write(TEXT))
        query: Any = Query(self.EVENT)
        watched = WatchedQuery(
            module="splitter", query=query, base=fed.base, on_batch=fed.count_refused
        )
        assert watched.read() == 13
        [(batch, _)] = watched.collect()
        assert (batch.arrived, batch.read) == (23, 13)
        assert watched.collect() == []
        assert +fed.refused == {"malformed": 2}

    def test_rows_that_came_are_what_brokers_tell_until_the_run_closes(self, write: Write) -> None:
        offsets = ScriptedOffsets({0: 100, 1: 50, 2: 7})
        fed = feed(write(TEXT), offsets=offsets)
        assert fed.arrived(0.0) == 17
        fed.close(0.0)
        offsets.now = {0: 200, 1: 50, 2: 7}
        assert fed.arrived(0.0) == 17

    def test_rows_that_are_not_reported_are_unknown(self, write: Write) -> None:
        assert feed(write(TEXT), offsets=ScriptedOffsets({})).arrived(0.0) is None


class TestOptions:
    def test_the_connector_gets_where_to_begin_and_how_much_to_read(self, write: Write) -> None:
        assert feed(write(TEXT)).options() == {
            "subscribe": "lines",
            "startingOffsets": '{"lines": {"0": 90, "1": 50}}',
            "minPartitions": "4",
            "maxOffsetsPerTrigger": "4000",
            "kafka.bootstrap.servers": "localhost:9092",
            "kafka.sasl.jaas.config": "hush",
            "failOnDataLoss": "false",
        }

    def test_the_smaller_of_two_limits_counts(self, write: Write) -> None:
        assert feed(write(TEXT), max_rows=70).options()["maxOffsetsPerTrigger"] == "70"


class TestPackages:
    def test_packages_that_are_there_are_not_fetched(self, tmp_path: Path) -> None:
        wanted = Packages(("a.b:c:1",))
        folder = tmp_path / _name(wanted)
        folder.mkdir()
        (folder / "c.jar").touch()
        assert jars_of([wanted], tmp_path / "no-java", {}, tmp_path) == [folder / "c.jar"]

    def test_packages_that_cannot_be_had_are_reported_with_the_remedy(self, tmp_path: Path) -> None:
        message = r"a.b:c:1 cannot be fetched .*--conf spark.jars=FILE"
        with pytest.raises(ClusterError, match=message):
            jars_of([Packages(("a.b:c:1",))], tmp_path / "no-java", {}, tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_cache_that_cannot_be_written_is_reported_with_the_remedy(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "cache").write_text("a file")
        with pytest.raises(
            ClusterError, match=r"cannot be cached in .*cache/jars .*XDG_CACHE_HOME"
        ):
            jars_of([Packages(("a:b:1",))], tmp_path, {}, tmp_path / "cache" / "jars")

    def test_files_of_the_users_own_are_left_alone(self, tmp_path: Path) -> None:
        assert kafka.connector(tmp_path, {"spark.jars": "mine.jar"}, tmp_path) == {}

    def test_the_connector_of_this_spark_comes_first(self, tmp_path: Path) -> None:
        for each in kafka.CONNECTORS:
            for wanted in each:
                (tmp_path / _name(wanted)).mkdir()
        first = tmp_path / _name(kafka.CONNECTORS[0][0]) / "connector.jar"
        first.touch()
        assert kafka.connector(tmp_path, {}, tmp_path) == {"spark.jars": str(first)}

    def test_a_connector_that_is_there_spares_the_question_for_another(
        self, tmp_path: Path
    ) -> None:
        names = [_name(wanted) for wanted in kafka.CONNECTORS[1]]
        files = [tmp_path / name / "some.jar" for name in names]
        for file in files:
            file.parent.mkdir()
            file.touch()
        expected = {"spark.jars": ",".join(str(file) for file in files)}
        assert kafka.connector(tmp_path / "no-java", {}, tmp_path) == expected
