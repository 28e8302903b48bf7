"""A durable stream between two modules, as a Spark sink for one and a Spark source for the other.

It consists of Arrow files, and a list of them for every batch. A batch is in the stream once its
list is written, and a list is written once: a batch that Spark repeats after a failure finds its
list and adds nothing. Files that no list names, left by failed tasks, are never read. So each row
crosses exactly once.

    stream/
      lists/000000000007.json   {"first": 5120, "rows": 640, "files": [["ab12.arrow", 320], ...]}
      files/ab12.arrow
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    InputPartition,
    WriterCommitMessage,
)

from penstock.spark.source import RowCountReader, parallelism, slices


@dataclass(frozen=True, slots=True)
class BatchList:
    """The files of one batch, and the number of its first row in the stream."""

    batch: int
    first: int
    rows: int
    files: tuple[tuple[str, int], ...]

    @property
    def end(self) -> int:
        """The number of the row after the last."""
        return self.first + self.rows


class DurableStream:
    """The files of a stream, local or on any file system that Arrow supports."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fs, root = (
            fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)
        )
        self._lists, self._files = f"{root}/lists", f"{root}/files"

    def create(self) -> None:
        """Make the folders."""
        self.fs.create_dir(self._lists, recursive=True)
        self.fs.create_dir(self._files, recursive=True)

    def write_file(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> tuple[str, int]:
        """Write one task's rows; returns the file's name and its number of rows."""
        name, rows = f"{uuid4().hex}.arrow", 0
        try:
            with (
                self.fs.open_output_stream(f"{self._files}/{name}") as sink,
                pa.ipc.new_file(sink, schema) as writer,
            ):
                for batch in batches:
                    writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                    rows += batch.num_rows
        except BaseException:
            self.delete_files([name])
            raise
        return name, rows

    def read_file(self, name: str, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """Rows `begin` up to `end` of a file."""
        with self.fs.open_input_file(f"{self._files}/{name}") as source:
            table = pa.ipc.open_file(source).read_all()
        yield from table.slice(begin, end - begin).to_batches()

    def delete_files(self, names: Sequence[str]) -> None:
        """Remove files; missing ones are ignored."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                self.fs.delete_file(f"{self._files}/{name}")

    def append(self, batch: int, files: Sequence[tuple[str, int]]) -> bool:
        """Make a batch part of the stream; False if it is already."""
        if self.find(batch) is not None:
            return False
        before = self._newest_before(batch)
        content = {"first": before, "rows": sum(rows for _, rows in files), "files": list(files)}
        draft = f"{self._lists}/.{uuid4().hex}"
        with self.fs.open_output_stream(draft) as sink:
            sink.write(json.dumps(content).encode())
        self.fs.move(draft, self._list_path(batch))
        return True

    def find(self, batch: int) -> BatchList | None:
        """The list of a batch, or None."""
        try:
            with self.fs.open_input_stream(self._list_path(batch)) as source:
                content = json.loads(source.read())
        except FileNotFoundError:
            return None
        files = tuple((name, rows) for name, rows in content["files"])
        return BatchList(batch, content["first"], content["rows"], files)

    def batches(self) -> list[int]:
        """The batches with a list, in order."""
        entries = self.fs.get_file_info(fs.FileSelector(self._lists))
        return sorted(int(Path(e.path).stem) for e in entries if e.path.endswith(".json"))

    def length(self) -> int:
        """Rows ever appended, removed ones included."""
        while batches := self.batches():
            newest = self.find(batches[-1])
            if newest is not None:  # else its reader has just removed it, and there is a newer one
                return newest.end
        return 0

    def forget(self, batch: BatchList) -> None:
        """Remove a batch that will not be read again."""
        self.delete_files([name for name, _ in batch.files])
        with contextlib.suppress(FileNotFoundError):
            self.fs.delete_file(self._list_path(batch.batch))

    def _newest_before(self, batch: int) -> int:
        before = self.find(batch - 1) if batch > 0 else None
        if before is None and (known := [b for b in self.batches() if b < batch]):
            before = self.find(known[-1])
        return 0 if before is None else before.end

    def _list_path(self, batch: int) -> str:
        return f"{self._lists}/{batch:012d}.json"


class Tail:
    """Follows a stream as it grows, and knows which files hold which rows.

    Only for the reader that removes what was read: another would miss what is already removed.
    """

    def __init__(self, stream: DurableStream) -> None:
        self._stream = stream
        self._known: list[BatchList] = []

    def length(self) -> int:
        """Rows in the stream."""
        while (batch := self._stream.find(self._next())) is not None:
            self._known.append(batch)
        return self._known[-1].end if self._known else 0

    def locate(self, begin: int, end: int) -> list[tuple[str, int, int]]:
        """Where rows `begin` up to `end` are: file, first row in it, row after the last."""
        self.length()
        places = []
        for batch in self._known:
            first = batch.first
            for name, rows in batch.files:
                a, b = max(begin, first), min(end, first + rows)
                if a < b:
                    places.append((name, a - first, b - first))
                first += rows
        return places

    def forget(self, before: int) -> None:
        """Remove batches that end before a row, except the newest of them: the writer continues its
        row count."""
        done = [batch for batch in self._known if batch.end <= before]
        for batch in done[:-1]:
            self._stream.forget(batch)
        if len(done) > 1:
            self._known = self._known[len(done) - 1 :]

    def _next(self) -> int:
        if self._known:
            return self._known[-1].batch + 1
        return min(self._stream.batches(), default=0)


FORMAT: Final = "penstock-stream"
_ONLY: Final = ""
"""The route of all rows where there is one target."""


def write_options(paths: Mapping[str, str], route: str | None) -> dict[str, str]:
    """Options for writing to a stream, or to several by the value of the column `route`."""
    if route is None:
        return {"path": next(iter(paths.values()))}
    return {"paths": json.dumps(dict(paths)), "route": route}


class WrittenFiles(WriterCommitMessage):
    """What one task wrote: by route, a file and its number of rows."""

    def __init__(self, files: dict[str, tuple[str, int]]) -> None:
        self.files = files


class StreamWriter(DataSourceStreamArrowWriter):
    """Appends the batches of a query to a stream, or to several."""

    def __init__(self, paths: Mapping[str, str], route: str | None, schema: pa.Schema) -> None:
        self._paths, self._route, self._schema = dict(paths), route, schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFiles:
        """Write one task's rows."""
        by_route = {_ONLY: iterator} if self._route is None else self._by_route(iterator)
        return WrittenFiles(
            {
                route: DurableStream(self._paths[route]).write_file(iter(batches), self._schema)
                for route, batches in by_route.items()
            }
        )

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Make the batch part of every stream that does not have it yet."""
        for route, path in self._paths.items():
            stream, files = DurableStream(path), _written(messages, route)
            if not stream.append(batchId, files):
                stream.delete_files([name for name, _ in files])

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: ARG002, N803
        """Remove the files of a failed batch."""
        for route, path in self._paths.items():
            DurableStream(path).delete_files([name for name, _ in _written(messages, route)])

    def _by_route(self, batches: Iterator[pa.RecordBatch]) -> dict[str, list[pa.RecordBatch]]:
        """The rows by route; an unknown route is an error, so that no row is lost."""
        by_route: dict[str, list[pa.RecordBatch]] = {}
        for batch in batches:
            column = batch.column(self._route)
            for route in pc.unique(column).to_pylist():
                if route not in self._paths:
                    known = list(self._paths)
                    raise ValueError(f"{self._route} {route!r} leads to none of {known}")
                by_route.setdefault(route, []).append(batch.filter(pc.equal(column, route)))
        return by_route


def _written(messages: list[Any], route: str) -> list[tuple[str, int]]:
    files = [message.files for message in messages if message is not None]
    return [written[route] for written in files if route in written]


class FilePartition(InputPartition):
    """Slices of files that one task reads."""

    def __init__(self, pieces: list[tuple[str, int, int]]) -> None:
        super().__init__(pieces)
        self.pieces = pieces


class StreamReader(RowCountReader):
    """Reads a stream, batch by batch."""

    def __init__(
        self, path: str, hint: Path | None, max_rows: int | None, share: int | None = None
    ) -> None:
        super().__init__(hint, max_rows, share)
        self._path = path
        self._tail: Tail | None = None

    def available(self) -> int:
        """Rows in the stream."""
        return self._follow().length()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[FilePartition]:
        """The batch in as many parts as the module has executors."""
        parts = slices(start["rows"], end["rows"], parallelism(self._hint))
        return [FilePartition(self._follow().locate(a, b)) for a, b in parts]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        stream = DurableStream(self._path)
        for name, begin, end in partition.pieces:
            yield from stream.read_file(name, begin, end)

    def commit(self, end: dict[str, int]) -> None:
        """Remove what Spark has committed."""
        self._follow().forget(end["rows"])

    def _follow(self) -> Tail:
        if self._tail is None:
            self._tail = Tail(DurableStream(self._path))
        return self._tail


class StreamSource(DataSource):
    """`format("penstock-stream")` to read and to write.

    Options to read: `path`, `columns`, `hint`, `max_rows`, `share`; to write: `path`, or `paths`
    by the value of the column `route`.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """The columns, as given by the reader."""
        return str(self.options["columns"])

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: ARG002, N802
        """A reader of the stream at `path`."""
        path, hint, *limits = map(self.options.get, ("path", "hint", "max_rows", "share"))
        max_rows, share = (int(limit) if limit else None for limit in limits)
        return StreamReader(str(path), Path(hint) if hint else None, max_rows, share)

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: ARG002, N802
        """A writer to the stream at `path`."""
        from pyspark.sql.pandas.types import to_arrow_schema

        columns = to_arrow_schema(schema, timezone="UTC")
        several = self.options.get("paths")
        paths = json.loads(several) if several else {_ONLY: self.options["path"]}
        nullable = pa.schema([column.with_nullable(True) for column in columns])
        return StreamWriter(paths, self.options.get("route"), nullable)
