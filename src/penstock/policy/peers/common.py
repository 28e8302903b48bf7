"""What the rules of peers share.

When to judge, in the seconds of the run (no rule reads a clock); the flow of rows down the graph
over a window; and how much of its interval a micro-batch takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil, nan

from penstock.core.graph import FlowGraph
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import TIME_TOLERANCE, Selectivities, Window, known, windows
from penstock.policy.common.sentences import rows
from penstock.policy.common.verdict import decision, judged

number = partial(rows, whole_from=1000.0)
"""A number with as many digits as a reader wants, in whole ones from a thousand on."""

_MOST = 1e9
"""No cluster has more executors; a rate near 0 may ask for more than a number can hold."""
_ROUNDING = 1e-9
"""Quotients this close above a whole number of executors are that number."""


def all_hold(seen: Observation, why: str) -> Decision:
    """Every module keeps its degree, all for the same reason."""
    return decision(judged(seen, lambda module: module.hold(why)))


def executors_for(executors: float) -> int:
    """Executors that are enough, at least one.

    >>> [executors_for(n) for n in (2.1, 2.0000000001, 0.0, float("inf"))]
    [3, 2, 1, 1000000000]
    """
    return max(ceil(min(executors, _MOST) - _ROUNDING), 1)


@dataclass
class Timer:
    """Modules are judged every so often, first at once or after one period.

    >>> from penstock.testing import seen
    >>> timer = Timer(15.0)
    >>> [at for at in range(2, 40, 2) if timer.wait(seen(at=at, step=2.0)) is None]
    [2, 18, 32]
    >>> timer.wait(seen(at=40.0, step=2.0))
    'next evaluation in 7 s'
    """

    period: float
    waits: bool = False
    """Whether the first comes a period after the start, and not at once."""
    next: float | None = field(default=None, init=False)
    """When it is time again, in seconds of the run."""

    def wait(self, seen: Observation) -> str | None:
        """Why nothing is judged now; None where it is time, and then the next time is later."""
        if self.next is None:
            self.next = seen.at - seen.step + self.period if self.waits else seen.at
        if seen.at < self.next - TIME_TOLERANCE:
            return f"next evaluation in {format_duration(self.next - seen.at)}"
        if self.period:
            passed = (seen.at - self.next + TIME_TOLERANCE) // self.period
            self.next += (passed + 1) * self.period
        return None


@dataclass
class RestingTimer(Timer):
    """The same, and nothing is judged for a while after any module has changed.

    >>> from penstock.testing import seen
    >>> timer = RestingTimer(period=0.0, cooldown=60.0)
    >>> for at, degree in ((1.0, 2), (2.0, 2), (3.0, 4), (9.0, 4)):
    ...     why = timer.wait(seen(at=at, counter={"running": degree}))
    >>> why
    'a module changed 7 s ago, the cooldown is 1 min'
    """

    cooldown: float = 0.0
    _changed: float | None = field(default=None, init=False, repr=False)
    """When the last change was decided: at the observation before the one that shows it."""
    _last: tuple[float, dict[str, int]] | None = field(default=None, init=False, repr=False)

    def wait(self, seen: Observation) -> str | None:
        """Why nothing is judged now; the degrees that are seen first are no change."""
        degrees = in_force(seen)
        if self._last is not None and degrees != self._last[1]:
            self._changed = self._last[0]
        self._last = (seen.at, degrees)
        since = None if self._changed is None else seen.at - self._changed
        if since is not None and since < self.cooldown - TIME_TOLERANCE:
            rest = format_duration(self.cooldown)
            return f"a module changed {format_duration(since)} ago, the cooldown is {rest}"
        return super().wait(seen)


@dataclass
class Flow:
    """What comes to the sources and what becomes of it, averaged over a window.

    A stream carries as many rows as `Selectivities` says. A module that is in no graph is a source
    of its own.

    >>> from penstock.testing import chain, seen
    >>> flow = Flow(chain(scan={}, match={}, selectivity=2.0), 60.0)
    >>> scan = {"arrival_rate": 10.0, "processed_rate": 8.0}
    >>> flow.observe(seen(scan=scan, match={"arrival_rate": 24.0}))
    >>> flow.inflow()
    {'scan': 10.0, 'match': 30.0}
    """

    graph: FlowGraph | None
    span: float
    """Seconds that are averaged over."""
    through: dict[str, Window] = field(init=False, repr=False)
    """Rows a second that each module got through."""
    _now: Mapping[str, float | None] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that came to each module in the last step."""
    _arrived: dict[str, Window] = field(init=False, repr=False)
    _selectivities: Selectivities = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.through, self._arrived = windows(self.span), windows(self.span)
        self._selectivities = Selectivities(self.graph, partial(Window, self.span), prior=False)

    def observe(self, seen: Observation) -> None:
        """Learn from an observation; unknown values are ignored."""
        self._now = {name: known(m.arrival_rate) for name, m in seen.modules.items()}
        for name, arrived in self._now.items():
            if arrived is not None:
                self._arrived[name].add(seen.at, arrived)
        for name, rate in self._selectivities.observe(seen).items():
            self.through[name].add(seen.at, rate)

    def inflow(self) -> dict[str, float]:
        """Rows a second that each module will have to take in; NaN where a source is unknown."""
        sources = self.graph.sources if self.graph is not None else ()
        outside = [name for name in self._now if name not in self._names()]
        return self.spread(
            {
                name: nan if self._now.get(name) is None else self._arrived[name].mean()
                for name in (*sources, *outside)
            }
        )

    def spread(self, own: Mapping[str, float]) -> dict[str, float]:
        """Rates that begin at modules, followed to all that they reach."""
        total = {name: own.get(name, 0.0) for name in (*self._names(), *own)}
        for name in self._names():
            for stream in self.graph.outputs(name) if self.graph is not None else ():
                total[stream.target] += total[name] * self._selectivities.of(stream)
        return total

    def _names(self) -> tuple[str, ...]:
        return self.graph.order() if self.graph is not None else ()


@dataclass(frozen=True, slots=True)
class Ratio:
    """Processing time by interval, or what stands for it."""

    value: float
    of: str
    """What was divided by what, as text."""

    def __str__(self) -> str:
        return f"{percent(self.value)} {self.of}"


def interval_of(graph: FlowGraph | None, name: str, given: float | None = None) -> float:
    """Seconds between micro-batches: as given, or the module's trigger; 0 where neither is known.

    >>> interval_of(None, "counter", 2.0), interval_of(None, "counter")
    (2.0, 0.0)
    """
    if given is not None:
        return given
    return graph[name].trigger if graph is not None and name in graph.names() else 0.0


def ratio_of(reading: ModuleReading, interval: float) -> Ratio | str:
    """The reading's ratio: by time where there is an interval, else how busy the module is.

    >>> str(ratio_of(ModuleReading(batch_duration=1.5), 2.0))
    '75 % of the interval of 2 s'
    >>> str(ratio_of(ModuleReading(utilisation=0.5), 0.0))
    '50 % busy, no interval is known'
    >>> ratio_of(ModuleReading(utilisation=0.5), 2.0)
    'batch duration unknown'
    """
    if interval > 0:
        lasted = known(reading.batch_duration)
        share = None if lasted is None else known(lasted / interval)
        of, missing = f"of the interval of {format_duration(interval)}", "batch duration unknown"
    else:
        share = known(reading.utilisation)
        of, missing = "busy, no interval is known", "interval and utilisation unknown"
    return missing if share is None else Ratio(share, of)
