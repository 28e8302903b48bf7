"""The pictures of the recognition service: the same for ever, and of every kind."""

import pickle
from collections import Counter

import cv2
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.apps.recognition.images import LABELS, OUTLINES, Images, filled, placed
from penstock.core.errors import SettingError
from penstock.spark.source import RowMaker


def batch(images: Images, begin: int, end: int) -> pa.RecordBatch:
    maker: RowMaker = images
    return pa.RecordBatch.from_pydict(maker.columns(np.arange(begin, end)))


def test_a_picture_is_the_same_however_a_batch_is_cut() -> None:
    whole = batch(Images(seed=3), 0, 12)
    parts = [batch(Images(seed=3), 0, 5), batch(Images(seed=3), 5, 12)]
    assert pa.concat_batches(parts).equals(whole)


def test_pictures_survive_the_journey_to_another_process() -> None:
    images = Images(seed=4, size=48)
    assert batch(pickle.loads(pickle.dumps(images)), 0, 3).equals(batch(images, 0, 3))  # noqa: S301


def test_no_two_numbers_or_seeds_give_the_same_picture() -> None:
    made = [*batch(Images(seed=1), 0, 50)["image"], *batch(Images(seed=2), 0, 50)["image"]]
    assert len(set(made)) == 100


def test_columns_are_those_of_the_schema() -> None:
    types = {"long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
    pairs = [column.split() for column in Images().schema.split(", ")]
    assert batch(Images(), 0, 1).schema == pa.schema([(name, types[kind]) for name, kind in pairs])


def test_pictures_carry_their_numbers() -> None:
    assert batch(Images(), 7, 10)["id"].to_pylist() == [7, 8, 9]


def test_no_rows_are_no_pictures() -> None:
    assert batch(Images(), 5, 5).num_rows == 0


@pytest.mark.parametrize("size", [32, 64, 100])
def test_pictures_have_a_byte_for_each_pixel(size: int) -> None:
    assert {len(image.as_py()) for image in batch(Images(size=size), 0, 20)["image"]} == {size**2}


def test_every_shape_and_both_kinds_of_noise_come_equally_often() -> None:
    drawn = [Images(seed=5).draw(number)[:2] for number in range(1800)]
    labels, noises = Counter(label for label, _ in drawn), Counter(noise for _, noise in drawn)
    assert set(labels) == set(LABELS)
    assert all(abs(count - 200) < 4 * np.sqrt(200 * 8 / 9) for count in labels.values())
    assert all(abs(count - 900) < 4 * np.sqrt(900 / 2) for count in noises.values())


@pytest.mark.parametrize("size", [31, 0, -64])
def test_refuses_pictures_too_small_to_see_anything(size: int) -> None:
    with pytest.raises(SettingError, match=f"size of images must be at least 32, got {size}"):
        Images(size=size)


def test_refuses_a_negative_seed() -> None:
    with pytest.raises(SettingError, match="seed of images must not be negative, got -1"):
        Images(seed=-1)


@given(st.sampled_from(LABELS), st.floats(8, 30), st.floats(0, 2 * np.pi))
def test_a_shape_is_filled_up_to_its_outline(label: str, radius: float, turn: float) -> None:
    outline = placed(OUTLINES[label], (32, 32), radius, turn)
    half_a_pixel = 0.5 * cv2.arcLength(outline, closed=True)
    area = cv2.contourArea(outline)
    assert filled(outline, 64).sum() / 255 == pytest.approx(area, abs=half_a_pixel)


@pytest.mark.parametrize("label", LABELS)
def test_outlines_fill_a_circle_of_radius_one(label: str) -> None:
    assert np.hypot(*OUTLINES[label].T).max() == pytest.approx(1.0, abs=1e-3)
