"""The two levels that keep a pipeline of panes in time, as plots: how loaded its stages are, how
finely panes are split, and whether windows come as often as they are asked for."""

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.units import parse_duration
from penstock.record.load import Run
from penstock.record.measures import column, reporting, times
from penstock.report.over_time import by_module, limited, over_time
from penstock.report.plot import Plot
from penstock.report.scales import number, percent
from penstock.report.series import Series


def load(run: Run) -> tuple[Plot, ...]:
    """The load of every stage, with the setpoint of the policy; none where nobody measured it."""
    if not reporting(run.ticks, "load"):
        return ()
    plot = over_time(run, "Load", "%", by_module(run.ticks, "load"))
    wanted = setpoint(run.settings.file)
    return (plot if wanted is None else limited(plot, wanted, f"setpoint: {percent(wanted)}"),)


def splitting(run: Run, module: str) -> tuple[Plot, ...]:
    """Parts that a pane of the module was split into; none where it splits no panes."""
    parts = column(run.ticks, module, "splitting")
    if np.isnan(parts).all():
        return ()
    line = Series(name="parts a pane", style="c3", at=times(run.ticks), values=parts)
    return (over_time(run, f"{module}, splitting factor", "parts a pane", (line,), style="low"),)


def windows(run: Run) -> tuple[Plot, ...]:
    """Windows a second, with those that there should be; none where nobody counted them."""
    if not reporting(run.ticks, "results_rate"):
        return ()
    plot = over_time(run, "Windows", "windows/s", by_module(run.ticks, "results_rate"))
    every = slide(run.settings.file)
    if every is None:
        return (plot,)
    return (limited(plot, 1 / every, f"one a slide: {number(1 / every)}/s"),)


def setpoint(file: Mapping[str, object]) -> float | None:
    """The load at which the policy of a resolved file aims; None where it does not aim at any.

    >>> setpoint({"policy": {"name": "any", "setpoint": 0.7}}), setpoint({"policy": "static"})
    (0.7, None)
    """
    from penstock.policy import POLICIES  # seldom needed, and slow to load

    policy = file.get("policy")
    given = policy if isinstance(policy, Mapping) else {"name": policy}
    kind = POLICIES.get(str(given.get("name")))
    defaults = {f.name: f.default for f in fields(kind)} if kind else {}  # type: ignore[arg-type]
    found = given.get("setpoint", defaults.get("setpoint"))
    return float(found) if isinstance(found, int | float) else None


def slide(file: Mapping[str, object]) -> float | None:
    """Seconds between two windows of a resolved file; None where it has no query.

    >>> slide({"query": {"slide": "0.2s"}}), slide({})
    (0.2, None)
    """
    query = file.get("query")
    try:
        found = parse_duration(query.get("slide")) if isinstance(query, Mapping) else 0.0
    except SettingError:
        return None
    return found or None
