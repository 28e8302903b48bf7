"""Recordings of twins whose every setting is known."""

from datetime import UTC, datetime
from pathlib import Path

from penstock.core.signals import Tick
from penstock.experiment.fit.predicting import play
from penstock.pipeline.file import PipelineFile, load_text
from penstock.record import Run, RunFolder, RunSettings, load, summarise

BATCHES = """
step: 2s
duration: 240s
seed: 1
workload: {kind: daily, low: 60/s, high: 300/s, period: 80s}
slo: {latency_p95: 10s}
policy: {name: threshold}
guards: [hold, {cooldown: {out: 4s, in: 12s}}]
source: {module: splitter}
modules:
  splitter: {service_time: 5ms, service_cv: 0.5, max_replicas: 4, trigger: 1s, overhead: 250ms,
             start_up: 7s}
  counter: {service_time: 2ms, max_replicas: 4, trigger: 1s, overhead: 400ms, task_overhead: 150ms,
            start_up: 5s}
streams: [{from: splitter, to: counter, selectivity: 2.5}]
"""

ROWS = """
step: 5s
duration: 600s
workload: {kind: step, levels: {0s: 20/s, 200s: 60/s, 400s: 30/s}}
policy: {name: threshold}
source: {module: dispatcher}
modules:
  dispatcher: {service_time: 10ms}
  left: {service_time: 60ms, service_cv: 1, start_up: 12s}
  right: {service_time: 30ms, service_cv: 0.3, start_up: 12s}
  join: {service_time: 15ms}
streams:
  - {from: dispatcher, to: left, probability: 0.3}
  - {from: dispatcher, to: right, probability: 0.7}
  - {from: left, to: join, selectivity: 0.5}
  - {from: right, to: join, selectivity: 0.5}
"""


def pipeline(text: str, *settings: tuple[str, str]) -> PipelineFile:
    """The pipeline of a text, some of which is replaced."""
    for old, new in settings:
        assert old in text
        text = text.replace(old, new)
    return load_text(text, name="known.yaml")


def recorded(file: PipelineFile, path: Path, *, seed: int = 1) -> Run:
    """A run of the file on the twin, as `penstock simulate` leaves it."""
    return written(file, play(file, seed=seed), path)


def written(
    file: PipelineFile, ticks: list[Tick], path: Path, *, events: tuple[str, ...] = ()
) -> Run:
    """A run folder with these ticks."""
    settings = RunSettings(
        pipeline=file.name,
        plant="twin",
        started=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        graph=file.graph,
        policy=file.policy.name,
        seed=file.seed,
        slo_latency_p95=file.slo.latency_p95,
        file=file.resolved,
    )
    with RunFolder.create(path, settings) as folder:
        for tick in ticks:
            folder.write(tick)
        for event in events:
            folder.write_progress(event)
        folder.finish(summarise(ticks, file.slo.latency_p95, source=file.graph.source))
    return load(path)
