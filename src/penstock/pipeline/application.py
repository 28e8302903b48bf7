"""What an application is made of: rows that come in, operators that they cross, and a result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame

from penstock.plant.spark.source import RowMaker


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A step from one streaming table to the next. Rows carry their moment of creation as `ts`."""

    apply: Callable[[DataFrame], DataFrame]
    schema: str
    """The columns that it puts out, as Spark writes them."""
    shuffles: bool = False
    """Whether rows change places between executors; such operators usually hold state."""


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

    rows: Callable[[int], RowMaker]
    """Makes the rows of the source, given a seed."""
    operators: Mapping[str, Operator]
    """By name, in the order in which rows cross them."""
    consumer: Callable[[Any], Consumer]
    """Makes the consumer, given the folder where it publishes."""
