"""Developer interfaces of Spark for applications that somebody else wrote.

As in `backend.py`, every call is made by a test on a real cluster.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.plant.spark.backend import Backend

_BATCH: Final = re.compile(r"batch = (\d+)")
_MOST_JOBS: Final = 40
"""Jobs of a query that are looked at in a step; a call or two each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the plan of a query tells that its progress does not."""

    options: Mapping[str, str]
    """Of its sink."""
    table: str | None
    """The table of the catalog that it writes."""
    trigger: float | None
    """Seconds between two triggers; None where it has no such trigger."""


class Foreign:
    """Calls about queries and executors that were not started by us."""

    def __init__(self, spark: SparkSession, backend: Backend) -> None:
        self._spark, self._backend = spark, backend
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self._context = context._jsc.sc()

    def kill_idle(self, executors: Iterable[str]) -> tuple[str, ...]:
        """Remove executors, but none that has a task; returns those that go.

        What was requested stays as it is: lower it first, or others come in their place.
        """
        ids = self._jvm.java.util.ArrayList()
        for executor in executors:
            ids.add(executor)
        words = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(ids)
        killed = self._context.schedulerBackend().killExecutors(words, False, False, False)
        return tuple(killed.apply(place) for place in range(killed.size()))

    def plan(self, query: StreamingQuery) -> Plan:
        """The plan of a query that has told its first progress."""
        execution = self._execution(query)
        plan = execution.logicalPlan()
        return Plan(
            options=self._options(plan), table=_table(plan), trigger=_trigger(execution.trigger())
        )

    def seconds_of(self, run: str, batches: Collection[int]) -> float | None:
        """Seconds of executors' time that the jobs of these batches took; None where none is
        known. Jobs of a query carry the id of its run as their group."""
        tracker = self._spark.sparkContext.statusTracker()
        found: list[float] = []
        for job in sorted(tracker.getJobIdsForGroup(run), reverse=True)[:_MOST_JOBS]:
            told = self._job(job)
            match = _BATCH.search(told.get("description") or "")
            batch = int(match[1]) if match else None
            if batch in batches:
                found.extend(self._seconds_of_stage(stage) for stage in told["stageIds"])
            elif batch is not None and batch < min(batches):
                break
        return sum(found) if found else None

    def _job(self, job: int) -> dict[str, Any]:
        try:
            told: dict[str, Any] = self._backend._fetch(self._context.statusStore().job(job))
        except Py4JJavaError:  # Spark has forgotten it between the two calls
            return {}
        return told

    def _seconds_of_stage(self, stage: int) -> float:
        try:
            attempt = self._context.statusStore().lastStageAttempt(stage)
        except Py4JJavaError:
            return 0.0  # it was skipped
        return float(attempt.executorRunTime()) / 1000

    def _execution(self, query: StreamingQuery) -> Any:
        wrapper: Any = query._jsq
        return wrapper.streamingQuery()

    def _options(self, plan: Any) -> dict[str, str]:
        try:
            told = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(plan.writeOptions())
        except Py4JError:
            return {}
        return {str(key): str(told[key]) for key in told}


def _table(plan: Any) -> str | None:
    try:
        table = plan.catalogTable()
        return None if table.isEmpty() else str(table.get().identifier().unquotedString())
    except Py4JError:
        return None  # a sink of the newer kind, whose table has no place in the catalog


def _trigger(trigger: Any) -> float | None:
    if trigger.getClass().getSimpleName() != "ProcessingTimeTrigger":
        return None
    return float(trigger.intervalMs()) / 1000
