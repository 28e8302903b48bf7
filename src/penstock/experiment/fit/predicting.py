"""How near a twin comes to a recording: a file played on the twin, beside what was recorded."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import itemgetter
from statistics import median
from typing import Final

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, Tick, current
from penstock.core.words import percent
from penstock.experiment.fit.estimate import Estimate
from penstock.experiment.fit.fitting import check, knows_policy, make
from penstock.pipeline.compose import build_policy
from penstock.pipeline.settings import PipelineFile
from penstock.record import Run, summarise
from penstock.record.measures import column, mean, reporting, steps, total
from penstock.twin import Twin
from penstock.workload import drawn

# A file played on the twin: by its own policy, or by decisions that were made elsewhere.


@dataclass(frozen=True, slots=True)
class RecordedDecisions:
    """Repeats the decisions of a recording, at the same times.

    >>> from penstock.testing import seen
    >>> policy = RecordedDecisions(((4.0, {"count": 2}), (9.0, {"count": 3})))
    >>> policy(seen(at=8.0, count={"running": 1})).configuration.degrees
    {'count': 2}
    """

    asked: tuple[tuple[float, dict[str, int]], ...]
    """Times, and the degrees requested then."""

    @classmethod
    def of(cls, ticks: Iterable[Tick]) -> "RecordedDecisions":
        """From a recording, the initial degrees first."""
        ticks = tuple(ticks)
        begun = (0.0, dict(current(ticks[0].seen).degrees))
        asked = [(tick.seen.at, dict(tick.asked.degrees)) for tick in ticks if tick.asked]
        return cls((begun, *asked))

    def __call__(self, seen: Observation, /) -> Decision:
        """The degrees in force in the recording at that moment."""
        place = bisect_right(self.asked, seen.at + 1e-6, key=itemgetter(0)) - 1
        at, degrees = self.asked[max(place, 0)]
        why = f"as recorded at {at:g} s"
        return Decision(configuration=Configuration(degrees=degrees), why=why)


def play(
    file: PipelineFile, policy: Policy | None = None, *, seed: int | None = None
) -> list[Tick]:
    """Every turn of the file on the twin."""
    seeded = file if seed is None else replace(file, seed=seed)
    twin = Twin(
        file.graph,
        file.workload,
        step=file.step,
        duration=file.duration,
        seed=seeded.seed,
        arrivals="even" if drawn(file.workload) else "poisson",
    )
    return list(control(twin, build_policy(seeded) if policy is None else policy))


SEEDS: Final = (1, 2, 3, 4, 5)
"""Chances that the twin is played with; what it predicts is the median."""
MANY_ROWS: Final = 2e7
"""Rows at all modules from which on one chance must do: they take the twin seconds to serve."""
GOOD: Final = 0.2
"""Error within which a prediction is good enough to compare policies by."""
DECISIVE: Final = ("latency_p95", "executors_mean")
"""Figures that a twin is judged by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a run, recorded and predicted; None is unknown.

    >>> Figure(name="latency_p95", recorded=4.0, predicted=5.0).error
    0.25
    """

    name: str
    recorded: float | None
    predicted: float | None

    @property
    def error(self) -> float | None:
        """By how much the prediction is too high, as a share of what was recorded."""
        if self.recorded is None or self.predicted is None:
            return None
        if self.recorded == 0:
            return 0.0 if self.predicted == 0 else inf
        return self.predicted / self.recorded - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a twin says of a run, beside what was recorded."""

    by: str
    """`policy` where the twin decided as the run did, `decisions` where it did as was decided."""
    figures: tuple[Figure, ...]

    def error(self, name: str) -> float | None:
        """The error of a figure."""
        return next(figure.error for figure in self.figures if figure.name == name)

    @property
    def good(self) -> bool:
        """Whether it is near enough in what counts."""
        return all(_within(self.error(name)) for name in DECISIVE)


def predict(run: Run, estimates: Sequence[Estimate]) -> tuple[Prediction, Prediction]:
    """A run by its own policy and by its own decisions, on a twin with these estimates.

    One that is too short, or of which there is no twin, is refused as `fit` does.
    """
    check(run)
    file = make(run, estimates, dry=run.settings.dry)
    return (
        _prediction(run, file, "policy", None),
        _prediction(run, file, "decisions", RecordedDecisions.of(run.ticks)),
    )


def decisive(run: Run, predictions: Sequence[Prediction]) -> Prediction:
    """The one that a twin is judged by: by its policy, or by its decisions where another than the
    run's own stands in for it."""
    by_policy, by_decisions = predictions
    return by_policy if knows_policy(run) else by_decisions


def figures(ticks: Sequence[Tick], graph: FlowGraph) -> dict[str, float | None]:
    """A run in the figures that are compared."""
    summary = summarise(ticks, None, source=graph.source)
    backlog = total(reporting(ticks, "backlog"), len(ticks))
    return {
        **{f"latency_{q}": getattr(summary.latency, q, None) for q in ("p50", "p95", "p99")},
        "executors_mean": summary.executors_mean,
        "executor_seconds": summary.executor_seconds_total,
        # rows a second that left the source module: what came, less what it still had at the end
        "throughput": mean(column(ticks, graph.source, "processed_rate"), steps(ticks)),
        "backlog_mean": mean(backlog, steps(ticks)),
    }


def judgement(prediction: Prediction) -> str:
    """One sentence: whether to trust the twin."""
    errors = " and ".join(f"{_NAMES[name]} {_percent(prediction.error(name))}" for name in DECISIVE)
    bound = percent(GOOD, ".0f")
    if prediction.good:
        return f"The twin is within {bound} ({errors}): good enough to compare policies."
    why = "; ".join(_WHY[name] for name in DECISIVE if not _within(prediction.error(name)))
    return f"The twin is not within {bound} ({errors}): {why}."


_NAMES: Final = {"latency_p95": "p95 latency", "executors_mean": "executors"}
_WHY: Final = {
    "latency_p95": "do not choose by its latencies, and record a longer or quieter run",
    "executors_mean": "do not choose by its executors, and record a run with more scaling in it",
}


def seeds(file: PipelineFile) -> tuple[int, ...]:
    """Fewer where there are so many rows that chance matters little and time much."""
    came = float(file.workload.arrivals(np.array([file.duration]))[0])
    return SEEDS if came * sum(file.graph.visits().values()) < MANY_ROWS else SEEDS[:1]


def _prediction(run: Run, file: PipelineFile, by: str, policy: Policy | None) -> Prediction:
    """The figures of a run beside the medians over several seeds of the twin."""
    runs = [figures(play(file, policy, seed=seed), file.graph) for seed in seeds(file)]
    beside = []
    for name, recorded in figures(run.ticks, file.graph).items():
        known = [value for played in runs if (value := played[name]) is not None]
        predicted = median(known) if known else None
        beside.append(Figure(name=name, recorded=recorded, predicted=predicted))
    return Prediction(by=by, figures=tuple(beside))


def _within(error: float | None) -> bool:
    return error is not None and abs(error) <= GOOD


def _percent(error: float | None) -> str:
    return "unknown" if error is None else percent(error, "+.0f")
