"""How many quotes a second the trading pipeline takes from end to end on Spark, and where the time
goes. More come than it can take; nothing is waited for; two executors on two cores.

Of every batch the first stages are also run alone, into nowhere: what each adds is its share.
"""

import time
from collections import defaultdict
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from benchmarks.quote_stream import cluster, stream, wait_until
from penstock.apps.trading.application import Algotrader
from penstock.core.routing import Routing
from penstock.query.keyed import KeyedOperator
from penstock.query.keyed.task import TaskReport
from penstock.query.keyed.work import ARRIVAL, REPLICA, route
from penstock.workload.keys import names

ROWS, EXECUTORS, WARM, BATCHES = 200_000, 2, 6, 12
STAGES = (
    "source: quotes made, Arrow to the JVM",
    "splitter: to Python and back",
    "exchange by replica",
    "replicas: to Python, state, windows; results",
)


def main() -> None:
    """Print both."""
    owners = {key: number % EXECUTORS for number, key in enumerate(names(2836))}
    table, reports = Routing(replicas=EXECUTORS, owners=owners), list[TaskReport]()
    times: dict[str, list[float]] = defaultdict(list)
    with cluster(EXECUTORS) as (spark, folder):
        operator = KeyedOperator(
            work=Algotrader(),
            store=str(folder / "store"),
            sink=_nowhere,
            table=table,
            on_report=reports.extend,
        )

        def take(batch: DataFrame, number: int) -> None:
            if number < WARM:
                operator.take(batch, number)
                return
            routed = _routed(batch, table)
            parts = (batch, routed, routed.repartitionById(EXECUTORS, REPLICA))
            for name, part in zip(STAGES, parts, strict=False):
                begin = time.perf_counter()
                part.write.format("noop").mode("overwrite").save()
                times[name].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            operator.take(batch, number)
            times[STAGES[-1]].append(time.perf_counter() - begin)

        with stream(spark, folder, take, rate=1e6, parts=EXECUTORS, max_rows=ROWS) as query:
            wait_until(lambda: len(times[STAGES[-1]]) >= BATCHES, query)
    _print(times, reports)


def _routed(batch: DataFrame, table: Routing) -> DataFrame:
    added = [StructField(REPLICA, IntegerType()), StructField(ARRIVAL, LongType())]
    columns = StructType([*batch.schema.fields, *added])
    return batch.mapInArrow(partial(route, key="symbol", table=table), columns)


def _nowhere(results: pa.Table, step: int) -> None:
    """Take no notice."""


def _print(times: dict[str, list[float]], reports: list[TaskReport]) -> None:
    whole = np.array(times[STAGES[-1]])
    rates = np.sort(ROWS / whole)
    print(f"{len(whole)} batches of {ROWS:,} quotes on {EXECUTORS} executors, quotes a second:")
    print(f"  low {rates[0]:,.0f}, median {np.median(rates):,.0f}, high {rates[-1]:,.0f}")
    print("where the time of a batch goes, medians:")
    before = 0.0
    for name in STAGES:
        until = float(np.median(times[name]))
        print(f"  {name:<48}{until - before:7.2f} s")
        before = until
    late = reports[-EXECUTORS * len(whole) :]
    share = float(np.mean([one.service for one in late]))
    print(f"  of which a replica: windows {share:.2f} s, ", end="")
    print(f"all of its task {float(np.mean([one.took for one in late])):.2f} s")


if __name__ == "__main__":
    main()
