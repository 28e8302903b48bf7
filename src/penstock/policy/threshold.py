"""Scale by how busy or how slow each module is: e2df, Section 7.1, and mpc, Section 5.4."""

from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.schema import BelowOne, NotNegative, Positive, PositiveSeconds, Share, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import backlog_forbids_shrinking, known
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.verdict import (
    UtilisationRule,
    Verdict,
    conclude,
    decision,
    held,
    judged,
    moved,
    still_to_come,
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
    >>> policy(
    ...     seen(
    ...         splitter={"utilisation": 0.82, "running": 2},
    ...         counter={"utilisation": 0.61, "running": 4},
    ...     )
    ... ).why
    'splitter 82 % busy, above 75 %: 2 -> 3; counter holds at 4, 61 % busy'
    """

    max_utilisation: Share = 0.75
    """Busy share above which a module grows."""
    scale_in_factor: BelowOne = 0.75
    """A module shrinks if the rest would stay under this share of `max_utilisation`."""

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module, and name those that change first."""
        known, rule = in_force(seen), self._rule()
        return decision(rule(name, m, known.get(name)) for name, m in seen.modules.items())

    def _rule(self) -> UtilisationRule:
        return UtilisationRule(self.max_utilisation, self.scale_in_factor)


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

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            return self._judge(name, reading, degree, seen.step)

        return conclude(seen, judged(seen, judge), self._rebalancers)

    def _judge(self, name: str, reading: ModuleReading, degree: int, step: float) -> Verdict:
        if self.threshold is None:
            value, missing = reading.utilisation, "utilisation"
        else:
            value, missing = _response_time(reading), "waiting or service time"
        if value is None or known(value) is None:
            return held(name, degree, f"{missing} unknown")
        if value < self._limits()[0]:
            return self._shrink(
                name, degree, value, backlog_forbids_shrinking(reading, degree, step)
            )
        return self._grow(name, reading, degree, value)

    def _grow(self, name: str, reading: ModuleReading, degree: int, value: float) -> Verdict:
        high, now = self._limits()[1], self._now(value)
        coming = 0 if reading.running is None else degree - reading.running
        if value > high and coming > 0:
            return still_to_come(name, degree, coming)
        if value > high:
            return moved(name, degree, degree + 1, f"{now}, above {self._describe(high)}")
        return held(name, degree, now)

    def _shrink(self, name: str, degree: int, value: float, waits: str | None) -> Verdict:
        now = self._now(value)
        if degree == 1:
            return held(name, degree, now)
        if waits:
            return held(name, degree, f"{now}, but {waits}")
        return moved(name, degree, degree - 1, f"{now}, below {self._describe(self._limits()[0])}")

    def _now(self, value: float) -> str:
        text = self._describe(value)
        return f"{text} busy" if self.threshold is None else f"takes {text}"

    def _describe(self, value: float) -> str:
        return percent(value) if self.threshold is None else format_duration(value)

    def _limits(self) -> tuple[float, float]:
        if self.threshold is None:
            return self.min_utilisation, self.max_utilisation
        return self.low * self.threshold, self.high * self.threshold


def _response_time(reading: ModuleReading) -> float | None:
    """Mean seconds from a row's arrival at the module to its result: mpc, Expr. 6."""
    if reading.waiting_time is None or reading.service_time is None:
        return None
    return reading.waiting_time + reading.service_time
