"""The durable stream as a Spark sink and source, for one module to write and another to read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from penstock.plant.spark.durable import DurableStream, Tail
from penstock.plant.spark.source import at_most, bounded, parallelism, slices

FORMAT: Final = "penstock-stream"


_ONLY: Final = ""
"""The way that rows take where there is but one."""


def ways(paths: Mapping[str, str], route: str | None) -> dict[str, str]:
    """Options for writing to a stream, or to several by what the column `route` says."""
    if route is None:
        return {"path": next(iter(paths.values()))}
    return {"paths": json.dumps(dict(paths)), "route": route}


class Message(WriterCommitMessage):
    """What one task wrote: a file and its rows, for each way that rows took."""

    def __init__(self, files: dict[str, tuple[str, int]]) -> None:
        self.files = files


class StreamWriter(DataSourceStreamArrowWriter):
    """Appends the batches of a query to a stream, or to several."""

    def __init__(self, paths: Mapping[str, str], route: str | None, schema: pa.Schema) -> None:
        self._paths, self._route, self._schema = dict(paths), route, schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        """Write one task's rows."""
        parted = {_ONLY: iterator} if self._route is None else self._parted(iterator)
        return Message(
            {
                way: DurableStream(self._paths[way]).write_file(iter(batches), self._schema)
                for way, batches in parted.items()
            }
        )

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Make the batch part of every stream; one that has it already keeps what it has."""
        for way, path in self._paths.items():
            stream, files = DurableStream(path), _written(messages, way)
            if not stream.append(batchId, files):
                stream.delete_files([name for name, _ in files])

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: ARG002, N803
        """Remove what was written in vain."""
        for way, path in self._paths.items():
            DurableStream(path).delete_files([name for name, _ in _written(messages, way)])

    def _parted(self, batches: Iterator[pa.RecordBatch]) -> dict[str, list[pa.RecordBatch]]:
        """The rows by the way that they take; one that leads nowhere is an error, not a loss."""
        parted: dict[str, list[pa.RecordBatch]] = {}
        for batch in batches:
            route = batch.column(self._route)
            for way in pc.unique(route).to_pylist():
                if way not in self._paths:
                    raise ValueError(f"{self._route} {way!r} leads to none of {list(self._paths)}")
                parted.setdefault(way, []).append(batch.filter(pc.equal(route, way)))
        return parted


def _written(messages: list[Any], way: str) -> list[tuple[str, int]]:
    files = [message.files for message in messages if message is not None]
    return [written[way] for written in files if way in written]


class Part(InputPartition):
    """Pieces of files that one task reads."""

    def __init__(self, pieces: list[tuple[str, int, int]]) -> None:
        super().__init__(pieces)
        self.pieces = pieces


class StreamReader(DataSourceStreamReader):
    """Reads a stream, batch by batch."""

    def __init__(
        self, path: str, hint: Path | None, max_rows: int | None, share: int | None = None
    ) -> None:
        self._path, self._hint, self._max_rows, self._share = path, hint, max_rows, share
        self._tail: Tail | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's name
        """Before the first row."""
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """All that is there, or the most rows that were allowed in a batch."""
        return ReadAllAvailable() if self._max_rows is None else ReadMaxRows(self._max_rows)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Where the next batch ends."""
        most = at_most(self._share, self._hint)
        return bounded(start["rows"], self._follow().length(), limit, most)

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """Rows in the stream, read or not."""
        return {"rows": self._follow().length()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Part]:
        """The batch in as many parts as the module has use for now."""
        parts = slices(start["rows"], end["rows"], parallelism(self._hint))
        return [Part(self._follow().locate(a, b)) for a, b in parts]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        stream = DurableStream(self._path)
        for name, begin, end in partition.pieces:
            yield from stream.read_file(name, begin, end)

    def commit(self, end: dict[str, int]) -> None:
        """Remove what has been read for good."""
        self._follow().forget(end["rows"])

    def _follow(self) -> Tail:
        if self._tail is None:
            self._tail = Tail(DurableStream(self._path))
        return self._tail


class StreamSource(DataSource):
    """`format("penstock-stream")` to read and to write.

    Options to read: `path`, `columns`, `hint`, `max_rows`, `share`; to write: `path`, or `paths`
    by what the column `route` says.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """The columns, as the reader names them."""
        return str(self.options["columns"])

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: ARG002, N802
        """A reader of the stream at `path`."""
        hint = self.options.get("hint")
        return StreamReader(
            self.options["path"],
            Path(hint) if hint else None,
            max_rows=self._count("max_rows"),
            share=self._count("share"),
        )

    def _count(self, option: str) -> int | None:
        given = self.options.get(option)
        return int(given) if given else None

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: ARG002, N802
        """A writer to the stream at `path`."""
        from pyspark.sql.pandas.types import to_arrow_schema

        columns = to_arrow_schema(schema, timezone="UTC")
        told = self.options.get("paths")
        paths = json.loads(told) if told else {_ONLY: self.options["path"]}
        nullable = pa.schema([column.with_nullable(True) for column in columns])
        return StreamWriter(paths, self.options.get("route"), nullable)
