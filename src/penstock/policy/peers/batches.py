"""Peers that scale by how much of their interval micro-batches take: DStreams and Amadeus."""

from dataclasses import dataclass, field
from math import floor

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.schema import (
    Fraction,
    NotNegative,
    NotNegativeSeconds,
    Positive,
    PositiveSeconds,
    checked,
)
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.estimates import TIME_TOLERANCE
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import (
    Ratio,
    Timer,
    all_hold,
    executors_for,
    interval_of,
    ratio_of,
)


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


@dataclass
@checked("policy amadeus")
class Amadeus:
    """As many executors as would let batches take just their interval: `ceil(n * ratio)`.

    The ratio is what a batch took by the interval, averaged with those before, each counting
    `smoothing` times the one after it; the first is averaged with a ratio of 1, as the library
    does. Between `low` and `high` nothing changes, nor while executors come or go. `n` are the
    executors that run. A step without a batch is passed over.

    The interval is the module's `trigger`, or `interval` where that is given. Without either, the
    ratio is utilisation.

    >>> from penstock.testing import seen
    >>> policy = Amadeus(interval=2.0)
    >>> policy(seen(counter={"batch_duration": 3.2, "running": 2})).why
    'counter 138 % of the interval of 2 s on average, above 100 %: 2 -> 3'
    """

    graph: FlowGraph | None = None
    """Gives the triggers of its modules."""
    smoothing: Fraction = 0.6
    """What the past counts beside the newest ratio: 0 nothing, 1 all of it alike."""
    low: NotNegative = 0.75
    """Ratio below which a module shrinks."""
    high: Positive = 1.0
    """Ratio above which it grows."""
    interval: PositiveSeconds | None = None
    """Seconds between batches, in place of every module's trigger."""
    _sums: dict[str, tuple[float, float]] = field(default_factory=dict, init=False, repr=False)
    """By module, the sum of its ratios and that of their weights."""

    def __post_init__(self) -> None:
        if self.low > self.high:
            why = f"low of policy amadeus is above its high, got {self.low:g} and {self.high:g}"
            raise SettingError(why, fields=("low", "high"))

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own."""
        return decision(judged(seen, self._judge))

    def _judge(self, module: ModuleState) -> Verdict:
        degree, running = module.degree, module.reading.running
        ratio = ratio_of(module.reading, interval_of(self.graph, module.name, self.interval))
        if isinstance(ratio, str):
            return module.hold(ratio)
        above, below = self._sums.get(module.name, (1.0, 1.0))
        above, below = above * self.smoothing + ratio.value, below * self.smoothing + 1.0
        self._sums[module.name], mean = (above, below), above / below
        text = f"{Ratio(mean, ratio.of)} on average"
        if running is None:
            return module.hold("running executors unknown")
        if running != degree:
            return module.hold(f"{text}, but {running} of {degree} executors run")
        low, high = percent(self.low), percent(self.high)
        if self.low - TIME_TOLERANCE <= mean <= self.high + TIME_TOLERANCE:
            return module.hold(f"{text}, between {low} and {high}")
        wanted = executors_for(degree * mean)
        text += f", above {high}" if mean > self.high else f", below {low}"
        enough = f", for which {wanted} executors are enough" if wanted == degree else ""
        return module.move(wanted, f"{text}{enough}")
