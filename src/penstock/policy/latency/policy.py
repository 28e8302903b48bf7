"""Keep the latency SLO with the fewest executors.

The fewest executors are found from the load predicted (`fewest`). How long they are kept after they
were needed (`ScaleInDelay`) is learned: releasing one saves its cost and risks that rows come
before another has started. Where rows were late soon after executors were released, they are kept
twice as long from then on; every time they are released, a little less.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, inf, isfinite
from typing import Annotated, Final

from penstock.core.graph import FlowGraph
from penstock.core.schema import (
    Bounds,
    NotNegativeSeconds,
    PositiveSeconds,
    Seconds,
    Share,
    checked,
)
from penstock.core.signals import Configuration, Decision, Observation
from penstock.core.units import format_duration
from penstock.forecast import build_forecaster
from penstock.model.queueing import Correction
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import RescaleTimes, VisitRatios
from penstock.policy.common.sentences import change, forecast
from penstock.policy.latency.estimate import Estimate, Sojourn, Stage

_FEWEST: Final = 1.0
_MOST: Final = 20.0
"""Starts of an executor for which it is kept."""
_SOON: Final = 30.0
"""Starts of an executor within which one that was released counts as missed."""
_LESS: Final = 0.95
_SHORTEST: Final = 10.0
"""Seconds that the start of an executor is taken to last at the least."""


@dataclass
class ScaleInDelay:
    """Of one module: what was needed recently, and how far back that counts.

    >>> keep = ScaleInDelay()
    >>> [keep.degree(n, at=10.0 * i, now=5, start_up=10.0) for i, n in enumerate((5, 2, 2))]
    [5, 5, 2]
    >>> keep.missed(at=40.0, start_up=10.0)
    >>> keep.starts
    2.0
    """

    fixed: float | None = None
    """Seconds that are not learned but given."""
    starts: float = field(default=_FEWEST, init=False)
    """Starts of an executor for which it is kept."""
    _needed: list[tuple[float, int]] = field(default_factory=list, init=False, repr=False)
    """When, and how many."""
    _gave_back: float | None = field(default=None, init=False, repr=False)

    def degree(self, needed: int, *, at: float, now: int | None, start_up: float) -> int:
        """Executors to have: those needed, or as many as were needed within the time."""
        since = at - self.seconds(start_up)
        self._needed = [(t, n) for t, n in self._needed if t >= since - 1e-9] + [(at, needed)]
        if now is None or needed >= now:
            return needed
        kept = min(max(n for _, n in self._needed), now)
        if kept < now:
            self._gave_back = at
            self.starts = max(self.starts * _LESS, _FEWEST)
        return kept

    def missed(self, *, at: float, start_up: float) -> None:
        """Rows will be late: had executors been released just before?"""
        if self._gave_back is None:
            return
        if at - self._gave_back <= _SOON * max(start_up, _SHORTEST):
            self.starts = min(2.0 * self.starts, _MOST)
        self._gave_back = None

    def seconds(self, start_up: float) -> float:
        """For how long executors are kept."""
        return self.starts * max(start_up, _SHORTEST) if self.fixed is None else self.fixed


def fewest(
    graph: FlowGraph, stages: Mapping[str, Stage], limit: float, *, relaxed: float = 0.7
) -> dict[str, int]:
    """Executors by module: as few as keep up, then one more wherever it helps most.

    Where no number within the bounds keeps the promise, more would be wasted on it: every module is
    then kept from being busier than `relaxed`.

    >>> from penstock.testing import chain
    >>> graph = chain(count={})
    >>> count = Stage(rate=300.0, service_time=0.01, overhead=0.5, trigger=1.0, batches=True)
    >>> fewest(graph, {"count": count}, 10.0), fewest(graph, {"count": count}, 3.0)
    ({'count': 4}, {'count': 5})
    """
    chosen = {name: _keeps_up(stage) for name, stage in stages.items()}
    while (path := slowest(graph, stages, chosen))[0] > limit:
        better = _most_helpful(path[1], stages, chosen)
        if better is None:
            return {name: at_most(stage, relaxed) for name, stage in stages.items()}
        chosen[better] += 1
    return chosen


def at_most(stage: Stage, utilisation: float) -> int:
    """The fewest executors that keep up and are no busier than that, within the bounds.

    >>> at_most(Stage(rate=300.0, service_time=0.01), 0.7)
    5
    """
    enough = ceil(stage.rate * stage.service_time / utilisation * (1.0 - 1e-9))
    return min(max(enough, _keeps_up(stage)), stage.most)


def slowest(
    graph: FlowGraph, stages: Mapping[str, Stage], chosen: Mapping[str, int]
) -> tuple[float, tuple[str, ...]]:
    """The 95th percentile on the way that takes longest, and the modules on that way."""
    ways: dict[str, tuple[Sojourn, tuple[str, ...]]] = {}
    worst: tuple[float, tuple[str, ...]] = (0.0, ())
    for name in graph.order():
        before, path = ways.get(name, (Sojourn(), ()))
        if name in stages:
            before, path = before + stages[name].sojourn(chosen[name]), (*path, name)
        worst = max(worst, (before.p95, path))
        for stream in graph.outputs(name):
            known = ways.get(stream.target)
            if known is None or before.p95 > known[0].p95:
                ways[stream.target] = (before, path)
    return worst


def _keeps_up(stage: Stage) -> int:
    """The fewest executors that rows do not pile up with, within the bounds."""
    busy = ceil(stage.rate * stage.service_time * (1.0 + 1e-9))
    first = max(busy, stage.needs, stage.least)
    while first < stage.most and stage.sojourn(first).mean == inf:
        first += 1
    return min(first, stage.most)


def _most_helpful(
    path: tuple[str, ...], stages: Mapping[str, Stage], chosen: Mapping[str, int]
) -> str | None:
    """The module on a way that one executor more shortens most; None where none would."""
    gains = {
        name: stages[name].sojourn(chosen[name]).p95 - stages[name].sojourn(chosen[name] + 1).p95
        for name in path
        if chosen[name] < stages[name].most
    }
    best = max(gains, key=lambda name: (gains[name] == inf, gains[name]), default=None)
    return best if best is not None and gains[best] > 1e-6 else None


_LEAST_OFF, _MOST_OFF = 1.0, 4.0
"""Bounds of the factor by which a measured latency corrects the predicted ones."""


@dataclass
@checked("policy latency")
class LatencyPolicy:
    """The fewest executors with which rows are through in time, at the load that is predicted.

    Rates are predicted until executors requested now would run. For every number of executors it
    estimates how long rows would take through each module, and takes the fewest with which 95 % of
    them keep the promise on their whole way. Rows that wait count where they would be late.
    Executors are released once they have not been needed for a while. How long that is, what a row
    takes, what a batch takes beyond its rows, how long executors take to come and how far off the
    prediction was are learned.

    >>> from penstock.testing import chain, seen
    >>> count = {"service_time": 0.01, "trigger": 1.0, "overhead": 0.5}
    >>> policy = LatencyPolicy(chain(count=count), slo=10.0)
    >>> policy(seen(count={"arrival_rate": 390.0, "running": 3, "requested": 3})).why
    'count: 390 rows/s forecast (390 now), 3 -> 5; p95 4.49 s of 10 s expected'
    """

    graph: FlowGraph
    slo: Annotated[Seconds, Bounds(above=0, endless=True)] | None = None
    """Seconds that 95 % of the rows may take; from the file where it promises any."""
    safety: Share = 0.8
    """Share of the promise that is planned for; what is left is for what was not predicted."""
    max_utilisation: Share | None = None
    """Busy share that no module is planned above. Unless given 0.95, and 0.75 where nothing was
    promised or where a module does not report its backlog: then it may be that only what it
    got through was counted as arrived, and all that shows of the rest is how busy it is."""
    forecaster: str | Mapping[str, object] = "last"
    """By name, or with settings as in {holt: {a: 1, b: 0.015}}."""
    margin: bool = False
    """Whether rates are raised by as much as forecasts were off recently, a tenth at the most."""
    catch_up: PositiveSeconds | None = None
    """Time in which late rows are to be processed; twice the start of an executor unless given."""
    keep: NotNegativeSeconds | None = None
    """Time for which executors are kept after they were needed; learned unless given."""
    smoothing: Share = 0.3
    """Weight of the newest measurement of what is learned."""
    _modules: dict[str, Estimate] = field(init=False, repr=False, compare=False)
    _reach: VisitRatios = field(init=False, repr=False, compare=False)
    _times: RescaleTimes = field(
        default_factory=RescaleTimes, init=False, repr=False, compare=False
    )
    _keeps: dict[str, ScaleInDelay] = field(init=False, repr=False, compare=False)
    _correction: Correction = field(
        default_factory=lambda: Correction(window=5), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._reach = VisitRatios(self.graph)
        self._keeps = {name: ScaleInDelay(self.keep) for name in self.graph.names()}
        self._modules = {
            module.name: Estimate(
                module,
                build_forecaster(self.forecaster, trust=True, of="policy latency"),
                smoothing=self.smoothing,
                margin=self.margin,
            )
            for module in self.graph.modules
        }

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn from a step, and choose for the next."""
        self._observe(seen)
        stages = self._stages(seen)
        self._compare(seen, stages)
        chosen = {
            name: max(needed, at_most(stages[name], self._busiest(self._modules[name])))
            for name, needed in fewest(self.graph, stages, self._limit).items()
        }
        known = in_force(seen)
        after = {name: self._kept(name, n, seen, stages[name]) for name, n in chosen.items()}
        busy = {n: min(stages[n].utilisation(degree), 1.0) for n, degree in after.items() if degree}
        return Decision(
            configuration=Configuration(degrees={**known, **after}),
            why=self._why(seen, known, after, stages),
            expects={f"utilisation:{name}": share for name, share in busy.items()}
            | {f"rate:{name}": stage.rate for name, stage in stages.items()},
        )

    def _observe(self, seen: Observation) -> None:
        self._times.observe(seen)
        for name, estimate in self._modules.items():
            if name in seen.modules:
                estimate.observe(seen.modules[name], step=seen.step)
            estimate.start_up = self._times.of(name, prior=estimate.module.start_up)
        self._reach.observe(seen)
        within = max((estimate.start_up for estimate in self._modules.values()), default=0.0)
        sources = {name: self._modules[name] for name in self.graph.sources}
        for estimate in sources.values():
            estimate.foresee(within)
        rates = {n: e.foreseen for n, e in sources.items() if e.foreseen is not None}
        for name, rate in self._reach.of(rates).items():
            self._modules[name].foreseen = rate

    def _stages(self, seen: Observation) -> dict[str, Stage]:
        """Modules that were seen and of which enough is known."""
        stages = {}
        for name, estimate in self._modules.items():
            if name in seen.modules and estimate.missing() is None:
                twice = 2.0 * max(estimate.start_up, 5.0)
                catch_up = twice if self.catch_up is None else self.catch_up
                stages[name] = estimate.stage(limit=self._limit, catch_up=catch_up)
        return stages

    def _compare(self, seen: Observation, stages: Mapping[str, Stage]) -> None:
        """Learn how far off the prediction is, from a step in which nothing changed."""
        running = {name: seen.modules[name].running or 0 for name in stages}
        settled = all(n and n == seen.modules[name].requested for name, n in running.items())
        calm = all(stage.needs <= 1 for stage in stages.values())
        if seen.latency is None or not (stages and settled and calm):
            return
        self._correction.update(
            measured=seen.latency.p95, predicted=slowest(self.graph, stages, running)[0]
        )

    @property
    def _correction_factor(self) -> float:
        """Measured by predicted latency, recently."""
        return min(max(self._correction.factor, _LEAST_OFF), _MOST_OFF)

    @property
    def _limit(self) -> float:
        return inf if self.slo is None else self.slo * self.safety / self._correction_factor

    def _busiest(self, estimate: Estimate) -> float:
        if self.max_utilisation is not None:
            return self.max_utilisation
        return 0.75 if self.slo is None or estimate.reports_backlog is False else 0.95

    def _kept(self, name: str, needed: int, seen: Observation, stage: Stage) -> int:
        """What is needed, or what was needed not long ago."""
        keep, estimate = self._keeps[name], self._modules[name]
        if stage.needs > 1:
            keep.missed(at=seen.at, start_up=estimate.start_up)
        now = in_force(seen).get(name)
        return keep.degree(needed, at=seen.at, now=now, start_up=estimate.start_up)

    def _why(
        self,
        seen: Observation,
        known: Mapping[str, int],
        after: Mapping[str, int],
        stages: Mapping[str, Stage],
    ) -> str:
        text = [self._clause(name, known.get(name), after.get(name)) for name in seen.modules]
        clauses = sorted(text, key=lambda clause: " -> " not in clause)
        return "; ".join([*clauses, *self._promise(stages, after)]) or "no module was seen"

    def _clause(self, name: str, before: int | None, after: int | None) -> str:
        estimate = self._modules.get(name)
        if estimate is None:
            return f"{name} is left alone, it is not in the graph"
        if after is None:
            stays = "is left alone" if before is None else f"holds at {before}"
            return f"{name} {stays}, {estimate.missing()}"
        rates = forecast(estimate.foreseen or 0.0, estimate.rate or 0.0)
        return f"{name}: {rates}, {change(before, after)}"

    def _promise(self, stages: Mapping[str, Stage], after: Mapping[str, int]) -> list[str]:
        if not stages:
            return []
        latency, _ = slowest(self.graph, stages, after)
        if not isfinite(latency):
            return ["the allowed executors cannot keep up"]
        promised = "" if self.slo is None else f" of {format_duration(self.slo)}"
        return [f"p95 {format_duration(latency * self._correction_factor)}{promised} expected"]
