"""The preference query of the ppq paper on the twin, and the ways in which it is run."""

from dataclasses import dataclass
from typing import Final

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.interference import Interference
from penstock.core.panes import Panes
from penstock.core.roles import Policy
from penstock.experiment.papers.ppq_printed import SETPOINT
from penstock.experiment.papers.ppq_streams import Flow
from penstock.plant.twin.panes import PaneTwin
from penstock.plant.twin.panes_costs import Costs
from penstock.policy import Static
from penstock.policy.fuzzy import Fuzzy
from penstock.policy.splitting import SplittingControl
from penstock.workload import drawn

PLQ: Final = "plq"
WLQ: Final = "wlq"
TUPLE: Final = 22e-6
"""Seconds of a tuple in the pane stage, and"""
COMPARISON: Final = 0.2e-6
"""of each comparison with another. With these two as many workers are enough as in Fig. 9 (3 for
40,000 tuples/s, 4 for 50,000, 6 but not 5 for 70,000) and in Fig. 11 (7 for 80,000)."""
TASK: Final = 100e-6
"""Seconds of a task of the window stage besides its comparisons: next to nothing."""
FACTORS: Final = {"skyline": (1.0, 1.0), "top-delta": (2.25, 1.15)}
"""How many times as long a comparison takes in either stage. Of top-delta fitted to one row of
Tab. 5, MAP with a dispersion of 1,000."""
MARGIN: Final = 0.2
"""By how much lower the inner level aims than the outer one."""
POOL: Final = 59
"""Workers of both stages."""
WINDOW: Final = 1_000_000
"""Microseconds."""
STEP: Final = 2.5
"""Seconds between decisions,"""
SAMPLING: Final = 0.25
"""and between two looks of the inner level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way to run the query; as it stands, with both levels as in Section 5.3."""

    query: str = "skyline"
    slide: int = 200_000
    """Microseconds."""
    outer: bool = True
    """Whether workers are decided."""
    margin: float | None = MARGIN
    """By how much lower the inner level aims; None leaves panes whole."""
    even: bool = False
    """Split all panes among all workers."""
    merging: bool = True
    windows: bool = True
    """Whether tasks of the window stage take their time; without, the pane stage is alone."""
    plq: int = 1
    """Workers at the start."""
    wlq: int = 1
    pool: int = POOL
    step: float = STEP
    sampling: float = SAMPLING
    slowdown: float = 1.0
    """How many times as long everything takes."""


def open_query(setup: Setup, flow: Flow, seed: int) -> PaneTwin:
    """The twin of a query that has seen nothing yet."""
    return PaneTwin(
        graph(setup),
        flow.workload,
        panes=Panes(window=WINDOW, slide=setup.slide),
        step=setup.step,
        duration=flow.duration,
        costs=costs(setup),
        splitting=splitting(setup),
        merging=setup.merging,
        disorder=flow.disorder,
        interference=Interference(processes=1, slowdown=setup.slowdown),
        seed=seed,
        arrivals="even" if drawn(flow.workload) else "poisson",
    )


def policy(setup: Setup) -> Policy:
    """The outer level, or none."""
    return _fuzzy(setup) if setup.outer else Static()


def graph(setup: Setup) -> FlowGraph:
    """Both stages, with workers that come at once."""
    most = setup.pool - 1
    return FlowGraph(
        source=PLQ,
        modules=(
            Module(name=PLQ, service_time=TUPLE, initial_replicas=setup.plq, max_replicas=most),
            Module(name=WLQ, service_time=TASK, initial_replicas=setup.wlq, max_replicas=most),
        ),
        streams=(Stream(origin=PLQ, target=WLQ),),
    )


def costs(setup: Setup) -> Costs:
    """What tuples and tasks take."""
    in_panes, in_windows = FACTORS[setup.query]
    return Costs(
        tuple_time=TUPLE,
        comparison=in_panes * COMPARISON,
        window_comparison=in_windows * COMPARISON if setup.windows else 0.0,
        task_time=TASK,
    )


def splitting(setup: Setup) -> SplittingControl | None:
    """The inner level; where panes are split evenly, one that always splits as far as it can."""
    if setup.even:
        return SplittingControl(period=setup.sampling, low=_ALWAYS - 1.0, high=_ALWAYS)
    return _fuzzy(setup).inner


def _fuzzy(setup: Setup) -> Fuzzy:
    return Fuzzy(
        graph(setup),
        setpoint=SETPOINT,
        margin=setup.margin or 0.0,
        split=setup.margin is not None,
        sampling=setup.sampling,
        pool=setup.pool,
    )


_ALWAYS: Final = 20.0
"""Turns of the workers within a pane."""
