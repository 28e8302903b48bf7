"""The allocation of a fixed number of cores as a policy of pipelines that share a cluster.

At every step the processing network is brought up to date with what was measured, its best whole
division is found, and asked for where it brings enough more than the one in force.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.settings import near, seconds
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.allocation import wording
from penstock.policy.allocation.bounds import EXACTLY, Bounds
from penstock.policy.allocation.flow import active, value
from penstock.policy.allocation.measured import Measured
from penstock.policy.allocation.network import Network
from penstock.policy.allocation.offer import Offer, example
from penstock.policy.allocation.pipelines import check_weights, owners, worth
from penstock.policy.allocation.rounding import even, fill, whole
from penstock.policy.degrees import in_force

_PATIENCE: Final = 3
"""Steps in a row in which fewer cores must do before some are given back."""
_PARTICULAR: Final = ("shrink", "single-output")
"""Methods that suit some graphs only."""


@dataclass
class Allocate:
    """Divide a fixed number of cores among the modules of all pipelines for the most output.

    Output is what rows that come to the last modules are worth, by the weight of their pipeline.
    While anything that this takes is unknown, all modules keep what they have.

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> fraud, reports = (Module(name=n, service_time=0.05) for n in ("fraud", "reports"))
    >>> graph = FlowGraph(source="fraud", also=("reports",), modules=(fraud, reports))
    >>> policy = Allocate(graph, cores=8, weights={"fraud": 5.0})
    >>> policy(
    ...     seen(
    ...         fraud={"arrival_rate": 110.0, "running": 4},
    ...         reports={"arrival_rate": 400.0, "running": 4},
    ...     )
    ... ).why
    'fraud, worth 5 a row, gets the 6 cores it needs; reports, worth 1, gets 2 of the 20 cores it \
needs; about 23 % more weighted output than an even division'
    """

    name: ClassVar[str] = "allocation"

    graph: FlowGraph
    cores: int | None = None
    """Cores to divide, one of each executor; as many as the modules begin with, unless given."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """What a row is worth at the end of each pipeline, or at a module that feeds no other; 1 of
    those that are left out."""
    method: str = "cutting-plane"
    """Which planner finds the real-valued division from which the best whole one is sought, where
    there are too many of these to try them all."""
    catch_up: float | None = seconds(30.0)
    """Seconds over which rows that wait are offered again; 0 or None leaves them aside."""
    smoothing: float = 0.3
    """Weight of the newest reading in the averages of arrivals, service times and selectivities."""
    gain: float = 0.02
    """Share by which the weighted output must grow for executors to be moved."""
    spare: bool = True
    """Whether cores that bring nothing go to the busiest modules, where a rise of load finds them;
    else nobody gets them."""
    _measured: Measured = field(init=False, repr=False)
    _needless: int = field(default=0, init=False, repr=False)
    """Steps in a row in which fewer cores would have done."""

    def __post_init__(self) -> None:
        """Refuse what cannot be divided, or not so."""
        self._check_numbers()
        check_weights(self.graph, self.weights)
        self._check_method()
        self._measured = Measured(self.graph, self.smoothing, self.catch_up)

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn, divide, and move what is worth moving."""
        self._measured.take_in(seen)
        in_use = in_force(seen)
        if (unknown := self._measured.unknown(seen)) is not None:
            return _held(in_use, f"all held, {unknown}")
        offer = self._measured.offer()
        try:
            return self._decide(offer, in_use)
        except SettingError as error:  # of numbers that no method can reckon with
            return _held(in_use, f"all held, {error}")

    @property
    def bounds(self) -> Bounds:
        """The cores that there are, and what each module may have of them."""
        begun = sum(module.initial_replicas for module in self.graph.modules)
        return Bounds.of(self.graph, begun if self.cores is None else self.cores)

    def _decide(self, offer: Offer, in_use: Mapping[str, int]) -> Decision:
        bounds, value_of = self.bounds, worth(self.graph, self.weights)
        network = offer.network(cores=bounds.cores, worth=value_of)
        known = {name: in_use[name] for name in self.graph.names() if name in in_use}
        fits = len(known) == len(self.graph.modules) and bounds.admits(known)
        if network is None:
            division = known if fits else even(bounds)
            return _held({**in_use, **division}, "held, no rows come" if fits else "no rows come")
        division = self._division(network, bounds)
        if fits and (why := self._no_reason_to_move(network, known, division)) is not None:
            return _held(in_use, why, expects=_expected(network, known))
        made = wording.shares(owners(self.graph), value_of, division, offer.loads, bounds.low)
        more = _more(network, division, even(bounds))
        return Decision(
            configuration=Configuration(degrees={**in_use, **division}),
            why=wording.divided(made, more=more),
            expects=_expected(network, division),
        )

    def _division(self, network: Network, bounds: Bounds) -> dict[str, int]:
        found = whole(network, bounds, start=lambda: self._planned(network))
        return fill(found, network, bounds) if self.spare else found

    def _planned(self, network: Network) -> Mapping[str, float]:
        from penstock.policy.allocation import PLANNERS

        return PLANNERS[self.method](network).resource

    def _no_reason_to_move(
        self, network: Network, known: Mapping[str, int], division: Mapping[str, int]
    ) -> str | None:
        more = _more(network, division, known)
        self._needless = self._needless + 1 if sum(division.values()) < sum(known.values()) else 0
        grows = self.spare and sum(division.values()) > sum(known.values())
        worthwhile = more >= self.gain and more > EXACTLY
        if grows or worthwhile or self._needless >= _PATIENCE:
            self._needless = 0
            return None
        return wording.kept(more=more, gain=self.gain)

    def _check_numbers(self) -> None:
        fewest = sum(module.min_replicas for module in self.graph.modules)
        if self.cores is not None and self.cores < fewest:
            raise SettingError(
                f"cores of policy allocation must be {fewest} or more, the min_replicas of all "
                f"modules together, got {self.cores}"
            )
        if not 0 < self.smoothing <= 1:
            raise SettingError(
                f"smoothing of policy allocation must be in (0, 1], got {self.smoothing:g}"
            )
        if not 0 <= self.gain < 1:
            raise SettingError(f"gain of policy allocation must be in [0, 1), got {self.gain:g}")
        if self.catch_up is not None and not self.catch_up >= 0:
            raise SettingError(
                f"catch_up of policy allocation must not be negative, got {self.catch_up:g}s"
            )

    def _check_method(self) -> None:
        from penstock.policy.allocation import PLANNERS

        if self.method not in PLANNERS:
            raise SettingError(
                f"there is no method {self.method!r} of policy allocation"
                f"{near(self.method, PLANNERS)}"
            )
        if self.method in _PARTICULAR:
            weighed = worth(self.graph, self.weights)
            PLANNERS[self.method](example(self.graph).network(cores=1, worth=weighed))


def _held(
    degrees: Mapping[str, int], why: str, *, expects: Mapping[str, float] | None = None
) -> Decision:
    configuration = Configuration(degrees=dict(degrees))
    return Decision(configuration=configuration, why=why, expects=expects or {})


def _resource(network: Network, division: Mapping[str, int]) -> dict[str, float]:
    return {name: float(division[name]) for name in network.modules}


def _more(network: Network, division: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Share by which a division brings more than another."""
    return (
        value(network, _resource(network, division)) / value(network, _resource(network, other))
        - 1.0
    )


def _expected(network: Network, division: Mapping[str, int]) -> dict[str, float]:
    busy = active(network, _resource(network, division))
    return {
        "value": value(network, _resource(network, division)),
        **{f"utilisation:{name}": busy[name] / division[name] for name in network.modules},
    }
