"""The Kubernetes Horizontal Pod Autoscaler, with its defaults."""

from dataclasses import dataclass, field

from penstock.core.settings import seconds
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.policy.mpc.verdict import Verdict, held, judged
from penstock.policy.peers.deciding import check, decision, known, percent, whole
from penstock.policy.peers.limits import Limits, Stabiliser
from penstock.policy.peers.timing import Beat, Window


@dataclass
class Hpa:
    """As many executors as bring utilisation to its target: `ceil(n * utilisation / target)`.

    Nothing changes while utilisation is within `tolerance` of the target. A module goes down to the
    highest number recommended in `scale_down_window`, and up by no more than `scale_up_percent` or
    `scale_up_pods`, whichever is more, in `scale_up_period`. As in Kubernetes, `n` are the
    executors that run; those that are still to come count as idle while the module is too busy. It
    looks every `sync_period`, at the mean since it last did, which is what a metrics server tells.

    >>> from penstock.testing import seen
    >>> Hpa()(seen(counter={"utilisation": 0.93, "running": 3})).why
    'counter 93 % busy for a target of 70 %: 3 -> 4'
    >>> Hpa()(seen(counter={"utilisation": 0.75, "running": 3})).why
    'counter holds at 3, 75 % busy, within 10 % of the target of 70 %'
    """

    target: float = 0.7
    """Busy share that every module is to have."""
    tolerance: float = 0.1
    """Share of the target by which utilisation may be off."""
    sync_period: float = seconds(15.0)
    """Seconds between two looks."""
    scale_down_window: float = seconds(300.0)
    """Seconds whose highest recommendation a module goes down to."""
    scale_up_percent: float = 100.0
    """Growth in a period, in percent."""
    scale_up_pods: int = 4
    """Growth in a period, in executors."""
    scale_up_period: float = seconds(15.0)
    """Seconds in which growth is limited."""
    _beat: Beat = field(init=False, repr=False)
    _busy: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _stabilisers: dict[str, Stabiliser] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what Kubernetes would refuse."""
        check("target of policy hpa", self.target, 0.0, 1.0, above=True)
        check("tolerance of policy hpa", self.tolerance, 0.0)
        check("sync_period of policy hpa", self.sync_period, 0.0)
        self._limits().check("hpa")
        self._beat = Beat(self.sync_period)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own, when it is time to look."""
        for name, reading in seen.modules.items():
            self._take_in(name, reading, seen.at)
        looks = self._beat.due(seen.at, seen.step)

        def judge(name: str, reading: ModuleReading, degree: int) -> Verdict:
            stabiliser = self._stabilisers.setdefault(name, Stabiliser(self._limits()))
            stabiliser.notice(seen.at, degree)
            return self._judge(name, reading, degree, seen.at, stabiliser)

        verdicts = judged(seen, judge) if looks else self._between(seen)
        return decision(verdicts)

    def _between(self, seen: Observation) -> list[Verdict]:
        left = format_duration(self._beat.left(seen.at))

        def judge(name: str, _: ModuleReading, degree: int) -> Verdict:
            self._stabilisers.setdefault(name, Stabiliser(self._limits())).notice(seen.at, degree)
            return held(name, degree, f"looks again in {left}")

        return judged(seen, judge)

    def _take_in(self, name: str, reading: ModuleReading, at: float) -> None:
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
        ratio, told, aim = busy / self.target, f"{percent(busy)} busy", percent(self.target)
        if ratio > 1 and running < degree:
            ratio *= running / degree
            told += f" on the {running} that run of {degree}"
        close = abs(ratio - 1) <= self.tolerance + 1e-12
        if close or (ratio < 1) != (busy < self.target):
            return degree, f"{told}, within {percent(self.tolerance)} of the target of {aim}"
        return whole(busy * running / self.target), f"{told} for a target of {aim}"

    def _limits(self) -> Limits:
        return Limits(
            scale_down_window=self.scale_down_window,
            scale_up_percent=self.scale_up_percent,
            scale_up_pods=self.scale_up_pods,
            scale_up_period=self.scale_up_period,
        )
