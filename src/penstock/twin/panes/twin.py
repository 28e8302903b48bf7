"""The twin of a preference query: a pane stage and a window stage, scheduled as in ppq."""

from collections.abc import Callable
from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.panes import Panes
from penstock.core.roles import Workload
from penstock.core.signals import Latency
from penstock.policy.fuzzy.splitting import SplittingControl, SplittingMemory, check_period
from penstock.twin.observing import Reading, UtilisationMeter, by_station
from penstock.twin.panes import state
from penstock.twin.panes.observing import (
    PaneTotals,
    Sample,
    latency_of,
    read_panes,
    read_windows,
    sample,
)
from penstock.twin.panes.state import Costs
from penstock.twin.plant import SimulatedPlant
from penstock.twin.regions.places import path_delay
from penstock.twin.sources import Arrivals
from penstock.twin.state import check_settings, check_size

# What the twin of a preference query cannot simulate, refused before it starts.


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
    pair = graph[graph.source], graph[others[0]]
    for module in pair:
        if module.max_replicas > MOST_WORKERS:
            raise SettingError(
                f"max_replicas of module {module.name} must be {MOST_WORKERS} or less on the twin "
                f"of a preference query, got {module.max_replicas}"
            )
    return pair


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


Floats = NDArray[np.float64]

SAMPLING: Final = 0.25
"""Seconds of a sampling period where panes are not split."""


def _time_for_rows(module: Module) -> float:
    """The share of a worker's time that batches of the greatest length leave for tuples."""
    longest = module.rows_a_batch * (module.service_time or 1.0)
    beyond = module.overhead + module.task_overhead
    return 1.0 if longest == inf else longest / (longest + beyond)


class PaneTwin(SimulatedPlant):
    """A preference query over sliding windows, simulated tuple by tuple (ppq, Section 3).

    The graph has two modules, the pane stage and the window stage. Tuples come late by up to
    `disorder` seconds, all delays being as likely. The emitter of the pane stage sends each to the
    worker that owns its pane; with a `splitting` control the least loaded worker becomes the next
    owner after as many tuples as the threshold says, which follows the load in every period of
    that control. Punctuations (K-slack, from `slack` up to `max_slack`) close panes. The window
    stage puts parts into windows and, unless `merging` is off, makes one part of two where workers
    would be idle. A worker more begins with nothing; one that leaves sends its parts.

    What tuples and tasks take is in `costs`: the service times of both modules where it is not
    given. With micro-batches a stage takes what has come by a trigger, and its results leave when
    the batch is committed. The rest is as in `SimulatedPlant`.

    `load` of a reading is the paper's utilisation factor, `latency` is from the end of a window to
    its result; windows without tuples count, too. The same seed and decisions give the same
    observations.

    >>> from penstock.core.graph import Module, Stream
    >>> from penstock.workload import Constant
    >>> graph = FlowGraph(
    ...     source="plq",
    ...     modules=(
    ...         Module(name="plq", service_time=0.001),
    ...         Module(name="wlq", service_time=0.02),
    ...     ),
    ...     streams=(Stream(origin="plq", target="wlq"),),
    ... )
    >>> panes = Panes.parse("1s", "200ms")
    >>> twin = PaneTwin(graph, Constant(500.0), panes=panes, step=5.0, duration=10.0)
    >>> for seen in twin.readings():
    ...     plq, wlq = seen.modules.values()
    ...     print(f"{plq.load:.0%} and {wlq.load:.0%} loaded, {wlq.results_rate:g} windows/s")
    50% and 44% loaded, 4 windows/s
    50% and 50% loaded, 5 windows/s
    """

    def __init__(
        self,
        graph: FlowGraph,
        workload: Workload,
        *,
        panes: Panes,
        step: float,
        duration: float,
        costs: Costs | None = None,
        splitting: SplittingControl | None = None,
        merging: bool = True,
        disorder: float = 0.0,
        slack: float = 0.0,
        max_slack: float = inf,
        seed: int = 0,
        arrivals: str = "poisson",
        **plant: Any,
    ) -> None:
        check_settings(graph, step, duration, seed, "gamma")
        check_times(splitting, step, disorder=disorder, slack=slack)
        pane_stage, window_stage = stages(graph)
        super().__init__(graph, step=step, duration=duration, seed=seed, **plant)
        self._control, self._memory = splitting, SplittingMemory()
        period = splitting.period if splitting else min(SAMPLING, self._step)
        self._period = max(period, pane_stage.trigger)  # over part of a batch a load says little
        self._periods = 0
        for_rows, for_delays, for_batches = np.random.SeedSequence(seed).spawn(3)
        self._arrivals = Arrivals(workload, arrivals, duration, np.random.default_rng(for_rows))
        check_size(graph, self._arrivals.expected, duration)
        self._delays, self._disorder = np.random.default_rng(for_delays), disorder
        self._moments = self._stamps = np.empty(0)
        self._state = state.build(
            pane_stage,
            window_stage,
            panes,
            costs or Costs(tuple_time=pane_stage.service_time, task_time=window_stage.service_time),
            slack=slack,
            max_slack=max_slack,
            heaviest=heaviest_window(workload, panes, duration, disorder),
            merges=merging,
            distance=path_delay(graph, self.places) if self.places else 0.0,
            seed=for_batches,
        )
        self._numbers = {pane_stage.name: 0, window_stage.name: 1}
        self._utilisation = {name: UtilisationMeter() for name in self._numbers}
        self._set_pace(self._pace(0.0))
        self._samples: list[Sample] = []
        self._windows: list[Floats] = []
        self._task_time: float | None = None
        self._arrived, self._share = 0, _time_for_rows(pane_stage)
        self._before = self.totals()
        self._stages_before = by_station(self._state.stages["totals"], self._numbers)

    @property
    def at(self) -> float:
        """Virtual seconds since the start."""
        return float(self._state.clock["now"][0])

    @property
    def alpha(self) -> float:
        """What the splitting control has come to: above 1, panes are split further."""
        return self._memory.alpha

    @property
    def threshold(self) -> float:
        """Tuples of a part before the next worker takes over; inf where panes stay whole."""
        return float(self._state.clock["threshold"][0])

    def totals(self) -> PaneTotals:
        """What has happened since the start."""
        return PaneTotals.of(self._state)

    @property
    def results(self) -> dict[str, int]:
        """What came out, and what was left out."""
        totals = self.totals()
        return {"windows": totals.windows, "late_tuples": totals.dropped}

    def windows(self) -> Floats:
        """The end of each window that is done, and when it was done, in that order."""
        return np.concatenate([*self._windows, np.empty((0, 2))])

    def drain(self) -> float:
        """After the last step, finish what there is; says when the last window was done.

        Windows that reach beyond the last tuple stay open.
        """
        from penstock.twin.panes import plq

        clock = self._state.clock[0]
        while clock["held"]:
            self._simulate_until(self.at + float(self._state.stages["batch"]["trigger"][0]))
        over = max(self.at, float((clock["last"] + 1) * clock["length"]))
        self._until_enough(lambda: plq.close_all(self._state, over))
        self._finish_windows(inf)
        self._collect()
        done = self.windows()
        return float(done[-1, 1]) if len(done) else self.at

    def _next_change(self) -> float:
        """A sample, too, is a reason to stop."""
        return min(super()._next_change(), (self._periods + 1) * self._period)

    def _change(self, now: float) -> None:
        super()._change(now)
        if now == (self._periods + 1) * self._period:
            self._sample()

    def _simulate_until(self, end: float) -> None:
        # Numba takes longer to import than the rest of Penstock, and only a run needs it.
        from penstock.twin.panes import plq

        self._until_enough(lambda: plq.advance(self._state, self._moments, self._stamps, end))
        clock = self._state.clock[0]
        if self._state.stages["batch"]["trigger"][0]:
            clock["held"] = np.searchsorted(self._moments[clock["cursor"] :], end, side="right")
        self._finish_windows(end)

    def _until_enough(self, work: Callable[[], int]) -> None:
        while (lack := work()) != state.REACHED:
            if lack == state.MORE_ARRIVALS:
                self._next_chunk()
            elif lack not in (state.MORE_RESULTS, state.MORE_LEDGER) or not self._catch_up():
                self._state = state.more(self._state, lack)

    def _catch_up(self) -> bool:
        """Let the window stage take what has come by now; says whether it took any."""
        clock = self._state.clock[0]
        before = int(clock["sent"]["busy"])
        cursor = int(clock["cursor"])
        if cursor < len(self._moments) and np.isfinite(self._moments[cursor]):
            self._finish_windows(max(float(self._moments[cursor]), self.at))
        return int(clock["sent"]["busy"]) < before

    def _finish_windows(self, end: float) -> None:
        from penstock.twin.panes import wlq

        while (lack := wlq.advance(self._state, end)) != state.REACHED:
            self._state = state.more(self._state, lack)

    def _next_chunk(self) -> None:
        """What has come and waits for a trigger stays in hand."""
        came, left = self._arrivals.next_chunk(), int(self._state.clock["cursor"][0])
        stamps = np.maximum(came - self._disorder * self._delays.random(len(came)), 0.0)
        self._moments = np.concatenate([self._moments[left:], came])
        self._stamps = np.concatenate([self._stamps[left:], stamps])
        self._state.clock["cursor"] = 0

    def _set_pace(self, pace: float) -> None:
        self._state.stages["pace"] = pace

    def _resize(self, name: str, running: int, now: float) -> None:
        from penstock.twin.panes import plq, wlq

        m = self._numbers[name]
        if running == self._state.stages["active"][m]:
            return
        if m == 1:
            wlq.resize(self._state, running)
            return
        while plq.resize(self._state, now, running) != state.REACHED:
            self._state = state.more_results(self._state)

    def _sample(self) -> None:
        """The inner level: look at the last period, and set the threshold for the next."""
        from penstock.twin.panes import plq

        self._periods += 1
        plq.settle(self._state, self.at)
        before, self._arrived = self._arrived, self.totals().tuples
        seen = sample(self._state, self._period, self._arrived - before, self._share)
        self._samples.append(seen)
        if self._control is None:
            return
        self._memory = self._control.step(self._memory, seen.load)
        closed, sizes = int(self._state.clock["closed"][0]), self._state.sizes
        threshold = self._control.threshold(self._memory, sizes[sizes > 0].tolist(), closed)
        self._state.clock["threshold"] = np.inf if threshold is None else threshold

    def _measure(self) -> tuple[dict[str, Reading], Latency | None]:
        from penstock.twin.panes import plq

        plq.settle(self._state, self.at)
        now, now_at = self.totals(), by_station(self._state.stages["totals"], self._numbers)
        change = now - self._before
        steps = {name: now_at[name] - self._stages_before[name] for name in self._numbers}
        if change.tasks:
            self._task_time = change.busy_seconds / change.tasks
        panes, windows = self._numbers
        readings = {
            panes: read_panes(self._state, steps[panes], change, self._samples),
            windows: read_windows(self._state, steps[windows], change, self._task_time),
        }
        self._before, self._stages_before, self._samples = now, now_at, []
        for name, m in self._numbers.items():
            share = self._utilisation[name].read(self._state.stages[m], now_at[name], steps[name])
            readings[name]["utilisation"] = share
        return readings, latency_of(self._collect())

    def _collect(self) -> Floats:
        """Windows that were done since the last time."""
        other, finished = self._state.other[0], self._state.finished
        done = finished[: other["committed"]].copy()
        open_ = finished[other["committed"] : other["finished"]].copy()
        finished[: len(open_)] = open_
        other["finished"], other["committed"] = len(open_), 0
        self._windows.append(done)
        return done
