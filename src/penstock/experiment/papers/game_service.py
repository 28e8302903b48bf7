"""The recognition service of Section 6 and how it is controlled: game, Fig. 10 and Tab. III.

Where the paper leaves a choice, it is made here.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.signals import ModuleReading, Observation
from penstock.experiment.papers.game_workloads import STEP, inter_arrivals
from penstock.pipeline.file import load
from penstock.plant.twin import Totals, Twin
from penstock.policy.game import Incentive, Nash, Social
from penstock.policy.game.live import Game
from penstock.workload.curve import Curve, Curved

SMOOTHING: Final = 0.3
"""Weight of the newest step in the EWMA, which the paper does not give. With 0.5 degrees change
about twice as often, because measured running times scatter."""
ROUNDING: Final = "up"
"""Section 4.2 rounds "up [...] to the nearest positive integers", and the recogniser levels off at
21 cores in Section 6.2, where 20.2 are ideal. Rounded to the nearest, a denoiser that should have
2.4 cores gets 2 and holds up all others."""
STRATEGIES: Final[dict[str, type[Game]]] = {
    "nash": Nash,
    "incentive": Incentive,
    "social": Social,
}
"""Non-cooperative, cooperative, and the optimum in closed form, which the paper does not have."""
COMPARED: Final = ("nash", "incentive")
"""Those of the paper."""


@cache
def service() -> FlowGraph:
    """The flow graph, from the file that is shipped beside this one.

    >>> service().names()
    ('dispatcher', 'denoiser-1', 'denoiser-2', 'edge-detector', 'recognizer')
    """
    with resources.as_file(resources.files(__package__) / "game.yaml") as path:
        return load(Path(path)).graph


def player(strategy: str, **settings: Any) -> Game:
    """A strategy as the experiment has it.

    Five agents come to the same plan, with the same messages counted, whether they really exchange
    them or not; computed at once it takes half the time.
    """
    given = {"smoothing": SMOOTHING, "rounding": ROUNDING, "agents_up_to": 0, **settings}
    return STRATEGIES[strategy](service(), **given)


class Shedding(Twin):
    """A twin at whose source nothing piles up: rows that could not enter in their step are gone.

    The paper has no queue before the dispatcher: its service time is the longer one of running
    time and inter-arrival time, so that images which come faster than the bottleneck takes them
    are never made up for in a later, slower phase.
    """

    turned_away = 0
    """Rows that came and could not enter, so far."""

    def readings(self) -> Iterator[Observation]:
        """What each step measured; arrivals include the rows that are turned away after it."""
        for seen in super().readings():
            self._turn_away()
            yield seen

    def _observe(self) -> Observation:
        """What strategies ask for and no more: the rest would take a fifth of the time."""
        totals, running = self.totals(), self._fleet.running(self._state.stations)
        modules = {
            name: _reading(totals[name], self._before[name], running[m])
            for name, m in self._numbers.items()
        }
        seen = Observation(at=self.at, step=self.at - self._seen_at, modules=modules)
        self._before, self._seen_at = totals, self.at
        return seen

    def _turn_away(self) -> None:
        clock = self._state.clock[0]
        source = self._state.stations[clock["source"]]
        lane, count = source["waiting"], int(source["waiting"]["count"])
        if not count:
            return
        self._state.rows["next"][lane["last"]] = clock["free"]
        clock["free"], clock["spare"] = lane["first"], clock["spare"] + count
        lane["count"] = 0
        source["totals"]["arrived"] -= count
        before = self._before[self.graph.source]  # of which the next step's arrivals are counted
        fewer = replace(before, arrived=before.arrived - count)
        self._before = {**self._before, self.graph.source: fewer}
        self.turned_away += count


def _reading(now: Totals, before: Totals, running: int) -> ModuleReading:
    """The same as any twin's, as far as it goes."""
    seconds, served = now.seconds - before.seconds, now.served - before.served
    excess = now.excess - before.excess
    return ModuleReading(
        arrival_rate=(now.arrived - before.arrived) / seconds,
        processed_rate=(now.finished - before.finished) / seconds,
        backlog=float(now.arrived - now.finished),
        service_time=now.nominal + excess / served if served else None,
        running=running,
    )


class Recorded(Curved):
    """A workload whose curve is drawn once: the twin asks for it a few dozen times a run."""

    def __init__(self, curve: Curve) -> None:
        self._curve = curve

    def curve(self, **_: float) -> Curve:
        """The same whatever is asked."""
        return self._curve


def images(workload: str, seed: int, steps: int) -> Recorded:
    """The images that come, as the twin takes them."""
    gaps = inter_arrivals(workload, seed, steps)
    return Recorded(Curve.through(starts=STEP * np.arange(steps), rates=1.0 / gaps))


def open_service(workload: str, seed: int, steps: int) -> Shedding:
    """The service on the twin, before its first image."""
    return Shedding(
        service(),
        images(workload, seed, steps),
        step=STEP,
        duration=steps * STEP,
        seed=seed,
        arrivals="normal",
        service="normal",
    )
