"""The object-recognition service of the game paper: images are sorted by their noise, cleaned,
reduced to edges and compared with known shapes, each step a module with executors of its own.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.apps.recognition.images import Images
from penstock.apps.recognition.modules import MODULES, ROUTES
from penstock.pipeline.application import Application, Operator


@dataclass(slots=True)
class Score:
    """Counts what was recognised, and how much of it rightly.

    A batch that comes again after a failure is known by its number, and not counted twice.
    """

    folder: Path
    shown: Counter[str] = field(default_factory=Counter)
    """Images by their true shape."""
    right: Counter[str] = field(default_factory=Counter)
    """Those of them that were recognised."""
    sorted_right: int = 0
    """Images that the dispatcher sent to the denoiser for their kind of noise."""
    _last: int = -1

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take in a batch of recognised images.

        A few words of each come here: counting them by Spark would take a second stage, on
        executors of another module.
        """
        seen = batch.select("label", "recognised", "noise", "route").toArrow().to_pylist()
        if number <= self._last:
            return
        self._last = number
        self.shown.update(row["label"] for row in seen)
        self.right.update(row["label"] for row in seen if row["recognised"] == row["label"])
        self.sorted_right += sum(row["route"] == ROUTES[row["noise"]] for row in seen)

    def results(self) -> dict[str, Any]:
        """Shares of all images seen; None before the first."""
        images = self.shown.total()
        by_shape = {label: self.right[label] / self.shown[label] for label in sorted(self.shown)}
        return {
            "images": images,
            "accuracy": self.right.total() / images if images else None,
            "accuracy_by_shape": by_shape,
            "noise_accuracy": self.sorted_right / images if images else None,
        }


RECOGNITION: Final = Application(
    rows=Images,
    operators={
        name: Operator(
            work=module, schema=module.schema, route="route" if name == "dispatcher" else None
        )
        for name, module in MODULES.items()
    },
    consumer=Score,
)
