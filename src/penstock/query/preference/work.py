"""What every task of a preference query knows: what is compared, and how parts become answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from penstock.core.panes import Panes
from penstock.query.preference.criterion import Criterion
from penstock.query.preference.part import Columns, answer, decode, encode, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is compared with what, and how the best are chosen."""

    columns: Columns
    panes: Panes
    criterion: Criterion
    schema: str = ""
    """The columns of the rows, as Spark writes them."""

    def signature(self) -> dict[str, Any]:
        """What must be the same for a query to go on from where another stopped."""
        return {
            "window": f"{self.panes.window} us",
            "slide": f"{self.panes.slide} us",
            "on": list(self.columns.on),
            "maximise": sorted(self.columns.maximise),
            "by": list(self.columns.by),
            "time": self.columns.time,
            "kind": type(self.criterion).__name__,
            "delta": self.criterion.limit,
            "columns": self.schema,
        }

    def merge(self, payloads: Sequence[bytes]) -> bytes:
        """Several parts as one."""
        if len(payloads) == 1:
            return payloads[0]
        return encode(merge(_decoded(payloads), self.columns, self.criterion))

    def answer(self, window: int, payloads: Sequence[bytes], field: pa.Field) -> pa.Table:
        """The result of a window, which stands in a column of its own before the others."""
        made = answer(_decoded(payloads), self.columns, self.criterion)
        return made.add_column(0, field, self._edges(window, made.num_rows, field.type))

    def _edges(self, window: int, rows: int, kind: pa.StructType) -> pa.StructArray:
        """When the window begins and ends, as often as it has rows."""
        edges = (self.panes.start(window), self.panes.end(window))
        sides = [
            pa.array(np.full(rows, edge)).cast(side.type)
            for edge, side in zip(edges, kind, strict=True)
        ]
        return pa.StructArray.from_arrays(sides, fields=list(kind))


def _decoded(payloads: Sequence[bytes]) -> list[pa.Table]:
    return [decode(payload) for payload in payloads]


# Where a task of a Spark query is.


class Place(NamedTuple):
    """The batch of a streaming query, and the partition that the task works on."""

    batch: int
    task: int


def where() -> Place:
    """The place of the task that asks.

    >>> where()  # outside of Spark
    Place(batch=0, task=0)
    """
    task = TaskContext.get()
    if task is None:
        return Place(0, 0)
    return Place(int(task.getLocalProperty("streaming.sql.batchId") or 0), task.partitionId())
