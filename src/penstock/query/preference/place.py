"""Where a task of a Spark query is."""

from typing import NamedTuple

from pyspark import TaskContext


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
