"""What the twin of a preference query cannot simulate, refused before it starts."""

from math import inf

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.panes import Panes
from penstock.core.roles import Workload
from penstock.core.units import format_duration
from penstock.policy.splitting import SplittingControl, check_period

MOST_WORKERS = 4096
"""The emitter looks at every worker for every part."""
_FINEST = 100_000
"""Places at which the load of a window is looked up."""


def stages(graph: FlowGraph) -> tuple[Module, Module]:
    """The pane stage and the window stage of a graph that has these two."""
    ways = [(stream.origin, stream.target) for stream in graph.streams]
    others = [module.name for module in graph.modules if module.name != graph.source]
    if len(others) != 1 or ways != [(graph.source, others[0])]:
        raise SettingError(
            "the twin of a preference query has a pane stage that feeds a window stage, got "
            f"modules {', '.join(graph.names())}; make two modules of them"
        )
    found = graph[graph.source], graph[others[0]]
    for module in found:
        if module.max_replicas > MOST_WORKERS:
            raise SettingError(
                f"max_replicas of module {module.name} must be {MOST_WORKERS} or less on the twin "
                f"of a preference query, got {module.max_replicas}"
            )
    return found


def check_times(control: SplittingControl | None, step: float, **lengths: float) -> None:
    """Refuse tuples that come before they are made, and a control that samples too seldom."""
    for name, value in lengths.items():
        if not 0 <= value < inf:
            raise SettingError(f"{name} of the twin must be 0 s or more and finite, got {value:g}")
    if control is not None:
        check_period(control.period, step)


def heaviest_window(workload: Workload, panes: Panes, duration: float, disorder: float) -> float:
    """Tuples of the fullest window, about; of the first tuples many are as old as the stream."""
    window = panes.window / 1e6 + disorder
    starts = np.linspace(0.0, max(duration - window, 0.0), min(_FINEST, int(duration / window) + 2))
    return float(np.max(workload.arrivals(starts + window) - workload.arrivals(starts)))


def shortfall(graph: FlowGraph) -> str | None:
    """What the twin leaves out of a query that runs in micro-batches; None where it does not.

    >>> plq = Module(name="plq", trigger=2.0, overhead=0.6)
    >>> shortfall(FlowGraph(source="plq", modules=(plq,)))
    'the twin serves tuples one by one: latencies leave out micro-batches (trigger 2 s, \
overhead 600 ms)'
    """
    times = {
        name: max(getattr(module, name) for module in graph.modules)
        for name in ("trigger", "overhead", "task_overhead", "warm_up")
    }
    known = ", ".join(f"{name} {format_duration(value)}" for name, value in times.items() if value)
    if not known:
        return None
    return f"the twin serves tuples one by one: latencies leave out micro-batches ({known})"
