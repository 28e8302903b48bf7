"""What is known of a running module and what is not: estimates that policies share.

| estimate | of | averaged |
|---|---|---|
| `service_time`, `executor_time` | seconds of a replica that a row takes | not at all |
| `Averages` | anything, by name | exponentially |
| `Window` | anything | over the last seconds |
| `Throughput` | rows a second that got through a module | not at all |
| `Selectivities` | rows to a module for each that its origins took in | by either of the above |
| `VisitRatios` | rows to a module for each that its source took in | ratio of sums that forget |
| `RescaleTimes` | seconds until requested executors can take tasks | median |

Unknown, non-finite and negative values are ignored by all of them.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf, isnan, nan
from statistics import median
from typing import Final

from penstock.core.graph import FlowGraph, Stream
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Ewma
from penstock.model.scalability import Scalability, slowdown
from penstock.policy.common.sentences import rows


def known(value: float | None, *, infinite: bool = False) -> float | None:
    """The reading, or None where it was not measured, is negative or is not a finite number.

    Infinity counts as known where it is said to: of a response time it means that rows pile up.

    >>> known(0.5), known(float("nan")), known(-1.0), known(inf), known(inf, infinite=True)
    (0.5, None, None, None, inf)
    """
    if value is None or isnan(value) or value < 0.0 or (value == inf and not infinite):
        return None
    return value


def service_time(reading: ModuleReading, scaling: Scalability | None = None) -> float | None:
    """Seconds that a row takes on a replica; with a model of its scaling, on one that is alone.

    >>> service_time(ModuleReading(service_time=0.02)), service_time(ModuleReading())
    (0.02, None)
    """
    time = known(reading.service_time)
    if not time or scaling is None or not reading.running:
        return time or None
    return time / slowdown(scaling, float(reading.running))


def executor_time(reading: ModuleReading) -> float | None:
    """Seconds of an executor that a row takes: as measured, or by how busy executors were.

    >>> executor_time(ModuleReading(service_time=0.01))
    0.01
    >>> executor_time(ModuleReading(processed_rate=300.0, running=4, utilisation=0.75))
    0.01
    >>> executor_time(ModuleReading(backlog=1e6)) is None
    True
    """
    if (time := service_time(reading)) is not None:
        return time
    rate, busy = known(reading.processed_rate), known(reading.utilisation)
    if not rate or not busy or not reading.running:
        return None
    return known(busy * reading.running / rate)


@dataclass
class Averages:
    """An exponentially weighted average for each name.

    >>> times = Averages(smoothing=0.5)
    >>> for seconds in (0.02, None, 0.04, nan):
    ...     times.update("count", seconds)
    >>> times.of("count"), times.of("split")
    (0.03, None)
    """

    smoothing: float
    """Weight of the newest value."""
    _of: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)

    def update(self, name: str, value: float | None) -> None:
        """Take in the newest value; one that is unknown is ignored."""
        if (newest := known(value)) is not None:
            self._of.setdefault(name, Ewma(self.smoothing)).update(newest)

    def of(self, name: str) -> float | None:
        """The average of one name; None before any value was known."""
        return self._of[name].level if name in self._of else None

    def all(self) -> dict[str, float]:
        """By name, where any value was known."""
        return {name: average.level for name, average in self._of.items()}


TIME_TOLERANCE = 1e-9
"""Times are sums of steps."""


@dataclass
class Window:
    """Readings of the last so many seconds, the oldest falling out.

    >>> window = Window(10.0)
    >>> for at, value in ((0.0, 9.0), (5.0, 1.0), (10.0, 3.0)):
    ...     window.add(at, value)
    >>> window.mean(), window.most(), window.growth()
    (2.0, 3.0, 0.4)
    """

    span: float
    _held: deque[tuple[float, float]] = field(default_factory=deque, init=False, repr=False)

    def add(self, at: float, value: float) -> None:
        """Take in a reading; the newest is kept however short the window."""
        self._held.append((at, value))
        while len(self._held) > 1 and self._held[0][0] <= at - self.span + TIME_TOLERANCE:
            self._held.popleft()

    def __len__(self) -> int:
        return len(self._held)

    def mean(self) -> float:
        """Of at least one reading."""
        return sum(value for _, value in self._held) / len(self._held)

    def most(self) -> float:
        """The highest of at least one reading."""
        return max(value for _, value in self._held)

    def growth(self) -> float | None:
        """Change a second from the oldest reading to the newest; None with fewer than two."""
        if len(self._held) < 2:
            return None
        (start, first), (end, last) = self._held[0], self._held[-1]
        return (last - first) / (end - start)


def windows(span: float) -> dict[str, Window]:
    """A window for each name, made when it is first asked for."""
    return defaultdict(partial(Window, span))


@dataclass
class Throughput:
    """Rows a second that got through each module in a step: those that came, less the growth of
    its backlog.

    A processed rate will not do where both are known: of a batch that outlasts a step it is the
    mean over all of it, and is reported in the step in which it ends.

    >>> from penstock.testing import seen
    >>> through = Throughput()
    >>> through.observe(seen(scan={"arrival_rate": 9.0, "backlog": 50.0}))
    {}
    >>> through.observe(seen(scan={"arrival_rate": 9.0, "backlog": 20.0}))
    {'scan': 39.0}
    """

    _waiting: Mapping[str, float] = field(default_factory=dict)

    def observe(self, seen: Observation) -> dict[str, float]:
        """By module where it is known; backlogs are remembered for the next step."""
        waiting = {name: known(module.backlog) for name, module in seen.modules.items()}
        rates = {name: self._of(name, module, seen.step) for name, module in seen.modules.items()}
        self._waiting = {name: rows for name, rows in waiting.items() if rows is not None}
        return {name: rate for name, rate in rates.items() if rate is not None}

    def _of(self, name: str, module: ModuleReading, step: float) -> float | None:
        before, now, came = self._waiting.get(name), known(module.backlog), module.arrival_rate
        if now is None or came is None:
            return known(module.processed_rate)
        return None if before is None else known(max(came + (before - now) / step, 0.0))


class Smoothed(Ewma):
    """An exponentially weighted average, whenever its readings come."""

    def add(self, _at: float, value: float, /) -> None:
        """Take in a reading."""
        self.update(value)

    def mean(self) -> float:
        """Of at least one reading."""
        return self.level


Average = Window | Smoothed
_OVER_TEN: Final = partial(Smoothed, 0.1)


@dataclass
class Selectivities:
    """The declared ones, corrected by the rows that arrived to a module beside those expected.

    Several streams to one module are corrected alike, because they are not measured one by one. A
    batch may leave a module in one step and come to the next in another, so a single pair of
    readings says little: averages over many steps are compared.

    >>> from penstock.testing import chain, seen
    >>> ratios = Selectivities(chain(scan={}, match={}, selectivity=2.0))
    >>> for _ in range(200):
    ...     rates = seen(scan={"processed_rate": 10.0}, match={"arrival_rate": 5.0})
    ...     through = ratios.observe(rates)
    >>> round(ratios.of(ratios.graph.streams[0]), 6)
    0.5
    """

    graph: FlowGraph | None
    average: Callable[[], Average] = field(default=_OVER_TEN, compare=False)
    """Makes the average of each module."""
    prior: bool = True
    """Whether the declared value counts as the first reading and pauses are left out; averages that
    forget by themselves, such as a window, need neither."""
    _through: Throughput = field(default_factory=Throughput, init=False, repr=False)
    _sent: dict[str, Average] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that were expected at a module."""
    _came: dict[str, Average] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that came."""

    def observe(self, seen: Observation) -> dict[str, float]:
        """Learn from a reading; returns the rows a second that got through each module."""
        through, sent = self._through.observe(seen), dict[str, float]()
        for stream in self.graph.streams if self.graph is not None else ():
            expected = through.get(stream.origin, nan) * declared(stream)
            sent[stream.target] = sent.get(stream.target, 0.0) + expected
        for name, expected in sent.items():
            came = known(seen.modules.get(name, ModuleReading()).arrival_rate)
            if came is not None and known(expected) is not None:
                self._compare(seen.at, name, expected, came)
        return through

    def of(self, stream: Stream) -> float:
        """Rows that take this way for each that its origin takes in."""
        came, sent = self._came.get(stream.target), self._sent.get(stream.target)
        if came is None or sent is None or not (came.mean() > 0 and sent.mean() > 0):
            return declared(stream)
        return declared(stream) * (came.mean() / sent.mean())

    def _compare(self, at: float, name: str, sent: float, came: float) -> None:
        readings = [(sent, came)]
        if self.prior and name not in self._sent:
            readings = [(sent, sent), (sent, came)] if sent > 0 else []
        elif self.prior and not (sent > 0 or came > 0):
            readings = []
        for expected, arrived in readings:
            self._sent.setdefault(name, self.average()).add(at, expected)
            self._came.setdefault(name, self.average()).add(at, arrived)


def declared(stream: Stream) -> float:
    """Rows that take a way for each that its origin takes in, by the file."""
    return stream.selectivity * stream.probability


_FORGETS: Final = 0.97
"""What is left of a step's weight one step later."""
_ENOUGH: Final = 10.0
"""Steps after which what was counted is believed."""


@dataclass
class VisitRatios:
    """Rows at each module for one at its source, counted over many batches.

    Rows leave a micro-batch all at once, so the rate at which they come to the next module leaps
    from step to step. What is predicted is the rate of the sources, which does not; a ratio of sums
    is exact over whole batches, where `Selectivities` would follow each leap down the graph.

    >>> from penstock.testing import chain, seen
    >>> reach = VisitRatios(chain(split={}, count={}, selectivity=2.0))
    >>> reach.of({"split": 100.0})
    {'split': 100.0, 'count': 200.0}
    >>> for at in range(40):
    ...     reach.observe(seen(split={"processed_rate": 50.0}, count={"arrival_rate": 150.0}))
    >>> round(reach.of({"split": 100.0})["count"])
    300
    """

    graph: FlowGraph
    _counts: dict[str, tuple[float, float, float]] = field(
        default_factory=dict, init=False, repr=False
    )
    """By module: rows that arrived, rows that its source finished, and the weight of both."""
    _declared: dict[str, dict[str, float]] = field(init=False, repr=False)
    """By source, rows that it and each module behind it see for one of its own."""

    def __post_init__(self) -> None:
        self._declared = {source: _visits(self.graph, source) for source in self.graph.sources}

    def observe(self, seen: Observation) -> None:
        """Count a step in which both were measured."""
        readings = seen.modules
        for source, reached in self._declared.items():
            finished = known(readings.get(source, ModuleReading()).processed_rate)
            for name in reached if finished is not None else ():
                came = known(readings.get(name, ModuleReading()).arrival_rate)
                if name != source and came is not None and finished is not None:
                    arrived, of, weight = self._counts.get(name, (0.0, 0.0, 0.0))
                    self._counts[name] = (
                        _FORGETS * arrived + came,
                        _FORGETS * of + finished,
                        _FORGETS * weight + 1.0,
                    )

    def of(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Rows a second at every module, given those at the sources."""
        return {
            name: rates[source] * (1.0 if name == source else self._ratio(name, visits))
            for source, reached in self._declared.items()
            if source in rates
            for name, visits in reached.items()
        }

    def _ratio(self, name: str, otherwise: float) -> float:
        arrived, of, weight = self._counts.get(name, (0.0, 0.0, 0.0))
        return arrived / of if weight >= _ENOUGH and of and arrived else otherwise


def _visits(graph: FlowGraph, source: str) -> dict[str, float]:
    visits = {source: 1.0}
    for name in graph.order():
        for stream in graph.outputs(name) if name in visits else ():
            share = visits[name] * declared(stream)
            visits[stream.target] = visits.get(stream.target, 0.0) + share
    return visits


_KEPT: Final = 9
"""Last times that count: the median of an odd few forgets, and no single one sways it."""


@dataclass
class RescaleTimes:
    """For each module, the median of its last times to grow, each request by itself.

    >>> from penstock.testing import seen
    >>> times = RescaleTimes()
    >>> for at, running in ((0.0, 2), (2.0, 2), (4.0, 2), (6.0, 2), (8.0, 5)):
    ...     asked = 2 if at == 0 else 5
    ...     times.observe(seen(at=at, counter={"requested": asked, "running": running}))
    >>> times.of("counter", prior=10.0)  # asked for at 0 s, there between 6 s and 8 s
    7.0

    A time begins when executors are asked for and ends when as many are running. It lies between
    two observations, of which the middle is taken. One that takes longer than `cap` counts as
    that, once: what a full cluster never grants says nothing about the time that others take.
    Times to shrink are left out, because capacity is not missing meanwhile.
    """

    cap: float = 600.0
    _times: dict[str, list[float]] = field(default_factory=dict, init=False)
    _asked: dict[str, int] = field(default_factory=dict, init=False)
    _growths: dict[str, list[tuple[float, int]]] = field(default_factory=dict, init=False)
    """By module those under way, the oldest first: since when, and to how many executors."""
    _before: float | None = field(default=None, init=False)

    def observe(self, seen: Observation) -> None:
        """Look whether executors were asked for, or have come."""
        for name, module in seen.modules.items():
            if module.requested is not None and module.running is not None:
                self._look(name, module.requested, module.running, seen)
        self._before = seen.at

    def of(self, name: str, *, prior: float) -> float:
        """Seconds that a module takes to grow; `prior` before it was seen to."""
        return median(self._times[name]) if self._times.get(name) else prior

    def left(self, name: str, at: float, *, prior: float) -> float:
        """Seconds that are left of a growth that is under way; 0 where none is."""
        growths = self._growths.get(name)
        if not growths:
            return 0.0
        since, _ = growths[-1]
        return max(self.of(name, prior=prior) - (at - since), 0.0)

    def _look(self, name: str, requested: int, running: int, seen: Observation) -> None:
        before = self._asked.get(name, requested)
        self._asked[name] = requested
        growths = [growth for growth in self._growths.get(name, []) if growth[1] <= requested]
        if requested > before:
            start = seen.at - seen.step if self._before is None else self._before
            growths.append((start, requested))
        self._growths[name] = []
        for since, executors in growths:
            if running >= executors:
                earliest = max((self._before or 0.0) - since, 0.0)
                self._learn(name, (earliest + seen.at - since) / 2)
            elif seen.at - since > self.cap:
                self._learn(name, self.cap)
            else:
                self._growths[name].append((since, executors))

    def _learn(self, name: str, time: float) -> None:
        self._times[name] = [*self._times.get(name, []), min(time, self.cap)][-_KEPT:]


def backlog_forbids_shrinking(reading: ModuleReading, degree: int, step: float) -> str | None:
    """Why a module cannot shrink now, as text; None where nothing that waits forbids it.

    It cannot while more rows wait than came, were finished or could be served in a step. Where a
    module works in batches that take longer than half a step, two batches are meant: one that is
    being worked on and the rows that meanwhile come for the next. A backlog that was not measured
    forbids nothing.

    >>> reading = ModuleReading(arrival_rate=100.0, backlog=900.0)
    >>> backlog_forbids_shrinking(reading, degree=2, step=4.0)
    '900 rows wait, more than arrive or can be served in a step'
    >>> backlog_forbids_shrinking(reading, degree=2, step=10.0)
    """
    waiting, time = known(reading.backlog), service_time(reading)
    if waiting is None:
        return None
    served = degree / time if time else 0.0
    pace = max(known(reading.arrival_rate) or 0.0, known(reading.processed_rate) or 0.0, served)
    if waiting <= pace * max(step, 2.0 * (known(reading.batch_duration) or 0.0)):
        return None
    return f"{rows(waiting)} rows wait, more than arrive or can be served in a step"
