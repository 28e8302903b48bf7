"""KEDA's Kafka scaler: executors by the rows that wait."""

from dataclasses import dataclass, field

from penstock.core.errors import SettingError
from penstock.core.settings import seconds
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.policy.mpc.verdict import Verdict, held, judged
from penstock.policy.peers.deciding import check, decision, known, number, percent, whole
from penstock.policy.peers.limits import Limits, Stabiliser
from penstock.policy.peers.timing import Beat


@dataclass
class KedaLag:
    """One executor for every `lag_threshold` rows that wait, no more than there are partitions.

    `ceil(backlog / lag_threshold)`, every `polling_interval`. KEDA leaves the rest to Kubernetes'
    autoscaler, whose tolerance, window for scaling down and limit for scaling up hold here too;
    `scale_down_window: 0s` leaves the bare formula on the way down. KEDA may scale to nothing; here
    a module keeps one executor.

    >>> from penstock.testing import seen
    >>> KedaLag()(seen(counter={"backlog": 25, "running": 1})).why
    'counter has 25 rows waiting at 10 an executor: 1 -> 3'
    >>> KedaLag(partitions=2)(seen(counter={"backlog": 25, "running": 1})).why
    'counter has 25 rows waiting at 10 an executor, for 2 partitions: 1 -> 2'
    """

    lag_threshold: float = 10.0
    """Rows that may wait for each executor."""
    polling_interval: float = seconds(30.0)
    """Seconds between two looks."""
    partitions: int | None = None
    """Most executors that can read at once; unless given, only the file's `max_replicas` holds."""
    tolerance: float = 0.1
    """Share of the threshold by which the rows for each executor may be off."""
    scale_down_window: float = seconds(300.0)
    """Seconds whose highest recommendation a module goes down to."""
    scale_up_percent: float = 100.0
    """Growth in a period, in percent."""
    scale_up_pods: int = 4
    """Growth in a period, in executors."""
    scale_up_period: float = seconds(15.0)
    """Seconds in which growth is limited."""
    _beat: Beat = field(init=False, repr=False)
    _stabilisers: dict[str, Stabiliser] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what no lag can be measured by."""
        check("lag_threshold of policy keda-lag", self.lag_threshold, 0.0, above=True)
        check("polling_interval of policy keda-lag", self.polling_interval, 0.0)
        check("tolerance of policy keda-lag", self.tolerance, 0.0)
        if self.partitions is not None and self.partitions < 1:
            raise SettingError(
                f"partitions of policy keda-lag must be 1 or more, got {self.partitions}"
            )
        self._limits().check("keda-lag")
        self._beat = Beat(self.polling_interval)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own, when it is time to look."""
        looks = self._beat.due(seen.at, seen.step)
        left = format_duration(self._beat.left(seen.at))

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            stabiliser = self._stabilisers.setdefault(name, Stabiliser(self._limits()))
            stabiliser.notice(seen.at, degree)
            if not looks:
                return held(name, degree, f"looks again in {left}")
            return self._judge(name, known(reading.backlog), degree, seen.at, stabiliser)

        return decision(judged(seen, judge))

    def _judge(
        self, name: str, lag: float | None, degree: int, at: float, stabiliser: Stabiliser
    ) -> Verdict:
        if lag is None:
            return held(name, degree, "backlog unknown")
        told = f"has {number(lag)} rows waiting at {number(self.lag_threshold)} an executor"
        if self.partitions is not None and lag > self.partitions * self.lag_threshold:
            lag = self.partitions * self.lag_threshold
            told += f", for {self.partitions} partition{'s' * (self.partitions > 1)}"
        if abs(lag / (self.lag_threshold * degree) - 1) <= self.tolerance + 1e-12:
            why = f"{told}, within {percent(self.tolerance)} of enough"
            return stabiliser.settle(at, name, degree, degree, why)
        return stabiliser.settle(at, name, degree, whole(lag / self.lag_threshold), told)

    def _limits(self) -> Limits:
        return Limits(
            scale_down_window=self.scale_down_window,
            scale_up_percent=self.scale_up_percent,
            scale_up_pods=self.scale_up_pods,
            scale_up_period=self.scale_up_period,
        )
