"""The trading application on a real cluster, steered by model predictive control."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.apps.trading.application import PAGE, digest
from penstock.apps.trading.quotes import Quotes
from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import load
from penstock.spark.machine import Machine
from tests.support.spark_runs import SharedSpark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SYMBOLS, SECONDS = 400, 24.0
CLOCKED = bool(Machine.find().frequencies)
"""A test does not set the clock of somebody's machine."""
SETTINGS = (
    "workload=step:300/s,1500/s@8s",
    f"policy={{name: mpc, strategy: {'th-node' if CLOCKED else 'th-power'}, warm_up: 1}}",
    "guards=[]",
    "step=2s",
    f"modules.algotrader.keys={SYMBOLS}",
    "modules.algotrader.max_replicas=3",
    "modules.algotrader.initial_replicas=1",
    "modules.algotrader.trigger=1s",
)


@dataclass
class Run:
    ticks: list[Tick] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    page: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSpark]:
    with SharedSpark.opened(load("trading", SETTINGS), tmp_path_factory.mktemp("spark")) as opened:
        yield opened


@pytest.fixture(scope="module")
def run(spark: SharedSpark, tmp_path_factory: pytest.TempPathFactory) -> Run:
    outcome, folder = Run(), tmp_path_factory.mktemp("trading")
    file = load("trading", SETTINGS)
    with spark.deployed(file, folder, SECONDS) as plant:
        outcome.ticks = list(control(plant, build_policy(file)))
    outcome.results, outcome.page = plant.results, json.loads((folder / PAGE).read_text())
    return outcome


def expected(rows: int) -> pa.Table:
    """Which windows rows without a fault complete: every 25th quote of a symbol that has a side."""
    quotes = Quotes(seed=1, symbols=SYMBOLS).columns(np.arange(rows))
    counts: Counter[str] = Counter()
    windows: dict[str, list[Any]] = {"symbol": [], "ordinal": [], "number": []}
    sides = zip(quotes["bid_size"].to_pylist(), quotes["ask_size"].to_pylist(), strict=True)
    for number, (symbol, sizes) in enumerate(zip(quotes["symbol"].to_pylist(), sides, strict=True)):
        counts[symbol] += any(sizes)
        if any(sizes) and counts[symbol] % 25 == 0:
            for name, value in zip(windows, (symbol, counts[symbol] // 25, number), strict=True):
                windows[name].append(value)
    return pa.table(windows)


def test_every_window_is_evaluated_exactly_once(run: Run) -> None:
    assert run.results["rows_fed"] == 300 * 8 + 1500 * (SECONDS - 8) + 32
    assert not any(run.results["rows_waiting"].values())
    windows = expected(run.results["rows_fed"])
    assert run.results["windows"] == windows.num_rows
    assert run.results["digest"] == f"{digest(windows):016x}"


def test_the_operator_grows_and_keys_are_routed_to_the_new_replicas(run: Run) -> None:
    degrees = [tick.seen.modules["algotrader"].running for tick in run.ticks]
    assert degrees[0] == 1
    tables = [tick.asked.routing.get("algotrader") for tick in run.ticks if tick.asked]
    assert any(table and table.replicas > 1 and len(table.owners) > 200 for table in tables)
    assert any("1 ->" in tick.decided.why for tick in run.ticks)


def test_keys_are_measured(run: Run) -> None:
    seen = [tick.seen.modules["algotrader"] for tick in run.ticks]
    known = [reading for reading in seen if reading.keys is not None]
    assert known
    for reading in known:
        assert reading.keys is not None
        assert reading.routing is not None
        assert reading.keys.rates.keys() == reading.keys.service_times.keys()
        assert (reading.service_time or 0) >= 1e-3
        assert (reading.waiting_time or 0) > 0


@pytest.mark.skipif(CLOCKED, reason="this machine has a clock of its own")
def test_power_of_a_machine_without_a_clock_is_modelled_and_says_so(run: Run) -> None:
    powers = [tick.seen.power for tick in run.ticks if tick.seen.power is not None]
    assert powers
    assert all(power.modelled for power in powers)
    frequencies = {tick.seen.frequency for tick in run.ticks}
    assert len(frequencies) > 1


def test_candlesticks_are_published(run: Run) -> None:
    assert run.page["symbols"] == run.results["candlesticks"]["symbols"]
    busiest = run.page["symbols"][0]
    for _, first, high, low, last in busiest["bars"]:
        assert 100 <= low <= min(first, last) <= max(first, last) <= high <= 200


def test_the_consumer_may_be_a_module_of_its_own(spark: SharedSpark, tmp_path: Path) -> None:
    text = tmp_path / "two.yaml"
    text.write_text(
        """
pipeline: trading
step: 2s
duration: 6s
workload: constant:400/s
policy: static
source: {module: algotrader}
modules:
  algotrader: {keys: 100, service_time: 0.1ms, initial_replicas: 2, max_replicas: 2, trigger: 1s}
  consumer: {max_replicas: 1, trigger: 1s, work: none}
streams: [{from: algotrader, to: consumer, selectivity: 0.04}]
"""
    )
    file = load(str(text))
    with spark.deployed(file, tmp_path / "run", duration=6.0) as plant:
        for _ in control(plant, build_policy(file)):
            pass
    quotes = Quotes(seed=1, symbols=100).columns(np.arange(plant.results["rows_fed"]))
    both = zip(
        quotes["symbol"].to_pylist(),
        quotes["bid_size"].to_pylist(),
        quotes["ask_size"].to_pylist(),
        strict=True,
    )
    counts = Counter(symbol for symbol, bid, ask in both if bid or ask)
    assert plant.results["windows"] == sum(n // 25 for n in counts.values())
