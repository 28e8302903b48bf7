"""The Kubernetes Horizontal Pod Autoscaler and KEDA's Kafka scaler, with their defaults.

A recommendation is limited as the controller does where an autoscaler has no `behavior` of its own.
A scale-down goes no lower than the highest recommendation of the last 300 s, the replicas at the
start counting as one; in 15 s replicas may double or grow by 4, whichever is more, counted from
those of 15 s ago.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import ceil
from typing import ClassVar

from penstock.core.schema import (
    Count,
    Natural,
    NotNegative,
    NotNegativeSeconds,
    Positive,
    Share,
    checked,
)
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.core.words import count_of, percent
from penstock.policy.common.estimates import TIME_TOLERANCE, Window, known, windows
from penstock.policy.common.verdict import ModuleState, Verdict, decision, judged
from penstock.policy.peers.common import Timer, executors_for, number


@dataclass
class _Memory:
    """What was recommended of one module, and which changes came of it."""

    recommended: Window
    changes: list[tuple[float, int]] = field(default_factory=list)
    """When each change in the last period was decided, and by how many replicas."""
    last: tuple[float, int] | None = None
    """When the module was last seen, and its degree."""


@dataclass
class _Autoscaler(ABC):
    """Recommends replicas every so often, and limits how fast they come and go."""

    period: ClassVar[str]
    """The setting with the seconds between two looks."""

    scale_down_window: NotNegativeSeconds = 300.0
    """Seconds whose highest recommendation a module goes down to."""
    scale_up_percent: NotNegative = 100.0
    """Growth in a period, in percent."""
    scale_up_pods: Natural = 4
    """Growth in a period, in executors."""
    scale_up_period: NotNegativeSeconds = 15.0
    """Seconds in which growth is limited."""
    _timer: Timer = field(init=False, repr=False)
    _memories: dict[str, _Memory] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._timer = Timer(getattr(self, self.period))

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own, when it is time to look."""
        wait = self._timer.wait(seen)

        def judge(module: ModuleState) -> Verdict:
            memory = self._observe(module, seen.at)
            recommended = wait or self._recommend(module)
            if isinstance(recommended, str):
                return module.hold(recommended)
            return self._settle(module, seen.at, memory, *recommended)

        return decision(judged(seen, judge))

    @abstractmethod
    def _recommend(self, module: ModuleState) -> tuple[int, str] | str:
        """The replicas that a module needs and why, or what is not known of it."""

    def _observe(self, module: ModuleState, at: float) -> _Memory:
        """See the degree in force; a change counts from the observation that it was decided at."""
        if module.name not in self._memories:
            self._memories[module.name] = _Memory(Window(self.scale_down_window))
        memory = self._memories[module.name]
        if memory.last is None:
            memory.recommended.add(at, module.degree)
        elif module.degree != memory.last[1]:
            memory.changes.append((memory.last[0], module.degree - memory.last[1]))
        start = at - self.scale_up_period + TIME_TOLERANCE
        memory.changes = [change for change in memory.changes if change[0] > start]
        memory.last = (at, module.degree)
        return memory

    def _settle(
        self, module: ModuleState, at: float, memory: _Memory, wanted: int, why: str
    ) -> Verdict:
        memory.recommended.add(at, wanted)
        if wanted > module.degree:
            start = module.degree - sum(change for _, change in memory.changes)
            by_share = ceil(start * (1 + self.scale_up_percent / 100) - 1e-9)
            most = max(start + self.scale_up_pods, by_share, module.degree)
            allowed = min(wanted, most)
            limit = f"the most allowed in {format_duration(self.scale_up_period)}"
        else:
            allowed = min(int(memory.recommended.most()), module.degree)
            limit = f"the highest of the last {format_duration(self.scale_down_window)}"
        if allowed != wanted:
            why = f"{why} wants {wanted}, and {allowed} is {limit}"
        return module.move(allowed, why)


@dataclass
@checked("policy hpa")
class Hpa(_Autoscaler):
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

    period: ClassVar[str] = "sync_period"

    target: Share = 0.7
    """Busy share that every module is to have."""
    tolerance: NotNegative = 0.1
    """Share of the target by which utilisation may be off."""
    sync_period: NotNegativeSeconds = 15.0
    """Seconds between two looks."""
    _busy: dict[str, Window] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._busy = windows(self.sync_period)

    def __call__(self, seen: Observation, /) -> Decision:
        """Measure, and judge each module on its own when it is time to look."""
        for name, reading in seen.modules.items():
            if (busy := known(reading.utilisation)) is not None:
                self._busy[name].add(seen.at, busy)
        return super().__call__(seen)

    def _recommend(self, module: ModuleState) -> tuple[int, str] | str:
        running, degree = module.reading.running, module.degree
        if known(module.reading.utilisation) is None:
            return "utilisation unknown"
        if not running:
            return "running executors unknown" if running is None else "none runs yet"
        busy = self._busy[module.name].mean()
        ratio, text, aim = busy / self.target, f"{percent(busy)} busy", percent(self.target)
        if ratio > 1 and running < degree:
            ratio *= running / degree
            text += f" on the {running} that run of {degree}"
        close = abs(ratio - 1) <= self.tolerance + 1e-12
        if close or (ratio < 1) != (busy < self.target):
            return degree, f"{text}, within {percent(self.tolerance)} of the target of {aim}"
        return executors_for(busy * running / self.target), f"{text} for a target of {aim}"


@dataclass
@checked("policy keda-lag")
class KedaLag(_Autoscaler):
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

    period: ClassVar[str] = "polling_interval"

    lag_threshold: Positive = 10.0
    """Rows that may wait for each executor."""
    polling_interval: NotNegativeSeconds = 30.0
    """Seconds between two looks."""
    partitions: Count | None = None
    """Most executors that can read at once; unless given, only the file's `max_replicas` holds."""
    tolerance: NotNegative = 0.1
    """Share of the threshold by which the rows for each executor may be off."""

    def _recommend(self, module: ModuleState) -> tuple[int, str] | str:
        lag = known(module.reading.backlog)
        if lag is None:
            return "backlog unknown"
        text = f"has {number(lag)} rows waiting at {number(self.lag_threshold)} per executor"
        if self.partitions is not None and lag > self.partitions * self.lag_threshold:
            lag = self.partitions * self.lag_threshold
            text += f", for {count_of(self.partitions, 'partition')}"
        if abs(lag / (self.lag_threshold * module.degree) - 1) <= self.tolerance + 1e-12:
            return module.degree, f"{text}, within the tolerance of {percent(self.tolerance)}"
        return executors_for(lag / self.lag_threshold), text
