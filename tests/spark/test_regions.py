"""Regions of real workers: nodes come and go, die and get stuck, and no row is lost or doubled."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.apps.wordcount.application import digest
from penstock.core.signals import Configuration, Decision, Observation
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.spark.plant import SparkPlant
from tests.support.processes import wait_until_nothing_is_left
from tests.support.spark_runs import expected

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LONGEST = 300.0
"""Seconds after which a run has not gone as it should, on a busy machine too."""
FILE = """
pipeline: wordcount
workload: constant:60/s
step: 1s
policy: static
infrastructure:
  policy: static
  regions: {dc1: {max_nodes: 3}, dc2: {max_nodes: 3}}
cluster: {memory: 1g, executor_memory: 512m}
source: {module: splitter}
modules:
  splitter:
    {region: dc1, operators: [splitter, filter], service_time: 1ms, max_replicas: 4, trigger: 1s}
  counter:
    {region: dc2, operators: [counter, consumer], service_time: 1ms, max_replicas: 4, trigger: 1s}
streams:
  - {from: splitter, to: counter, selectivity: 2}
"""


@dataclass(frozen=True)
class Scene:
    """Something that is done to a running pipeline, and what is then to be seen."""

    act: Callable[[SparkPlant], None]
    until: Callable[[Observation], bool]


@dataclass
class Run:
    """What was seen in each act of a run, and what the run came to."""

    came_and_went: list[Observation]
    killed: list[Observation]
    stuck: list[Observation]
    left: list[Observation]
    hosts: list[dict[str, set[str | None]]]
    """By module, the nodes of its executors when there were two nodes."""
    results: dict[str, Any] = field(default_factory=dict)


def play(plant: SparkPlant, readings: Iterator[Observation], *scenes: Scene) -> list[Observation]:
    """What is seen while one scene follows the other, each as soon as the one before has ended."""
    seen = list[Observation]()
    for number, scene in enumerate(scenes):
        scene.act(plant)
        for now in readings:
            seen.append(now)
            if scene.until(now):
                break
        else:
            pytest.fail(f"scene {number} has not ended: {seen[-1:]}")
    return seen


def decide(degrees: dict[str, int] | None = None, **nodes: int) -> Callable[[SparkPlant], None]:
    plan = Configuration(degrees=degrees or {}, nodes=nodes)
    return lambda plant: check(plant.apply(Decision(configuration=plan, why="to see")), nodes)


def check(asked: Configuration | None, nodes: dict[str, int]) -> None:
    assert asked is not None
    assert asked.nodes == nodes


def worker_pid(folder: Path, node: str) -> int | None:
    """The JVM of a node, from the folder that it works in."""
    finished = subprocess.run(
        ["ps", "-eww", "-o", "pid,args"], capture_output=True, text=True, check=True
    )
    marker = f"--work-dir {folder}/spark/{node} "
    found = [line.split()[0] for line in finished.stdout.splitlines() if marker in line]
    jvms = [int(pid) for pid in found if Path(f"/proc/{pid}/exe").resolve().name == "java"]
    return jvms[0] if jvms else None


def send(folder: Path, node: str, what: signal.Signals) -> Callable[[SparkPlant], None]:
    def act(_plant: SparkPlant) -> None:
        pid = worker_pid(folder, node)
        assert pid is not None
        os.kill(pid, what)

    return act


def hosts(plant: SparkPlant) -> dict[str, set[str | None]]:
    """By module, the nodes of its executors."""
    members = plant.actuator.members(plant.actuator.backend.executors())
    return {
        module: {executor.node for executor in executors} for module, executors in members.items()
    }


def nothing(_plant: SparkPlant) -> None:
    """See what happens."""


def running(seen: Observation, module: str) -> int | None:
    return seen.modules[module].running


def release_second(plant: SparkPlant) -> None:
    """Let the first node of the second region leave, whatever it hosts."""
    assert plant.regions is not None
    plant.regions.nodes.cluster.release("dc2-1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Nodes come and go, one is killed, one gets stuck, and one leaves: all in one run."""
    folder = tmp_path_factory.mktemp("regions")
    path, hosting = folder / "regions.yaml", list[dict[str, set[str | None]]]()
    path.write_text(FILE)
    kill, stop, wake = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT
    with open_spark(load(path), master=None, folder=folder, duration=LONGEST) as plant:
        act = partial(play, plant, plant.readings())
        run = Run(
            hosts=hosting,
            came_and_went=act(
                Scene(decide({"splitter": 3}, dc1=2), lambda now: running(now, "splitter") == 3),
                Scene(
                    lambda plant: hosting.append(hosts(plant)),
                    lambda now: now.regions["dc1"].free == 1,
                ),
                Scene(decide({"splitter": 1}), lambda now: now.regions["dc1"].idle == 1),
                Scene(decide(dc1=1), lambda now: now.regions["dc1"].nodes == 1),
                Scene(nothing, lambda _: worker_pid(folder, "dc1-2") is None),
            ),
            killed=act(
                Scene(send(folder, "dc2-1", kill), lambda now: not now.regions["dc2"].answers),
                Scene(nothing, lambda now: now.regions["dc2"].nodes == 1),
                Scene(nothing, lambda now: running(now, "counter") == 1),
                Scene(nothing, lambda now: now.modules["counter"].processed_rate is not None),
            ),
            stuck=act(
                Scene(send(folder, "dc1-1", stop), lambda now: not now.regions["dc1"].answers),
                Scene(decide(dc2=2), lambda now: now.regions["dc2"].nodes == 2),
                Scene(send(folder, "dc1-1", wake), lambda now: now.regions["dc1"].answers),
            ),
            left=act(
                Scene(release_second, lambda now: "ended for good" in trouble(now, "dc2")),
                Scene(nothing, lambda now: running(now, "counter") == 1),
                Scene(nothing, lambda now: now.modules["counter"].processed_rate is not None),
                Scene(nothing, lambda _: worker_pid(folder, "dc2-1") is None),
            ),
        )
    run.results = plant.results
    wait_until_nothing_is_left(folder)
    return run


def trouble(seen: Observation, region: str) -> str:
    return seen.regions[region].trouble or ""


def test_nodes_come_and_go_with_the_executors_of_their_region(run: Run) -> None:
    seen = run.came_and_went
    assert run.hosts == [{"splitter": {"dc1-1", "dc1-2"}, "counter": {"dc2-1"}}]
    first, last = seen[0].regions["dc1"], seen[-1].regions["dc1"]
    assert (first.unmet, first.requested) == (1, 2)
    assert (last.unmet, last.nodes, last.requested) == (0, 1, 1)
    assert {now.regions["dc2"].nodes for now in seen if now.regions["dc2"].answers} == {1}


def test_a_killed_node_takes_its_executors_along_and_comes_back(run: Run) -> None:
    away = [now.regions["dc2"] for now in run.killed if not now.regions["dc2"].answers]
    assert {reading.trouble for reading in away} == {"dc2-1 does not answer"}
    assert {reading.requested for reading in away} == {1}


def test_a_stuck_node_is_reported_and_the_other_regions_go_on(run: Run) -> None:
    stuck = [now.regions["dc1"] for now in run.stuck if not now.regions["dc1"].answers]
    assert {reading.trouble for reading in stuck} == {"dc1-1 does not answer"}
    assert run.stuck[-1].regions["dc1"].nodes == 1


def test_a_node_that_leaves_with_executors_on_it_is_reported(run: Run) -> None:
    assert any("dc2-1 ended for good" in trouble(now, "dc2") for now in run.left)
    assert run.left[-1].regions["dc2"].requested == 1


def test_nothing_is_lost_or_doubled_by_any_of_it(run: Run) -> None:
    truth = expected(run.results["rows_fed"])
    assert not any(run.results["rows_waiting"].values())
    assert run.results["words_counted"] == truth.total()
    assert run.results["digest"] == digest(truth)
