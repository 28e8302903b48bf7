"""Flink's autoscaler, rule by rule as its source has them."""

from dataclasses import dataclass, field, replace
from math import inf

from penstock.core.graph import FlowGraph
from penstock.core.settings import seconds
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.policy.degrees import in_force
from penstock.policy.mpc.verdict import Verdict, held, judged, moved
from penstock.policy.peers.deciding import all_hold, check, decision, number, percent, whole
from penstock.policy.peers.flink_delay import DelayedScaleDown
from penstock.policy.peers.flink_history import Change, History, scalability
from penstock.policy.peers.flink_metrics import Evaluated, Metrics
from penstock.policy.peers.timing import EXACT


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A change that a module would make, if any module of the graph is out of its band."""

    verdict: Verdict
    change: Change | None = None
    outside: bool = False
    why: str = ""
    """What was needed and what there was, in words."""


@dataclass
class Flink:
    """Capacity for what comes at a target utilisation, for the backlog, and for a restart.

    The capacity wanted of a module is `backlog / catch_up_duration + rate * restart_time /
    catch_up_duration + rate / utilisation_target`; degrees follow in proportion to what it could
    take in, which is what it got through by how busy it was. Nothing changes while every module
    that would is inside the band of utilisation; once one is not, all that would change do. A
    module shrinks by `scale_down_max_factor` at most, and not before `scale_down_interval` of
    nothing but scale-downs, then to the highest of them. After a change the pipeline rests for
    `stabilization_interval` and is then watched for `metrics_window`.

    Two rules that Flink has off unless told otherwise are on here: degrees are corrected by how
    well earlier changes scaled, and a scale-up that brought less than a tenth of what was expected
    is not followed by another.

    >>> from penstock.testing import seen
    >>> policy = Flink(metrics_window=10.0, stabilization_interval=0.0, restart_time=0.0)
    >>> busy = {"arrival_rate": 90.0, "processed_rate": 80.0, "utilisation": 1.0, "running": 2}
    >>> policy(seen(at=5.0, step=5.0, counter={**busy, "backlog": 0.0})).why
    'counter holds at 2, the metrics window is full in 5 s'
    >>> policy(seen(at=10.0, step=5.0, counter={**busy, "backlog": 50.0})).why
    'counter needs 129 rows/s and can take in 80: 2 -> 4'
    """

    graph: FlowGraph | None = None
    """How modules feed each other; a module that is not in it is a source of its own."""
    utilisation_target: float = 0.7
    """Busy share that modules are to have."""
    utilisation_boundary: float = 0.3
    """How far from the target the band of utilisation ends, where its ends are not given."""
    utilisation_max: float | None = None
    """Busy share up to which a module need not grow."""
    utilisation_min: float | None = None
    """Busy share down to which it need not shrink."""
    catch_up_duration: float = seconds(1800.0)
    """Seconds in which a backlog is to be worked off; 0 leaves it to itself."""
    restart_time: float = seconds(300.0)
    """Seconds that a change costs."""
    metrics_window: float = seconds(900.0)
    """Seconds that are averaged over."""
    stabilization_interval: float = seconds(300.0)
    """Seconds after a change in which nothing is measured."""
    scale_down_interval: float = seconds(3600.0)
    """Seconds that a scale-down waits, and whose highest recommendation it goes to."""
    scale_down_max_factor: float = 0.6
    """Most that a module shrinks at once, as a share."""
    scale_up_max_factor: float = 1e5
    """Most that it grows at once, as a share."""
    backlog_lag_threshold: float = seconds(300.0)
    """Seconds of rows waiting at a source while which nothing shrinks."""
    observed_scalability: bool = True
    """Whether degrees are corrected by what earlier changes brought."""
    scalability_min: float = 0.5
    """Least that an executor is taken to bring beside the first."""
    scalability_observations: int = 3
    """Changes from which scalability is believed."""
    effectiveness_detection: bool = True
    """Whether an ineffective scale-up is not followed by another."""
    effectiveness_threshold: float = 0.1
    """Share of the expected gain below which a scale-up was ineffective."""
    _metrics: Metrics = field(init=False, repr=False)
    _seen: object = field(default=None, init=False, repr=False)
    _stable: float = field(default=-inf, init=False, repr=False)
    _histories: dict[str, History] = field(default_factory=dict, init=False, repr=False)
    _delays: dict[str, DelayedScaleDown] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what Flink would refuse."""
        for name in ("utilisation_target", "scalability_min"):
            check(f"{name} of policy flink", getattr(self, name), 0.0, 1.0, above=True)
        check("scale_down_max_factor of policy flink", self.scale_down_max_factor, 0.0, 1.0)
        for name in _NOT_NEGATIVE:
            check(f"{name} of policy flink", getattr(self, name), 0.0)
        low, high = self._band()
        check("utilisation_min of policy flink", low, 0.0, self.utilisation_target)
        check("utilisation_max of policy flink", high, self.utilisation_target, 1.0)
        self._metrics = Metrics(self.graph, self.metrics_window, self.catch_up_duration)

    def __call__(self, seen: Observation, /) -> Decision:
        """Measure, and once the window is full, judge all modules."""
        self._notice(seen)
        if seen.at < self._stable - EXACT:
            left = format_duration(self._stable - seen.at)
            return all_hold(seen, f"the pipeline settles for another {left}")
        self._metrics.take_in(seen)
        if (left_ := self._metrics.left(seen.at)) > EXACT:
            return all_hold(seen, f"the metrics window is full in {format_duration(left_)}")
        return self._decide(seen)

    def _notice(self, seen: Observation) -> None:
        """Begin anew after a change, and learn whether what was decided took effect."""
        degrees = in_force(seen)
        now = tuple((n, degrees.get(n), m.running) for n, m in sorted(seen.modules.items()))
        if now != self._seen:
            self._stable = seen.at - seen.step + self.stabilization_interval
            self._metrics.forget()
            self._delays = {}
        self._seen = now
        for name, degree in degrees.items():
            self._histories.setdefault(name, History()).notice(seen.at, degree)

    def _decide(self, seen: Observation) -> Decision:
        found = self._metrics.evaluate(seen)
        lagging = self._metrics.lagging(seen, self.backlog_lag_threshold)
        proposals: dict[str, _Proposal] = {}

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            proposal = self._judge(name, reading, degree, seen.at, found[name], lagging)
            proposals[name] = proposal
            return proposal.verdict

        verdicts = judged(seen, judge)
        if not any(proposal.outside for proposal in proposals.values()):
            return decision(_stay(v, proposals.get(v.module), self._band()) for v in verdicts)
        for name, proposal in proposals.items():
            self._histories[name].pending = proposal.change
        return decision(verdicts)

    def _judge(
        self,
        name: str,
        reading: ModuleReading,
        degree: int,
        at: float,
        metrics: Evaluated | str,
        lagging: bool,
    ) -> _Proposal:
        if isinstance(metrics, str):
            return _Proposal(held(name, degree, metrics))
        if not reading.running:
            why = "running executors unknown" if reading.running is None else "none runs yet"
            return _Proposal(held(name, degree, why))
        needed = self._capacity(metrics, self.utilisation_target, restart=True)
        factor = self._factor(name, needed, metrics.true_rate)
        wanted = whole(factor * reading.running)
        why = f"needs {number(needed)} rows/s and can take in {_rate(metrics.true_rate)}"
        change = Change(
            at=at, before=degree, after=wanted, rate=metrics.true_rate,
            expected=metrics.true_rate * factor,
        )  # fmt: skip
        return self._propose(name, change, why, outside=self._outside(metrics, lagging))

    def _propose(self, name: str, change: Change, why: str, *, outside: bool) -> _Proposal:
        delay = self._delays.setdefault(name, DelayedScaleDown(self.scale_down_interval))
        if change.after < change.before:
            return self._down(name, change, why, delay, outside=outside)
        delay.clear()
        if change.after == change.before:
            return _Proposal(held(name, change.before, why))
        failed = self._histories[name].failed(
            change.before, change.rate, self.effectiveness_threshold
        )
        if failed and self.effectiveness_detection:
            return _Proposal(held(name, change.before, f"{why}, but going {failed}"))
        return _Proposal(moved(name, change.before, change.after, why), change, outside, why)

    def _down(
        self, name: str, change: Change, why: str, delay: DelayedScaleDown, *, outside: bool
    ) -> _Proposal:
        found = delay.recommend(change.at, change.after, outside)
        if found is None:
            left = format_duration(delay.left(change.at))
            waits = f"{why}, for which {change.after} do, and may shrink in {left}"
            return _Proposal(held(name, change.before, waits))
        allowed, outside = found
        if allowed > change.after:
            window = format_duration(self.scale_down_interval)
            why = f"{why}, for which {change.after} do and {allowed} were the most in {window}"
        verdict = moved(name, change.before, allowed, why)
        return _Proposal(verdict, replace(change, after=allowed), outside, why)

    def _factor(self, name: str, needed: float, true_rate: float) -> float:
        """What the executors are multiplied by, within its bounds."""
        factor = needed / true_rate
        if self.observed_scalability:
            factor /= scalability(
                self._histories[name].changes, self.scalability_observations, self.scalability_min
            )
        return min(max(factor, 1 - self.scale_down_max_factor), 1 + self.scale_up_max_factor)

    def _outside(self, metrics: Evaluated, lagging: bool) -> bool:
        """Whether what a module can take in is outside its band; none shrinks while one lags."""
        low, high = (0.0, 1.0) if lagging else self._band()
        at_least = self._capacity(metrics, high, restart=False)
        at_most = self._capacity(metrics, low, restart=True)
        return metrics.true_rate < at_least - EXACT or metrics.true_rate > at_most + EXACT

    def _capacity(self, metrics: Evaluated, utilisation: float, *, restart: bool) -> float:
        """Flink's target capacity: for the backlog, for a restart, and for what comes."""
        if utilisation <= 0:
            return inf
        lost = metrics.rate * self.restart_time if restart else 0.0
        again = lost / self.catch_up_duration if self.catch_up_duration else 0.0
        return metrics.catch_up + again + metrics.rate / utilisation

    def _band(self) -> tuple[float, float]:
        low, high = self.utilisation_min, self.utilisation_max
        target, off = self.utilisation_target, self.utilisation_boundary
        return (
            max(target - off, 0.0) if low is None else low,
            min(target + off, 1.0) if high is None else high,
        )


_NOT_NEGATIVE = (
    "utilisation_boundary",
    "catch_up_duration",
    "restart_time",
    "metrics_window",
    "stabilization_interval",
    "scale_down_interval",
    "scale_up_max_factor",
    "backlog_lag_threshold",
    "scalability_observations",
    "effectiveness_threshold",
)


def _stay(verdict: Verdict, proposal: _Proposal | None, band: tuple[float, float]) -> Verdict:
    """The module as it is, where its change alone would not be worth a restart."""
    if proposal is None or proposal.change is None or verdict.before is None:
        return verdict
    inside = (
        f"within {percent(band[0])} to {percent(band[1])} busy, though {verdict.after} would do"
    )
    return held(verdict.module, verdict.before, f"{proposal.why}, {inside}")


def _rate(rate: float) -> str:
    return "any number" if rate == inf else number(rate)
