"""The twin of a preference query: a pane stage and a window stage, scheduled as in ppq."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.interference import Interference
from penstock.core.panes import Panes
from penstock.core.roles import Workload
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, check_degrees
from penstock.core.units import format_duration
from penstock.policy.fuzzy.splitting import SplittingControl, SplittingMemory, check_period
from penstock.twin.panes import state
from penstock.twin.panes.observing import (
    PaneTotals,
    Sample,
    latency_of,
    read_panes,
    read_windows,
    recent_sizes,
    sample,
)
from penstock.twin.panes.state import Costs
from penstock.twin.sources import Arrivals
from penstock.twin.state import check_settings, check_size

# Workers of a stage: asked for, and at work once they have started.


@dataclass(slots=True)
class Crew:
    """The workers of one stage.

    >>> crew = Crew(Module(name="plq", initial_replicas=2, start_up=5.0))
    >>> crew.ask(4, now=10.0), crew.running, crew.next_ready()
    (True, 2, 15.0)
    >>> crew.switch(now=15.0)
    4
    """

    module: Module
    running: int = field(init=False)
    wanted: int = field(init=False)
    requested: int = field(init=False)
    _starting: list[float] = field(default_factory=list)
    """When each worker beyond those at work will be ready."""

    def __post_init__(self) -> None:
        """Begin with the initial ones."""
        self.running = self.wanted = self.requested = self.module.initial_replicas

    def ask(self, wanted: int, now: float) -> bool:
        """Ask for so many, within the module's bounds; says whether that changes anything."""
        self.wanted = wanted
        degree = min(max(wanted, self.module.min_replicas), self.module.max_replicas)
        if degree == self.requested:
            return False
        self.requested = degree
        extra = max(degree - self.running, 0)
        del self._starting[extra:]
        self._starting += [now + self.module.start_up] * (extra - len(self._starting))
        return True

    def next_ready(self) -> float:
        """When the next worker will be ready; now, where one has to go."""
        if self.requested < self.running:
            return -inf
        return self._starting[0] if self._starting else inf

    def switch(self, now: float) -> int:
        """Let those go that are too many, and those begin that are ready; says how many work."""
        self.running = min(self.running, self.requested)
        while self._starting and self._starting[0] <= now:
            self._starting.pop(0)
            self.running += 1
        return self.running


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


Floats = NDArray[np.float64]

SAMPLING: Final = 0.25
"""Seconds of a sampling period where nobody splits panes."""


class PaneTwin:
    """A preference query over sliding windows, simulated tuple by tuple (ppq, Section 3).

    The graph has two modules, the pane stage and the window stage. Tuples come late by up to
    `disorder` seconds, all delays being as likely. The emitter of the pane stage sends each to the
    worker that owns its pane; with a `splitting` control the least loaded worker becomes the next
    owner after as many tuples as the threshold says, which follows the load in every period of
    that control. Punctuations (K-slack, from `slack` up to `max_slack`) close panes. The window
    stage puts parts into windows and, unless `merging` is off, makes one part of two where workers
    would be idle. A worker more begins with nothing; one that leaves sends its parts.

    What tuples and tasks take is in `costs`: the service times of both modules where it is not
    given. While there is `interference` they take longer. Workers are asked for and start as on
    the other twins; micro-batches are not simulated.

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
        interference: Interference | None = None,
        seed: int = 0,
        arrivals: str = "poisson",
    ) -> None:
        check_settings(graph, step, duration, seed, "gamma")
        check_times(splitting, step, disorder=disorder, slack=slack)
        pane_stage, window_stage = stages(graph)
        self.graph = graph
        self._step, self._duration, self._turn = float(step), float(duration), 0
        self._control = splitting
        self._memory = SplittingMemory()
        self._period = splitting.period if splitting else min(SAMPLING, self._step)
        self._periods = 0
        for_rows, for_delays = np.random.SeedSequence(seed).spawn(2)
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
        )
        self._crews = {m.name: Crew(m) for m in (pane_stage, window_stage)}
        self._interference = interference
        self._set_pace(0.0)
        self._samples: list[Sample] = []
        self._windows: list[Floats] = []
        self._task_time: float | None = None
        self._before, self._seen_at = self.totals(), 0.0
        self._worker_seconds = 0.0

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

    def readings(self) -> Iterator[Observation]:
        """Simulate a control step at a time; a second call goes on where the first stopped."""
        turns = ceil(self._duration / self._step * (1 - 1e-12))
        while self._turn < turns:
            self._turn += 1
            self._run_until(min(self._turn * self._step, self._duration))
            yield self._observe()

    def apply(self, decision: Decision) -> Configuration | None:
        """Ask for the workers that the decision wants, now."""
        degrees = decision.configuration.degrees
        check_degrees(degrees, self._crews)
        changed = [self._crews[name].ask(degree, self.at) for name, degree in degrees.items()]
        self._switch_crews(self.at)
        if not any(changed):
            return None
        return Configuration(degrees={name: crew.requested for name, crew in self._crews.items()})

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
        over = max(self.at, float((clock["last"] + 1) * clock["length"]))
        self._until_enough(lambda: plq.close_all(self._state, over))
        self._finish_windows(inf)
        self._collect()
        done = self.windows()
        return float(done[-1, 1]) if len(done) else self.at

    def _run_until(self, end: float) -> None:
        """Stop wherever something changes: a sample, a worker that is ready, interference."""
        while self.at < end:
            ready = min(crew.next_ready() for crew in self._crews.values())
            sampled = (self._periods + 1) * self._period
            stop = min(end, ready, sampled, self._next_edge())
            self._simulate_until(stop)
            self._switch_crews(stop)
            self._set_pace(stop)
            if stop == sampled:
                self._sample()

    def _simulate_until(self, end: float) -> None:
        # Numba takes longer to import than the rest of Penstock, and only a run needs it.
        from penstock.twin.panes import plq

        self._until_enough(lambda: plq.advance(self._state, self._moments, self._stamps, end))
        self._finish_windows(end)

    def _until_enough(self, work: Callable[[], int]) -> None:
        from penstock.twin.panes import plq

        more = {
            plq.MORE_TUPLES: state.more_tuples,
            plq.MORE_RESULTS: state.more_results,
            plq.MORE_PANES: state.more_panes,
            plq.MORE_LEDGER: state.more_ledger,
        }
        while (stopped := work()) != plq.REACHED:
            if stopped == plq.MORE_ARRIVALS:
                self._next_chunk()
            elif stopped in (plq.MORE_RESULTS, plq.MORE_LEDGER) and self._catch_up():
                continue
            else:
                self._state = more[stopped](self._state)

    def _catch_up(self) -> bool:
        """Let the window stage take what has come by now; says whether it took any."""
        clock = self._state.clock[0]
        before = int(clock["sent"])
        cursor = int(clock["cursor"])
        if cursor < len(self._moments) and np.isfinite(self._moments[cursor]):
            self._finish_windows(max(float(self._moments[cursor]), self.at))
        return int(clock["sent"]) < before

    def _finish_windows(self, end: float) -> None:
        from penstock.twin.panes import wlq

        more = {
            wlq.MORE_WINDOWS: state.more_windows,
            wlq.MORE_PARTS: state.more_parts,
            wlq.MORE_FINISHED: state.more_finished,
        }
        while (stopped := wlq.advance(self._state, end)) != wlq.REACHED:
            self._state = more[stopped](self._state)

    def _next_chunk(self) -> None:
        self._moments = self._arrivals.next_chunk()
        delays = self._disorder * self._delays.random(len(self._moments))
        self._stamps = np.maximum(self._moments - delays, 0.0)
        self._state.clock["cursor"] = 0

    def _next_edge(self) -> float:
        edges = self._interference.edges() if self._interference else ()
        return min((edge for edge in edges if edge > self.at), default=np.inf)

    def _set_pace(self, now: float) -> None:
        if self._interference is not None:
            pace = self._interference.pace(now)
            self._state.clock["pace"] = self._state.other["pace"] = pace

    def _switch_crews(self, now: float) -> None:
        from penstock.twin.panes import plq, wlq

        panes, windows = self._crews.values()
        if panes.next_ready() <= now:
            active = panes.switch(now)
            while plq.resize(self._state, now, active) != plq.REACHED:
                self._state = state.more_results(self._state)
        if windows.next_ready() <= now:
            wlq.resize(self._state, windows.switch(now))

    def _sample(self) -> None:
        """The inner level: look at the last period, and set the threshold for the next."""
        from penstock.twin.panes import plq

        self._periods += 1
        plq.settle(self._state, self.at)
        seen = sample(self._state, self._period)
        self._worker_seconds += self._period * int(self._state.clock["active"][0])
        self._samples.append(seen)
        if self._control is None:
            return
        self._memory = self._control.step(self._memory, seen.load)
        closed = int(self._state.clock["closed"][0])
        threshold = self._control.threshold(self._memory, recent_sizes(self._state), closed)
        self._state.clock["threshold"] = np.inf if threshold is None else threshold

    def _observe(self) -> Observation:
        from penstock.twin.panes import plq

        plq.settle(self._state, self.at)
        now, step = self.totals(), self.at - self._seen_at
        change = now - self._before
        if change.tasks:
            self._task_time = change.busy_seconds / change.tasks
        done = self._collect()
        read = (
            read_panes(self._state, change, self._samples, self._worker_seconds, step),
            read_windows(self._state, change, self._task_time, step),
        )
        crews = self._crews.items()
        modules = {n: _staffed(r, crew) for (n, crew), r in zip(crews, read, strict=True)}
        self._before, self._seen_at, self._samples = now, self.at, []
        self._worker_seconds = 0.0
        return Observation(at=self.at, step=step, modules=modules, latency=latency_of(done))

    def _collect(self) -> Floats:
        """Windows that were done since the last time."""
        other = self._state.other
        done = self._state.finished[: other["finished"][0]].copy()
        other["finished"] = 0
        self._windows.append(done)
        return done


def _staffed(reading: ModuleReading, crew: Crew) -> ModuleReading:
    return replace(reading, wanted=crew.wanted, requested=crew.requested, running=crew.running)
