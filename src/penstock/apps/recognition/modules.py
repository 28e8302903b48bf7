"""The five modules of the recognition service, each from one Arrow batch to the next.

A module sees only the columns that it names: the true label and kind of noise travel past it. Each
picture is worked on by itself, so that the caller can time every row.

>>> import numpy as np
>>> from penstock.apps.recognition.images import Images
>>> batch = pa.RecordBatch.from_pydict(Images(seed=1).columns(np.arange(3)))
>>> served = serve(batch)
>>> served["label"].to_pylist(), served["recognised"].to_pylist()
(['corner', 'square', 'star'], ['corner', 'square', 'star'])
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from penstock.apps.recognition.denoise import (
    GAUSSIAN,
    IMPULSE,
    from_bytes,
    measure,
    non_local_means,
    restored,
)
from penstock.apps.recognition.outlines import OPERATORS, choose, largest, nearest
from penstock.core.errors import UserError

ROUTES: Final = {GAUSSIAN: "denoiser-1", IMPULSE: "denoiser-2"}
"""Which denoiser takes pictures with which noise."""

_TRUTH: Final = "ts timestamp, id long, label string, noise string"
DISPATCHED: Final = f"{_TRUTH}, route string, amount double, image binary"
DENOISED: Final = f"{_TRUTH}, route string, image binary"
OUTLINED: Final = f"{_TRUTH}, route string, operator string, edges binary"
RECOGNISED: Final = f"{_TRUTH}, route string, operator string, recognised string, distance double"


@dataclass(frozen=True, slots=True)
class VisionModule:
    """One module: what it looks at, what it finds, and the columns that it passes on."""

    name: str
    work: Callable[..., tuple[Any, ...]]
    """From the values that it takes to those that it gives, for one row."""
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    schema: str
    """The columns that it puts out, as Spark writes them; `ts` is left out where there is none."""

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as the next module needs it, a row for a row."""
        return self.assemble(batch, self.answers(batch))

    def answers(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        """What the module gives for each row, worked out only when it is asked for."""
        for column in self.takes:
            if column not in batch.schema.names:
                raise UserError(
                    f"module {self.name} needs a column {column}; "
                    f"the batch has {', '.join(batch.schema.names)}"
                )
        rows = zip(*(batch[column].to_pylist() for column in self.takes), strict=True)
        return (self.work(*row) for row in rows)

    def assemble(self, batch: pa.RecordBatch, answers: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
        """The batch that goes on, from the one that came and the answers for its rows."""
        listed = list(answers)
        columns = {name: batch[name] for name in batch.schema.names}
        for place, name in enumerate(self.gives):
            columns[name] = pa.array([row[place] for row in listed], self._types()[name])
        names = [name for name in self._types() if name in columns]
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names)

    def _types(self) -> dict[str, pa.DataType]:
        pairs = (column.split() for column in self.schema.split(", "))
        return {name: _ARROW[kind] for name, kind in pairs}


def serve(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The whole service on one batch; pictures with Gaussian noise come out first."""
    dispatched = DISPATCHER(batch)
    denoised = [
        denoiser(dispatched.filter(pc.equal(dispatched["route"], denoiser.name)))
        for denoiser in (DENOISER_1, DENOISER_2)
    ]
    return RECOGNISER(EDGE_DETECTOR(pa.concat_batches(denoised)))


def _dispatch(image: bytes) -> tuple[str, float]:
    noise = measure(from_bytes(image))
    return ROUTES[noise.kind], noise.amount


def _smooth(image: bytes, amount: float) -> tuple[bytes]:
    return (non_local_means(from_bytes(image), amount).tobytes(),)


def _restore(image: bytes) -> tuple[bytes]:
    return (restored(from_bytes(image)).tobytes(),)


def _outline(image: bytes) -> tuple[str, bytes]:
    picture = from_bytes(image)
    operator = choose(picture)
    return operator, OPERATORS[operator](picture).tobytes()


def _recognise(edges: bytes) -> tuple[str, float]:
    match = nearest(largest(from_bytes(edges)))
    return match.label, match.distance


_ARROW: Final = {
    "timestamp": pa.timestamp("us", "UTC"),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}

_IMAGE: Final = ("image",)
DISPATCHER: Final = VisionModule("dispatcher", _dispatch, _IMAGE, ("route", "amount"), DISPATCHED)
DENOISER_1: Final = VisionModule("denoiser-1", _smooth, ("image", "amount"), _IMAGE, DENOISED)
DENOISER_2: Final = VisionModule("denoiser-2", _restore, _IMAGE, _IMAGE, DENOISED)
EDGE_DETECTOR: Final = VisionModule(
    "edge-detector", _outline, _IMAGE, ("operator", "edges"), OUTLINED
)
RECOGNISER: Final = VisionModule(
    "recognizer", _recognise, ("edges",), ("recognised", "distance"), RECOGNISED
)
MODULES: Final = {
    module.name: module
    for module in (DISPATCHER, DENOISER_1, DENOISER_2, EDGE_DETECTOR, RECOGNISER)
}
"""Every module by its name."""
