"""DS2: what the sources bring, followed through the graph, by what an executor truly can do."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Annotated

from penstock.core.graph import FlowGraph
from penstock.core.schema import Bounds, NotNegativeSeconds, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import Window, executor_time
from penstock.policy.common.verdict import Verdict, decision, held, judged, moved
from penstock.policy.peers.common import (
    Flow,
    LastChange,
    Timer,
    all_hold,
    executors_for,
    number,
    reason_to_wait,
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
    _timer: Timer = field(init=False, repr=False)
    _last_change: LastChange = field(default_factory=LastChange, init=False, repr=False)
    _times: dict[str, Window] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._flow, self._timer = Flow(self.graph, self.window), Timer(self.period)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge all modules, when it is time and nothing has changed recently."""
        self._observe(seen)
        wait = reason_to_wait(
            self._last_change, self._timer, at=seen.at, step=seen.step, cooldown=self.cooldown
        )
        if wait is not None:
            return all_hold(seen, wait)
        inflow = self._flow.inflow()
        lacks: list[str] = []

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            return self._judge(name, reading, degree, inflow[name], lacks)

        decided = decision(judged(seen, judge))
        if lacks:
            self._timer.next = seen.at  # so that the next step is looked at
        return decided

    def _observe(self, seen: Observation) -> None:
        self._flow.observe(seen)
        self._last_change.observe(seen.at, tuple(sorted(in_force(seen).items())))
        for name, reading in seen.modules.items():
            time = executor_time(reading)
            if time is not None:
                self._times.setdefault(name, Window(self.window)).add(seen.at, time)

    def _judge(
        self, name: str, reading: ModuleReading, degree: int, rate: float, lacks: list[str]
    ) -> Verdict:
        if not isfinite(rate):
            lacks.append(name)
            return held(name, degree, "arrival rate of its source unknown")
        if rate > 0 and executor_time(reading) is None:
            lacks.append(name)
            return held(name, degree, "service time unknown")
        time = self._times[name].mean() if rate > 0 else 0.0
        return self._compare(name, degree, rate, time)

    def _compare(self, name: str, degree: int, rate: float, time: float) -> Verdict:
        wanted = executors_for(self.overprovisioning * rate * time)
        extra = f" {self.overprovisioning:g} times" if self.overprovisioning != 1 else ""
        each = f" at {number(1 / time)} rows/s per executor" if time else ""
        why = f"needs{extra} {number(rate)} rows/s{each}"
        return held(name, degree, why) if wanted == degree else moved(name, degree, wanted, why)
