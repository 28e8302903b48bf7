"""Preference queries answered the slow way, and streams of files to ask them on Spark."""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.java import find_java, usable_home
from penstock.spark.session import EMBEDDED, open_session

Row = dict[str, Any]
SECOND = 1_000_000
CONF = {
    **EMBEDDED,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these queries do
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def local_spark(folder: Path, master: str = "local[2]") -> Iterator[SparkSession]:
    """Spark in this process and its children alone."""
    environment = {
        "JAVA_HOME": str(usable_home(find_java(), folder)),
        "PYSPARK_PYTHON": sys.executable,
    }
    log = folder / "driver.log"
    with open_session("tests", master, CONF, environment=environment, log=log) as spark:
        yield spark


@dataclass(frozen=True, kw_only=True)
class Question:
    """A query on rows whose time is whole microseconds in a column `ts`, answered row by row."""

    on: Sequence[str]
    window: int
    slide: int
    maximise: Sequence[str] = ()
    by: Sequence[str] = ()
    delta: int | None = None
    """The skyline if there is none."""

    def answer(self, rows: Sequence[Row]) -> dict[int, list[Row]]:
        """By the beginning of each window that has rows, its best rows in their order."""
        windows: dict[int, list[Row]] = defaultdict(list)
        for row in rows:
            for start in self.starts(row["ts"]):
                windows[start].append(row)
        return {start: self._best(windows[start]) for start in sorted(windows)}

    def starts(self, time: int) -> range:
        """When the windows begin that a row of this time is in."""
        newest = time // self.slide * self.slide
        oldest = -((self.window - 1 - time) // self.slide) * self.slide
        return range(oldest, newest + 1, self.slide)

    def _best(self, rows: Sequence[Row]) -> list[Row]:
        keys: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in rows:
            keys[tuple(row[name] for name in self.by)].append(row)
        return [row for key in sorted(keys, key=_nulls_last) for row in self._best_of(keys[key])]

    def _best_of(self, rows: Sequence[Row]) -> list[Row]:
        """Of the rows of one key."""
        values = [self._values(row) for row in rows]
        factors = [max(_dominates(other, own) for other in values) for own in values]
        placed = sorted(zip(factors, values, rows, strict=True), key=_place)
        if self.delta is None:
            best = [place for place in placed if place[0] < len(self.on)]
            return [row for _, _, row in sorted(best, key=lambda place: _place((0, *place[1:])))]
        return [{**row, "dominance_factor": factor} for factor, _, row in placed[: self.delta]]

    def _values(self, row: Row) -> tuple[Any, ...]:
        return tuple(-row[name] if name in self.maximise else row[name] for name in self.on)


def _nulls_last(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(part is None, part) for part in key]


def _place(scored: tuple[int, tuple[Any, ...], Row]) -> tuple[Any, ...]:
    factor, values, row = scored
    return factor, values, row["ts"], row["id"]


def _dominates(p: tuple[Any, ...], q: tuple[Any, ...]) -> int:
    """In how many dimensions p is no worse than q, if it is better in one."""
    return sum(a <= b for a, b in zip(p, q, strict=True)) if any(map(_less, p, q)) else 0


def _less(a: Any, b: Any) -> bool:
    return bool(a < b)


@dataclass
class Outcome:
    """What a streaming query wrote and told, batch by batch."""

    tables: list[pa.Table] = field(default_factory=list)
    panes: list[Mapping[str, Any]] = field(default_factory=list)
    windows: list[Mapping[str, Any]] = field(default_factory=list)
    state: list[tuple[int, int]] = field(default_factory=list)
    """Rows and bytes of the state."""

    @property
    def punctuations(self) -> list[int]:
        """Of the end of each batch; a batch without rows tells none."""
        told = [batch["punctuation"] for batch in self.windows]
        known = [-(2**62) if moment is None else round(moment * 1e6) for moment in told]
        return list(accumulate(known, max))

    def results(self) -> list[tuple[int, int, list[Row]]]:
        """Batch, beginning of the window and rows of each result, as they came."""
        return [
            (batch, start, rows)
            for batch, table in enumerate(self.tables)
            for start, rows in by_window(table)
        ]


def by_window(table: pa.Table) -> list[tuple[int, list[Row]]]:
    """Results of windows, in the order they have; a window that comes twice is there twice."""
    made: list[tuple[int, list[Row]]] = []
    starts = pc.struct_field(table["window"], "start").cast(pa.int64()).to_pylist()
    for start, row in zip(starts, plain(table.drop_columns(["window"])), strict=True):
        if not made or made[-1][0] != start:
            made.append((start, []))
        made[-1][1].append(row)
    return made


def plain(table: pa.Table, time: str = "ts") -> list[Row]:
    """Rows with their time in whole microseconds."""
    place = table.schema.get_field_index(time)
    return table.set_column(place, time, table[time].cast(pa.int64())).to_pylist()  # type: ignore[no-any-return]


def write_batches(folder: Path, tables: Sequence[pa.Table]) -> str:
    """A file for each batch of a stream, in the order of their times."""
    folder.mkdir()
    for number, table in enumerate(tables):
        path = folder / f"{number:04d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (number + 1, number + 1))
    return str(folder)


def stream_of(spark: SparkSession, source: str) -> DataFrame:
    """A file in each batch."""
    schema = spark.read.parquet(source).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(source)


def ask(
    results: DataFrame, checkpoint: Path, after: Callable[[int], None] = lambda batch: None
) -> Outcome:
    """Run a query over all that is there."""
    outcome = Outcome()

    def take(frame: DataFrame, batch: int) -> None:
        outcome.tables.append(frame.toArrow())
        after(batch)

    query = (
        results.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for progress in query.recentProgress:
        told = {name: row.asDict() for name, row in progress.observedMetrics.items()}
        outcome.panes.append(told["preference_panes"])
        outcome.windows.append(told["preference_windows"])
        outcome.state += [(op.numRowsTotal, op.memoryUsedBytes) for op in progress.stateOperators]
    return outcome


def expected(
    question: Question, length: int, batches: Sequence[Sequence[Row]], punctuations: Sequence[int]
) -> list[tuple[int, int, list[Row]]]:
    """What a stream must answer where its punctuations were these, with panes of this length."""
    before = [-(2**62), *punctuations]
    taken = [
        row
        for batch, rows in enumerate(batches)
        for row in rows
        if (row["ts"] // length + 1) * length > before[batch]
    ]
    made = []
    for start, rows in question.answer(taken).items():
        end = start + question.window
        if end <= punctuations[-1]:
            made.append((next(b for b, p in enumerate(punctuations) if end <= p), start, rows))
    return made


OFFERS = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("id", pa.int64()),
        ("city", pa.string()),
        ("kind", pa.int32()),
        ("price", pa.decimal128(38, 10)),
        ("far", pa.int64()),
        ("stars", pa.float64()),
        ("name", pa.string()),
        ("day", pa.date32()),
        ("open", pa.bool_()),
        ("at", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("tags", pa.list_(pa.string())),
        ("more", pa.map_(pa.string(), pa.int32())),
    ]
)


def offers(seed: int, batches: int, rows: int) -> list[pa.Table]:
    """Around 1970, out of order, with values that only exact numbers tell apart."""
    random = np.random.default_rng(seed)
    made = []
    for batch in range(batches):
        begin = (batch - 2) * 8 * SECOND
        times = random.integers(begin, begin + 10 * SECOND, rows)
        times[:20] -= times[:20] % SECOND  # edges of panes and windows among them
        made.append([_offer(random, batch * rows + n, int(t)) for n, t in enumerate(times)])
    return [pa.Table.from_pylist(rows, schema=OFFERS) for rows in made]


def _offer(random: np.random.Generator, number: int, time: int) -> Row:
    return {
        "ts": time,
        "id": number,
        "city": [None, "Graz", "Linz"][random.integers(3)],
        "kind": [None, 1][random.integers(2)],
        "price": Decimal(10**27 + int(random.integers(6))).scaleb(-10),
        "far": 2**60 + int(random.integers(6)),
        "stars": float(random.integers(5)),
        "name": None if number % 3 else f"n{number}",
        "day": date(2020, 1, 1) + timedelta(days=number),
        "open": number % 2 == 0,
        "at": {"x": number, "y": None} if number % 4 else None,
        "tags": ["a", None][: number % 3],
        "more": [("a", number)],
    }
