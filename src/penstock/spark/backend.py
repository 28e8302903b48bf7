"""All calls of Spark's developer interfaces.

Spark has no public call for the number of executors of each resource profile. These are the calls
of its own dynamic allocation, through py4j. A test runs each of them against a real cluster, to
notice a Spark release that changes them.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.resource import (
    ExecutorResourceRequests,
    ResourceProfile,
    ResourceProfileBuilder,
    TaskResourceRequests,
)
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.errors import UserError
from penstock.spark.cluster.nodes import node_of

DEFAULT_PROFILE: Final = 0
_CHUNK: Final = 6000
"""Characters that fit py4j's buffer of 8 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """An executor, active or dead."""

    id: str
    profile: int
    active: bool
    cores: int
    active_tasks: int
    completed_tasks: int
    failed_tasks: int
    busy: float
    """Seconds that its completed tasks took."""
    node: str | None = None
    """The node that hosts it, if nodes have names."""

    @property
    def is_warm(self) -> bool:
        """Whether it has completed a task: the first takes seconds longer."""
        return self.completed_tasks > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTask:
    """A running task."""

    executor: str
    launched: float
    """Seconds since the epoch."""


_BATCH: Final = re.compile(r"batch = (\d+)")
_MOST_JOBS: Final = 40
"""Jobs of a query that are read in a step; one or two calls each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """What is known of a query from its plan."""

    options: Mapping[str, str]
    """Of its sink."""
    table: str | None
    """The table of the catalog that it writes."""
    trigger: float | None
    """Seconds between two triggers; None without a processing-time trigger."""


class Backend:
    """The scheduler and the status of one Spark application."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        context: Any = spark.sparkContext
        self._jvm, self._gateway = context._jvm, context._gateway
        self._context = context._jsc.sc()
        self._scheduler = self._context.schedulerBackend()
        self._store = self._context.statusStore()
        self._json = self._jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        self._nothing = self._scala_map({})
        self._replaced: list[Any] = []
        """Scheduler pools that were replaced."""

    def add_profile(self, memory: str, resource: str | None = None) -> ResourceProfile:
        """A resource profile of one-core executors, each with one unit of a resource if given."""
        executors = ExecutorResourceRequests().cores(1).memory(memory)
        tasks = TaskResourceRequests().cpus(1)
        if resource is not None:  # a core runs one task at a time, which may use all of it
            executors, tasks = executors.resource(resource, 1), tasks.resource(resource, 1)
        profile = ResourceProfileBuilder().require(executors).require(tasks).build
        self._context.resourceProfileManager().addResourceProfile(profile._java_resource_profile)
        return profile

    def request(self, targets: Mapping[int, int]) -> bool:
        """Request so many executors of each profile; returns whether the cluster accepted.

        Starts executors and cancels pending ones; running ones are never removed.
        """
        accepted = self._scheduler.requestTotalExecutors(
            self._scala_map(targets),
            self._scala_map(dict.fromkeys(targets, 0)),
            self._scala_map(dict.fromkeys(targets, self._nothing)),
        )
        return bool(accepted)

    def set_share(self, pool: str, cores: int) -> None:
        """Give a scheduler pool the weight of so many cores, and idle cores beyond; from the next
        stage on.

        The weight of a pool is fixed, so a new pool takes over its name. Running stages end in the
        old one, which is then removed.
        """
        root = self._context.taskScheduler().rootPool()
        before, kinds = root.getSchedulableByName(pool), self._jvm.org.apache.spark.scheduler
        root.addSchedulable(kinds.Pool(pool, kinds.SchedulingMode.FIFO(), cores, cores))
        done = [old for old in self._replaced if old.schedulableQueue().isEmpty()]
        for old in done:
            root.schedulableQueue().remove(old)
        left = [old for old in self._replaced if old not in done]
        self._replaced = [*left, *([] if before is None else [before])]

    def decommission(self, executors: Iterable[str]) -> tuple[str, ...]:
        """Decommission executors: they finish their tasks and end; returns those accepted.

        The request stays as it is: lower it first, or others are started in their place.
        """
        ids = list(executors)
        pair, info = self._jvm.scala.Tuple2, self._jvm.org.apache.spark.scheduler
        none = self._jvm.scala.Option.empty()
        leaving = self._gateway.new_array(pair, len(ids))
        for place, executor in enumerate(ids):
            leaving[place] = pair(executor, info.ExecutorDecommissionInfo("scaled in", none))
        accepted = self._scheduler.decommissionExecutors(leaving, False, False)
        return tuple(accepted.apply(place) for place in range(accepted.size()))

    def kill_idle(self, executors: Iterable[str]) -> tuple[str, ...]:
        """Kill executors that have no task; returns those killed.

        The request stays as it is: lower it first, or others are started in their place.
        """
        ids = self._jvm.java.util.ArrayList()
        for executor in executors:
            ids.add(executor)
        words = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(ids)
        killed = self._scheduler.killExecutors(words, False, False, False)
        return tuple(killed.apply(place) for place in range(killed.size()))

    def executors(self, *, driver: bool = False) -> tuple[Executor, ...]:
        """Every executor the application has or had, and the driver on request."""
        entries = self._fetch(self._store.executorList(False))
        return tuple(_executor(entry) for entry in entries if driver or entry["id"] != "driver")

    def running_tasks(self) -> tuple[RunningTask, ...]:
        """The tasks that run now."""
        stages = self._spark.sparkContext.statusTracker().getActiveStageIds()
        return tuple(task for stage in stages for task in self._running_tasks_of(stage))

    def _running_tasks_of(self, stage: int) -> list[RunningTask]:
        try:
            attempt = self._store.lastStageAttempt(stage).attemptId()
            tasks = self._store.taskList(stage, attempt, 1000)
        except Py4JJavaError:
            return []  # the stage ended between the two calls
        return [
            _running_task(entry) for entry in self._fetch(tasks) if entry["status"] == "RUNNING"
        ]

    def plan(self, query: StreamingQuery) -> QueryPlan:
        """The plan of a query that has reported progress."""
        wrapper: Any = query._jsq
        execution = wrapper.streamingQuery()
        plan = execution.logicalPlan()
        return QueryPlan(
            options=self._options(plan), table=_table(plan), trigger=_trigger(execution.trigger())
        )

    def executor_seconds(self, run: str, batches: Collection[int]) -> float | None:
        """Executor-seconds of the jobs of these batches; None if unknown. The job group of a query
        is the id of its run."""
        tracker = self._spark.sparkContext.statusTracker()
        seconds: list[float] = []
        for job in sorted(tracker.getJobIdsForGroup(run), reverse=True)[:_MOST_JOBS]:
            entry = self._job(job)
            match = _BATCH.search(entry.get("description") or "")
            batch = int(match[1]) if match else None
            if batch in batches:
                seconds.extend(self._seconds_of_stage(stage) for stage in entry["stageIds"])
            elif batch is not None and batch < min(batches):
                break
        return sum(seconds) if seconds else None

    def _job(self, job: int) -> dict[str, Any]:
        try:
            entry: dict[str, Any] = self._fetch(self._store.job(job))
        except Py4JJavaError:  # Spark has dropped it between the two calls
            return {}
        return entry

    def _seconds_of_stage(self, stage: int) -> float:
        try:
            attempt = self._store.lastStageAttempt(stage)
        except Py4JJavaError:
            return 0.0  # it was skipped
        return float(attempt.executorRunTime()) / 1000

    def _fetch(self, values: Any) -> Any:
        """A Scala value as plain data, through JSON, in chunks.

        An answer larger than py4j's buffer is sent in two parts, the second 40 ms later.
        """
        written = self._jvm.java.io.StringWriter()
        self._json.writeValue(written, values)
        text, length = written.getBuffer(), written.getBuffer().length()
        places = range(0, length, _CHUNK)
        return json.loads("".join(text.substring(a, min(a + _CHUNK, length)) for a in places))

    def _options(self, plan: Any) -> dict[str, str]:
        try:
            options = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(plan.writeOptions())
        except Py4JError:
            return {}
        return {str(key): str(options[key]) for key in options}

    def _scala_map(self, entries: Mapping[int, Any]) -> Any:
        table = self._jvm.java.util.HashMap()
        for key, value in entries.items():
            table.put(key, value)
        return self._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(table)


def _executor(entry: Mapping[str, Any]) -> Executor:
    return Executor(
        id=entry["id"],
        profile=entry["resourceProfileId"],
        active=entry["isActive"],
        cores=entry["totalCores"],
        active_tasks=entry["activeTasks"],
        completed_tasks=entry["completedTasks"],
        failed_tasks=entry["failedTasks"],
        busy=entry["totalDuration"] / 1000,
        node=node_of(entry["resources"]),
    )


def _running_task(entry: Mapping[str, Any]) -> RunningTask:
    launched = datetime.strptime(entry["launchTime"], "%Y-%m-%dT%H:%M:%S.%f%Z")
    return RunningTask(executor=entry["executorId"], launched=launched.timestamp())


def _table(plan: Any) -> str | None:
    try:
        table = plan.catalogTable()
        return None if table.isEmpty() else str(table.get().identifier().unquotedString())
    except Py4JError:
        return None  # a DataSource V2 sink, whose table is not in the catalog


def _trigger(trigger: Any) -> float | None:
    if trigger.getClass().getSimpleName() != "ProcessingTimeTrigger":
        return None
    return float(trigger.intervalMs()) / 1000


# At most one controller per application: two would undo each other's decisions. A property in its
# JVM, which every controller sees, has the name of the first.

_PREFIX: Final = "penstock.controller."


def acquire_control(spark: SparkSession, controller: str) -> None:
    """Take control of the application; refused if another controller has it."""
    application = spark.sparkContext.applicationId
    other = _properties(spark).putIfAbsent(f"{_PREFIX}{application}", controller)
    if other is not None:
        raise UserError(
            f"application {application} is controlled already by {other}; stop that first"
        )


def release_control(spark: SparkSession) -> None:
    """Give up control, so that another controller may take it."""
    _properties(spark).remove(f"{_PREFIX}{spark.sparkContext.applicationId}")


@contextmanager
def controlled(spark: SparkSession, controller: str) -> Iterator[None]:
    """Control of the application for the time of a block."""
    acquire_control(spark, controller)
    try:
        yield
    finally:
        with suppress(Exception):  # the JVM may have ended, and the property with it
            release_control(spark)


def _properties(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jvm.java.lang.System.getProperties()
