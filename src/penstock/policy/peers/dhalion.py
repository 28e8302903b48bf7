"""Dhalion, as the ESPA study has it: relieve back-pressure, and shrink what is idle."""

from dataclasses import dataclass, field
from math import floor

from penstock.core.graph import FlowGraph
from penstock.core.schema import Fraction, Natural, NotNegative, NotNegativeSeconds, Share, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.words import percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import Window, known
from penstock.policy.common.verdict import Verdict, decision, held, judged, moved
from penstock.policy.peers.common import (
    LastChange,
    Timer,
    all_hold,
    executors_for,
    interval_of,
    number,
    reason_to_wait,
)

_MOST = 0.9
"""Back-pressure that is counted at most: a module grows to ten times itself, and no further."""


@dataclass
@checked("policy dhalion")
class Dhalion:
    """Modules whose rows pile up grow by `1 + bp / (1 - bp)`; where none do, idle ones by 0.8.

    Between queries on Spark rows wait in durable streams, so no module is ever blocked, and
    back-pressure shows as rows that pile up before the module which causes it. `bp` is the share of
    the rows that arrived and were not taken in: growth of the backlog a second, from the first to
    the last reading of `window`, by the mean rate of arrivals in it, 0 where the backlog falls and
    0.9 at most. `1 + bp / (1 - bp)` is then arrivals by rows taken in, which is ESPA's factor for
    sources too, `1 + pending / consumed`. A module is under pressure above a `pressure` of 10 %,
    from where on Flink calls a task back-pressured.

    While any module is, none shrinks. Otherwise a module goes to `floor(0.8 n)` if hardly a row
    waits: no more than come in a step, or in a trigger interval and a batch if that is longer, and
    `near_zero` more of them, for so many wait between micro-batches in any case.

    >>> from penstock.testing import seen
    >>> policy = Dhalion(period=0.0)
    >>> for at, rows in ((10.0, 0.0), (20.0, 400.0)):
    ...     slow = {"arrival_rate": 100.0, "backlog": rows, "running": 3}
    ...     decided = policy(seen(at=at, step=10.0, counter=slow))
    >>> decided.why
    'counter leaves 40 % of its 100 rows/s, needs 1.67 times as many executors: 3 -> 5'
    """

    graph: FlowGraph | None = None
    """Gives the triggers of its modules."""
    scale_down_factor: Share = 0.8
    """What an idle module's executors are multiplied by."""
    max_increase: Natural = 50
    """Most executors more in one step."""
    pressure: Fraction = 0.1
    """Share of its rows that a module may miss."""
    near_zero: NotNegative = 0.1
    """Share by which more rows may wait than must, of a module that is idle."""
    period: NotNegativeSeconds = 15.0
    """Seconds between two decisions."""
    window: NotNegativeSeconds = 60.0
    """Seconds over which growth and arrivals are taken."""
    cooldown: NotNegativeSeconds = 120.0
    """Seconds after a change of any module in which nothing changes."""
    _timer: Timer = field(init=False, repr=False)
    _last_change: LastChange = field(default_factory=LastChange, init=False, repr=False)
    _waiting: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _arrived: dict[str, Window] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._timer = Timer(self.period)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge all modules, when it is time and nothing has changed recently."""
        self._observe(seen)
        wait = reason_to_wait(
            self._last_change, self._timer, at=seen.at, step=seen.step, cooldown=self.cooldown
        )
        if wait is not None:
            return all_hold(seen, wait)
        missed = {n: self._missed(n, reading) for n, reading in seen.modules.items()}
        if None in missed.values():
            self._timer.next = seen.at  # so that the next step is looked at
        pressed = [n for n, share in missed.items() if (share or 0.0) > self.pressure]

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            share = missed[name]
            if share is None:
                return held(name, degree, "backlog growth or arrival rate unknown")
            if name in pressed:
                return self._grow(name, degree, share)
            return self._shrink(name, reading, degree, seen.step, pressed)

        return decision(judged(seen, judge))

    def _observe(self, seen: Observation) -> None:
        self._last_change.observe(seen.at, tuple(sorted(in_force(seen).items())))
        for name, reading in seen.modules.items():
            waiting, arrived = known(reading.backlog), known(reading.arrival_rate)
            if waiting is not None and arrived is not None:
                self._waiting.setdefault(name, Window(self.window)).add(seen.at, waiting)
                self._arrived.setdefault(name, Window(self.window)).add(seen.at, arrived)

    def _missed(self, name: str, reading: ModuleReading) -> float | None:
        """The share of its rows that a module did not take in; None where that is unknown."""
        if known(reading.backlog) is None or known(reading.arrival_rate) is None:
            return None
        growth, arrived = self._waiting[name].growth(), self._arrived[name].mean()
        if growth is None or growth <= 0 or not arrived:
            return growth if growth is None else 0.0
        return min(growth / arrived, _MOST)

    def _grow(self, name: str, degree: int, share: float) -> Verdict:
        factor = 1 + share / (1 - share)
        wanted = min(executors_for(degree * factor), degree + self.max_increase)
        text = f"leaves {percent(share)} of its {number(self._arrived[name].mean())} rows/s"
        why = f"{text}, needs {number(factor)} times as many executors"
        if wanted == degree:
            return held(name, degree, f"{why}, no more are allowed")
        return moved(name, degree, wanted, why)

    def _shrink(
        self, name: str, reading: ModuleReading, degree: int, step: float, pressed: list[str]
    ) -> Verdict:
        if pressed:
            return held(
                name, degree, f"{' and '.join(pressed)} under back-pressure, so no module shrinks"
            )
        waiting, usual = reading.backlog or 0.0, self._usual(name, reading, step)
        text = f"has {number(waiting)} rows waiting"
        if waiting > usual * (1 + self.near_zero) + 1e-9:
            return held(name, degree, f"{text}, more than the {number(usual)} of a batch")
        wanted = max(floor(degree * self.scale_down_factor + 1e-9), 1)
        why = f"{text}, no more than the {number(usual)} of a batch"
        if wanted == degree:
            return held(name, degree, f"{why}, already at the minimum")
        return moved(
            name, degree, wanted, f"{why}, {self.scale_down_factor:g} times as many are enough"
        )

    def _usual(self, name: str, reading: ModuleReading, step: float) -> float:
        """Rows that wait between micro-batches in any case."""
        cycle = interval_of(self.graph, name, None) + (known(reading.batch_duration) or 0.0)
        return self._arrived[name].mean() * max(step, cycle)
