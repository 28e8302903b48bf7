"""The preference pipeline short of Spark: its file, its tuples and what it publishes."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from penstock.apps.preference.application import PAGE, Best, preference
from penstock.apps.preference.tuples import Recorded, Tuples
from penstock.core.errors import FileError
from penstock.pipeline.file import check, load
from penstock.pipeline.format.preference import PreferenceQuery


def mistakes(*settings: str, pipeline: str = "preference") -> list[str]:
    return [mistake.sentence for mistake in check(pipeline, settings).mistakes]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("query.kind=skylne", "kind of query must be skyline or top-delta, got 'skylne'"),
        (
            "query.data=anti",
            "data of query must be uniform, correlated or anti-correlated, got 'anti'",
        ),
        (
            "query.slide=2s",
            "a slide of 2 s leaves out rows between windows of 1 s; choose at most 1 s",
        ),
        ("query.window=0s", "window of query must be above 0s, got 0s"),
        ("query.window=1", "window"),
        ("query.delta=0", "delta of query must be 1 or more, got 0"),
        ("query.dimensions=33", "dimensions of query must be 1 to 32, got 33"),
        ("query.slack=2m", "slack of query must be 0 up to its max_slack of 1 min, got 2 min"),
        ("query.drop_rate=1", "drop_rate of query must be in [0, 1), got 1"),
        ("query.windows=1s", "did you mean"),
        ("query.slide=333337us", "panes"),
    ],
)
def test_a_mistake_in_the_query_is_reported_with_its_value(setting: str, sentence: str) -> None:
    found = mistakes(setting)
    assert len(found) == 1
    assert sentence in found[0]


def test_other_pipelines_take_no_query() -> None:
    assert mistakes("query.kind=skyline", pipeline="wordcount") == [
        "only the pipeline preference takes a query; leave it out"
    ]


def test_the_query_is_recorded_with_its_defaults() -> None:
    file = load("preference", ["query={kind: top-delta}"])
    assert file.query == PreferenceQuery(kind="top-delta")
    assert file.resolved["query"]["slide"] == "0.2s"


def test_an_application_is_made_of_what_the_file_asks() -> None:
    application = preference(load("preference", ["query={kind: top-delta, dimensions: 3}"]))
    assert application.operators["wlq"].schema.endswith("`dominance_factor` int")
    assert application.rows(1).schema == "number long, a1 double, a2 double, a3 double"


def test_panes_go_to_workers_only_where_the_policy_splits_panes() -> None:
    plain, fuzzy, whole = (
        preference(load("preference", [f"policy={policy}"])).partitioning
        for policy in ("threshold", "{name: fuzzy, margin: 0.2}", "{name: fuzzy, split: false}")
    )
    assert plain is None
    assert fuzzy is not None
    assert fuzzy.control is not None
    assert fuzzy.control.setpoint == pytest.approx(0.7)
    assert whole is not None
    assert whole.control is None


@pytest.mark.parametrize(
    ("settings", "step"),
    [(("policy={name: fuzzy, sampling: 5s}",), 4), (("policy=fuzzy", "step=200ms"), 0.2)],
)
def test_panes_are_not_split_more_slowly_than_executors_come(
    settings: tuple[str, ...], step: float
) -> None:
    [mistake] = mistakes(*settings)
    assert "the sampling period must be at most the control interval" in mistake
    assert f"and {step} s; lower the period" in mistake
    assert not mistakes(*settings, "policy.split=false")


@pytest.mark.parametrize(("data", "sign"), [("correlated", 1), ("anti-correlated", -1)])
def test_coordinates_hang_together_as_asked(data: str, sign: int) -> None:
    rows = Tuples(seed=1, dimensions=4, data=data).columns(np.arange(5000))
    values = np.array([rows[f"a{place}"].to_numpy() for place in (1, 2, 3, 4)])
    apart = np.corrcoef(values)[np.triu_indices(4, 1)]
    assert (sign * apart > 0.2).all()


def test_uniform_coordinates_have_nothing_to_do_with_each_other() -> None:
    rows = Tuples(seed=1, dimensions=8).columns(np.arange(20_000))
    values = np.array([rows[f"a{place}"].to_numpy() for place in range(1, 9)])
    assert abs(values.mean(axis=1) - 500).max() < 5 * 1000 / np.sqrt(12 * 20_000)
    assert abs(np.corrcoef(values)[np.triu_indices(8, 1)]).max() < 5 / np.sqrt(20_000)
    assert values.min() >= 0
    assert values.max() < 1000


def test_a_tuple_is_the_same_in_whatever_batch_it_comes() -> None:
    tuples = Tuples(seed=3, dimensions=2, data="anti-correlated")
    whole, alone = tuples.columns(np.arange(10)), tuples.columns(np.array([7]))
    assert {name: whole[name][7] for name in whole} == {name: alone[name][0] for name in alone}


def test_recorded_tuples_come_again_after_the_last(tmp_path: Path) -> None:
    (tmp_path / "game.csv").write_text("player,x,y\nanna,1,2.5\nbert,3,4\n")
    rows = Recorded(path=str(tmp_path / "game.csv"))
    assert rows.names == ("x", "y")
    assert rows.columns(np.arange(3))["x"].to_pylist() == [1.0, 3.0, 1.0]
    pyarrow.parquet.write_table(pa.table({"z": [7, 8]}), tmp_path / "game.parquet")
    assert Recorded(path=str(tmp_path / "game.parquet")).columns(np.array([1]))["z"][0].as_py() == 8


@pytest.mark.parametrize("text", ["", "name\nanna\n", "x,y\n"])
def test_a_file_without_tuples_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "game.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=r"game\.csv"):
        preference(load("preference", [f"query={{tuples: {path}}}"]))


def test_a_file_that_is_not_there_is_a_mistake_of_the_pipeline_file(tmp_path: Path) -> None:
    [mistake] = mistakes(f"query={{tuples: {tmp_path / 'none.csv'}}}")
    assert mistake == f"there is no file {tmp_path / 'none.csv'} with tuples"


@pytest.mark.parametrize(("names", "why"), [("number,x", "a name of ours"), ("x,x", "there twice")])
def test_names_of_recorded_columns_are_distinguished(tmp_path: Path, names: str, why: str) -> None:
    (tmp_path / "game.csv").write_text(f"{names}\n1,{2**60}\n")
    with pytest.raises(FileError, match=why):
        Recorded(path=str(tmp_path / "game.csv")).columns(np.array([0]))


def test_large_numbers_and_odd_names_are_read(tmp_path: Path) -> None:
    (tmp_path / "game.csv").write_text(f"a`b\n{2**60 + 1}\n")
    rows = Recorded(path=str(tmp_path / "game.csv"))
    assert rows.schema == "number long, `a``b` double"
    assert rows.columns(np.array([0]))["a`b"][0].as_py() == 2.0**60


def results(*windows: tuple[int, list[int]]) -> pa.Table:
    edge = pa.timestamp("us", "UTC")
    rows = [(start, number) for start, numbers in windows for number in numbers]
    spans = [{"start": start, "end": start + 1_000_000} for start, _ in rows]
    columns = {
        "window": pa.array(spans, pa.struct([("start", edge), ("end", edge)])),
        "ts": pa.array([start for start, _ in rows], edge),
        "number": [number for _, number in rows],
        "a1": [float(number) for _, number in rows],
    }
    return pa.table(columns)


def test_the_newest_window_is_published(tmp_path: Path) -> None:
    best = Best(tmp_path, now=lambda: 3.5)
    best.take(results((0, [1, 2]), (200_000, [2, 5, 6])), 0)
    page = json.loads((tmp_path / PAGE).read_text())
    assert page["tuples"] == 3
    assert [row["number"] for row in page["best"]] == [2, 5, 6]
    summary = best.results()
    assert (summary["windows"], summary["best_tuples"]) == (2, 5)
    assert summary["window_latency_seconds"] == {"p50": 2.4, "p99": 2.498}


def test_windows_that_came_later_than_promised_are_counted(tmp_path: Path) -> None:
    best = Best(tmp_path, limit=2.4, now=lambda: 3.5)
    best.take(results((0, [1]), (200_000, [2])), 0)
    assert best.results()["late_windows"] == 1  # 2.5 s and 2.3 s after their end
    assert Best(tmp_path, limit=2.4).results()["late_windows"] == 0
    assert Best(tmp_path).results()["late_windows"] is None


def test_a_batch_that_comes_again_is_not_counted_again(tmp_path: Path) -> None:
    once, twice = Best(tmp_path / "a", now=lambda: 1.0), Best(tmp_path / "b", now=lambda: 1.0)
    batches = [results((0, [1])), results(), results((200_000, [2]))]
    for number, batch in enumerate(batches):
        once.take(batch, number)
        twice.take(batch, number)
        twice.take(batch, number)
    assert once.results() == twice.results()
    assert once.windows == 2


def test_the_digest_knows_order_and_windows(tmp_path: Path) -> None:
    digests = set()
    for windows in [[(0, [1, 2])], [(0, [2, 1])], [(200_000, [1, 2])], [(0, [1]), (200_000, [2])]]:
        best = Best(tmp_path)
        best.take(results(*windows), 0)
        digests.add(best.results()["digest"])
    assert len(digests) == 4
