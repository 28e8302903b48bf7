"""DS2: what the sources bring, followed through the graph, by what an executor truly can do."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Annotated

from penstock.core.graph import FlowGraph
from penstock.core.schema import Bounds, NotNegativeSeconds, checked
from penstock.core.signals import Decision, Observation
from penstock.policy.common.estimates import Window, executor_time, windows
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import Flow, RestingTimer, all_hold, executors_for, number


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
