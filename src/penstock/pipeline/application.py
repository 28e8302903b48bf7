"""What an application is made of: rows that come in, operators that they cross, and a result."""

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
"""Makes one row of one row; importable by name, so that executors can have it."""
Meter = Callable[[ModuleReading, Sequence[Batch]], Mapping[str, Any]]
"""What an operator measures besides rows: fields of a reading, from the progress of a step."""


def unchanged(rows: DataFrame) -> DataFrame:
    """For an operator that has no more to say than its work on each row."""
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A step from one streaming table to the next. Rows carry their moment of creation as `ts`."""

    schema: str
    """The columns that it puts out, as Spark writes them."""
    work: RowWork | None = None
    """What it does to each row, timed one by one; before `apply`."""
    apply: Callable[[DataFrame], DataFrame] = unchanged
    """What it does to the table, in Spark's own words."""
    meter: Callable[[Module], Meter] | None = None
    """Makes what measures it, given the module that it is in."""
    route: str | None = None
    """The column that says which operator a row goes to, where there are several."""
    keyed: KeyedWork | None = None
    """What it does to the rows of each key, given the rows of that key that came before; the first
    operator of its module, which then has nothing else to say than what consumes the results."""
    shuffles: bool = False
    """Whether rows change places between executors; such operators usually hold state."""
    updates: bool = False
    """Whether a result may take the place of an earlier one."""
    state_parts: int | None = None
    """Parts that its state is kept in; as many as executors can use, unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """How rows of the source are shared out among the executors of the first module."""

    partitioner: Callable[[Splitting], Callable[[], RowPartitioner]]
    """Makes the factory of each batch's partitioner, given the setting of how panes are split."""
    control: SplittingControl | None
    """Adapts that setting from batch to batch; None where panes stay whole."""


class Consumer(Protocol):
    """Takes in the last operator's results, batch by batch."""

    def __call__(self, batch: DataFrame, number: int, /) -> None:
        """Take in a batch; the same batch may come again after a failure."""
        ...

    def results(self) -> dict[str, Any]:
        """What came out, as plain values."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A pipeline that Penstock can run on Spark."""

    rows: Callable[..., RowMaker]
    """Makes the rows of the source, given a seed, and the number of keys where rows have any."""
    operators: Mapping[str, Operator]
    """By name, in an order in which rows cross them; `APPLICATIONS` says who feeds whom."""
    partitioning: Partitioning | None = None
    """How rows are shared out; without it, each executor reads rows that came one after the
    other."""
    prepare: Callable[[], None] = lambda: None
    """What is best done once before executors do it all at the same time, such as compiling."""
    preload: tuple[str, ...] = ()
    """What Python processes of executors load before their first task: `module` to import, or
    `module:function` to call as well."""
    consumer: Callable[[Any], Consumer]
    """Makes the consumer, given the folder where it publishes."""


def publish(page: Any, file: Path) -> None:
    """Write plain values as JSON, in the place of what was there before; never half of it.

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
