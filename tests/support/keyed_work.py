"""A small keyed operator, and the same in the plainest Python."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.query.keyed import Groups, Worked

Row = tuple[str, int, int]
"""Key, number, value."""

RESULT = ("key", "number", "sum", "count")
RESULTS = pa.schema([(name, pa.string() if name == "key" else pa.int64()) for name in RESULT])
DTYPE = np.dtype([("number", "i8"), ("ts", "i8"), ("value", "i8")])
COLUMNS = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("number", pa.int64()),
        ("value", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Sums:
    """For every row the sum of the last three of its key, and how many there were; values below
    zero are refused."""

    key: str = "key"
    dtype: np.dtype[Any] = DTYPE
    keep: int = 2
    results: pa.Schema = RESULTS

    def __call__(self, past: Groups, counts: NDArray[np.int64], fresh: Groups) -> Worked:
        results: list[tuple[str, int, int, int]] = []
        triggers: list[int] = []
        kept = fresh.rows["value"] >= 0
        for place, (key, rows) in enumerate(fresh):
            _, old = list(past)[place]
            recent, count = old["value"].tolist(), int(counts[place])
            for at, row in enumerate(rows):
                if row["value"] >= 0:
                    recent, count = [*recent, int(row["value"])][-3:], count + 1
                    results.append((key, int(row["number"]), sum(recent), count))
                    triggers.append(int(fresh.offsets[place]) + at)
        return Worked(
            results=pa.RecordBatch.from_pylist(
                [dict(zip(RESULT, result, strict=True)) for result in results], self.results
            ),
            triggers=np.array(triggers, np.int64),
            kept=kept,
            refused={"negative": int((~kept).sum())},
        )


def table(rows: Iterable[Row]) -> pa.Table:
    """Rows as they reach the splitter."""
    return pa.Table.from_pylist(
        [{"ts": n, "key": key, "number": n, "value": value} for key, n, value in rows], COLUMNS
    )


def reference(rows: Iterable[Row]) -> list[tuple[str, int, int, int]]:
    """What must come out, by number."""
    recent: dict[str, list[int]] = defaultdict(list)
    results = []
    for key, number, value in sorted(rows, key=lambda row: row[1]):
        if value >= 0:
            recent[key].append(value)
            results.append((key, number, sum(recent[key][-3:]), len(recent[key])))
    return results
