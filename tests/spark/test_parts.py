"""Small parts of the Spark plant, each by itself."""

import itertools
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError

from penstock.apps.wordcount.application import WORDCOUNT
from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.deploy.module import lay_out
from penstock.pipeline.file import load
from penstock.pipeline.shape import APPLICATIONS
from penstock.spark.actuator import Actuator, ModuleExecutors
from penstock.spark.serve import Serve, draw
from penstock.spark.session import compiled_spark_home
from penstock.spark.warmup import ExecutorWarmup
from tests.spark.test_actuator import Ledger
from tests.support.processes import PATIENCE, wait_until


def served(serve: Serve, rows: int) -> pa.RecordBatch:
    [batch] = serve(iter([pa.RecordBatch.from_pydict({"n": list(range(rows))})]))
    return batch


@pytest.mark.parametrize("work", ["wait", "cpu"])
def test_rows_pass_unchanged_and_take_at_least_their_service_time(work: str) -> None:
    batch = served(Serve(service_time=0.002, work=work), 5)
    assert batch["n"].to_pylist() == [0, 1, 2, 3, 4]
    assert min(batch["service"].to_pylist()) >= 0.0019


def test_rows_shorter_than_a_sleep_are_served_in_groups() -> None:
    batch = served(Serve(service_time=0.0001), 100)
    assert sum(batch["service"].to_pylist()) >= 0.0099


def test_work_can_be_none() -> None:
    assert served(Serve(service_time=5.0, work="none"), 3)["service"].to_pylist() == [0.0] * 3


def test_service_times_have_the_mean_and_variation_that_was_asked_for() -> None:
    times = draw(0.003, 0.5, 200_000, np.random.default_rng(1))
    assert times.mean() == pytest.approx(0.003, rel=0.01)
    assert times.std() / times.mean() == pytest.approx(0.5, rel=0.01)


def test_spark_finds_its_python_files_unpacked(tmp_path: Path) -> None:
    home = compiled_spark_home(tmp_path)
    [zipped] = (home / "python" / "lib").glob("pyspark.zip")
    finished = subprocess.run(
        [sys.executable, "-c", "import pyspark; print(pyspark.__file__)"],
        env={"PYTHONPATH": str(zipped)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout.strip() == str(zipped / "pyspark" / "__init__.py")
    assert (home / "jars").is_dir()
    assert (home / "bin" / "spark-class").exists()


@dataclass
class Guests:
    """Warm-ups that were asked for; a guest becomes warm by its own."""

    ledger: Ledger
    misses: int = 0
    """Jobs that go to others, as when Spark does not yet give a newcomer any task."""
    warmed: list[tuple[str, int]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def warm_up(self, module: str, tasks: int) -> None:
        self.warmed.append((module, tasks))
        if len(self.warmed) <= self.misses:
            return
        for name, guest in self.ledger.granted.items():
            self.ledger.granted[name] = replace(guest, completed_tasks=1)
        self.done.set()


@pytest.mark.parametrize("misses", [0, 2])
def test_new_executors_are_warmed_up_until_they_run(tmp_path: Path, misses: int) -> None:
    ledger = Ledger()
    guests = Guests(ledger, misses)
    actuator = Actuator(ledger, {"split": ModuleExecutors(profile=1, hint=tmp_path / "h")})  # type: ignore[arg-type]
    warmup = ExecutorWarmup(actuator, guests.warm_up)
    actuator.want({"split": 2})
    ledger.granted = {n: replace(e, completed_tasks=0) for n, e in ledger.granted.items()}
    actuator.reconcile(ledger.executors())
    assert actuator.running(ledger.executors())["split"] == []
    assert (tmp_path / "h").read_text() == "1"
    warmup.expect()
    assert guests.done.wait(PATIENCE)
    # a part of the next batch for each of them
    wait_until(lambda: (tmp_path / "h").read_text() == "2")
    warmup.close()
    assert guests.warmed == [("split", 2)] * (misses + 1)
    assert len(actuator.running(ledger.executors())["split"]) == 2


def test_a_new_executor_is_warmed_up_while_another_is_still_starting(tmp_path: Path) -> None:
    ledger = Ledger()
    actuator = Actuator(ledger, {"split": ModuleExecutors(profile=1, hint=tmp_path / "h")})  # type: ignore[arg-type]
    warmed: queue.Queue[int] = queue.Queue()
    starting = threading.Event()

    def warm_up(_module: str, tasks: int) -> None:
        warmed.put(tasks)
        starting.wait(PATIENCE)

    warmup = ExecutorWarmup(actuator, warm_up)
    actuator.want({"split": 2})
    first, second = sorted(ledger.granted.items())
    ledger.granted = {first[0]: replace(first[1], completed_tasks=0)}
    warmup.expect()
    assert warmed.get(timeout=PATIENCE) == 1
    ledger.granted[second[0]] = replace(second[1], completed_tasks=0)
    assert warmed.get(timeout=PATIENCE) == 2
    starting.set()
    warmup.close()


def test_a_session_that_ends_during_a_warm_up_job_is_no_error(tmp_path: Path) -> None:
    ledger = Ledger()
    actuator = Actuator(ledger, {"split": ModuleExecutors(profile=1, hint=tmp_path / "h")})  # type: ignore[arg-type]
    sent = threading.Event()

    def warm_up(_module: str, _tasks: int) -> None:
        sent.set()
        raise Py4JNetworkError("the gateway has gone")

    warmup = ExecutorWarmup(actuator, warm_up)
    actuator.want({"split": 1})
    ledger.granted = {n: replace(e, completed_tasks=0) for n, e in ledger.granted.items()}
    warmup.expect()
    assert sent.wait(PATIENCE)
    warmup.close()
    warmup._jobs["split"].join(PATIENCE)  # an exception in a thread would fail this test


def chain(*modules: tuple[str, ...]) -> FlowGraph:
    names = [operators[0] for operators in modules]
    return FlowGraph(
        source=names[0],
        modules=tuple(Module(name=n, operators=o) for n, o in zip(names, modules, strict=True)),
        streams=tuple(Stream(origin=a, target=b) for a, b in itertools.pairwise(names)),
    )


@pytest.mark.parametrize(
    "modules",
    [
        [("splitter", "filter", "counter", "consumer")],
        [("splitter", "filter"), ("counter", "consumer")],
        [("splitter",), ("filter",), ("counter",), ("consumer",)],
    ],
)
def test_operators_can_be_chained_in_any_way(modules: list[tuple[str, ...]]) -> None:
    stages = lay_out(chain(*modules), APPLICATIONS["wordcount"].shape, WORDCOUNT)
    assert [name for name, stage in stages.items() if stage.shuffles] == [
        operators[0] for operators in modules if "counter" in operators
    ]


def test_operators_in_the_wrong_order_are_refused() -> None:
    swapped = chain(("filter",), ("splitter",), ("counter", "consumer"))
    with pytest.raises(SettingError, match="add a stream from filter to counter"):
        lay_out(swapped, APPLICATIONS["wordcount"].shape, WORDCOUNT)


def test_modules_that_may_outgrow_the_cluster_are_refused(tmp_path: Path) -> None:
    file = load("wordcount", ["modules.counter.max_replicas=14"])
    with (
        pytest.raises(SettingError, match="grow to 18 executors and the cluster has room for 16"),
        open_spark(file, master=None, folder=tmp_path, duration=1.0),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
