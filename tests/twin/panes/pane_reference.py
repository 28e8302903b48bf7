"""Both stages of a preference query as the ppq paper tells them, one event after the other.

Slow and plain, to be compared with the twin: every worker of the pane stage has an inbox with
tuples, punctuations and orders to leave, and what it takes for a tuple is found out when it begins
with it. Of events at the same moment the first to be caused comes first.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import floor, inf, isfinite, nan
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module
from penstock.core.panes import Panes
from penstock.core.signals import Configuration, Decision
from penstock.policy.fuzzy.splitting import SplittingControl, SplittingMemory
from penstock.twin import PaneTwin
from penstock.twin.panes.state import PUNCTUATION_GAP, Costs
from tests.support.twins import Constant, chain

Floats = NDArray[np.float64]

TUPLE_DONE, ARRIVAL, TASK_DONE, RESULT = range(4)
"""What comes first of events at the same moment."""


class Agenda:
    """What will happen, and when."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, int, Callable[[], None]]] = []
        self._order = count()

    def add(self, at: float, rank: int, act: Callable[[], None]) -> None:
        heappush(self._events, (at, rank, next(self._order), act))

    def run_until(self, end: float) -> None:
        while self._events and self._events[0][0] <= end:
            self.now, _, _, act = heappop(self._events)
            act()
        self.now = end if isfinite(end) else self.now


@dataclass
class PaneWorker:
    """A worker of the pane stage: what it has to do, and what it did in this period."""

    inbox: deque[tuple[str, int]] = field(default_factory=deque)
    parts: dict[int, int] = field(default_factory=dict)
    """By pane, tuples that it has begun with."""
    began: float | None = None
    done_at: float = 0.0
    """With the tuple at hand, or the last one that it had."""
    came: int = 0
    services: list[float] = field(default_factory=list)
    """Of tuples that were done in this period."""
    busy: float = 0.0
    """Seconds of this period, without the tuple at hand."""
    waiting: int = 0
    """Tuples that are not done."""


class WindowStage:
    """Algorithms 2 and 3: parts wait at windows until workers are idle."""

    def __init__(
        self, agenda: Agenda, panes: Panes, costs: Costs, sizes: Floats, workers: int, merging: bool
    ) -> None:
        self.agenda, self.panes, self.merging = agenda, panes, merging
        self.sizes, (self.task_time, self.comparison) = sizes, costs.of_tasks
        self.workers, self.busy = workers, 0
        self.directory: dict[int, Window] = {}
        self.received: dict[int, int] = {}
        self.expected: dict[int, int] = {}
        """By closed pane, how many parts it has."""
        self.windows: list[tuple[float, float]] = []
        """End of each window that is done, and when it was done."""
        self.tasks = {"update": 0, "merge": 0}
        self.busy_seconds = 0.0
        """Of tasks that have ended."""

    def receive(self, pane: int, tuples: int) -> None:
        self.received[pane] = self.received.get(pane, 0) + 1
        for k in self._windows_of(pane):
            window = self.directory.setdefault(k, Window())
            if tuples:
                window.waiting.append(tuples)
            if self.received[pane] == self.expected.get(pane):
                window.panes += 1
                self._finish(k)
        self.hand_out()

    def resize(self, workers: int) -> None:
        self.workers = workers
        self.hand_out()

    def pending(self) -> int:
        return sum(len(window.waiting) for window in self.directory.values())

    def hand_out(self) -> None:
        for k, kind in self._tasks(self.workers - self.busy):
            self._begin(k, kind)

    def _windows_of(self, pane: int) -> Iterator[int]:
        return (k for k in self.panes.windows_of(pane) if k >= 0)

    def _tasks(self, idle: int) -> list[tuple[int, str]]:
        """Algorithm 3."""
        known = sorted(self.directory.items())
        updates = [(k, "update") for k, w in known if not w.busy and w.waiting]
        left = {k: len(w.waiting) - (not w.busy) for k, w in known}
        merges = [(k, "merge") for k, _ in known if left[k] >= 2] if self.merging else []
        return (updates + merges)[: max(idle, 0)]

    def _begin(self, k: int, kind: str) -> None:
        window = self.directory[k]
        one = window.waiting.popleft()
        if kind == "update":
            window.busy, tuples = True, one
            compared = self.sizes[one] * max(self.sizes[window.tuples], 1.0)
        else:
            other = window.waiting.popleft()
            window.merging, tuples = window.merging + 1, one + other
            compared = self.sizes[one] * self.sizes[other]
        seconds = self.task_time + self.comparison * compared
        self.busy += 1

        def end() -> None:
            self._end(k, kind, tuples, seconds)

        self.agenda.add(self.agenda.now + seconds, TASK_DONE, end)

    def _end(self, k: int, kind: str, tuples: int, seconds: float) -> None:
        window = self.directory[k]
        self.busy -= 1
        self.tasks[kind] += 1
        self.busy_seconds += seconds
        if kind == "merge":
            window.merging -= 1
            window.waiting.append(tuples)
        else:
            window.busy = False
            window.tuples += tuples
        self._finish(k)
        self.hand_out()

    def _finish(self, k: int) -> None:
        window = self.directory[k]
        whole = window.panes == len(self.panes.panes_of(k))
        if whole and not (window.waiting or window.busy or window.merging):
            self.windows.append((self.panes.end(k) / 1e6, self.agenda.now))
            del self.directory[k]


@dataclass
class Window:
    """What the window stage knows of a window."""

    waiting: deque[int] = field(default_factory=deque)
    busy: bool = False
    merging: int = 0
    panes: int = 0
    """Of which all parts have come."""
    tuples: int = 0


class Reference:
    """Both stages; thresholds and workers are set from outside, or by a control of panes."""

    def __init__(
        self,
        moments: Floats,
        stamps: Floats,
        *,
        panes: Panes,
        costs: Costs,
        workers: tuple[int, int],
        most: int,
        merging: bool = True,
        slack: float = 0.0,
        control: SplittingControl | None = None,
    ) -> None:
        self.agenda = Agenda()
        self._input = iter(zip(moments.tolist(), stamps.tolist(), strict=True))
        self.length = panes.length / 1e6
        table = len(moments) + 1
        self._tuple_times, sizes = costs.of_tuples(table), costs.sizes(table)
        self.after = WindowStage(self.agenda, panes, costs, sizes, workers[1], merging)
        self.workers = [PaneWorker() for _ in range(most)]
        self.active, self.threshold, self.slack = workers[0], inf, slack
        self._control, self._memory = control, SplittingMemory()
        self._newest, self._late, self._told_at = -inf, 0.0, -inf
        self.punctuation, self.oldest, self._next_pane = 0.0, 0, 0
        self.owner: dict[int, int] = {}
        self.sent: dict[int, dict[int, int]] = {}
        """By open pane and worker, tuples that the worker got."""
        self.parts_of: dict[int, int] = {}
        """By open pane, parts up to now, those of workers that left included."""
        self.closed, self.parts, self.arrived, self.dropped = 0, 0, 0, 0
        self.closed_sizes: deque[list[int]] = deque(maxlen=5)
        self._look_forward()

    def run_until(self, end: float) -> None:
        self.agenda.run_until(end)

    # The emitter of the pane stage: Algorithm 1

    def _look_forward(self) -> None:
        coming = next(self._input, None)
        if coming is not None:
            self.agenda.add(coming[0], ARRIVAL, lambda: self._arrive(coming[1]))

    def _arrive(self, stamp: float) -> None:
        self.arrived += 1
        self._punctuate(stamp)
        if stamp < self.punctuation:
            self.dropped += 1
        else:
            self._schedule(self._pane_of(stamp))
        self._look_forward()

    def _pane_of(self, stamp: float) -> int:
        """By the products that close panes, as a quotient may be rounded into the pane before."""
        near = floor(stamp / self.length)
        return max(p for p in (near - 1, near, near + 1) if p * self.length <= stamp)

    def _punctuate(self, stamp: float) -> None:
        if stamp <= self._newest:
            self._late = max(self._late, self._newest - stamp)
            return
        self._newest, self.slack, self._late = stamp, max(self.slack, self._late), 0.0
        if self.agenda.now >= self._told_at + PUNCTUATION_GAP:
            self._told_at = self.agenda.now
            self.punctuation = max(self.punctuation, stamp - self.slack)
            self._close_panes(self.punctuation)

    def _close_panes(self, until: float) -> None:
        while (self.oldest + 1) * self.length <= until:
            self._close(self.oldest)
            self.oldest += 1

    def drain(self) -> None:
        """No tuple comes any more: the last pane ends, all are closed, and all tasks are done."""
        self.run_until(max(self.agenda.now, self._next_pane * self.length))
        while self.oldest < self._next_pane:
            self._close(self.oldest)
            self.oldest += 1
        self.run_until(inf)

    def _close(self, pane: int) -> None:
        owners = self.sent.pop(pane, {})
        self.owner.pop(pane, None)
        parts = self.parts_of.pop(pane, 0)
        for w in sorted(owners):
            self._tell(w, ("close", pane))
        if not owners:  # an EMPTY meta-tuple tells the window stage that the pane is closed
            self._send(pane, 0)
            parts += 1
        self.closed_sizes.append([owners[w] for w in sorted(owners)])
        self.closed += 1
        self.parts += parts
        self.after.expected[pane] = parts

    def _schedule(self, pane: int) -> None:
        self._next_pane = max(self._next_pane, pane + 1)
        sent = self.sent.setdefault(pane, {})
        w = self.owner.get(pane)
        if w is None or sent.get(w, 0) >= self.threshold:
            w = self.owner[pane] = self._least_loaded()
        if w not in sent:
            self.parts_of[pane] = self.parts_of.get(pane, 0) + 1
        sent[w] = sent.get(w, 0) + 1
        self.workers[w].came += 1
        self.workers[w].waiting += 1
        self._tell(w, ("tuple", pane))

    def _least_loaded(self) -> int:
        """Of several, the one that has been or will be done first."""
        loads = [worker.waiting for worker in self.workers[: self.active]]
        least = [w for w, load in enumerate(loads) if load == min(loads)]
        if len(least) == 1:
            return least[0]
        return min(least, key=lambda w: self._free_at(self.workers[w]))

    def _free_at(self, worker: PaneWorker) -> float:
        at, done = worker.done_at, dict(worker.parts)
        for kind, pane in worker.inbox:
            if kind == "tuple":
                at += float(self._tuple_times[done.get(pane, 0)])
                done[pane] = done.get(pane, 0) + 1
            elif kind == "close":
                done.pop(pane)
            else:
                done.clear()
        return at

    def resize(self, panes: int, windows: int) -> None:
        """Algorithm 4, and the list of workers of the window stage."""
        before, self.active = self.active, panes
        for w in range(panes, before):
            self._tell(w, ("leave", 0))
            for pane, sent in sorted(self.sent.items()):
                sent.pop(w, None)
                if self.owner[pane] == w:
                    self.owner[pane] = self._least_loaded()
        if windows != self.after.workers:
            self.after.resize(windows)

    # Workers of the pane stage

    def _tell(self, w: int, message: tuple[str, int]) -> None:
        self.workers[w].inbox.append(message)
        if self.workers[w].began is None:
            self._go_on(self.workers[w])

    def _go_on(self, worker: PaneWorker) -> None:
        while worker.inbox:
            kind, pane = worker.inbox.popleft()
            if kind == "tuple":
                self._begin(worker, pane)
                return
            for sent in [pane] if kind == "close" else sorted(worker.parts):
                self._send(sent, worker.parts.pop(sent))

    def _begin(self, worker: PaneWorker, pane: int) -> None:
        before = worker.parts.get(pane, 0)
        worker.parts[pane] = before + 1
        worker.began = self.agenda.now
        worker.done_at = self.agenda.now + float(self._tuple_times[before])

        def end() -> None:
            assert worker.began is not None
            worker.services.append(float(self._tuple_times[before]))
            worker.busy += self.agenda.now - worker.began
            worker.began, worker.waiting = None, worker.waiting - 1
            self._go_on(worker)

        self.agenda.add(worker.done_at, TUPLE_DONE, end)

    def _send(self, pane: int, tuples: int) -> None:
        self.agenda.add(self.agenda.now, RESULT, lambda: self.after.receive(pane, tuples))

    # What is measured

    def sample(self, period: float) -> float:
        """The load of the period that ends now; a control sets the threshold for the next."""
        load = self._load(period)
        for worker in self.workers:
            worker.came, worker.busy = 0, 0.0
            worker.services.clear()
            if worker.began is not None:
                worker.began = self.agenda.now
        if self._control is not None:
            self._memory = self._control.step(self._memory, load)
            sizes = [size for pane in self.closed_sizes for size in pane]
            found = self._control.threshold(self._memory, sizes, self.closed)
            self.threshold = inf if found is None else found
        return load

    def _load(self, period: float) -> float:
        """The utilisation factor of Section 3.1, each worker's weighted by what it got."""
        at_work = self.workers[: self.active]
        services = [s for worker in at_work for s in worker.services]
        came = sum(worker.came for worker in at_work)
        if not came or not services:
            return nan
        mean = sum(services) / len(services)
        return sum(w.came / came * self._factor(w, period, mean) for w in at_work if w.came)

    def _factor(self, worker: PaneWorker, period: float, mean: float) -> float:
        if not mean:
            return 0.0
        began = worker.began
        busy = worker.busy + (self.agenda.now - began if began is not None else 0.0)
        served = len(worker.services) + max(period - busy, 0.0) / mean
        if served > 1e-9:
            return worker.came / served
        return worker.came * mean / period  # it had one tuple at hand all the time

    def totals(self) -> dict[str, int]:
        """By the names that the totals of a twin have."""
        return {
            "tuples": self.arrived,
            "dropped": self.dropped,
            "panes": self.closed,
            "parts": self.parts,
            "received": sum(self.after.received.values()),
            "updates": self.after.tasks["update"],
            "merges": self.after.tasks["merge"],
            "windows": len(self.after.windows),
        }

    def waiting(self) -> int:
        """Tuples of the pane stage that are not done."""
        return sum(worker.waiting for worker in self.workers)


WINDOWS = (("1s", "200ms"), ("300ms", "200ms"), ("500ms", "500ms"), ("700ms", "300ms"))
"""With slides that divide them and slides that do not."""


@dataclass(frozen=True)
class Given:
    """Rows at these moments."""

    moments: Floats

    def rate(self, at: Floats) -> Floats:
        return np.zeros_like(at)

    def arrivals(self, at: Floats) -> Floats:
        return np.searchsorted(self.moments, at, "right").astype(np.float64)

    def times(self, index: Floats) -> Floats:
        return self.moments[index.round().astype(np.int64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfiltered(Costs):
    """Every tuple is among the best of its part."""

    def sizes(self, most: int) -> Floats:
        return np.arange(most + 1.0)


def two_stages(panes: int = 2, windows: int = 2, **both: Any) -> FlowGraph:
    """The graph of a preference query with so many workers in each stage."""
    return chain(
        Module(name="plq", service_time=0.003, initial_replicas=panes, **both),
        Module(name="wlq", service_time=0.02, initial_replicas=windows, **both),
    )


def twin_of(
    rate: float = 300.0,
    *,
    graph: FlowGraph | None = None,
    windows: tuple[str, str] = ("1s", "200ms"),
    **others: Any,
) -> PaneTwin:
    """A twin; what is not set is small and quick."""
    usual: dict[str, Any] = {"step": 1.0, "duration": 5.0, "workload": Constant(rate)}
    chosen = usual | others
    return PaneTwin(
        graph or two_stages(), chosen.pop("workload"), panes=Panes.parse(*windows), **chosen
    )


def stamps_of(twin: PaneTwin, moments: Floats) -> Floats:
    """The times that a twin which has not begun will give to tuples that come at these moments."""
    delays = twin._disorder * deepcopy(twin._delays).random(len(moments))
    return np.maximum(moments - delays, 0.0)


def decide(panes: int, windows: int) -> Decision:
    degrees = {"plq": panes, "wlq": windows}
    return Decision(configuration=Configuration(degrees=degrees), why="the test says so")


@dataclass(frozen=True, kw_only=True)
class Story:
    """An input, and what is decided while it comes."""

    moments: Floats
    windows: tuple[str, str]
    settings: dict[str, Any]
    degrees: Sequence[tuple[int, int]]

    def begin(self, **others: Any) -> PaneTwin:
        chosen = self.settings | others
        return twin_of(
            graph=two_stages(*self.degrees[0], max_replicas=4),
            windows=self.windows,
            workload=Given(self.moments),
            step=0.25,
            duration=3.0,
            arrivals="even",
            **chosen,
        )

    def tell(self, **others: Any) -> PaneTwin:
        """The twin after all of it."""
        twin = self.begin(**others)
        for turn, _ in enumerate(twin.readings(), 1):
            twin.apply(decide(*self.degrees[turn % len(self.degrees)]))
        twin.drain()
        return twin


@st.composite
def stories(draw: st.DrawFn) -> Story:
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    rows = draw(st.sampled_from([10, 100, 600]))
    moments = np.sort(random.random(rows)) * 3.0
    if draw(st.booleans()):
        moments = moments[(moments < 0.9) | (moments > 2.0)]
    workers = st.tuples(st.integers(1, 4), st.integers(1, 4))
    busy = draw(st.sampled_from([0.2, 1.0, 3.0])) * 3.0 / rows
    costs = Unfiltered(tuple_time=busy, task_time=0.01, window_comparison=1e-6)
    settings = {
        "costs": costs,
        "splitting": draw(st.sampled_from([None, SplittingControl(), SplittingControl(panes=1)])),
        "merging": draw(st.booleans()),
        "disorder": draw(st.sampled_from([0.0, 0.05, 0.4])),
        "slack": draw(st.sampled_from([0.0, 0.3])),
    }
    return Story(
        moments=moments,
        windows=draw(st.sampled_from(WINDOWS)),
        settings=settings,
        degrees=draw(st.lists(workers, min_size=1, max_size=5)),
    )
