"""Flink's autoscaler, rule by rule as its source has them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isfinite, nan

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.schema import Fraction, Natural, NotNegative, NotNegativeSeconds, Share, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import TIME_TOLERANCE, Window, known, windows
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import Flow, all_hold, executors_for, number


@dataclass
class DelayedScaleDown:
    """The scale-downs that were recommended of one module without a break.

    >>> delayed = DelayedScaleDown(interval=60.0)
    >>> [delayed.recommend(at, wanted, True) for at, wanted in ((0.0, 2), (30.0, 3), (60.0, 1))]
    [None, None, (3, True)]
    >>> delayed.recommend(100.0, 2, False)
    (2, False)
    """

    interval: float
    first: float | None = field(default=None, init=False)
    """When the first of them was recommended."""
    _recommended: list[tuple[float, int, bool]] = field(
        default_factory=list, init=False, repr=False
    )

    def clear(self) -> None:
        """Forget them: the module is to grow, to stay, or anything was rescaled."""
        self.first, self._recommended = None, []

    def recommend(self, at: float, wanted: int, outside: bool) -> tuple[int, bool] | None:
        """What the module may go down to now, and whether it was outside its band when that was
        recommended, the latest counting; None while it has to wait."""
        if self.first is None:
            self.first = at
        start = at - self.interval
        self._recommended = [one for one in self._recommended if one[0] >= start - TIME_TOLERANCE]
        self._recommended.append((at, wanted, outside))
        if start < self.first - TIME_TOLERANCE:
            return None
        _, degree, was_outside = max(reversed(self._recommended), key=lambda one: one[1])
        return degree, was_outside

    def left(self, at: float) -> float:
        """Seconds until a scale-down is possible."""
        return 0.0 if self.first is None else max(self.first + self.interval - at, 0.0)


# What came of earlier changes, for Flink's two ways to learn from them.


_MOST = 3
"""Changes that are remembered of each module (`history.max.count`)."""
_AGE = 86400.0
"""Seconds after which they are forgotten (`history.max.age`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A module's change of degree, and what was known when it was decided."""

    at: float
    before: int
    after: int
    rate: float
    """Rows a second that it could take in before."""
    expected: float
    """Rows a second that it was expected to take in after."""


@dataclass
class History:
    """The changes of one module that were seen to take effect."""

    changes: list[Change] = field(default_factory=list)
    pending: Change | None = None

    def observe(self, at: float, degree: int) -> None:
        """See the degree in force: what was decided last took effect, or a guard refused it."""
        if self.pending is not None and self.pending.after == degree and self.pending.rate < inf:
            self.changes.append(self.pending)
        self.pending = None
        self.changes = [one for one in self.changes if at - one.at <= _AGE][-_MOST:]

    def failed(self, degree: int, rate: float, threshold: float) -> str | None:
        """Why the last scale-up did not help, as text; None where it did or there was none."""
        last = self.changes[-1] if self.changes else None
        if last is None or last.after != degree or last.after <= last.before:
            return None
        hoped, got = last.expected - last.rate, rate - last.rate
        if not hoped > 0 or got / hoped >= threshold:
            return None
        return f"from {last.before} to {last.after} added {got:.3g} rows/s instead of {hoped:.3g}"


def scalability(changes: Sequence[Change], fewest: int, low: float) -> float:
    """What an executor brings beside the first, by least squares: `sum(P R) / (beta sum(P^2))`.

    `beta` is what one executor did at the smallest degree seen, the latest such. At most 1, at
    least `low`, rounded up to two places; 1 with fewer than so many changes.

    >>> seen = [Change(at=0.0, before=p, after=p, rate=r, expected=r)
    ...         for p, r in ((1, 100.0), (2, 160.0), (4, 280.0))]
    >>> scalability(seen, fewest=3, low=0.5)
    0.74
    """
    if not changes or len(changes) < fewest:
        return 1.0
    least = min(reversed(changes), key=lambda change: change.before)
    beta = least.rate / least.before
    above = sum(change.before * change.rate for change in changes)
    below = beta * sum(change.before**2 for change in changes)
    alpha = above / below if below else 1.0
    return ceil(round(max(low, min(1.0, alpha)) * 100, 9)) / 100


# What Flink's autoscaler evaluates over its metric window, from the progress of Spark queries.


_LAGS = 30.0
"""Seconds of rows waiting from which what a module gets through is all that it can."""
_TOO_HIGH = 1.15
"""How far the rate by busy time may be above the rate seen while catching up."""
_FEWEST = 2
"""Readings from which the rate seen while catching up is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The metrics of one module. Rates are rows a second."""

    rate: float
    """Rows that will come (TARGET_DATA_RATE)."""
    catch_up: float
    """Rows on top of these until the backlog is gone (CATCH_UP_DATA_RATE)."""
    true_rate: float
    """Rows that its executors could take in (TRUE_PROCESSING_RATE); infinite where none came."""


@dataclass
class Metrics:
    """Readings since the last change, at most a window of them."""

    graph: FlowGraph | None
    window: float
    catch_up: float
    """Seconds in which a backlog is to be processed; 0 plans for arrivals only."""
    _since: float | None = field(default=None, init=False, repr=False)
    _flow: Flow = field(init=False, repr=False)
    _busy: dict[str, Window] = field(init=False, repr=False)
    _catching: dict[str, Window] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin again: what was measured was of another configuration."""
        self._since, self._flow = None, Flow(self.graph, self.window)
        self._busy, self._catching = windows(self.window), windows(self.window)

    def left(self, at: float) -> float:
        """Seconds until the window is full."""
        return 0.0 if self._since is None else max(self._since + self.window - at, 0.0)

    def observe(self, seen: Observation) -> None:
        """Learn from an observation; unknown values are ignored."""
        if self._since is None:
            self._since = seen.at - seen.step
        self._flow.observe(seen)
        for name, reading in seen.modules.items():
            busy, rate = known(reading.utilisation), known(reading.processed_rate)
            if busy is not None:
                self._busy[name].add(seen.at, busy)
            if rate and (known(reading.backlog) or 0.0) > _LAGS * rate + TIME_TOLERANCE:
                self._catching[name].add(seen.at, rate)

    def evaluate(self, seen: Observation) -> dict[str, Evaluated | str]:
        """By module: its metrics, or what is missing of them."""
        inflow = self._flow.inflow()
        behind = self._flow.spread({n: self._behind(m) for n, m in seen.modules.items()})
        return {
            name: self._lacks(name, reading, inflow[name], behind[name])
            or Evaluated(rate=inflow[name], catch_up=behind[name], true_rate=self._true_rate(name))
            for name, reading in seen.modules.items()
        }

    def lagging(self, seen: Observation, threshold: float) -> bool:
        """Whether a source has rows waiting for longer than the threshold."""
        sources = self.graph.sources if self.graph is not None else tuple(seen.modules)
        through = self._flow.through
        return any(
            (known(seen.modules[name].backlog) or 0.0) > threshold * through[name].mean()
            for name in sources
            if name in seen.modules and name in through
        )

    def _lacks(self, name: str, reading: ModuleReading, rate: float, behind: float) -> str:
        """What is missing of the metrics of a module, if anything."""
        if not isfinite(rate):
            return "arrival rate of its source unknown"
        if known(reading.utilisation) is None:
            return "utilisation unknown"
        if not isfinite(behind):
            return "its backlog or that of an upstream module unknown"
        return "" if name in self._flow.through else "throughput unknown"

    def _true_rate(self, name: str) -> float:
        """Rows by busy time, or those seen while catching up where these are far fewer."""
        through, busy = self._flow.through[name].mean(), self._busy[name].mean()
        by_time = through / busy if through and busy else inf
        catching = self._catching[name]
        believed = len(catching) >= _FEWEST and by_time > _TOO_HIGH * catching.mean()
        return catching.mean() if believed else by_time

    def _behind(self, reading: ModuleReading) -> float:
        if not self.catch_up:
            return 0.0
        waiting = known(reading.backlog)
        return nan if waiting is None else waiting / self.catch_up


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A change that a module would make, if any module of the graph is out of its band."""

    verdict: Verdict
    change: Change | None = None
    outside: bool = False
    otherwise: Verdict | None = None
    """Where no module is out of its band: the change alone is not worth a restart."""


@dataclass
@checked("policy flink")
class Flink:
    """Capacity for what comes at a target utilisation, for the backlog, and for a restart.

    The capacity wanted of a module is `backlog / catch_up_duration + rate * restart_time /
    catch_up_duration + rate / utilisation_target`; degrees follow in proportion to what it could
    take in, which is what it got through by how busy it was. Nothing changes while every module
    that would is inside the band of utilisation; once one is not, all that would change do. A
    module shrinks by `scale_down_max_factor` at most, and not before `scale_down_interval` of
    nothing but scale-downs, then to the highest of them. After a change the pipeline rests for
    `stabilization_interval` and is then watched for `metrics_window`.

    Two rules that are off by default in Flink are on here: degrees are corrected by how
    well earlier changes scaled, and a scale-up that brought less than a tenth of what was expected
    is not followed by another.

    >>> from penstock.testing import seen
    >>> policy = Flink(metrics_window=10.0, stabilization_interval=0.0, restart_time=0.0)
    >>> busy = {"arrival_rate": 90.0, "processed_rate": 80.0, "utilisation": 1.0, "running": 2}
    >>> policy(seen(at=5.0, step=5.0, counter={**busy, "backlog": 0.0})).why
    'counter holds at 2, the metrics window is full in 5 s'
    >>> policy(seen(at=10.0, step=5.0, counter={**busy, "backlog": 50.0})).why
    'counter needs 129 rows/s, its capacity is 80: 2 -> 4'
    """

    graph: FlowGraph | None = None
    """How modules feed each other; a module that is not in it is a source of its own."""
    utilisation_target: Share = 0.7
    """Busy share that modules are to have."""
    utilisation_boundary: NotNegative = 0.3
    """How far from the target the band of utilisation ends, where its ends are not given."""
    utilisation_max: Fraction | None = None
    """Busy share up to which a module need not grow."""
    utilisation_min: Fraction | None = None
    """Busy share down to which it need not shrink."""
    catch_up_duration: NotNegativeSeconds = 1800.0
    """Seconds in which a backlog is to be processed; 0 plans for arrivals only."""
    restart_time: NotNegativeSeconds = 300.0
    """Seconds that a change costs."""
    metrics_window: NotNegativeSeconds = 900.0
    """Seconds that are averaged over."""
    stabilization_interval: NotNegativeSeconds = 300.0
    """Seconds after a change in which nothing is measured."""
    scale_down_interval: NotNegativeSeconds = 3600.0
    """Seconds that a scale-down waits, and whose highest recommendation it goes to."""
    scale_down_max_factor: Fraction = 0.6
    """Most that a module shrinks at once, as a share."""
    scale_up_max_factor: NotNegative = 1e5
    """Most that it grows at once, as a share."""
    backlog_lag_threshold: NotNegativeSeconds = 300.0
    """Seconds of rows waiting at a source while which nothing shrinks."""
    observed_scalability: bool = True
    """Whether degrees are corrected by what earlier changes brought."""
    scalability_min: Share = 0.5
    """Least that an executor is taken to bring beside the first."""
    scalability_observations: Natural = 3
    """Changes from which scalability is believed."""
    effectiveness_detection: bool = True
    """Whether an ineffective scale-up is not followed by another."""
    effectiveness_threshold: NotNegative = 0.1
    """Share of the expected gain below which a scale-up was ineffective."""
    _metrics: Metrics = field(init=False, repr=False)
    _seen: object = field(default=None, init=False, repr=False)
    _stable: float = field(default=-inf, init=False, repr=False)
    _histories: dict[str, History] = field(default_factory=dict, init=False, repr=False)
    _delays: dict[str, DelayedScaleDown] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = self._band()
        if not low <= self.utilisation_target <= high:
            raise SettingError(
                "utilisation_target of policy flink must be between its utilisation_min and "
                f"utilisation_max, got {self.utilisation_target:g}, {low:g} and {high:g}",
                fields=("utilisation_min", "utilisation_max", "utilisation_target"),
            )
        self._metrics = Metrics(self.graph, self.metrics_window, self.catch_up_duration)

    def __call__(self, seen: Observation, /) -> Decision:
        """Measure, and once the window is full, judge all modules."""
        self._observe(seen)
        if seen.at < self._stable - TIME_TOLERANCE:
            left = format_duration(self._stable - seen.at)
            return all_hold(seen, f"stabilisation ends in {left}")
        self._metrics.observe(seen)
        if (left_ := self._metrics.left(seen.at)) > TIME_TOLERANCE:
            return all_hold(seen, f"the metrics window is full in {format_duration(left_)}")
        return self._decide(seen)

    def _observe(self, seen: Observation) -> None:
        """Begin again after a change, and learn whether what was decided took effect."""
        degrees = in_force(seen)
        now = tuple((n, degrees.get(n), m.running) for n, m in sorted(seen.modules.items()))
        if now != self._seen:
            self._stable = seen.at - seen.step + self.stabilization_interval
            self._metrics.forget()
            self._delays = {}
        self._seen = now
        for name, degree in degrees.items():
            self._histories.setdefault(name, History()).observe(seen.at, degree)

    def _decide(self, seen: Observation) -> Decision:
        evaluated = self._metrics.evaluate(seen)
        lagging = self._metrics.lagging(seen, self.backlog_lag_threshold)
        proposals: dict[str, _Proposal] = {}

        def judge(module: ModuleState) -> Verdict:
            proposal = self._judge(module, seen.at, evaluated[module.name], lagging)
            proposals[module.name] = proposal
            return proposal.verdict

        verdicts = judged(seen, judge)
        if any(proposal.outside for proposal in proposals.values()):
            for name, proposal in proposals.items():
                self._histories[name].pending = proposal.change
            return decision(verdicts)
        kept = {name: proposal.otherwise for name, proposal in proposals.items()}
        return decision(kept.get(verdict.name) or verdict for verdict in verdicts)

    def _judge(
        self, module: ModuleState, at: float, metrics: Evaluated | str, lagging: bool
    ) -> _Proposal:
        running, degree = module.reading.running, module.degree
        if isinstance(metrics, str):
            return _Proposal(module.hold(metrics))
        if not running:
            why = "running executors unknown" if running is None else "none runs yet"
            return _Proposal(module.hold(why))
        rate = metrics.true_rate
        needed = self._capacity(metrics, self.utilisation_target, restart=True)
        factor = self._factor(module.name, needed, rate)
        wanted, outside = executors_for(factor * running), self._outside(metrics, lagging)
        capacity = "unlimited" if rate == inf else number(rate)
        why = f"needs {number(needed)} rows/s, its capacity is {capacity}"
        delay = self._delays.setdefault(module.name, DelayedScaleDown(self.scale_down_interval))
        if wanted < degree:
            recommended = delay.recommend(at, wanted, outside)
            enough = f"{why}, {wanted} are enough"
            if recommended is None:
                left = format_duration(delay.left(at))
                return _Proposal(module.hold(f"{enough}, may shrink in {left}"))
            if recommended[0] > wanted:
                window = format_duration(self.scale_down_interval)
                why = f"{enough}, the highest in {window} was {recommended[0]}"
            wanted, outside = recommended
        else:
            delay.clear()
            failed = self._histories[module.name].failed(degree, rate, self.effectiveness_threshold)
            if wanted > degree and failed and self.effectiveness_detection:
                return _Proposal(module.hold(f"{why}, but going {failed}"))
        if wanted == degree:
            return _Proposal(module.hold(why))
        low, high = map(percent, self._band())
        inside = f"within {low} to {high} busy, though {wanted} would be enough"
        change = Change(at=at, before=degree, after=wanted, rate=rate, expected=rate * factor)
        otherwise = module.hold(f"{why}, {inside}")
        return _Proposal(module.move(wanted, why), change, outside, otherwise)

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
        at_least = self._capacity(metrics, high, restart=False) - TIME_TOLERANCE
        at_most = self._capacity(metrics, low, restart=True) + TIME_TOLERANCE
        return not at_least <= metrics.true_rate <= at_most

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
