"""The parts of an application: its rows, its operators, its consumer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.core.graph import Module
from penstock.core.signals import ModuleReading
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.query.keyed import KeyedWork
from penstock.query.preference.splitting import Splitting
from penstock.spark.progress import Batch
from penstock.spark.source import RowMaker, RowPartitioner

RowWork = Callable[[pa.RecordBatch], pa.RecordBatch]
"""From one row to one row; importable by name, so that executors can load it."""
Meter = Callable[[ModuleReading, Sequence[Batch]], Mapping[str, Any]]
"""Further measurements of an operator: fields of a reading, from the progress of a step."""


def unchanged(rows: DataFrame) -> DataFrame:
    """For an operator whose `work` is all it does."""
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A step from one streaming table to the next. Rows carry their creation time as `ts`."""

    schema: str
    """The columns of its output, as a Spark schema string."""
    work: RowWork | None = None
    """What it does to each row, timed one by one; before `apply`."""
    apply: Callable[[DataFrame], DataFrame] = unchanged
    """What it does to the table, as a Spark transformation."""
    meter: Callable[[Module], Meter] | None = None
    """Makes what measures it, given the module that it is in."""
    route: str | None = None
    """The column with the next operator of a row, if there are several."""
    keyed: KeyedWork | None = None
    """What it does to the rows of each key, given earlier rows of that key; the first operator of
    its module, which only a consumer of the results may follow."""
    shuffles: bool = False
    """Whether rows are exchanged between executors; such operators usually hold state."""
    updates: bool = False
    """Whether a result may replace an earlier one."""
    state_parts: int | None = None
    """Parts that its state is kept in; as many as executors can use, unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """How rows of the source are assigned to the executors of the first module."""

    partitioner: Callable[[Splitting], Callable[[], RowPartitioner]]
    """Makes the factory of each batch's partitioner, given the setting of how panes are split."""
    control: SplittingControl | None
    """Adapts that setting from batch to batch; None where panes stay whole."""


class Consumer(Protocol):
    """Takes the last operator's results, batch by batch."""

    def __call__(self, batch: DataFrame, number: int, /) -> None:
        """Process a batch; the same batch may be repeated after a failure."""
        ...

    def results(self) -> dict[str, Any]:
        """The results of the run, as plain values."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A pipeline that Penstock can run on Spark."""

    rows: Callable[..., RowMaker]
    """Makes the rows of the source, given a seed, and the number of keys where rows have any."""
    operators: Mapping[str, Operator]
    """By name, in the order of the flow; the streams between them are in `APPLICATIONS`."""
    partitioning: Partitioning | None = None
    """How rows are assigned to executors; without it, each reads a range of rows."""
    prepare: Callable[[], None] = lambda: None
    """Called once before the executors start, such as to compile."""
    preload: tuple[str, ...] = ()
    """What executors' Python processes load before their first task: `module` to import, or
    `module:function` to call as well."""
    consumer: Callable[[Any], Consumer]
    """Makes the consumer, given the folder where it publishes."""


def publish(page: Any, file: Path) -> None:
    """Write plain values as JSON, replacing the file atomically.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "results" / "page.json"
    >>> publish({"words": 3}, file)
    >>> json.loads(file.read_text())
    {'words': 3}
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}")
    draft.write_text(json.dumps(page, indent=1))
    draft.replace(file)
