"""What a configuration costs in a step that is predicted: mpc, Section 3.3.1.

| strategy | quality of service | resources |
|---|---|---|
| `th-node` | effective service time (Expr. 11) | replicas (Expr. 13) |
| `th-power` | effective service time (Expr. 11) | power (Expr. 14) |
| `lat-node` | response time (Expr. 12) | replicas (Expr. 13) |
| `lat-power` | response time (Expr. 12) | power (Expr. 14) |

Switching costs are those of Expr. 15 in all four.

**The unit of the throughput cost.** `alpha * T_S` weighs seconds against replicas, so what a good
alpha is depends on the pipeline: 200 suits seconds by the row on one, and nothing else. Here T_S is
measured in predicted inter-arrival times, unless `scale` says otherwise: the cost is then
`alpha * max(1, rho)`, flat while the operator keeps up, and alpha is the price of a load that is
once too much. A replica that costs `beta` is worth its price as soon as the overload that it ends
is above `beta / alpha` (0.25 % with the defaults, 0.45 % with the switching cost of one more), as
long as there are fewer than `alpha / beta` of them: the controller takes the least configuration
that is no bottleneck, whatever the rows cost. With `scale` (1ms for the prices that the paper
prints) the cost is the paper's, `alpha * T_S / scale`.

Where the operator keeps up, throughput costs the same with a replica fewer, which saves `beta` a
step: a switching cost brakes its release over h steps where `gamma` is above `h * beta`, and
otherwise only lets replicas go one at a time.

What a controller chooses from: replicas, and the clock they run at.

>>> options = Options.of(least=1, most=3, clocks=(1.2, 2.0))
>>> len(options), options.replicas.tolist(), options.index(2, 2.0)
(6, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 3)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.model.power import VOLTAGES, VoltageTable, power
from penstock.model.queueing import HEADROOM, response_time
from penstock.policy.mpc.horizon import Costs

_SAME: Final = 5e-4
"""Frequencies that differ by less than this, in GHz, are the same: they are exact to the MHz."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """Every pair of a degree and a clock: fewer replicas first, and of those the slower clock.

    That is the order in which ties are broken, too.
    """

    replicas: NDArray[np.float64]
    clocks: NDArray[np.float64]
    """GHz."""

    @classmethod
    def of(cls, *, least: int, most: int, clocks: Iterable[float]) -> "Options":
        """All degrees from the least to the most, at each clock."""
        degrees = np.arange(least, most + 1, dtype=float)
        speeds = np.array(sorted(clocks))
        return cls(replicas=np.repeat(degrees, len(speeds)), clocks=np.tile(speeds, len(degrees)))

    def __len__(self) -> int:
        return len(self.replicas)

    def index(self, replicas: int, clock: float) -> int | None:
        """Where one stands, or None where it is not among them."""
        same = (self.replicas == replicas) & (np.abs(self.clocks - clock) < _SAME)
        matches = np.flatnonzero(same)
        return int(matches[0]) if matches.size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """Which costs are added up, and the paper's price of quality for them."""

    latency: bool
    """Whether quality is the response time, and not the throughput."""
    power: bool
    """Whether resources are watts, and not replicas."""
    alpha: float
    """As the mpc paper has it for the random walk; for the trading day it takes 200, 300, 3, 4."""


STRATEGIES: Final[Mapping[str, Strategy]] = MappingProxyType(
    {
        "th-node": Strategy(latency=False, power=False, alpha=200.0),
        "th-power": Strategy(latency=False, power=True, alpha=200.0),
        "lat-node": Strategy(latency=True, power=False, alpha=2.0),
        "lat-power": Strategy(latency=True, power=True, alpha=2.0),
    }
)
"""mpc, Tab. 6."""

_CLOCK_STEPS: Final = 10.0
"""Steps of a GHz: 0.1 GHz more is as much of a change as one replica more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """What is predicted of an operator: rows of each step to come, and what each option does."""

    rates: NDArray[np.float64]
    """Rows a second, by step."""
    service_times: NDArray[np.float64]
    """Seconds that a row takes at a replica, by option."""
    parallel: NDArray[np.float64]
    """Replicas that can be busy at once, by option: a single key keeps no more than one busy."""
    arrival_cv: float = 1.0
    service_cv: float = 1.0
    correction: float = 1.0
    """Measured by predicted waiting time: mpc, Expr. 8."""
    own_queues: bool = False
    """Whether rows wait before each replica, and not before all of them together."""

    @property
    def ideal(self) -> NDArray[np.float64]:
        """Seconds between two results if rows were always there, by option: mpc, Expr. 5."""
        return self.service_times / self.parallel

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Busy share, by step and option; above 1 the operator cannot keep up."""
        return self.rates[:, None] * self.ideal

    def response_times(self, headroom: float) -> NDArray[np.float64]:
        """Seconds from a row's arrival to its result, by step and option: mpc, Expr. 6 to 8."""
        times: NDArray[np.float64] = response_time(
            rate=self.rates[:, None],
            service_time=self.service_times,
            replicas=self.parallel,
            arrival_cv=self.arrival_cv,
            service_cv=self.service_cv,
            headroom=headroom,
            correction=self.correction,
            own_queues=self.own_queues,
        )
        return times


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What quality, resources and changes cost.

    >>> options = Options.of(least=1, most=4, clocks=(2.0,))
    >>> outlook = Outlook(
    ...     rates=np.array([280.0]), service_times=np.full(4, 0.01), parallel=options.replicas
    ... )
    >>> prices = Prices(strategy="th-node")
    >>> prices.stages(options, outlook).round(1).tolist()  # three of them are 93 % busy
    [[590.0, 295.7, 201.5, 202.0]]
    >>> prices.switching(options)[0].round(1).tolist()
    [0.0, 0.4, 1.6, 3.6]
    """

    strategy: str
    alpha: float | None = None
    """Price of quality; the strategy's own unless given."""
    beta: float = 0.5
    """Price of a replica, or of a volt squared times GHz times core."""
    gamma: float = 0.4
    """Price of a change, by the square of its size; 0 for none."""
    threshold: float | None = None
    """Seconds that a response may take, for latency strategies."""
    scale: float | None = None
    """Seconds of service time that alpha is the price of; None for an inter-arrival time."""
    headroom: float = HEADROOM
    """Busy share at which a replica is taken to be full."""
    voltages: VoltageTable = VOLTAGES

    def __post_init__(self) -> None:
        if self.kind.latency and self.threshold is None:
            raise SettingError(
                f"strategy {self.strategy} of policy mpc needs a threshold, such as 50ms",
                fields=("strategy", "threshold"),
            )

    @property
    def kind(self) -> Strategy:
        """What is added up."""
        return STRATEGIES[self.strategy]

    def stages(self, options: Options, outlook: Outlook) -> Costs:
        """Costs of quality and resources, by step and option; inf for what cannot be."""
        alpha, resources = self.kind.alpha if self.alpha is None else self.alpha, options.replicas
        if self.kind.power:
            resources = power(resources, options.clocks, self.voltages, capacitance=1.0)
        quality = self._latency(outlook) if self.kind.latency else self._throughput(outlook)
        return alpha * quality + self.beta * resources

    def switching(self, options: Options) -> Costs:
        """Costs of going from one option to another: mpc, Expr. 15."""
        degrees = options.replicas[:, None] - options.replicas
        clocks = _CLOCK_STEPS * (options.clocks[:, None] - options.clocks)
        return self.gamma * (np.square(degrees) + np.square(clocks))

    def start(self, options: Options, replicas: int, clock: float) -> Costs:
        """Costs of going to each option from the configuration in force, listed or not."""
        clocks = _CLOCK_STEPS * (options.clocks - clock)
        return self.gamma * (np.square(options.replicas - replicas) + np.square(clocks))

    def _throughput(self, outlook: Outlook) -> Costs:
        full = outlook.ideal / self.headroom
        if self.scale is None:
            return np.maximum(1.0, outlook.rates[:, None] * full)
        never = np.full_like(outlook.rates, full.max())  # no row comes: no option is the bottleneck
        between = np.divide(1.0, outlook.rates, where=outlook.rates > 0.0, out=never)
        return np.maximum(between[:, None], full) / self.scale  # mpc, Expr. 4 and 11

    def _latency(self, outlook: Outlook) -> Costs:
        assert self.threshold is not None  # noqa: S101  # refused at the start
        with np.errstate(over="ignore"):  # infinite is how long it then takes
            return np.exp(outlook.response_times(self.headroom) / self.threshold)  # mpc, Expr. 12
