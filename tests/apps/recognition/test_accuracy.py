"""How often the service is right, and that each of its parts is needed for it."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.apps.recognition.denoise import GAUSSIAN, IMPULSE, from_bytes
from penstock.apps.recognition.images import LABELS, Images
from penstock.apps.recognition.modules import (
    DENOISER_1,
    DENOISER_2,
    DISPATCHER,
    EDGE_DETECTOR,
    RECOGNISER,
    ROUTES,
    VisionModule,
)
from penstock.apps.recognition.outlines import OPERATORS, largest, nearest


@pytest.fixture(scope="module")
def dispatched() -> pa.RecordBatch:
    return DISPATCHER(pa.RecordBatch.from_pydict(Images(seed=42).columns(np.arange(500))))


@pytest.fixture(scope="module")
def denoised(dispatched: pa.RecordBatch) -> pa.RecordBatch:
    return pa.concat_batches(
        [
            denoiser(dispatched.filter(pc.equal(dispatched["route"], denoiser.name)))
            for denoiser in (DENOISER_1, DENOISER_2)
        ]
    )


@pytest.fixture(scope="module")
def recognised(denoised: pa.RecordBatch) -> pa.RecordBatch:
    return RECOGNISER(EDGE_DETECTOR(denoised))


def accuracy(rows: pa.RecordBatch, **of: str) -> float:
    for column, value in of.items():
        rows = rows.filter(pc.equal(rows[column], value))
    return float(pc.mean(pc.equal(rows["label"], rows["recognised"])).as_py())


def test_nearly_every_shape_is_recognised(recognised: pa.RecordBatch) -> None:
    assert recognised.num_rows == 500
    assert accuracy(recognised) >= 0.95


@pytest.mark.parametrize("label", LABELS)
def test_no_shape_is_much_harder_than_the_others(recognised: pa.RecordBatch, label: str) -> None:
    assert accuracy(recognised, label=label) >= 0.85


def test_the_dispatcher_distinguishes_the_kinds_of_noise(dispatched: pa.RecordBatch) -> None:
    right = [ROUTES[noise] for noise in dispatched["noise"].to_pylist()]
    assert np.mean(np.array(right) == dispatched["route"].to_pylist()) >= 0.99


@pytest.fixture(scope="module")
def spoiled(dispatched: pa.RecordBatch) -> pa.RecordBatch:
    """What is recognised without denoisers."""
    return RECOGNISER(EDGE_DETECTOR(dispatched))


@pytest.mark.parametrize(("noise", "gain"), [(GAUSSIAN, 0.05), (IMPULSE, 0.5)])
def test_each_denoiser_earns_its_place(
    spoiled: pa.RecordBatch, recognised: pa.RecordBatch, noise: str, gain: float
) -> None:
    assert accuracy(recognised, noise=noise) >= accuracy(spoiled, noise=noise) + gain


@pytest.mark.parametrize("denoiser", [DENOISER_1, DENOISER_2], ids=["denoiser-1", "denoiser-2"])
def test_neither_denoiser_can_do_the_work_of_both(
    dispatched: pa.RecordBatch, recognised: pa.RecordBatch, denoiser: VisionModule
) -> None:
    alone = RECOGNISER(EDGE_DETECTOR(denoiser(dispatched.slice(0, 250))))
    assert accuracy(alone) < accuracy(recognised) - 0.02


def test_every_edge_detector_is_used(recognised: pa.RecordBatch) -> None:
    used = Counter(recognised["operator"].to_pylist())
    assert set(used) == set(OPERATORS)
    assert min(used.values()) >= 50


@pytest.mark.parametrize("operator", OPERATORS)
def test_choosing_is_no_worse_than_any_one_detector(
    denoised: pa.RecordBatch, recognised: pa.RecordBatch, operator: str
) -> None:
    edges = (OPERATORS[operator](from_bytes(image)) for image in denoised["image"].to_pylist())
    found = [nearest(largest(edge)).label for edge in edges]
    alone = np.mean(np.array(found) == denoised["label"].to_pylist())
    assert accuracy(recognised) >= alone - 0.01
