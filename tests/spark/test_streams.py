from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable

from penstock.spark.source import slices
from penstock.spark.streams import DurableStream, StreamReader, StreamWriter, Tail

SCHEMA = pa.schema([("n", pa.int64())])


def rows(begin: int, end: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(range(begin, end))}, schema=SCHEMA)


@pytest.fixture
def stream(tmp_path: Path) -> DurableStream:
    made = DurableStream(str(tmp_path / "stream"))
    made.create()
    return made


def write(stream: DurableStream, batch: int, *ranges: tuple[int, int]) -> None:
    writer = StreamWriter({"": stream.path}, None, SCHEMA)
    writer.commit([writer.write(iter([rows(*r)])) for r in ranges], batch)


def read(stream: DurableStream, begin: int, end: int) -> list[int]:
    reader = StreamReader(stream.path, hint=None, max_rows=None)
    parts = reader.partitions({"rows": begin}, {"rows": end})
    return [n for part in parts for batch in reader.read(part) for n in batch["n"].to_pylist()]


def test_what_was_written_is_read_in_order(stream: DurableStream) -> None:
    write(stream, 0, (0, 3), (3, 5))
    write(stream, 1, (5, 9))
    assert read(stream, 0, 9) == list(range(9))
    assert read(stream, 2, 6) == [2, 3, 4, 5]


def test_a_batch_that_runs_again_adds_nothing(stream: DurableStream) -> None:
    write(stream, 0, (0, 3))
    write(stream, 0, (0, 3))
    write(stream, 1, (3, 4))
    assert Tail(stream).length() == 4
    assert read(stream, 0, 4) == [0, 1, 2, 3]


def test_files_of_failed_tasks_are_never_read(stream: DurableStream) -> None:
    writer = StreamWriter({"": stream.path}, None, SCHEMA)
    orphan = writer.write(iter([rows(0, 3)]))
    write(stream, 0, (0, 3))
    assert read(stream, 0, 3) == [0, 1, 2]
    writer.abort([orphan, None], 0)
    assert not (Path(stream.path) / "files" / orphan.files[""][0]).exists()


def test_a_task_that_fails_leaves_no_file(stream: DurableStream) -> None:
    def failing() -> object:
        yield rows(0, 2)
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        StreamWriter({"": stream.path}, None, SCHEMA).write(failing())  # type: ignore[arg-type]
    assert list((Path(stream.path) / "files").iterdir()) == []


def test_a_task_without_rows_is_no_trouble(stream: DurableStream) -> None:
    writer = StreamWriter({"": stream.path}, None, SCHEMA)
    writer.commit([writer.write(iter([])), writer.write(iter([rows(0, 1)]))], 0)
    assert read(stream, 0, 1) == [0]


def test_its_length_counts_what_was_removed_before_anyone_looked(stream: DurableStream) -> None:
    assert stream.length() == 0
    reader = StreamReader(stream.path, hint=None, max_rows=None)
    for batch in range(6):
        write(stream, batch, (10 * batch, 10 * batch + 10))
        reader.latestOffset({"rows": 10 * batch}, ReadAllAvailable())
        reader.commit({"rows": 10 * batch + 10})
    assert stream.batches() == [5]
    assert stream.length() == 60


def test_a_batch_holds_a_share_for_each_part(stream: DurableStream, tmp_path: Path) -> None:
    write(stream, 0, (0, 50))
    hint = tmp_path / "hint"
    hint.write_text("3")
    reader = StreamReader(stream.path, hint=hint, max_rows=None, share=4)
    assert reader.latestOffset({"rows": 10}, ReadAllAvailable()) == {"rows": 22}
    hint.write_text("30")
    assert reader.latestOffset({"rows": 10}, ReadAllAvailable()) == {"rows": 50}


class TestSeveralWays:
    """Rows part ways by what a column says, and none is lost or doubled on any of them."""

    @pytest.fixture
    def ways(self, tmp_path: Path) -> dict[str, DurableStream]:
        streams = {way: DurableStream(str(tmp_path / f"to-{way}")) for way in ("even", "odd")}
        for stream in streams.values():
            stream.create()
        return streams

    @staticmethod
    def writer(ways: dict[str, DurableStream]) -> StreamWriter:
        columns = pa.schema([*SCHEMA, pa.field("way", pa.string())])
        return StreamWriter({way: stream.path for way, stream in ways.items()}, "way", columns)

    @staticmethod
    def routed(begin: int, end: int) -> pa.RecordBatch:
        names = ["odd" if n % 2 else "even" for n in range(begin, end)]
        batch = rows(begin, end)
        return pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(names)], [*batch.schema.names, "way"]
        )

    def test_each_row_takes_its_own(self, ways: dict[str, DurableStream]) -> None:
        writer = self.writer(ways)
        writer.commit([writer.write(iter([self.routed(0, 3), self.routed(3, 7)]))], 0)
        assert read(ways["even"], 0, 4) == [0, 2, 4, 6]
        assert read(ways["odd"], 0, 3) == [1, 3, 5]

    def test_a_batch_that_reached_only_one_is_completed(
        self, ways: dict[str, DurableStream]
    ) -> None:
        writer = self.writer(ways)
        first = writer.write(iter([self.routed(0, 6)]))
        ways["even"].append(0, [first.files["even"]])  # and then the driver died
        writer.commit([writer.write(iter([self.routed(0, 6)]))], 0)
        assert read(ways["even"], 0, 3) == [0, 2, 4]
        assert read(ways["odd"], 0, 3) == [1, 3, 5]
        assert [Tail(stream).length() for stream in ways.values()] == [3, 3]

    def test_a_batch_that_leaves_one_empty_counts_on_both(
        self, ways: dict[str, DurableStream]
    ) -> None:
        writer = self.writer(ways)
        writer.commit([writer.write(iter([self.routed(0, 1)]))], 0)
        writer.commit([writer.write(iter([self.routed(1, 2)]))], 1)
        assert [Tail(stream).length() for stream in ways.values()] == [1, 1]

    def test_a_way_that_leads_nowhere_is_an_error(self, ways: dict[str, DurableStream]) -> None:
        writer = self.writer({"even": ways["even"]})
        with pytest.raises(ValueError, match="way 'odd' leads to none of"):
            writer.write(iter([self.routed(0, 4)]))


def test_what_has_been_read_is_removed_and_counting_goes_on(stream: DurableStream) -> None:
    for batch in range(4):
        write(stream, batch, (10 * batch, 10 * batch + 10))
    reader = StreamReader(stream.path, hint=None, max_rows=None)
    reader.latestOffset({"rows": 0}, reader.getDefaultReadLimit())
    reader.commit({"rows": 40})
    assert len(list((Path(stream.path) / "files").iterdir())) == 1
    write(stream, 4, (40, 50))
    assert reader.reportLatestOffset() == {"rows": 50}
    assert read(stream, 40, 50) == list(range(40, 50))


def test_a_reader_that_starts_late_finds_its_place(stream: DurableStream) -> None:
    for batch in range(3):
        write(stream, batch, (10 * batch, 10 * batch + 10))
    early = StreamReader(stream.path, hint=None, max_rows=None)
    early.reportLatestOffset()
    early.commit({"rows": 20})
    assert read(stream, 20, 30) == list(range(20, 30))


def test_a_batch_holds_no_more_rows_than_allowed(stream: DurableStream) -> None:
    write(stream, 0, (0, 100))
    reader = StreamReader(stream.path, hint=None, max_rows=30)
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset({"rows": 0}, limit) == {"rows": 30}
    assert reader.latestOffset({"rows": 90}, limit) == {"rows": 100}


def test_the_hint_decides_the_number_of_parts(stream: DurableStream, tmp_path: Path) -> None:
    write(stream, 0, (0, 100))
    hint = tmp_path / "hint"
    reader = StreamReader(stream.path, hint=hint, max_rows=None)
    for text, parts in (("5", 5), ("1", 1), ("rubbish", 2)):
        hint.write_text(text)
        assert len(reader.partitions({"rows": 0}, {"rows": 100})) == parts


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9))
def test_slices_cover_every_row_once(begin: int, size: int, parts: int) -> None:
    cut = slices(begin, begin + size, parts)
    assert [n for a, b in cut for n in range(a, b)] == list(range(begin, begin + size))
    assert max((b - a for a, b in cut), default=0) - min((b - a for a, b in cut), default=0) <= 1
