"""The splitter: which replica a row goes to, and its place in the stream.

>>> rows = pa.RecordBatch.from_pydict({"key": ["A", "B"]})
>>> [routed] = route([rows], key="key", table=Routing(replicas=3, owners={"A": 2, "B": 0}))
>>> routed[REPLICA].to_pylist(), routed[ARRIVAL].to_pylist()
([2, 0], [0, 1])
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from penstock.core.routing import Routing

REPLICA: Final = "_replica"
ARRIVAL: Final = "_arrival"
"""The columns that the splitter adds."""
_PART_BITS: Final = 40
"""Rows that a part of a batch may have, as a power of two."""


def route(
    batches: Iterable[pa.RecordBatch], *, key: str, table: Routing
) -> Iterator[pa.RecordBatch]:
    """Rows with the replica that owns their key, and their place in the stream.

    The parts of a batch are in the order of the stream, and so are the rows of a part; on their way
    to a replica they are not.
    """
    known = pa.array(list(table.owners), pa.string())
    owners = pa.array(list(table.owners.values()), pa.int32())
    place = partition() << _PART_BITS
    for batch in batches:
        keys = as_text(batch.column(key))
        index = pc.index_in(keys, value_set=known)
        owner = owners.take(index) if len(owners) else pa.nulls(len(keys), pa.int32())
        if owner.null_count:
            owner = pc.coalesce(owner, _by_checksum(keys, table))
        arrival = pa.array(np.arange(place, place + len(keys)))
        place += len(keys)
        yield batch.append_column(REPLICA, owner).append_column(ARRIVAL, arrival)


def as_text(keys: pa.Array) -> pa.Array:
    """Keys as strings; null is the empty string."""
    texts = keys if pa.types.is_string(keys.type) else keys.cast(pa.string())
    return texts.fill_null("")


def partition() -> int:
    """The number of this task's partition; 0 outside of Spark."""
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _by_checksum(keys: pa.Array, table: Routing) -> pa.Array:
    distinct = keys.unique()
    owners = pa.array([table.owner(key) for key in distinct.to_pylist()], pa.int32())
    return owners.take(pc.index_in(keys, value_set=distinct))
