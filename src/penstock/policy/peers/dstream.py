"""Dynamic allocation of Spark's older streams, the DStreams."""

from dataclasses import dataclass, field
from math import floor

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.schema import NotNegativeSeconds, Positive, PositiveSeconds, checked
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import Ratio, Timer, all_hold, interval_of, ratio_of


@dataclass
@checked("policy dstream")
class DStream:
    """Executors by how much of their interval batches took, looked at once a minute.

    Every `scaling_interval` the mean of what batches took since the last look is divided by the
    interval between batches. From `scaling_up_ratio` on, `max(round(ratio), 1)` executors are added
    to those that run, half a one rounded up; down to `scaling_down_ratio`, one goes. Without a
    batch nothing changes. So does Spark's `ExecutorAllocationManager` of DStreams; unlike it, this
    never asks for fewer than are already asked for when it adds.

    The interval is the module's `trigger`, or `interval` where that is given. Without either, the
    ratio is utilisation.

    >>> from penstock.testing import seen
    >>> policy = DStream(interval=2.0)
    >>> slow = {"batch_duration": 5.2, "running": 2}
    >>> policy(seen(at=30.0, step=30.0, counter=slow)).why
    'counter holds at 2, next evaluation in 30 s'
    >>> policy(seen(at=60.0, step=30.0, counter=slow)).why
    'counter 260 % of the interval of 2 s, 90 % or more adds 3: 2 -> 5'
    """

    graph: FlowGraph | None = None
    """Gives the triggers of its modules."""
    scaling_up_ratio: Positive = 0.9
    """Ratio from which executors are added."""
    scaling_down_ratio: Positive = 0.3
    """Ratio down from which one is taken."""
    scaling_interval: NotNegativeSeconds = 60.0
    """Seconds between two looks."""
    interval: PositiveSeconds | None = None
    """Seconds between batches, in place of every module's trigger."""
    _timer: Timer = field(init=False, repr=False)
    _ratios: dict[str, list[Ratio]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.scaling_up_ratio > self.scaling_down_ratio:
            raise SettingError(
                f"scaling_up_ratio of policy dstream must be above its scaling_down_ratio, "
                f"got {self.scaling_up_ratio:g} and {self.scaling_down_ratio:g}",
                fields=("scaling_up_ratio", "scaling_down_ratio"),
            )
        self._timer = Timer(self.scaling_interval, waits=True)

    def __call__(self, seen: Observation, /) -> Decision:
        """Remember what batches took, and judge each module on its own when it is time."""
        for name, reading in seen.modules.items():
            ratio = ratio_of(reading, interval_of(self.graph, name, self.interval))
            if isinstance(ratio, Ratio):
                self._ratios.setdefault(name, []).append(ratio)
        if (wait := self._timer.wait(seen)) is not None:
            return all_hold(seen, wait)
        decided = decision(judged(seen, self._judge))
        self._ratios = {}
        return decided

    def _judge(self, module: ModuleState) -> Verdict:
        ratios, running = self._ratios.get(module.name), module.reading.running
        if not ratios:
            span = format_duration(self.scaling_interval)
            return module.hold(f"no batch was measured in the last {span}")
        if running is None:
            return module.hold("running executors unknown")
        ratio = sum(one.value for one in ratios) / len(ratios)
        text = str(Ratio(ratio, ratios[-1].of))
        low, high = percent(self.scaling_down_ratio), percent(self.scaling_up_ratio)
        if ratio >= self.scaling_up_ratio - 1e-12:
            more = max(floor(ratio + 0.5), 1)
            why = f"{text}, {high} or more adds {more}"
            if running + more <= module.degree:
                return module.hold(f"{why} to the {running} that run")
            return module.move(running + more, why)
        if ratio > self.scaling_down_ratio + 1e-12:
            return module.hold(f"{text}, between {low} and {high}")
        if module.degree == 1:
            return module.hold(f"{text}, already at the minimum")
        return module.move(module.degree - 1, f"{text}, {low} or less")
