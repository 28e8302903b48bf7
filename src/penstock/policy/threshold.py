"""Scale by how busy or how slow each module is: e2df, Section 7.1, and mpc, Section 5.4."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.schema import BelowOne, NotNegative, Positive, PositiveSeconds, Share, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.estimates import backlog_forbids_shrinking, known
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.verdict import (
    ModuleState,
    Verdict,
    by_utilisation,
    conclude,
    decision,
    judged,
)


@dataclass
@checked("policy threshold")
class Threshold:
    """One executor more for a module that is too busy, one fewer where the rest would cope.

    Each module is decided on its own. A module waits for pending executors before it
    asks for more, does without them once it can, and keeps what it has while its utilisation is
    unknown.

    >>> from penstock.testing import seen
    >>> policy = Threshold()
    >>> busy, idle = {"utilisation": 0.82, "running": 2}, {"utilisation": 0.61, "running": 4}
    >>> policy(seen(splitter=busy, counter=idle)).why
    'splitter 82 % busy, above 75 %: 2 -> 3; counter holds at 4, 61 % busy'
    """

    max_utilisation: Share = 0.75
    """Busy share above which a module grows."""
    scale_in_factor: BelowOne = 0.75
    """A module shrinks if the rest would stay under this share of `max_utilisation`."""

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module, and name those that change first."""
        limits = self.max_utilisation, self.scale_in_factor
        return decision(judged(seen, lambda module: by_utilisation(module, *limits)))


@dataclass
@checked("policy rules")
class Rules:
    """One replica more while a module is too busy, or too slow; one fewer while it is idle.

    By default a module is judged by its utilisation. With a `threshold` it is judged by its mean
    response time, the wait and the service. It waits for pending executors before it
    asks for more, and does not shrink while more rows wait than come, are finished or could be
    served in a step.

    >>> from penstock.testing import seen
    >>> policy = Rules()
    >>> policy(seen(counter={"utilisation": 0.93, "running": 2})).why
    'counter 93 % busy, above 90 %: 2 -> 3'
    >>> policy(seen(counter={"utilisation": 0.85, "running": 3})).why
    'counter holds at 3, 85 % busy'
    >>> slow = {"waiting_time": 0.006, "service_time": 0.002, "running": 2}
    >>> Rules(threshold=0.007)(seen(counter=slow)).why
    'counter takes 8 ms, above 7.7 ms: 2 -> 3'
    """

    max_utilisation: Share = 0.9
    """Busy share above which a module grows."""
    min_utilisation: NotNegative = 0.8
    """Busy share below which it shrinks."""
    threshold: PositiveSeconds | None = None
    """Seconds that a response may take; it takes the place of the utilisation."""
    high: Positive = 1.1
    """Share of the threshold above which a module grows."""
    low: NotNegative = 0.7
    """Share of the threshold below which it shrinks."""
    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for low, high in (("min_utilisation", "max_utilisation"), ("low", "high")):
            if not getattr(self, low) < getattr(self, high):
                raise SettingError(
                    f"{low} of policy rules must be below its {high}, "
                    f"got {getattr(self, low):g} and {getattr(self, high):g}",
                    fields=(low, high),
                )

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own."""
        verdicts = judged(seen, lambda module: self._judge(module, seen.step))
        return conclude(seen, verdicts, self._rebalancers)

    def _judge(self, module: ModuleState, step: float) -> Verdict:
        """By one share or time: below the low limit it may shrink, above the high one it grows."""
        reading, degree = module.reading, module.degree
        describe: Callable[[float], str]
        if self.threshold is None:
            value, missing, text = reading.utilisation, "utilisation", "{} busy"
            low, high, describe = self.min_utilisation, self.max_utilisation, percent
        else:
            value, missing, text = _response_time(reading), "waiting or service time", "takes {}"
            low, high = self.low * self.threshold, self.high * self.threshold
            describe = format_duration
        if value is None or known(value) is None:
            return module.hold(f"{missing} unknown")
        now = text.format(describe(value))
        if value > high:
            grown = module.move(degree + 1, f"{now}, above {describe(high)}")
            return module.wait() if module.coming > 0 else grown
        if value >= low or degree == 1:
            return module.hold(now)
        if waits := backlog_forbids_shrinking(reading, degree, step):
            return module.hold(f"{now}, but {waits}")
        return module.move(degree - 1, f"{now}, below {describe(low)}")


def _response_time(reading: ModuleReading) -> float | None:
    """Mean seconds from a row's arrival at the module to its result: mpc, Expr. 6."""
    if reading.waiting_time is None or reading.service_time is None:
        return None
    return reading.waiting_time + reading.service_time
