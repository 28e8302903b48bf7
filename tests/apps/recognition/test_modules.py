"""The modules of the recognition service: a row for a row, whatever the row holds."""

import pickle

import cv2
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.apps.recognition.images import Images
from penstock.apps.recognition.modules import (
    DENOISER_1,
    DISPATCHER,
    EDGE_DETECTOR,
    MODULES,
    RECOGNISER,
    VisionModule,
    serve,
)
from penstock.apps.recognition.outlines import NOTHING
from penstock.core.errors import UserError

every_module = pytest.mark.parametrize("module", MODULES.values(), ids=list(MODULES))
BYTES = np.random.default_rng(1)
ODD = {
    "black": np.zeros((64, 64)),
    "white": np.full((64, 64), 255),
    "grey": np.full((64, 64), 128),
    "all noise": BYTES.integers(0, 256, (64, 64)),
    "all impulses": BYTES.choice((0, 255), (64, 64)),
    "chessboard": np.indices((64, 64)).sum(axis=0) % 2 * 255,
    "one white pixel": np.eye(1, 4096, 2080).reshape(64, 64) * 255,
    "smallest": np.indices((32, 32)).sum(axis=0),
    "up to the border": np.pad(np.full((62, 62), 200), 1),
}


def batch(rows: int = 6, seed: int = 1, *, timed: bool = True) -> pa.RecordBatch:
    columns = Images(seed).columns(np.arange(rows))
    moments = pa.array(np.arange(rows) * 1_000_003, pa.timestamp("us", "UTC"))
    return pa.RecordBatch.from_pydict({"ts": moments, **columns} if timed else columns)


def of(*images: NDArray[np.generic]) -> pa.RecordBatch:
    bytes_of = [image.astype(np.uint8).tobytes() for image in images]
    return pa.RecordBatch.from_pydict({"id": list(range(len(images))), "image": bytes_of})


def entering(module: VisionModule, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows as they reach a module."""
    for earlier in {
        "dispatcher": (),
        "denoiser-1": (DISPATCHER,),
        "denoiser-2": (DISPATCHER,),
        "edge-detector": (DISPATCHER, DENOISER_1),
        "recognizer": (DISPATCHER, DENOISER_1, EDGE_DETECTOR),
    }[module.name]:
        rows = earlier(rows)
    return rows


def names(schema: str) -> list[str]:
    return [column.split()[0] for column in schema.split(", ")]


@every_module
def test_puts_out_the_columns_of_its_schema(module: VisionModule) -> None:
    assert module(entering(module, batch())).schema.names == names(module.schema)


@every_module
def test_moments_numbers_and_truth_pass_untouched(module: VisionModule) -> None:
    rows = entering(module, batch())
    carried = ["ts", "id", "label", "noise"]
    assert module(rows).select(carried).equals(rows.select(carried))


@every_module
def test_rows_need_no_moment(module: VisionModule) -> None:
    rows = entering(module, batch(timed=False))
    assert "ts" not in module(rows).schema.names


@every_module
def test_the_same_rows_give_the_same_bytes(module: VisionModule) -> None:
    rows = entering(module, batch())
    assert module(rows).equals(module(rows))


@every_module
def test_a_row_alone_gives_what_it_gives_among_others(module: VisionModule) -> None:
    rows = entering(module, batch())
    alone = [module(rows.slice(place, 1)) for place in range(rows.num_rows)]
    assert pa.concat_batches(alone).equals(module(rows))


@every_module
def test_no_rows_give_no_rows_of_the_same_kind(module: VisionModule) -> None:
    rows = entering(module, batch())
    assert module(rows.slice(0, 0)).num_rows == 0
    assert module(rows.slice(0, 0)).schema == module(rows).schema


@every_module
def test_no_module_looks_at_the_truth(module: VisionModule) -> None:
    assert not {"label", "noise", "id", "ts"} & set(module.takes)


def test_a_wrong_truth_changes_no_answer() -> None:
    rows = batch()
    lies = pa.array(["gaussian"] * rows.num_rows)
    misled = rows.set_column(2, "label", lies).set_column(3, "noise", lies)
    found = ["id", "route", "operator", "recognised", "distance"]
    assert serve(misled).select(found).equals(serve(rows).select(found))


@every_module
def test_a_module_survives_the_journey_to_another_process(module: VisionModule) -> None:
    assert pickle.loads(pickle.dumps(module)) == module  # noqa: S301


def test_answers_are_worked_out_one_at_a_time() -> None:
    rows = of(ODD["grey"], np.zeros((3, 3)))
    answers = DISPATCHER.answers(rows)
    assert next(answers) == ("denoiser-1", 0.0)
    with pytest.raises(UserError, match="got 9 bytes"):
        next(answers)


def test_assembles_answers_that_the_caller_timed() -> None:
    rows = batch()
    answers = list(DISPATCHER.answers(rows))
    assert DISPATCHER.assemble(rows, answers).equals(DISPATCHER(rows))


@every_module
@pytest.mark.parametrize("length", [0, 1, 4095, 4097, 31 * 31])
def test_refuses_what_is_no_picture(module: VisionModule, length: int) -> None:
    rows = pa.RecordBatch.from_pydict(
        {"image": [bytes(length)], "edges": [bytes(length)], "amount": [1.0]}
    )
    with pytest.raises(UserError, match=f"an image is square, .* got {length} bytes; send 4096"):
        module(rows)


def test_refuses_a_picture_that_is_missing() -> None:
    with pytest.raises(UserError, match="got 0 bytes"):
        DISPATCHER(pa.RecordBatch.from_pydict({"image": pa.array([None], pa.binary())}))


def test_says_which_column_is_missing() -> None:
    with pytest.raises(UserError, match="module recognizer needs a column edges; the batch has id"):
        RECOGNISER(of(ODD["grey"]))


@pytest.mark.parametrize("image", ODD.values(), ids=list(ODD))
def test_every_picture_comes_out_once_whatever_it_shows(image: NDArray[np.generic]) -> None:
    assert serve(of(image, image))["id"].to_pylist() == [0, 1]


@pytest.mark.parametrize("name", ["black", "white", "grey", "one white pixel"])
def test_where_there_is_nothing_nothing_is_recognised(name: str) -> None:
    served = serve(of(ODD[name]))
    assert (served["recognised"][0].as_py(), served["distance"][0].as_py()) == (NOTHING, 1.0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(min_size=1024, max_size=1024), max_size=3))
def test_any_bytes_of_the_right_length_pass(images: list[bytes]) -> None:
    columns = {
        "id": pa.array(range(len(images)), pa.int64()),
        "image": pa.array(images, pa.binary()),
    }
    served = serve(pa.RecordBatch.from_pydict(columns))
    assert sorted(served["id"].to_pylist()) == list(range(len(images)))
    assert all(0 <= distance <= 1 for distance in served["distance"].to_pylist())


def test_pictures_are_worked_on_by_one_thread() -> None:
    assert cv2.getNumThreads() == 1
