"""What runs on Spark must count, and how they are brought to a size."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from penstock.apps.wordcount.sentences import SHORTEST_KEPT, Sentences
from penstock.core.signals import Configuration, Decision
from penstock.pipeline.deploy.deploy import Session, deploy
from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.settings import PipelineFile
from penstock.spark.plant import SparkPlant
from tests.support.processes import PATIENCE


def expected(rows: int, seed: int = 1) -> Counter[str]:
    """What a plain loop over the same input counts."""
    words = (word for text in Sentences(seed).texts(np.arange(rows)) for word in text.split())
    return Counter(word for word in words if len(word) >= SHORTEST_KEPT)


def settled(plant: SparkPlant, degrees: dict[str, int]) -> int:
    """Executors that run once as many as asked for do, or after some minutes."""
    plant.apply(Decision(configuration=Configuration(degrees=degrees), why="forced"))
    give_up = time.monotonic() + PATIENCE
    while True:
        executors = plant.actuator.backend.executors()
        plant.actuator.reconcile(executors)
        running = {name: len(crew) for name, crew in plant.actuator.running(executors).items()}
        if running == degrees or time.monotonic() > give_up:
            return sum(running.values())
        time.sleep(0.1)


@dataclass(frozen=True, slots=True)
class SharedSpark:
    """A session for several runs: most of the time of a short one is that Spark starts."""

    session: Session
    folder: Path
    """By which its processes are found."""

    @classmethod
    @contextmanager
    def opened(cls, file: PipelineFile, folder: Path) -> Iterator[Self]:
        """With the settings that the file has for its session."""
        scratch = folder / "spark"
        scratch.mkdir(parents=True)
        with prepare(file, None).session(scratch) as session:
            yield cls(session, folder)

    def deployed(
        self, file: PipelineFile, folder: Path, duration: float
    ) -> AbstractContextManager[SparkPlant]:
        """A pipeline on this session, run as `open_spark` runs it on one of its own."""
        return deploy(
            self.session,
            file,
            prepare(file, None).pipelines,
            workspace=folder / "data",
            results=folder,
            duration=duration,
            on_progress=lambda _: None,
        )
