"""Amadeus' library of elastic scaling for Structured Streaming."""

from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.schema import Fraction, NotNegative, Positive, PositiveSeconds, checked
from penstock.core.signals import Decision, Observation
from penstock.core.words import percent
from penstock.policy.common.estimates import TIME_TOLERANCE
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import Ratio, executors_for, interval_of, ratio_of


@dataclass
class _Occupation:
    """The mean ratio of a module, the past counting less and less; it begins as one of 100 %."""

    above: float = 1.0
    below: float = 1.0

    def update(self, ratio: float, smoothing: float) -> float:
        self.above = self.above * smoothing + ratio
        self.below = self.below * smoothing + 1.0
        return self.above / self.below


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
    _means: dict[str, _Occupation] = field(default_factory=dict, init=False, repr=False)

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
        occupation = self._means.setdefault(module.name, _Occupation())
        mean = occupation.update(ratio.value, self.smoothing)
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
