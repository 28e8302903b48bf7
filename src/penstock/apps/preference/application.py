"""The application of the ppq paper: the best tuples of every sliding window, found in two stages.

The pane stage (plq) finds the best tuples of each part of a pane, the window stage (wlq) puts panes
together, and the consumer publishes the newest window.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DoubleType, LongType, StructField, StructType, TimestampType

from penstock.apps.preference.tuples import Recorded, Tuples
from penstock.core.panes import Panes
from penstock.model.compiling import require_compiler
from penstock.pipeline.application import Application, Operator, Partitioning, publish
from penstock.pipeline.compose import two_levels
from penstock.pipeline.deploy.loads import QUERY, PaneMeter, WindowMeter
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.settings import PipelineFile
from penstock.query.kernels import load as load_kernels
from penstock.query.preference import pane_stage
from penstock.query.preference.api import plan
from penstock.query.preference.criterion import Criterion, Skyline, TopDelta
from penstock.query.preference.splitting import PanePartitioning
from penstock.query.preference.stages import Query, find_panes, find_windows

PAGE: Final = "best-tuples.json"
_SHOWN: Final = 20
"""Tuples of the newest window that are published."""


def preference(file: PipelineFile) -> Application:
    """The application that a file asks for."""
    require_compiler("preference", extra="apps")
    settings = file.query or PreferenceQuery()
    rows = rows_of(settings, file.seed)
    stages = [m for m in file.graph.modules if "wlq" in (m.operators or (m.name,))]
    # as many tasks as the window stage can ever have executors
    query = query_of(settings, rows, slots=stages[0].max_replicas if stages else 1)
    return Application(
        rows=lambda *_: rows,
        partitioning=partitioning_of(file, query.work.panes),
        prepare=load_kernels,
        preload=("penstock.query.preference", "penstock.query.kernels:load"),
        operators={
            "plq": Operator(
                apply=partial(find_panes, query=query),
                meter=PaneMeter.of,
                schema=_ddl(from_arrow_schema(pane_stage.SCHEMA)),
            ),
            "wlq": Operator(
                apply=partial(find_windows, query=query),
                meter=WindowMeter.of,
                schema=_ddl(query.results),
                shuffles=True,
                state_parts=1,
            ),
            "consumer": Operator(schema=_ddl(query.results)),
        },
        consumer=partial(Best, limit=file.slo.latency_p95),
    )


def partitioning_of(file: PipelineFile, panes: Panes) -> Partitioning | None:
    """How panes go to workers where the policy splits them or keeps them whole; under others an
    executor gets rows that came one after the other, and with them parts of panes."""
    policy = two_levels(file)
    if policy is None:
        return None
    return Partitioning(
        partitioner=lambda splitting: PanePartitioning(panes=panes, splitting=splitting),
        control=policy.inner,
    )


def rows_of(settings: PreferenceQuery, seed: int) -> Any:
    """What makes the tuples."""
    if settings.tuples is not None:
        return Recorded(path=settings.tuples)
    return Tuples(seed=seed, dimensions=settings.dimensions, data=settings.data)


def query_of(settings: PreferenceQuery, rows: Any, *, slots: int) -> Query:
    """The query on such tuples."""
    criterion: Criterion = Skyline() if settings.kind == "skyline" else TopDelta(settings.delta)
    return plan(
        columns_of(rows.names),
        criterion,
        on=rows.names,
        panes=settings.panes(),
        time="ts",
        slack=timedelta(seconds=settings.slack),
        max_slack=timedelta(seconds=settings.max_slack),
        drop_rate=settings.drop_rate,
        slots=slots,
        name=QUERY,
    )


def columns_of(names: Sequence[str]) -> StructType:
    """The columns of tuples on Spark; there is no session yet that could parse them."""
    first = [StructField("ts", TimestampType()), StructField("number", LongType())]
    return StructType([*first, *(StructField(name, DoubleType()) for name in names)])


def _ddl(schema: StructType) -> str:
    quoted = (field.name.replace("`", "``") for field in schema.fields)
    kinds = (field.dataType.simpleString() for field in schema.fields)
    return ", ".join(f"`{name}` {kind}" for name, kind in zip(quoted, kinds, strict=True))


@dataclass(slots=True)
class Best:
    """Publishes the best tuples of the newest window in a file, replaced after every batch.

    A batch that comes again after a failure is known by its number, and not counted twice.
    """

    folder: Path
    limit: float | None = None
    """Seconds after its end by which the result of a window was promised."""
    now: Callable[[], float] = time.time
    windows: int = 0
    tuples: int = 0
    _latencies: list[float] = field(default_factory=list)
    _digest: Any = field(default_factory=hashlib.sha256)
    _newest: dict[str, Any] = field(default_factory=dict)
    _last: int = -1

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take in a batch that Spark has."""
        self.take(batch.toArrow(), number)

    def take(self, results: pa.Table, number: int) -> None:
        """Take in results, and publish."""
        if number <= self._last:
            return
        self._last = number
        if not results.num_rows:
            return
        self.tuples += results.num_rows
        ends = _micros(results, "end")
        edges = np.unique(ends)
        self.windows += len(edges)
        self._latencies += (self.now() - edges / 1e6).tolist()
        self._digest.update(digest(results).encode())
        self._newest = _page(results.filter(pa.array(ends == edges[-1])))
        publish(self._newest, self.folder / PAGE)

    def results(self) -> dict[str, Any]:
        """How many windows came out and how long after their end, and a digest of them all."""
        late = np.quantile(self._latencies or [np.nan], [0.5, 0.99]).round(3).tolist()
        return {
            "windows": self.windows,
            "late_windows": None if self.limit is None else self._late(self.limit),
            "best_tuples": self.tuples,
            "digest": self._digest.hexdigest()[:16],
            "window_latency_seconds": {"p50": late[0], "p99": late[1]} if self._latencies else None,
            "newest_window": self._newest,
        }

    def _late(self, limit: float) -> int:
        """Windows that came later than promised."""
        return int((np.array(self._latencies) > limit).sum())


def _micros(results: pa.Table, edge: str) -> Any:
    column = results["window"].combine_chunks().field(edge)
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _page(window: pa.Table) -> dict[str, Any]:
    """The newest window, as plain values."""
    rows = window.drop_columns(["window", "ts"]).slice(0, _SHOWN).to_pylist()
    edges = window["window"][0].as_py()
    return {
        "start": edges["start"].isoformat(),
        "end": edges["end"].isoformat(),
        "tuples": window.num_rows,
        "best": rows,
    }


def digest(results: pa.Table) -> str:
    """A text that two sets of results share only if they have the same tuples in the same windows
    in the same order."""
    numbers = np.column_stack([_micros(results, "start"), results["number"].to_numpy()])
    return hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()
