"""Preference queries on Spark give what a plain loop over the rows gives."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba import njit
from pyspark.sql import SparkSession

from penstock.core.errors import SettingError
from penstock.query.preference import Splitting, prefer, skyline, top_delta
from tests.support.paths import ROOT
from tests.support.preference_cases import (
    OFFERS,
    SECOND,
    Outcome,
    Question,
    Row,
    ask,
    by_window,
    expected,
    local_spark,
    offers,
    plain,
    stream_of,
    write_batches,
)

pytestmark = pytest.mark.spark

BEST_OFFERS = Question(
    on=("price", "far", "stars"),
    maximise=("far", "stars"),
    by=("city", "kind"),
    window=10 * SECOND,
    slide=4 * SECOND,
)
WIDE = [f"a{place}" for place in range(32)]
TOP = Question(on=WIDE, maximise=WIDE[::5], by=("k",), window=2 * SECOND, slide=2 * SECOND, delta=7)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with local_spark(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def offered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Outcome]:
    """A stream on three slots, whose panes are split otherwise in every batch."""
    folder = tmp_path_factory.mktemp("offers")
    source = write_batches(folder / "in", offers(seed=1, batches=5, rows=120))
    splitting = Splitting(path=folder / "splitting.json", workers=3)
    changes: list[dict[str, int]] = [{"threshold": 20}, {"threshold": 1}, {"workers": 2}]

    def change(batch: int) -> None:
        if batch < len(changes):
            splitting.write(**changes[batch])

    results = skyline(
        stream_of(spark, source),
        on=BEST_OFFERS.on,
        window="10 seconds",
        slide="4s",
        maximise=BEST_OFFERS.maximise,
        by=BEST_OFFERS.by,
        slack="3 seconds",
        splitting=splitting,
        slots=3,
    )
    return source, ask(results, folder / "checkpoint", change)


def test_windows_of_a_stream_come_in_order_once_and_with_the_rows_no_other_dominates(
    offered: tuple[str, Outcome],
) -> None:
    _, outcome = offered
    batches = [plain(table) for table in offers(seed=1, batches=5, rows=120)]
    found = outcome.results()
    newest = list(accumulate((max(row["ts"] for row in rows) for rows in batches), max))
    assert found == expected(BEST_OFFERS, 2 * SECOND, batches, [t - 3 * SECOND for t in newest])
    assert all(a[1] < b[1] for a, b in pairwise(found))
    assert found[0][1] < 0 < found[-1][1]
    assert outcome.punctuations == [t - 3 * SECOND for t in newest]
    assert sum(batch["late"] for batch in outcome.windows) == 0


def test_a_table_gives_the_same_as_a_loop_over_its_rows(
    spark: SparkSession, offered: tuple[str, Outcome]
) -> None:
    results = skyline(
        spark.read.parquet(offered[0]),
        on=BEST_OFFERS.on,
        window=timedelta(seconds=10),
        slide="4 seconds",
        maximise=BEST_OFFERS.maximise,
        by=BEST_OFFERS.by,
    )
    table = results.toArrow()
    rows = [row for one in offers(seed=1, batches=5, rows=120) for row in plain(one)]
    assert dict(by_window(table)) == BEST_OFFERS.answer(rows)
    assert table.schema.names == ["window", *OFFERS.names]
    assert table.drop_columns(["window"]).schema.types == OFFERS.types


def test_the_threshold_of_splitting_changes_the_parts_of_panes_and_nothing_else(
    offered: tuple[str, Outcome],
) -> None:
    panes = offered[1].panes
    assert panes[0]["parts"] == panes[0]["panes"]
    assert panes[0]["panes"] < panes[1]["parts"] < panes[2]["parts"] <= 3 * panes[2]["panes"]
    assert panes[2]["parts"] > 2 * panes[2]["panes"]  # threshold 1: nearly all on all three
    assert panes[3]["parts"] == panes[3]["panes"]  # whole again, on two workers
    assert [batch["tasks"] for batch in panes] == [3, 3, 3, 2, 2]


def test_what_stages_tell_of_their_work_adds_up(offered: tuple[str, Outcome]) -> None:
    outcome = offered[1]
    for panes, windows in zip(outcome.panes, outcome.windows, strict=True):
        assert (panes["rows"], panes["set_aside"]) == (120, 0)
        assert 120**2 / panes["tasks"] <= panes["rows_squared"] <= 120**2
        assert panes["busy"] > 0
        assert windows["panes"] == panes["panes"]
        assert windows["tasks"] == windows["windows"] + windows["merges"]
        assert windows["busy"] > 0
    counted = [len({start for start, _ in by_window(t)}) for t in outcome.tables]
    assert [batch["windows"] for batch in outcome.windows] == counted
    assert sum(batch["merges"] for batch in outcome.windows) > 0


def wide(seed: int, rows: int, begin: int) -> pa.Table:
    random = np.random.default_rng(seed)
    values = random.integers(0, 12, (rows, len(WIDE))).astype(float)
    values[rows // 2 :] = values[: rows - rows // 2]  # all tie with another
    values[:5] += 6  # some are dominated
    times = begin + random.permutation(rows) * (4 * SECOND // rows)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "id": np.arange(rows) + 1000 * seed,
            "k": pa.array([None if n % 3 else 1.5 for n in range(rows)], pa.float64()),
            **dict(zip(WIDE, values.T, strict=True)),
        }
    )


def test_top_delta_takes_the_rows_dominated_in_the_fewest_of_32_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = [wide(seed, rows=60, begin=seed * 4 * SECOND - 30) for seed in range(3)]
    source = write_batches(tmp_path / "in", tables)
    asked: dict[str, Any] = {"on": WIDE, "window": "2s", "maximise": WIDE[::5], "by": ["k"]}
    outcome = ask(
        top_delta(stream_of(spark, source), delta=7, slack="2 seconds", **asked), tmp_path / "c"
    )
    batches = [plain(table) for table in tables]
    assert outcome.results() == expected(TOP, 2 * SECOND, batches, outcome.punctuations)
    assert len(outcome.results()) >= 4
    table = top_delta(spark.read.parquet(source), delta=7, **asked).toArrow()
    assert dict(by_window(table)) == TOP.answer([row for rows in batches for row in rows])
    assert len(set(table["dominance_factor"].to_pylist())) > 3


def test_one_column_has_its_smallest_values_as_skyline_with_all_equals(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(0, 3), (1, 2), (2, 2), (9, 1)], "s long, x int").selectExpr(
        "timestamp_seconds(s) AS seen", "x"
    )
    results = skyline(rows, on=["x"], window="3 seconds", time="seen").toArrow()
    assert [(start // SECOND, [row["x"] for row in best]) for start, best in _seen(results)] == [
        (0, [2, 2]),
        (9, [1]),
    ]
    assert skyline(rows.where("x < 0"), on=["x"], window="1s", time="seen").toArrow().num_rows == 0


def _seen(table: pa.Table) -> list[tuple[int, list[Row]]]:
    return by_window(table.rename_columns(["window", "ts", "x"]))


def test_a_preference_of_ones_own_is_asked_of_every_pair(
    spark: SparkSession, tmp_path: Path
) -> None:
    def nearer(p: Any, q: Any) -> bool:  # a function of a test is sent to workers as it is
        return bool(abs(p[0] - 50) < abs(q[0] - 50) and p[1] <= q[1])

    def union(left: Any, right: Any) -> Any:
        both = [*left.tolist(), *right.tolist()]
        return [n for n, q in enumerate(both) if not any(nearer(p, q) for p in both)]

    tables = [_pairs(seed) for seed in range(3)]
    source = write_batches(tmp_path / "in", tables)
    asked: dict[str, Any] = {"on": ["x", "y"], "window": "4s", "slide": "2s", "maximise": ["y"]}
    truth = {
        start: {r["id"] for r in rows if not any(nearer(_point(o), _point(r)) for o in rows)}
        for start, rows in _covering(tables, window=4 * SECOND, slide=2 * SECOND).items()
    }
    stored, stream = spark.read.parquet(source), stream_of(spark, source)
    assert _ids(prefer(stored, dominates=nearer, **asked).toArrow()) == truth
    assert _ids(prefer(stored, dominates=njit(nearer), **asked).toArrow()) == truth
    merging = prefer(stream, dominates=nearer, merge=union, slack="1s", **asked)
    found = _ids(pa.concat_tables(ask(merging, tmp_path / "checkpoint").tables))
    assert len(found) >= 4
    assert found == {start: truth[start] for start in found}


def _pairs(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    times = seed * 4 * SECOND + random.integers(0, 4 * SECOND, 80)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "id": np.arange(80) + 100 * seed,
            "x": random.integers(0, 100, 80),
            "y": random.uniform(0, 9, 80),
        }
    )


def _point(row: Row) -> tuple[float, float]:
    return row["x"], -row["y"]


def _covering(tables: list[pa.Table], *, window: int, slide: int) -> dict[int, list[Row]]:
    """All rows of each window."""
    everything = Question(on=("zero",), window=window, slide=slide)
    return everything.answer([{**row, "zero": 0} for table in tables for row in plain(table)])


def _ids(table: pa.Table) -> dict[int, set[int]]:
    return {start: {row["id"] for row in rows} for start, rows in by_window(table)}


def test_a_preference_is_given_values_however_many_digits_they_have(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(3, 6).selectExpr(  # columns that are never null
        "timestamp_seconds(id) AS ts", "CAST(id AS DECIMAL(38, 10)) AS x"
    )
    splitting = Splitting(path=tmp_path / "splitting.json", workers=2)
    best = prefer(
        rows, ["x"], "9s", splitting=splitting, dominates=lambda p, q: abs(p[0] - 4) < abs(q[0] - 4)
    )
    assert best.toArrow()["x"].to_pylist() == [4]


MONTH = 30 * 86_400
NEVER = 253_402_214_400 - 1_700_000_000
"""The last day of the year 9999."""


@pytest.fixture(scope="module")
def troubled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Windows of 2 s that slide by 1 s, on a stream that begins in order and loses it."""
    folder = tmp_path_factory.mktemp("troubled")
    batches: list[list[float | None]] = [
        [1, 2, 3],
        [4, 5, 6],
        [None, 7],  # the 7 has no number
        [],
        [3, 8],
        [-7200, -7199],  # a clock that went back
        [9, 14],
        [MONTH],
        [MONTH + 10],
        [NEVER],
        [MONTH + 11, MONTH + 20],
    ]
    source = write_batches(folder / "in", [_moments(seconds) for seconds in batches])
    results = skyline(stream_of(spark, source), ["x"], "2s", "1s", max_slack="5 seconds")
    return ask(results, folder / "checkpoint")


def _moments(seconds: list[float | None]) -> pa.Table:
    begin = 1_700_000_000
    times = [None if s is None else int((begin + s) * SECOND) for s in seconds]
    values = [float("nan") if s == 7 else s or 0.0 for s in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "x": pa.array(values, pa.float64()),
        }
    )


def test_rows_that_cannot_be_compared_are_set_aside_and_counted(troubled: Outcome) -> None:
    assert [batch["set_aside"] or 0 for batch in troubled.panes] == [0, 0, 2, *[0] * 8]
    assert [batch["rows"] or 0 for batch in troubled.panes] == [3, 3, 0, 0, 2, 2, 2, 1, 1, 1, 2]


def test_late_rows_are_dropped_and_counted(troubled: Outcome) -> None:
    assert [batch["late"] for batch in troubled.windows] == [0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]


def test_the_slack_grows_with_the_delays_seen_and_no_further_than_allowed(
    troubled: Outcome,
) -> None:
    begin = 1_700_000_000
    seconds = [p // SECOND - begin for p in troubled.punctuations]
    assert seconds == [1, 6, 6, 6, 6, 6, 9, MONTH - 5, MONTH + 5, NEVER - 5, NEVER - 5]


def test_windows_go_on_after_every_trouble(troubled: Outcome) -> None:
    begin = 1_700_000_000
    found = [
        (b, start // SECOND - begin, [r["x"] for r in rows])
        for b, start, rows in troubled.results()
    ]
    assert found == [
        (1, 0, [1]), (1, 1, [1]), (1, 2, [2]), (1, 3, [3]), (1, 4, [4]),
        (6, 5, [5]), (6, 6, [6]), (6, 7, [8]),
        (7, 8, [8]), (7, 9, [9]), (7, 13, [14]), (7, 14, [14]),
        (8, MONTH - 1, [MONTH]), (8, MONTH, [MONTH]),
        (9, MONTH + 9, [MONTH + 10]), (9, MONTH + 10, [MONTH + 10]),
    ]  # fmt: skip


def test_windows_without_rows_are_counted_however_many_they_are(troubled: Outcome) -> None:
    empty = [int(batch["empty"]) for batch in troubled.windows]
    assert empty == [0, 0, 0, 0, 0, 0, 0, MONTH - 5 - 9 - 4, 10 - 2, NEVER - MONTH - 10 - 2, 0]


TYPES = "ts timestamp, x double, y double, name string, at struct<a:int>, day date"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"on": ["xx"]}, "the rows have no column 'xx'; did you mean 'x'"),
        ({"on": ["name"]}, "column 'name' of on must be a number, got string; cast it"),
        ({"on": []}, "on must name 1 to 32 columns, got 0"),
        ({"on": [f"c{n}" for n in range(33)]}, "on must name 1 to 32 columns, got 33"),
        ({"on": ["x", "x"]}, "on has 'x' 2 times; name it once"),
        ({"on": "x"}, "on must be a list of column names, got 'x'"),
        ({"on": [3]}, "on must be a list of column names, got 3 in it"),
        ({"maximise": ["y"]}, "maximise has 'y', which on has not; there are x"),
        ({"by": ["at"]}, "column 'at' of by must be a single value, got struct<a:int>; take a"),
        ({"by": ["x"]}, "column 'x' is in by and in on; take it out of one"),
        ({"time": "day"}, "column 'day' of time must be a timestamp, got date; make one of it"),
        ({"time": "when"}, "the rows have no column 'when'; there are at, day, name, ts, x, y"),
        ({"slide": "2s"}, "a slide of 2 s leaves out rows between windows of 1 s; choose at most"),
        ({"window": "0s"}, "window must be longer than 0, got 0 us; write it as"),
        ({"window": "-1s"}, "window must be longer than 0, got -1 s; write it as"),
        ({"window": "5"}, "cannot read the window '5'; write it as '1 second'"),
        ({"window": 5}, "window needs a unit, got 5; write it as"),
        ({"window": "1 month"}, "window cannot be given in calendar units, got '1 month'"),
        ({"slots": 0}, "slots must be a whole number of at least 1, got 0"),
        ({"slots": True}, "slots must be a whole number of at least 1, got True"),
        ({"drop_rate": 1.5}, r"drop_rate must be a number in \[0, 1\), got 1.5; write 5 % as 0.05"),
        ({"drop_rate": "5%"}, r"drop_rate must be a number in \[0, 1\), got '5%'; write"),
        ({"max_ahead": timedelta(hours=-1)}, "max_ahead must not be negative, got -1 day, 23:00"),
        ({"splitting": 3}, "splitting must be a Splitting, got 3; write Splitting"),
        ({"slot": 3}, "there is no setting 'slot' of a query; did you mean 'slots'?"),
        ({"slack": "2 minutes"}, "slack must be 0 up to the max_slack of 1 minute, got 2 minutes"),
    ],
)
def test_a_mistake_is_reported_before_anything_starts(
    spark: SparkSession, asked: dict[str, Any], sentence: str
) -> None:
    rows = spark.createDataFrame([], TYPES)
    with pytest.raises(SettingError, match=sentence):
        skyline(rows, **{"on": ["x"], "window": "1s", **asked})


@pytest.mark.parametrize("delta", [0, -1, 2.5, True])
def test_delta_is_a_count(spark: SparkSession, delta: Any) -> None:
    rows = spark.createDataFrame([], TYPES)
    with pytest.raises(SettingError, match=rf"delta must be .*, got {delta}"):
        top_delta(rows, ["x"], "1s", delta=delta)


def test_a_preference_must_be_a_function(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], TYPES)
    with pytest.raises(
        SettingError, match="dominates must be a function of two tuples, got 'less'"
    ):
        prefer(rows, ["x"], "1s", dominates="less")  # type: ignore[arg-type]


def test_columns_that_results_add_or_that_are_there_twice_must_be_renamed(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame([], TYPES)
    with pytest.raises(SettingError, match="a column 'window', which results have; rename it"):
        skyline(rows.withColumnRenamed("name", "window"), ["x"], "1s")
    with pytest.raises(SettingError, match="'Window_Measures', which results have"):
        skyline(rows.withColumnRenamed("name", "Window_Measures"), ["x"], "1s")
    with pytest.raises(SettingError, match="'dominance_factor', which results have; rename it"):
        top_delta(rows.withColumnRenamed("name", "dominance_factor"), ["x"], "1s")
    with pytest.raises(SettingError, match="the rows have 2 columns 'x'; rename one"):
        skyline(rows.withColumnRenamed("name", "x"), ["y"], "1s")


def test_the_query_of_the_docs_runs(spark: SparkSession, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "preference.md").read_text()
    [block] = re.findall(
        r"```python\n(from penstock\.query import skyline\n.*?)```", text, re.DOTALL
    )
    minute = 60 * SECOND
    columns = "price long, distance double, stars long, city string, seen timestamp"
    rows = [(80, 2.0, 3, "Pisa"), (95, 0.5, 3, "Pisa"), (99, 2.5, 3, "Pisa"), (99, 9.0, 1, "Rome")]
    for batch, at in enumerate((0, 400)):
        moments = [datetime.fromtimestamp(at * minute // SECOND, UTC)] * len(rows)
        offered = [(*row, seen) for row, seen in zip(rows, moments, strict=True)]
        spark.createDataFrame(offered, columns).write.parquet(str(tmp_path / "in" / f"n={batch}"))
    offers = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    names = {"offers": offers.parquet(str(tmp_path / "in" / "n=*"))}
    for folder in ("best", "best-state"):
        block = block.replace(f'"{folder}"', repr(str(tmp_path / folder)))
    exec(block, names)  # noqa: S102  # what the page shows
    query: Any = names["query"]
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    found = spark.read.parquet(str(tmp_path / "best")).select("window.start", "price").collect()
    assert len({row["start"] for row in found}) == 12
    assert {row["price"] for row in found} == {80, 95, 99}
    assert len(found) == 12 * 3


def test_rows_from_the_far_future_are_set_aside_where_that_is_asked(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches: list[list[float | None]] = [[1, 2], [3, NEVER], [4, 9]]
    source = write_batches(tmp_path / "in", [_moments(seconds) for seconds in batches])
    asked: dict[str, Any] = {"on": ["x"], "window": "2s", "max_ahead": "1 hour"}
    found = ask(skyline(stream_of(spark, source), **asked), tmp_path / "checkpoint")
    assert [batch["set_aside"] for batch in found.panes] == [0, 1, 0]
    assert [batch["late"] for batch in found.windows] == [0, 0, 0]
    assert [row["x"] for _, _, rows in found.results() for row in rows] == [1, 2, 4]
    table = skyline(spark.read.parquet(source), **asked)
    assert sorted(row["x"] for row in table.collect()) == [1, 2, 4, 9]


def test_tables_may_be_asked_twice_and_hold_structs_that_are_null(spark: SparkSession) -> None:
    rows = spark.range(6).selectExpr(
        "timestamp_seconds(id) AS ts",
        "id % 3 AS x",
        "if(id % 2 = 0, named_struct('a', id), null) AS deep",
    )
    first, second = (skyline(rows, ["x"], "3s", maximise=most) for most in ([], ["x"]))
    found = first.union(second).select("x", "deep.a").collect()
    assert sorted((row["x"], row["a"] or 0) for row in found) == [(0, 0), (0, 0), (2, 0), (2, 2)]


def test_a_table_of_many_windows_has_them_all(spark: SparkSession) -> None:
    rows = spark.range(3000).selectExpr("timestamp_seconds(id) AS ts", "id % 7 AS x")
    found = skyline(rows, ["x"], "10 seconds", "1 second").groupBy("window").count()
    counts = {row["window"]["start"].timestamp(): row["count"] for row in found.collect()}
    assert sorted(counts) == list(range(-9, 3000))
    assert all(counts[start] in (1, 2) for start in range(3000 - 10))
