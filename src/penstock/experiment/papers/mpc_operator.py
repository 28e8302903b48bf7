"""The operator of Section 5 on the twin: 12 replicas at most, 1.2 to 2 GHz, 2,836 symbols.

Rows are *triggering tuples*, those after which a window is worked on: one in 25 quotes. The others
cost next to nothing, and are not simulated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.module import Module
from penstock.experiment.papers.mpc_printed import PEAK_WATTS
from penstock.model.power import VoltageTable, power
from penstock.plant.twin import KeyedTwin
from penstock.policy.mpc import lpt
from penstock.workload.curve import Curve, Curved, Floats

NAME: Final = "trader"
QUOTES: Final = 25
"""Of a symbol, for each result."""
SERVICE_TIME: Final = 0.45e-3
"""Seconds that a triggering tuple takes at 2 GHz. Read from Section 5.2.2: 6 replicas are enough
for 300,000 quotes/s and 8 for 400,000, where 7 are not; so it lies between 0.4375 and 0.5 ms."""
SERVICE_CV: Final = 0.3
MOST_REPLICAS: Final = 12
FASTEST: Final = 2.0
"""GHz."""

VOLTAGES: Final = VoltageTable({(12 + i) / 10: round(0.80 + 0.015 * i, 3) for i in range(9)})
"""0.80 V at 1.2 GHz to 0.92 V at 2 GHz. The paper prints none."""
IDLE_WATTS: Final = 16.0
"""What the cores take whatever they do. The paper's watts are measured, and Expr. 9 has only what
comes on top."""
_CAPACITANCE: Final = (PEAK_WATTS - IDLE_WATTS) / float(
    power(MOST_REPLICAS, FASTEST, VOLTAGES, capacitance=1.0)
)


def watts(replicas: int, clock: float) -> float:
    """What a meter would show: modelled.

    >>> watts(12, 2.0), round(watts(6, 2.0), 1), round(watts(10, 1.2), 1)
    (68.25, 47.3, 36.5)
    """
    return IDLE_WATTS + float(power(replicas, clock, VOLTAGES, capacitance=_CAPACITANCE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The configuration that a run begins with."""

    replicas: int
    clock: float = FASTEST


@dataclass(frozen=True, slots=True)
class Triggers(Curved):
    """Triggering tuples of a workload that is known by the second."""

    quotes: tuple[float, ...]

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # all of it
        """Flat within a second, and nothing after the last."""
        rates = np.array([*self.quotes, 0.0]) / QUOTES
        return Curve.through(starts=np.arange(len(rates)), rates=rates)


def operator(replicas: int = 1) -> FlowGraph:
    """The algo-trader, as it begins."""
    module = Module(
        name=NAME,
        service_time=SERVICE_TIME,
        service_cv=SERVICE_CV,
        max_replicas=MOST_REPLICAS,
        initial_replicas=replicas,
    )
    return FlowGraph(source=NAME, modules=(module,))


def enough(rate: float, busy: float = 0.95) -> int:
    """Replicas at 2 GHz that are no busier than that with so many quotes a second.

    >>> enough(300e3), enough(400e3)
    (6, 8)
    """
    return min(ceil(rate / QUOTES * SERVICE_TIME / busy), MOST_REPLICAS)


def open_operator(
    quotes: Floats, shares: Mapping[str, float], *, seed: int, step: float, start: Start
) -> KeyedTwin:
    """The operator with all keys spread evenly, and a journal of its rows.

    It runs on for a while after the last quote, so that the journal has every row.
    """
    return KeyedTwin(
        operator(start.replicas),
        Triggers(tuple(quotes.tolist())),
        step=step,
        duration=len(quotes) + DRAIN,
        shares=shares,
        routing=lpt(shares, start.replicas),
        seed=seed,
        frequency=start.clock,
        reference=FASTEST,
        power=watts,
        journal=True,
    )


DRAIN: Final = 20.0
"""Seconds after the last quote in which rows that still wait are worked off."""
