"""Rounds on Spark: each run is recorded as `penstock run` does it, and scored from that."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path

from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.signals import Tick
from penstock.core.units import format_duration
from penstock.experiment.compare.round import Perform
from penstock.pipeline.interference import beside
from penstock.pipeline.settings import PipelineFile
from penstock.record import RunFolder, RunSettings, load, summarise


def recording(
    root: Path,
    clock: Callable[[], datetime],
    command: Sequence[str] = (),
    report: Callable[[str], None] = lambda text: None,  # noqa: ARG005
) -> Perform:
    """Runs pipelines on a cluster of our own, one after the other, each into a folder of `root`.

    Folders are numbered in the order of the runs and named after the policy; `report` receives a
    line about each.
    """
    numbers = count(1)

    def perform(file: PipelineFile, policy: Policy) -> Sequence[Tick]:
        resolved = file.resolved.get("policy")
        name = str(resolved.get("name")) if isinstance(resolved, dict) else file.policy.name
        path = root / f"{next(numbers):02}-{name}-seed-{file.seed}"
        report(f"{name} runs on Spark for {format_duration(file.duration)}, recorded in {path}")
        settings = RunSettings(
            pipeline=file.name,
            plant="spark",
            started=clock(),
            graph=file.graph,
            command=tuple(command),
            policy=name,
            seed=file.seed,
            slo_latency_p95=file.slo.latency_p95,
            file=file.resolved,
        )
        _record(file, policy, path, settings)
        return load(path).ticks

    return perform


def _record(file: PipelineFile, policy: Policy, path: Path, settings: RunSettings) -> None:
    from penstock.pipeline.deploy.launch import open_spark  # which imports pyspark

    ticks: list[Tick] = []
    with RunFolder.create(path, settings) as folder:
        opened = open_spark(
            file,
            master=None,
            folder=folder.path,
            duration=file.duration,
            on_progress=folder.write_progress,
        )
        with beside(opened, file.interference, lasts=file.duration) as plant:
            for tick in control(plant, policy):
                folder.write(tick)
                ticks.append(tick)
        promised = file.slo.latency_p95
        folder.finish(summarise(ticks, promised, source=file.graph.source, graph=file.graph))
