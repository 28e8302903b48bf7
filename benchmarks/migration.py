"""What a migration costs those whose key moves and those whose does not: mpc, Fig. 10, on Spark.

Four replicas on executors of their own; every few batches the table changes so that 80 % of the
keys change hands. The same stream under the paper's protocol (MP) and the two that block, with the
state in files on this machine, and with two milliseconds more for each key that changes hands, as
from far away.
Latency is from a quote's creation until its replica has the result.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from benchmarks.quote_stream import cluster, stream, wait_until
from penstock.apps.trading.application import Algotrader
from penstock.core.routing import Routing
from penstock.query.keyed import PROTOCOLS, KeyedOperator, Setting
from penstock.workload.keys import names

SYMBOLS, REPLICAS, MOVED_SHARE = 2836, 4, 0.8
RATE, SERVICE, TRIGGER = 2000.0, 1e-3, 2.0
WARM, BETWEEN, MIGRATIONS = 6, 4, 5
FETCH = (2e-3, 0.0)
Floats = NDArray[np.float64]


def main() -> None:
    """Print latencies of moved and unmoved keys, in the batch of the migration and otherwise."""
    print(f"{REPLICAS} replicas, {RATE:g} quotes/s, {SERVICE * 1e3:g} ms each (waited), a batch ")
    print(f"every {TRIGGER:g} s; {MIGRATIONS} migrations of {MOVED_SHARE:.0%} of {SYMBOLS} keys")
    print(f"\n{'':26}{'quiet batches':>16}{'moved keys':>22}{'unmoved keys':>22}")
    print(f"{'protocol, fetch':26}{'p50':>8}{'p95':>8}{'p50':>11}{'p95':>11}{'p50':>11}{'p95':>11}")
    with cluster(REPLICAS) as (spark, folder):
        for fetch in FETCH:
            for protocol in PROTOCOLS:
                place = folder / f"{protocol}-{fetch}"
                place.mkdir()
                _print(protocol, fetch, _measure(spark, place, protocol, fetch))


@dataclass
class Batches:
    """Latencies of all results, by batch."""

    ages: dict[int, list[Floats]] = field(default_factory=lambda: defaultdict(list))
    symbols: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    moved: dict[int, set[str]] = field(default_factory=dict)
    """By the batch in which a new table came into force, the keys that changed hands."""

    def sink(self, results: pa.Table, step: int) -> None:
        """Remember when each result was there; rows that had waited count to their own batch."""
        created = results["ts"].cast(pa.int64()).to_numpy()
        self.ages[step].append((results["done"].to_numpy() - created) / 1e6)
        self.symbols[step] += results["symbol"].to_pylist()

    def latencies(self, kind: str) -> Floats:
        """In quiet batches, or of moved or unmoved keys in batches about a migration."""
        found: list[float] = []
        for step, parts in self.ages.items():
            change = max((s for s in self.moved if s <= step), default=None)
            near = change is not None and step - change <= 2  # its own batch and the next
            if step < 2 * WARM or (kind == "quiet") == near:
                continue
            ages = np.concatenate(parts)
            if change is not None and near:
                hit = np.array(
                    [symbol in self.moved[change] for symbol in self.symbols[step]], bool
                )
                ages = ages[hit if kind == "moved" else ~hit]
            found += ages.tolist()
        return np.array(found)


def _measure(spark: SparkSession, folder: Path, protocol: str, fetch: float) -> Batches:
    tables, batches = _tables(), Batches()
    operator = KeyedOperator(
        work=Algotrader(),
        store=str(folder / "store"),
        sink=batches.sink,
        table=tables[0],
        setting=Setting(protocol=protocol, service_time=SERVICE, spend="wait", fetch_delay=fetch),
    )

    def take(batch: DataFrame, number: int) -> None:
        due = number >= WARM and (number - WARM) % BETWEEN == 0
        if due and len(batches.moved) < MIGRATIONS:
            before = operator.table
            after = tables[0] if before == tables[1] else tables[1]
            operator.reroute(after)
            batches.moved[2 * number] = set(before.moved(after, names(SYMBOLS)))
        operator.take(batch, number)

    def done() -> bool:
        last = max(batches.moved, default=0)
        return len(batches.moved) == MIGRATIONS and max(batches.ages) >= last + 2 * BETWEEN

    with stream(spark, folder, take, rate=RATE, parts=REPLICAS, trigger=TRIGGER) as query:
        wait_until(done, query)
    operator.settle()
    return batches


def _tables() -> tuple[Routing, Routing]:
    """Two tables that differ in the owner of so many keys."""
    random, keys = np.random.default_rng(2), names(SYMBOLS)
    drawn = random.integers(0, REPLICAS, SYMBOLS).tolist()
    first = dict(zip(keys, drawn, strict=True))
    second = {
        key: (owner + int(random.integers(1, REPLICAS))) % REPLICAS
        if random.random() < MOVED_SHARE
        else owner
        for key, owner in first.items()
    }
    return Routing(replicas=REPLICAS, owners=first), Routing(replicas=REPLICAS, owners=second)


def _print(protocol: str, fetch: float, found: Batches) -> None:
    figures = []
    for kind in ("quiet", "moved", "unmoved"):
        ages = found.latencies(kind)
        figures += [f"{np.quantile(ages, q):.2f} s" for q in (0.5, 0.95)]
    quiet, rest = figures[:2], figures[2:]
    name = f"{protocol}, {fetch * 1e3:g} ms a key"
    print(f"{name:26}" + "".join(f"{f:>8}" for f in quiet) + "".join(f"{f:>11}" for f in rest))


if __name__ == "__main__":
    main()
