"""What one control step measured of a keyed operator."""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from penstock.core.signals import KeyLoads, ModuleReading
from penstock.plant.twin.keyed_state import State
from penstock.plant.twin.observing import latency, measured
from penstock.plant.twin.state import Array
from penstock.plant.twin.totals import Totals


def read(state: State, now: Totals, before: Totals, names: Array) -> ModuleReading:
    """What was measured between two moments, service times at the clock in force."""
    clock, step = state.clock[0], now - before
    reading = measured(now, before)
    pace = float(clock["pace"])
    return replace(
        reading,
        service_time=None if reading.service_time is None else reading.service_time * pace,
        arrival_cv=_arrival_cv(clock),
        waiting_time=step.waiting_time,
        keys=_key_loads(state.keys, names, step.seconds, pace),
        latency=latency(state.ages, np.zeros(1, np.int64)),
    )


def forget(state: State) -> None:
    """Begin to measure the next step."""
    state.ages.fill(0.0)
    for name in ("gaps", "gap_mean", "gap_spread", "written"):
        state.clock[name] = 0
    for name in ("arrived", "served", "work"):
        state.keys[name] = 0


def _arrival_cv(clock: Any) -> float | None:
    """Needs two gaps, and rows that did not all come at once."""
    if clock["gaps"] < 2 or not clock["gap_mean"] > 0:
        return None
    return sqrt(clock["gap_spread"] / (clock["gaps"] - 1)) / float(clock["gap_mean"])


def _key_loads(keys: Array, names: Array, seconds: float, pace: float) -> KeyLoads:
    came, done = np.flatnonzero(keys["arrived"]), np.flatnonzero(keys["served"])
    rates = keys["arrived"][came] / seconds
    times = keys["work"][done] / keys["served"][done] * pace
    return KeyLoads(
        rates=dict(zip(names[came].tolist(), rates.tolist(), strict=True)),
        service_times=dict(zip(names[done].tolist(), times.tolist(), strict=True)),
    )
