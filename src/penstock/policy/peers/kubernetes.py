"""The Kubernetes Horizontal Pod Autoscaler, with its defaults.

A recommendation is limited as its controller does where an autoscaler has no `behavior` of its own.
A scale-down goes no lower than the highest recommendation of the last 300 s, the replicas at the
start counting as one; in 15 s replicas may double or grow by 4, whichever is more, counted from
those of 15 s ago.
"""

from dataclasses import dataclass, field
from math import ceil

from penstock.core.schema import (
    Count,
    Natural,
    NotNegative,
    NotNegativeSeconds,
    Positive,
    Share,
    checked,
)
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import count_of, percent
from penstock.policy.common.estimates import Window, known
from penstock.policy.common.verdict import Verdict, decision, held, judged, moved
from penstock.policy.peers.common import Timer, executors_for, number


@dataclass
class Behaviour:
    """How fast replicas may come and go: settings of both autoscalers."""

    scale_down_window: NotNegativeSeconds = 300.0
    """Seconds whose highest recommendation a module goes down to."""
    scale_up_percent: NotNegative = 100.0
    """Growth in a period, in percent."""
    scale_up_pods: Natural = 4
    """Growth in a period, in executors."""
    scale_up_period: NotNegativeSeconds = 15.0
    """Seconds in which growth is limited."""

    def most(self, start: int) -> int:
        """Replicas that a period may end with.

        >>> Behaviour().most(2), Behaviour().most(10)
        (6, 20)
        """
        by_share = ceil(start * (1 + self.scale_up_percent / 100) - 1e-9)
        return max(start + self.scale_up_pods, by_share)


@dataclass
class Stabiliser:
    """The memory of one module: what was recommended, and which changes came of it."""

    limits: Behaviour
    _recommended: Window = field(init=False, repr=False)
    _changes: list[tuple[float, int]] = field(default_factory=list, init=False, repr=False)
    _last: tuple[float, int] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._recommended = Window(self.limits.scale_down_window)

    def observe(self, at: float, degree: int) -> None:
        """See the degree in force; a change counts from the observation that it was decided at."""
        if self._last is None:
            self._recommended.add(at, degree)
        elif degree != self._last[1]:
            self._changes.append((self._last[0], degree - self._last[1]))
        start = at - self.limits.scale_up_period
        self._changes = [change for change in self._changes if change[0] > start + 1e-9]
        self._last = (at, degree)

    def settle(self, at: float, name: str, degree: int, wanted: int, why: str) -> Verdict:
        """The verdict on a module of which so many replicas are recommended, and why."""
        self._recommended.add(at, wanted)
        if wanted > degree:
            return self._up(name, degree, wanted, why)
        if wanted == degree:
            return held(name, degree, why)
        return self._down(name, degree, wanted, why)

    def _up(self, name: str, degree: int, wanted: int, why: str) -> Verdict:
        most = max(self.limits.most(degree - sum(n for _, n in self._changes)), degree)
        if wanted <= most:
            return moved(name, degree, wanted, why)
        in_ = format_duration(self.limits.scale_up_period)
        limited = f"{why} wants {wanted}, and {most} is the most allowed in {in_}"
        if most == degree:
            return held(name, degree, limited)
        return moved(name, degree, most, limited)

    def _down(self, name: str, degree: int, wanted: int, why: str) -> Verdict:
        highest = min(int(self._recommended.most()), degree)
        window = format_duration(self.limits.scale_down_window)
        if highest == wanted:
            return moved(name, degree, wanted, why)
        limited = f"{why} wants {wanted}, and {highest} is the highest of the last {window}"
        if highest == degree:
            return held(name, degree, limited)
        return moved(name, degree, highest, limited)


@dataclass
@checked("policy hpa")
class Hpa(Behaviour):
    """As many executors as bring utilisation to its target: `ceil(n * utilisation / target)`.

    Nothing changes while utilisation is within `tolerance` of the target. A module goes down to the
    highest number recommended in `scale_down_window`, and up by no more than `scale_up_percent` or
    `scale_up_pods`, whichever is more, in `scale_up_period`. As in Kubernetes, `n` are the
    executors that run; pending ones count as idle while the module is too busy. It
    looks every `sync_period`, at the mean since it last did, as a metrics server would report it.

    >>> from penstock.testing import seen
    >>> Hpa()(seen(counter={"utilisation": 0.93, "running": 3})).why
    'counter 93 % busy for a target of 70 %: 3 -> 4'
    >>> Hpa()(seen(counter={"utilisation": 0.75, "running": 3})).why
    'counter holds at 3, 75 % busy, within 10 % of the target of 70 %'
    """

    target: Share = 0.7
    """Busy share that every module is to have."""
    tolerance: NotNegative = 0.1
    """Share of the target by which utilisation may be off."""
    sync_period: NotNegativeSeconds = 15.0
    """Seconds between two looks."""
    _timer: Timer = field(init=False, repr=False)
    _busy: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _stabilisers: dict[str, Stabiliser] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._timer = Timer(self.sync_period)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own, when it is time to look."""
        for name, reading in seen.modules.items():
            self._observe(name, reading, seen.at)
        looks = self._timer.due(seen.at, seen.step)

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            stabiliser = self._stabilisers.setdefault(name, Stabiliser(self))
            stabiliser.observe(seen.at, degree)
            return self._judge(name, reading, degree, seen.at, stabiliser)

        verdicts = judged(seen, judge) if looks else self._between(seen)
        return decision(verdicts)

    def _between(self, seen: Observation) -> list[Verdict]:
        left = format_duration(self._timer.left(seen.at))

        def judge(name: str, _: ModuleReading, degree: int) -> Verdict:
            self._stabilisers.setdefault(name, Stabiliser(self)).observe(seen.at, degree)
            return held(name, degree, f"next evaluation in {left}")

        return judged(seen, judge)

    def _observe(self, name: str, reading: ModuleReading, at: float) -> None:
        busy = known(reading.utilisation)
        if busy is not None:
            self._busy.setdefault(name, Window(self.sync_period)).add(at, busy)

    def _judge(
        self, name: str, reading: ModuleReading, degree: int, at: float, stabiliser: Stabiliser
    ) -> Verdict:
        if known(reading.utilisation) is None:
            return held(name, degree, "utilisation unknown")
        if not reading.running:
            why = "running executors unknown" if reading.running is None else "none runs yet"
            return held(name, degree, why)
        busy = self._busy[name].mean()
        wanted, why = self._recommend(busy, reading.running, degree)
        return stabiliser.settle(at, name, degree, wanted, why)

    def _recommend(self, busy: float, running: int, degree: int) -> tuple[int, str]:
        ratio, text, aim = busy / self.target, f"{percent(busy)} busy", percent(self.target)
        if ratio > 1 and running < degree:
            ratio *= running / degree
            text += f" on the {running} that run of {degree}"
        close = abs(ratio - 1) <= self.tolerance + 1e-12
        if close or (ratio < 1) != (busy < self.target):
            return degree, f"{text}, within {percent(self.tolerance)} of the target of {aim}"
        return executors_for(busy * running / self.target), f"{text} for a target of {aim}"


# KEDA's Kafka scaler: executors by the rows that wait.


@dataclass
@checked("policy keda-lag")
class KedaLag(Behaviour):
    """One executor for every `lag_threshold` rows that wait, no more than there are partitions.

    `ceil(backlog / lag_threshold)`, every `polling_interval`. KEDA leaves the rest to Kubernetes'
    autoscaler, whose tolerance, window for scaling down and limit for scaling up hold here too;
    `scale_down_window: 0s` leaves the bare formula on the way down. KEDA may scale to nothing; here
    a module keeps one executor.

    >>> from penstock.testing import seen
    >>> KedaLag()(seen(counter={"backlog": 25, "running": 1})).why
    'counter has 25 rows waiting at 10 per executor: 1 -> 3'
    >>> KedaLag(partitions=2)(seen(counter={"backlog": 25, "running": 1})).why
    'counter has 25 rows waiting at 10 per executor, for 2 partitions: 1 -> 2'
    """

    lag_threshold: Positive = 10.0
    """Rows that may wait for each executor."""
    polling_interval: NotNegativeSeconds = 30.0
    """Seconds between two looks."""
    partitions: Count | None = None
    """Most executors that can read at once; unless given, only the file's `max_replicas` holds."""
    tolerance: NotNegative = 0.1
    """Share of the threshold by which the rows for each executor may be off."""
    _timer: Timer = field(init=False, repr=False)
    _stabilisers: dict[str, Stabiliser] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._timer = Timer(self.polling_interval)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own, when it is time to look."""
        looks = self._timer.due(seen.at, seen.step)
        left = format_duration(self._timer.left(seen.at))

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            stabiliser = self._stabilisers.setdefault(name, Stabiliser(self))
            stabiliser.observe(seen.at, degree)
            if not looks:
                return held(name, degree, f"next evaluation in {left}")
            return self._judge(name, known(reading.backlog), degree, seen.at, stabiliser)

        return decision(judged(seen, judge))

    def _judge(
        self, name: str, lag: float | None, degree: int, at: float, stabiliser: Stabiliser
    ) -> Verdict:
        if lag is None:
            return held(name, degree, "backlog unknown")
        text = f"has {number(lag)} rows waiting at {number(self.lag_threshold)} per executor"
        if self.partitions is not None and lag > self.partitions * self.lag_threshold:
            lag = self.partitions * self.lag_threshold
            text += f", for {count_of(self.partitions, 'partition')}"
        if abs(lag / (self.lag_threshold * degree) - 1) <= self.tolerance + 1e-12:
            why = f"{text}, within the tolerance of {percent(self.tolerance)}"
            return stabiliser.settle(at, name, degree, degree, why)
        return stabiliser.settle(at, name, degree, executors_for(lag / self.lag_threshold), text)
