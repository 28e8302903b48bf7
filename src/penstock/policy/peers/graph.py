"""Peers that judge all modules of a graph at once, and rest after a change: DS2 and Dhalion."""

from dataclasses import dataclass, field
from math import floor, isfinite
from typing import Annotated

from penstock.core.graph import FlowGraph
from penstock.core.schema import (
    Bounds,
    Fraction,
    Natural,
    NotNegative,
    NotNegativeSeconds,
    Share,
    checked,
)
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.words import percent
from penstock.policy.common.estimates import Window, executor_time, known, windows
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import (
    Flow,
    RestingTimer,
    all_hold,
    executors_for,
    interval_of,
    number,
)


@dataclass
@checked("policy ds2")
class Ds2:
    """`ceil(overprovisioning * inflow / true rate)` executors for every module at once.

    The inflow of the source is what arrives there; that of the others follows in topological order
    through the selectivities as measured. The true rate of an executor is what it would do if it
    never waited: one row by the time of an executor that a row takes, or, where that is unknown,
    rows finished by busy executors. It decides every `period`, by the means of the last `window`,
    and rests for `cooldown` after any change: these are the settings of the ESPA study.

    >>> from penstock.testing import seen
    >>> policy = Ds2()
    >>> policy(seen(counter={"arrival_rate": 900.0, "service_time": 0.004, "running": 2})).why
    'counter needs 900 rows/s at 250 rows/s per executor: 2 -> 4'
    """

    graph: FlowGraph | None = None
    """How modules feed each other; a module that is not in it is a source of its own."""
    overprovisioning: Annotated[float, Bounds(least=1)] = 1.0
    """What the need is multiplied by, 1 + f: 1.0 or 1.2 in the ESPA study."""
    period: NotNegativeSeconds = 15.0
    """Seconds between two decisions."""
    window: NotNegativeSeconds = 60.0
    """Seconds that are averaged over."""
    cooldown: NotNegativeSeconds = 120.0
    """Seconds after a change of any module in which nothing changes."""
    _flow: Flow = field(init=False, repr=False)
    _timer: RestingTimer = field(init=False, repr=False)
    _times: dict[str, Window] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._flow, self._times = Flow(self.graph, self.window), windows(self.window)
        self._timer = RestingTimer(self.period, cooldown=self.cooldown)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge all modules, when it is time and nothing has changed recently."""
        self._flow.observe(seen)
        for name, reading in seen.modules.items():
            if (time := executor_time(reading)) is not None:
                self._times[name].add(seen.at, time)
        if (wait := self._timer.wait(seen)) is not None:
            return all_hold(seen, wait)
        inflow = self._flow.inflow()

        def judge(module: ModuleState) -> Verdict:
            wanted = self._recommend(module, inflow[module.name])
            if isinstance(wanted, str):
                self._timer.next = seen.at  # so that the next step is looked at
                return module.hold(wanted)
            return module.move(*wanted)

        return decision(judged(seen, judge))

    def _recommend(self, module: ModuleState, rate: float) -> tuple[int, str] | str:
        """The executors that a module needs and why, or what is not known of it."""
        if not isfinite(rate):
            return "arrival rate of its source unknown"
        if rate > 0 and executor_time(module.reading) is None:
            return "service time unknown"
        time = self._times[module.name].mean() if rate > 0 else 0.0
        extra = f" {self.overprovisioning:g} times" if self.overprovisioning != 1 else ""
        each = f" at {number(1 / time)} rows/s per executor" if time else ""
        wanted = executors_for(self.overprovisioning * rate * time)
        return wanted, f"needs{extra} {number(rate)} rows/s{each}"


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
    _timer: RestingTimer = field(init=False, repr=False)
    _waiting: dict[str, Window] = field(init=False, repr=False)
    _arrived: dict[str, Window] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._timer = RestingTimer(self.period, cooldown=self.cooldown)
        self._waiting, self._arrived = windows(self.window), windows(self.window)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge all modules, when it is time and nothing has changed recently."""
        for name, reading in seen.modules.items():
            waiting, arrived = known(reading.backlog), known(reading.arrival_rate)
            if waiting is not None and arrived is not None:
                self._waiting[name].add(seen.at, waiting)
                self._arrived[name].add(seen.at, arrived)
        if (wait := self._timer.wait(seen)) is not None:
            return all_hold(seen, wait)
        missed = {name: self._missed(name, reading) for name, reading in seen.modules.items()}
        if None in missed.values():
            self._timer.next = seen.at  # so that the next step is looked at
        pressed = [n for n, share in missed.items() if (share or 0.0) > self.pressure]

        def judge(module: ModuleState) -> Verdict:
            share = missed[module.name]
            if share is None:
                return module.hold("backlog growth or arrival rate unknown")
            if module.name in pressed:
                return self._grow(module, share)
            if pressed:
                under = f"{' and '.join(pressed)} under back-pressure"
                return module.hold(f"{under}, so no module shrinks")
            return self._shrink(module, seen.step)

        return decision(judged(seen, judge))

    def _missed(self, name: str, reading: ModuleReading) -> float | None:
        """The share of its rows that a module did not take in; None where that is unknown."""
        if known(reading.backlog) is None or known(reading.arrival_rate) is None:
            return None
        growth, arrived = self._waiting[name].growth(), self._arrived[name].mean()
        if growth is None or growth <= 0 or not arrived:
            return growth if growth is None else 0.0
        return min(growth / arrived, _MOST)

    def _grow(self, module: ModuleState, share: float) -> Verdict:
        factor = 1 + share / (1 - share)
        most = module.degree + self.max_increase
        wanted = min(executors_for(module.degree * factor), most)
        text = f"leaves {percent(share)} of its {number(self._arrived[module.name].mean())} rows/s"
        limit = ", no more are allowed" if wanted == module.degree else ""
        return module.move(wanted, f"{text}, needs {number(factor)} times as many executors{limit}")

    def _shrink(self, module: ModuleState, step: float) -> Verdict:
        # rows that wait between micro-batches in any case
        batch = known(module.reading.batch_duration) or 0.0
        cycle = max(step, interval_of(self.graph, module.name) + batch)
        usual = self._arrived[module.name].mean() * cycle
        waiting = module.reading.backlog or 0.0
        text, than = f"has {number(waiting)} rows waiting", f"than the {number(usual)} of a batch"
        if waiting > usual * (1 + self.near_zero) + 1e-9:
            return module.hold(f"{text}, more {than}")
        wanted = max(floor(module.degree * self.scale_down_factor + 1e-9), 1)
        if wanted == module.degree:
            return module.hold(f"{text}, no more {than}, already at the minimum")
        enough = f"{self.scale_down_factor:g} times as many are enough"
        return module.move(wanted, f"{text}, no more {than}, {enough}")
