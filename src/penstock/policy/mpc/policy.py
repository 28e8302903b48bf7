"""Model predictive control as a policy of a running pipeline: the **mpc** paper."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, isfinite
from types import MappingProxyType
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.schema import (
    Bounds,
    Natural,
    NotNegative,
    OneOf,
    Positive,
    PositiveSeconds,
    Share,
    checked,
)
from penstock.core.settings import near
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.forecast import build_forecaster
from penstock.model.power import VOLTAGES, VoltageTable
from penstock.model.queueing import HEADROOM
from penstock.policy.common.degrees import in_force
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.sentences import change, forecast
from penstock.policy.common.verdict import ModuleState, Verdict, conclude, judged
from penstock.policy.mpc.controller import (
    LastMeasured,
    ModuleController,
    ModulePlan,
    Optimiser,
    is_valid_clock,
)
from penstock.policy.mpc.costs import STRATEGIES, Prices
from penstock.policy.mpc.horizon import Trajectory, branch_and_bound, solve


def check_clocks(frequencies: Iterable[float], voltages: VoltageTable) -> tuple[float, ...]:
    """The clocks to choose from, the slowest first; all of the table where none is named.

    >>> check_clocks((), VoltageTable({2.0: 1.05, 1.2: 0.85}))
    (1.2, 2.0)
    >>> check_clocks((3.0,), VoltageTable({1.2: 0.85}))
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: frequencies of policy mpc: the voltage table has nothing \
for 3 GHz; add it, or use one of 1.2
    """
    chosen = tuple(sorted(set(frequencies)))
    for frequency in chosen:
        try:
            voltages.at(frequency)
        except SettingError as error:
            raise SettingError(f"frequencies of policy mpc: {error}") from None
    return chosen or voltages.frequencies


LONGEST: Final = 1000
"""Steps of a horizon: up to here the optimum is exact, and nothing can be predicted further."""
_MOST_OPTIONS: Final = 3000
"""Configurations of a module up to which the table of switching costs fits into memory."""
_MOST_PAIRS: Final = 50_000_000
"""Pairs of consecutive configurations: about a second of dynamic programming."""
_MOST_COURSES: Final = 5_000_000
"""Leaves of the tree that branch and bound may have to visit if it can pass over none."""
_DEEPEST: Final = 100
"""Levels of that tree, as many as its search has calls within calls."""


def check_effort(module: Module, *, clocks: int, horizon: int, tree: bool) -> None:
    """Reject what would take too long at every step; `tree` is for branch and bound.

    >>> count = Module(name="count", max_replicas=12)
    >>> check_effort(count, clocks=9, horizon=1000, tree=False)
    >>> check_effort(count, clocks=9, horizon=3, tree=True)
    """
    size = (module.max_replicas - module.min_replicas + 1) * clocks
    if size > _MOST_OPTIONS:
        raise SettingError(
            f"policy mpc would weigh {size:,} configurations of module {module.name}, at most "
            f"{_MOST_OPTIONS:,} are possible; lower its max_replicas or name fewer frequencies"
        )
    if tree and (size**horizon > _MOST_COURSES or horizon > _DEEPEST):
        raise SettingError(
            f"optimiser branch-and-bound of policy mpc cannot search the {size:,}^{horizon} "
            f"courses of module {module.name}, at most {_MOST_COURSES:,} of {_DEEPEST} steps; "
            "use dynamic-programming, which finds the same, or a shorter horizon"
        )
    if not tree and horizon * size**2 > _MOST_PAIRS:
        raise SettingError(
            f"horizon of policy mpc can be at most {_MOST_PAIRS // size**2:,} steps with the "
            f"{size:,} configurations of module {module.name}, got {horizon:,}; shorten it, lower "
            "max_replicas or name fewer frequencies"
        )


OPTIMISERS: Final[Mapping[str, Optimiser]] = MappingProxyType(
    {"dynamic-programming": solve, "branch-and-bound": branch_and_bound}
)
_EVEN: Final = 0.9
"""If a smaller share of the replicas can be busy at once, the reason given is a hot key."""


@dataclass
@checked("policy mpc")
class Mpc:
    """Predicts the load of each module and takes the first step of the best course through it.

    At every step the rows of the next `horizon` steps are predicted, the cost of every course of
    replicas (and clock) is weighed, and the first step of the best one is asked for. A module whose
    rows are routed by key also gets a new routing table when its degree changes, or its replicas
    drift apart.

    Each module is controlled on its own. Where they share a clock, each first chooses replicas and
    clock as if it were alone; the fastest of these clocks is taken, and the others choose their
    replicas again for it. While a module cannot choose, the clock does not fall.

    >>> from penstock.testing import chain, seen
    >>> policy = Mpc(chain(count={"service_time": 0.01, "max_replicas": 8}), warm_up=1)
    >>> policy(seen(count={"arrival_rate": 240.0, "running": 3})).why
    'count holds at 3, warm-up step 1 of 1'
    >>> policy(seen(count={"arrival_rate": 310.0, "running": 3})).why
    'count: 310 rows/s forecast (310 now), 4 of 8 replicas would be 78 % busy: 3 -> 4'
    """

    graph: FlowGraph
    strategy: Annotated[str, OneOf(tuple(STRATEGIES))] = "th-node"
    """th-node, th-power, lat-node or lat-power: what is weighed (mpc, Tab. 6)."""
    horizon: Annotated[int, Bounds(least=1, most=LONGEST)] = 2
    """Steps to come that are weighed, up to a thousand."""
    switching: bool = True
    """Whether changes cost."""
    alpha: Positive | None = None
    """Price of quality; the strategy's own unless given."""
    beta: Positive = 0.5
    """Price of a replica, or of a volt squared times GHz times core."""
    gamma: NotNegative = 0.4
    """Price of a change, by the square of its size."""
    threshold: PositiveSeconds | None = None
    """Mean time from a row's arrival at a module to its result, for latency strategies."""
    scale: PositiveSeconds | None = None
    """Time that alpha is the price of, for throughput strategies; the inter-arrival time predicted
    unless given."""
    headroom: Share = HEADROOM
    """Busy share at which a replica is taken to be full."""
    forecaster: str | Mapping[str, object] = "holt"
    """By name, or with settings as in {holt: {a: 1, b: 0.015}}."""
    trust: bool = True
    """Whether a forecaster must prove itself, and the last rate is taken while it has not."""
    frequencies: tuple[float, ...] = ()
    """GHz to choose from; all of the voltage table unless given."""
    voltages: Mapping[str, float | None] | None = None
    """Volts by GHz."""
    module: str | None = None
    """The one module to steer; every module unless given."""
    catch_up: PositiveSeconds | None = None
    """Time in which the backlog is to be processed; None plans for arrivals only."""
    warm_up: Natural = 2
    """Steps in which nothing is decided."""
    arrival_cv: NotNegative = 1.0
    """Coefficient of variation of the times between rows, where it is not measured."""
    own_queues: bool | None = None
    """Whether each replica has a queue of its own, for latency strategies; the paper assumes
    one for all. True unless given where rows are routed by key, which makes it so."""
    optimiser: Annotated[str, OneOf(tuple(OPTIMISERS))] = "dynamic-programming"
    """Or branch-and-bound, which finds the same."""
    trajectories: dict[str, Trajectory] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The best course of each module in the newest step, where one was sought."""
    _controllers: dict[str, ModuleController] = field(init=False, repr=False, compare=False)
    _clocks: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """GHz to choose from, the slowest first."""
    _steps: int = field(default=0, init=False, repr=False, compare=False)
    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        names = self.graph.names()
        if self.module is not None and self.module not in names:
            raise SettingError(f"there is no module {self.module!r}{near(self.module, names)}")
        prices = Prices(
            strategy=self.strategy,
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma if self.switching else 0.0,
            threshold=self.threshold,
            scale=self.scale,
            headroom=self.headroom,
            voltages=VOLTAGES if self.voltages is None else VoltageTable.parse(self.voltages),
        )
        clocks = check_clocks(self.frequencies, prices.voltages)
        self._clocks = clocks if prices.kind.power else clocks[-1:]
        controlled = names if self.module is None else (self.module,)
        for name in controlled:
            check_effort(
                self.graph[name],
                clocks=len(self._clocks),
                horizon=self.horizon,
                tree=OPTIMISERS[self.optimiser] is branch_and_bound,
            )
        self._controllers = {name: self._controller(name, prices) for name in controlled}

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn from a step, and decide for the next."""
        self._steps += 1
        for controller in self._controllers.values():
            controller.observe(seen)
        reasons = {name: self._not_controlled(name, seen.frequency) for name in seen.modules}
        plans, clock = self._plans(seen, reasons)
        self.trajectories = {name: plan.trajectory for name, plan in plans.items()}

        def judge(module: ModuleState) -> Verdict:
            if module.name not in plans:
                return module.hold(reasons[module.name] or "not seen")
            return self._verdict(module.name, module.degree, plans[module.name], seen.frequency)

        return conclude(seen, judged(seen, judge), self._rebalancers, clock)

    def _not_controlled(self, name: str, clock: float | None) -> str | None:
        """Why a module is not controlled in this step, as text; None where it is."""
        if name not in self._controllers:
            return "it is not controlled"
        if self._steps <= self.warm_up:
            return f"warm-up step {self._steps} of {self.warm_up}"
        if not is_valid_clock(clock):
            return f"the clock cannot be {clock:g} GHz"
        return self._controllers[name].lacks()

    def _plans(
        self, seen: Observation, reasons: Mapping[str, str | None]
    ) -> tuple[dict[str, ModulePlan], float | None]:
        """The course of each controlled module, and the clock where that is decided."""
        now, sets_clock = seen.frequency, STRATEGIES[self.strategy].power
        degrees = {n: degree for n, degree in in_force(seen).items() if reasons[n] is None}

        def plan(name: str, clocks: Iterable[float]) -> ModulePlan:
            keys = self._rebalancers.get(name)
            return self._controllers[name].plan(
                degree=degrees[name],
                clock=now,
                clocks=clocks,
                heaviest=keys.heaviest if keys else 0.0,
            )

        fixed = self._clocks[-1:] if now is None else (now,)
        free = self._clocks if sets_clock and now is not None else fixed
        alone = {name: plan(name, free) for name in degrees}
        if not alone or now is None or not sets_clock:
            return alone, None
        clock = max(one.clock for one in alone.values())
        if any(name in self._controllers and name not in degrees for name in seen.modules):
            as_fast = [clock for clock in self._clocks if clock >= now]
            clock = max(clock, as_fast[0] if as_fast else self._clocks[-1])
        return {
            n: one if one.clock == clock else plan(n, (clock,)) for n, one in alone.items()
        }, clock

    def _verdict(self, name: str, degree: int, plan: ModulePlan, clock: float | None) -> Verdict:
        controller = self._controllers[name]
        coming = forecast(plan.rate, controller.rate or 0.0, plan.behind)
        would = effect(plan, self.graph[name].max_replicas, None if clock is None else plan.clock)
        asked = change(degree, plan.replicas)
        if clock is not None and clock != plan.clock:
            asked += f", {clock:g} -> {plan.clock:g} GHz"
        return Verdict(
            name=name,
            before=degree,
            after=plan.replicas,
            why=f"{name}: {coming}, {would}: {asked}",
            caveat=controller.caveat,
            expects=_expected(plan),
        )

    def _controller(self, name: str, prices: Prices) -> ModuleController:
        module = self.graph[name]
        own_queues = module.keys > 0 if self.own_queues is None else self.own_queues
        return ModuleController(
            LastMeasured(module, self.arrival_cv, own_queues),
            prices,
            build_forecaster(self.forecaster, trust=self.trust, of="policy mpc"),
            horizon=self.horizon,
            optimiser=OPTIMISERS[self.optimiser],
            catch_up=self.catch_up,
        )


def effect(plan: ModulePlan, most: int, clock: float | None) -> str:
    """What the planned replicas would be like, or what one key does to the replica that has it."""
    if 0 in plan.trajectory.infeasible:
        return "no configuration keeps up, so the one with the most capacity"
    at = "" if clock is None else f" at {clock:g} GHz"
    taking = (
        "" if plan.response_time is None else f" and take {format_duration(plan.response_time)}"
    )
    busy = f"{percent(plan.utilisation, '.0f')} busy{taking}"
    if plan.useful < _EVEN * plan.replicas:
        useful = ceil(round(plan.useful, 6))
        return (
            f"one key alone would keep a replica{at} {busy}, and more than {useful} would not help"
        )
    return f"{plan.replicas} of {most} replicas{at} would be {busy}"


def _expected(plan: ModulePlan) -> dict[str, float]:
    """What the next step should measure, as far as it is known."""
    expected = {"utilisation": min(plan.utilisation, 1.0), "rate": plan.rate}
    if plan.response_time is not None and isfinite(plan.response_time):
        expected["latency"] = plan.response_time
    return expected
