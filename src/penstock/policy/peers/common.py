"""What the rules of peers share.

Checks of parameters, periods and pauses in the seconds of the run (no rule reads a clock), the flow
of rows down the graph over a window, and how much of its interval a micro-batch takes.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil, nan

from penstock.core.graph import FlowGraph
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.estimates import TIME_TOLERANCE, Selectivities, Window, known
from penstock.policy.common.sentences import rows
from penstock.policy.common.verdict import Verdict, decision, held, judged

_MOST = 1e9
"""No cluster has more executors; a rate near 0 may ask for more than a number can hold."""
_ROUNDING = 1e-9
"""Quotients this close above a whole number of executors are that number."""


def all_hold(seen: Observation, why: str | Callable[[str], str]) -> Decision:
    """Every module keeps its degree, all for the same reason or each for its own."""

    def judge(name: str, _: ModuleReading, degree: int) -> Verdict:
        return held(name, degree, why if isinstance(why, str) else why(name))

    return decision(judged(seen, judge))


def executors_for(executors: float) -> int:
    """Executors that are enough, at least one.

    >>> [executors_for(n) for n in (2.1, 2.0000000001, 0.0, float("inf"))]
    [3, 2, 1, 1000000000]
    """
    return max(ceil(min(executors, _MOST) - _ROUNDING), 1)


def number(value: float) -> str:
    """A number with as many digits as a reader wants, in whole ones from a thousand on.

    >>> number(0.123456), number(12345.6)
    ('0.123', '12,346')
    """
    return rows(value, whole_from=1000.0)


# Beats and rests, counted in the seconds of the run: no rule reads a clock.


@dataclass
class Timer:
    """Something that is done every so often, first at once or after one period.

    >>> timer = Timer(15.0)
    >>> [at for at in range(2, 40, 2) if timer.due(at, step=2.0)]
    [2, 18, 32]
    """

    period: float
    waits: bool = False
    """Whether the first comes a period after the start, and not at once."""
    next: float | None = field(default=None, init=False)
    """When it is due again, in seconds of the run."""

    def due(self, at: float, step: float) -> bool:
        """Whether it is time; if so, the next time is later."""
        if self.next is None:
            self.next = at - step + self.period if self.waits else at
        if at < self.next - TIME_TOLERANCE:
            return False
        periods = (at - self.next + TIME_TOLERANCE) // self.period + 1 if self.period else 0
        self.next += periods * self.period
        return True

    def left(self, at: float) -> float:
        """Seconds until it is due again."""
        return max((self.next or at) - at, 0.0)


@dataclass
class LastChange:
    """How long ago something last changed, as observations show it.

    >>> last_change = LastChange()
    >>> for at, degree in ((1.0, 2), (2.0, 2), (3.0, 4), (9.0, 4)):
    ...     last_change.observe(at, degree)
    >>> last_change.since(9.0)
    7.0
    """

    changed: float | None = field(default=None, init=False)
    """When the last change was decided: at the observation before the one that shows it."""
    _last: Hashable = field(default=None, init=False, repr=False)
    _at: float | None = field(default=None, init=False, repr=False)

    def observe(self, at: float, now: Hashable) -> None:
        """See what is in force; the first sight is no change."""
        if self._at is not None and now != self._last:
            self.changed = self._at
        self._last, self._at = now, at

    def since(self, at: float) -> float | None:
        """Seconds since the last change; None where there was none."""
        return None if self.changed is None else at - self.changed

    def over(self, at: float, after: float) -> bool:
        """Whether the last change, if any, is so many seconds past."""
        since = self.since(at)
        return since is None or since >= after - TIME_TOLERANCE


def reason_to_wait(
    last_change: LastChange, timer: Timer, *, at: float, step: float, cooldown: float
) -> str | None:
    """Why nothing is judged now: a module has just changed, or it is not time; None where it is."""
    if not last_change.over(at, cooldown):
        since = format_duration(last_change.since(at) or 0.0)
        return f"a module changed {since} ago, the cooldown is {format_duration(cooldown)}"
    if not timer.due(at, step):
        return f"next evaluation in {format_duration(timer.left(at))}"
    return None


# Rows that each module will have to take in, followed down the flow graph as they are measured.


@dataclass
class Flow:
    """What comes to the sources and what becomes of it, averaged over a window.

    A stream carries as many rows as `Selectivities` says. A module that is in no graph is a source
    of its own.

    >>> from penstock.core.graph import Module, Stream
    >>> from penstock.testing import seen
    >>> stream = Stream(origin="scan", target="match", selectivity=2.0)
    >>> modules = (Module(name="scan"), Module(name="match"))
    >>> flow = Flow(FlowGraph(source="scan", modules=modules, streams=(stream,)), 60.0)
    >>> scan = {"arrival_rate": 10.0, "processed_rate": 8.0}
    >>> flow.observe(seen(scan=scan, match={"arrival_rate": 24.0}))
    >>> flow.inflow()
    {'scan': 10.0, 'match': 30.0}
    """

    graph: FlowGraph | None
    span: float
    """Seconds that are averaged over."""
    through: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that each module got through."""
    _now: tuple[str, ...] = field(default=(), init=False, repr=False)
    _measured: frozenset[str] = field(default=frozenset(), init=False, repr=False)
    _arrived: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _selectivities: Selectivities = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._selectivities = Selectivities(self.graph, partial(Window, self.span), prior=False)

    def observe(self, seen: Observation) -> None:
        """Learn from an observation; unknown values are ignored."""
        rates = {n: known(m.arrival_rate) for n, m in seen.modules.items()}
        arrived = {name: rate for name, rate in rates.items() if rate is not None}
        for name, rate in arrived.items():
            self._arrived.setdefault(name, Window(self.span)).add(seen.at, rate)
        for name, rate in self._selectivities.observe(seen).items():
            self.through.setdefault(name, Window(self.span)).add(seen.at, rate)
        self._now, self._measured = tuple(seen.modules), frozenset(arrived)

    def inflow(self) -> dict[str, float]:
        """Rows a second that each module will have to take in; NaN where a source is unknown."""
        sources = self.graph.sources if self.graph is not None else ()
        outside = [name for name in self._now if name not in self._names()]
        return self.spread({name: self._rate(name) for name in (*sources, *outside)})

    def spread(self, own: Mapping[str, float]) -> dict[str, float]:
        """Rates that begin at modules, followed to all that they reach."""
        total = {name: own.get(name, 0.0) for name in (*self._names(), *own)}
        for name in self._names():
            for stream in self.graph.outputs(name) if self.graph is not None else ():
                total[stream.target] += total[name] * self._selectivities.of(stream)
        return total

    def _names(self) -> tuple[str, ...]:
        return self.graph.order() if self.graph is not None else ()

    def _rate(self, name: str) -> float:
        return self._arrived[name].mean() if name in self._measured else nan


# How much of its interval a module's micro-batches take.


@dataclass(frozen=True, slots=True)
class Ratio:
    """Processing time by interval, or what stands for it."""

    value: float
    of: str
    """What was divided by what, as text."""


def interval_of(graph: FlowGraph | None, name: str, given: float | None) -> float:
    """Seconds between micro-batches: as given, or the module's trigger; 0 where neither is known.

    >>> interval_of(None, "counter", 2.0), interval_of(None, "counter", None)
    (2.0, 0.0)
    """
    if given is not None:
        return given
    return graph[name].trigger if graph is not None and name in graph.names() else 0.0


def ratio_of(reading: ModuleReading, interval: float) -> Ratio | None:
    """The reading's ratio: by time where there is an interval, else how busy the module is.

    >>> ratio_of(ModuleReading(batch_duration=1.5), 2.0)
    Ratio(value=0.75, of='of the interval of 2 s')
    >>> ratio_of(ModuleReading(utilisation=0.5), 0.0)
    Ratio(value=0.5, of='busy, no interval is known')
    >>> ratio_of(ModuleReading(utilisation=0.5), 2.0)
    """
    if interval > 0:
        lasted = known(reading.batch_duration)
        share = None if lasted is None else known(lasted / interval)
        of = f"of the interval of {format_duration(interval)}"
        return None if share is None else Ratio(share, of)
    busy = known(reading.utilisation)
    return None if busy is None else Ratio(busy, "busy, no interval is known")


def missing(interval: float) -> str:
    """What was not measured, as text."""
    return "batch duration unknown" if interval > 0 else "interval and utilisation unknown"


def took(ratio: float, of: str) -> str:
    """A ratio in words.

    >>> took(0.75, "of the interval of 2 s")
    '75 % of the interval of 2 s'
    """
    return f"{percent(ratio)} {of}"
