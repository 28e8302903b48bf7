"""What runs on Spark must count, and how they are brought to a size."""

import time
from collections import Counter

import numpy as np

from penstock.apps.wordcount.sentences import SHORTEST_KEPT, Sentences
from penstock.core.signals import Configuration, Decision
from penstock.spark.plant import SparkPlant


def expected(rows: int, seed: int = 1) -> Counter[str]:
    """What a plain loop over the same input counts."""
    words = (word for text in Sentences(seed).texts(np.arange(rows)) for word in text.split())
    return Counter(word for word in words if len(word) >= SHORTEST_KEPT)


def settled(plant: SparkPlant, degrees: dict[str, int]) -> int:
    """Executors that run once as many as asked for do, or after a minute and a half."""
    plant.apply(Decision(configuration=Configuration(degrees=degrees), why="forced"))
    give_up = time.monotonic() + 90
    while True:
        executors = plant.actuator.backend.executors()
        plant.actuator.reconcile(executors)
        running = {name: len(crew) for name, crew in plant.actuator.running(executors).items()}
        if running == degrees or time.monotonic() > give_up:
            return sum(running.values())
        time.sleep(0.1)
