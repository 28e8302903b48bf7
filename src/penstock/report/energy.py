"""The clock and the power of a run as plots; what comes from the model says so."""

import numpy as np

from penstock.record.acts import Act, acts
from penstock.record.energy import frequency, watt
from penstock.record.load import Run
from penstock.record.measures import times
from penstock.report.over_time import direction, marks, over_time
from penstock.report.plot import Plot
from penstock.report.series import Series


def energy(run: Run) -> tuple[Plot, ...]:
    """A plot of the GHz and one of the watts, each where there are any."""
    return (*_clock(run), *_power(run))


def _clock(run: Run) -> tuple[Plot, ...]:
    ghz = frequency(run.ticks)
    if np.isnan(ghz).all():
        return ()
    # Nothing recorded tells a clock that is only thought from a real one, but its watts do.
    thought = np.isnan(watt(run.ticks, modelled=False)).all() and _any(run, modelled=True)
    name = "modelled" if thought else "in force"
    line = Series(name=name, style="c1 fill", at=times(run.ticks), values=ghz, stepped=True)
    decisions = marks(run.ticks, tuple(acts(run.ticks)), _turn)
    return (over_time(run, "Clock", "GHz", (line,), style="low", marks=decisions),)


def _turn(act: Act) -> str | None:
    return direction(act.clock) if act.clock else None


def _power(run: Run) -> tuple[Plot, ...]:
    kinds = (("measured", "c1", False), ("modelled", "c2 d1", True))
    lines = tuple(
        Series(name=name, style=style, at=times(run.ticks), values=watt(run.ticks, modelled=which))
        for name, style, which in kinds
        if _any(run, modelled=which)
    )
    return (over_time(run, "Power", "W", lines),) if lines else ()


def _any(run: Run, *, modelled: bool) -> bool:
    return not np.isnan(watt(run.ticks, modelled=modelled)).all()
