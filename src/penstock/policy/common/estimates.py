"""What is known of a running module, and what is not.

How long it takes until executors that were asked for can take tasks, learned by watching.

>>> from penstock.testing import seen
>>> times = RescaleTimes()
>>> for at, running in ((0.0, 2), (2.0, 2), (4.0, 2), (6.0, 2), (8.0, 5)):
...     times.notice(seen(at=at, counter={"requested": 2 if at == 0 else 5, "running": running}))
>>> times.of("counter", prior=10.0)  # asked for at 0 s, there between 6 s and 8 s
7.0
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, nan
from statistics import median
from typing import Final

from penstock.core.graph import FlowGraph, Stream
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Ewma
from penstock.policy.common.sentences import rows


def is_known(value: float | None) -> bool:
    """Whether a reading can be used: measured, finite and not negative."""
    return value is not None and isfinite(value) and value >= 0.0


# How many rows a module sends another for each that it takes in, as measured.


@dataclass
class Through:
    """Rows a second that got through each module in a step: those that came, and fewer or more by
    as many as wait now and did not before.

    A processed rate will not do where both are known: of a batch that outlasts a step it is the
    mean over all of it, and is told in the step in which it ends.

    >>> from penstock.testing import seen
    >>> through = Through()
    >>> through.take_in(seen(scan={"arrival_rate": 9.0, "backlog": 50.0}))
    {}
    >>> through.take_in(seen(scan={"arrival_rate": 9.0, "backlog": 20.0}))
    {'scan': 39.0}
    """

    _waiting: Mapping[str, float] = field(default_factory=dict)

    def take_in(self, seen: Observation) -> dict[str, float]:
        """Of the modules of which it can be told; backlogs are remembered for the next step."""
        found = {name: self._of(name, module, seen.step) for name, module in seen.modules.items()}
        told = {name: m.backlog for name, m in seen.modules.items() if m.backlog is not None}
        self._waiting = {name: rows for name, rows in told.items() if is_known(rows)}
        return {name: rate for name, rate in found.items() if rate is not None and is_known(rate)}

    def _of(self, name: str, module: ModuleReading, step: float) -> float | None:
        before, now, came = self._waiting.get(name), module.backlog, module.arrival_rate
        if now is None or not is_known(now) or came is None:
            return module.processed_rate
        return None if before is None else max(came + (before - now) / step, 0.0)


@dataclass
class Selectivities:
    """The file's, corrected by the rows that came to a module beside those that should have.

    Several streams to one module are corrected alike: nobody measures them one by one. A batch may
    leave a module in one step and come to the next in another, so a single pair of readings says
    little: averages over many steps are compared, and the file's word counts as the first reading.

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> stream = Stream(origin="scan", target="match", selectivity=2.0)
    >>> modules = (Module(name="scan"), Module(name="match"))
    >>> known = Selectivities(FlowGraph(source="scan", modules=modules, streams=(stream,)))
    >>> for _ in range(200):
    ...     known.take_in(seen(scan={"processed_rate": 10.0}, match={"arrival_rate": 5.0}))
    >>> round(known.of(stream), 6)
    0.5
    """

    graph: FlowGraph
    smoothing: float = 0.1
    """Weight of the newest reading."""
    _through: Through = field(default_factory=lambda: Through(), init=False, repr=False)
    _sent: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that should have come to a module."""
    _came: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that did."""

    def take_in(self, seen: Observation) -> None:
        """Learn from a reading; what is unknown, or no number, teaches nothing."""
        through, sent = self._through.take_in(seen), dict[str, float]()
        for stream in self.graph.streams:
            rows = through.get(stream.origin, nan) * declared(stream)
            sent[stream.target] = sent.get(stream.target, 0.0) + rows
        for name, rows in sent.items():
            self._compare(name, rows, seen.modules.get(name, ModuleReading()).arrival_rate)

    def of(self, stream: Stream) -> float:
        """Rows that take this way for each that its origin takes in."""
        came, sent = self._came.get(stream.target), self._sent.get(stream.target)
        if came is None or sent is None or not (came.level > 0 and sent.level > 0):
            return declared(stream)
        return declared(stream) * (came.level / sent.level)

    def _compare(self, name: str, sent: float, came: float | None) -> None:
        if came is None or not (is_known(came) and is_known(sent)):
            return
        if name not in self._sent and sent > 0:
            self._came[name], self._sent[name] = Ewma(self.smoothing), Ewma(self.smoothing)
            self._came[name].update(sent)
            self._sent[name].update(sent)
        if name in self._sent and (sent > 0 or came > 0):  # a pause is no reason to forget
            self._came[name].update(came)
            self._sent[name].update(sent)


def declared(stream: Stream) -> float:
    """Rows that take a way for each that its origin takes in, by the file."""
    return stream.selectivity * stream.probability


_KEPT: Final = 9
"""Last times that count: the median of an odd few forgets, and no single one sways it."""


@dataclass(frozen=True, slots=True)
class _Growth:
    """Executors that were asked for."""

    since: float
    executors: int
    """That there are to be then."""


@dataclass
class RescaleTimes:
    """For each module, the median of its last times to grow, each request by itself.

    A time begins when executors are asked for and ends when as many are running. It lies between
    two observations, of which the middle is taken. One that takes longer than `cap` counts as
    that, once: what a full cluster never grants says nothing about the time that others take.
    Times to shrink are left out, because capacity is not missing meanwhile.
    """

    cap: float = 600.0
    _times: dict[str, list[float]] = field(default_factory=dict, init=False)
    _asked: dict[str, int] = field(default_factory=dict, init=False)
    _growths: dict[str, list[_Growth]] = field(default_factory=dict, init=False)
    """By module those under way, the oldest first."""
    _before: float | None = field(default=None, init=False)

    def notice(self, seen: Observation) -> None:
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
        return max(self.of(name, prior=prior) - (at - growths[-1].since), 0.0)

    def _look(self, name: str, requested: int, running: int, seen: Observation) -> None:
        before = self._asked.get(name, requested)
        self._asked[name] = requested
        growths = [g for g in self._growths.get(name, []) if g.executors <= requested]
        if requested > before:
            since = seen.at - seen.step if self._before is None else self._before
            growths.append(_Growth(since, requested))
        for growth in growths:
            if running >= growth.executors:
                earliest = max((self._before or 0.0) - growth.since, 0.0)
                self._learn(name, (earliest + seen.at - growth.since) / 2)
            elif seen.at - growth.since > self.cap:
                self._learn(name, self.cap)
        self._growths[name] = [
            g for g in growths if running < g.executors and seen.at - g.since <= self.cap
        ]

    def _learn(self, name: str, time: float) -> None:
        self._times[name] = [*self._times.get(name, []), min(time, self.cap)][-_KEPT:]


# Whether so many rows wait that no replica can be spared, however idle they look.


def too_many_wait(reading: ModuleReading, degree: int, step: float) -> str | None:
    """Why a module cannot shrink now, in words; None where nothing that waits forbids it.

    It cannot while more rows wait than came, were finished or could be served in a step. Where a
    module works in batches that take longer than half a step, two batches are meant: one that is
    being worked on and the rows that meanwhile come for the next. A backlog that was not measured
    forbids nothing.

    >>> reading = ModuleReading(arrival_rate=100.0, backlog=900.0)
    >>> too_many_wait(reading, degree=2, step=4.0)
    '900 rows wait, more than come or can be served in a step'
    >>> too_many_wait(reading, degree=2, step=10.0)
    """
    waiting = reading.backlog
    if waiting is None or not is_known(waiting):
        return None
    span = max(step, 2.0 * _known(reading.batch_duration))
    if waiting <= span * _pace(reading, degree):
        return None
    return f"{rows(waiting)} rows wait, more than come or can be served in a step"


def _pace(reading: ModuleReading, degree: int) -> float:
    """Rows a second that come, are finished or could be served, whichever are most."""
    time = _known(reading.service_time)
    could = degree / time if time else 0.0
    return max(_known(reading.arrival_rate), _known(reading.processed_rate), could)


def _known(value: float | None) -> float:
    return value if value is not None and is_known(value) else 0.0
