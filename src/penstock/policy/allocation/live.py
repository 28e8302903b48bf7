"""The allocation of a fixed number of cores as a policy of pipelines that share a cluster.

At every step the processing network is brought up to date with what was measured (`Measured`), its
best whole division is found, and requested where it brings enough more than the one in force.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf
from typing import ClassVar, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.schema import BelowOne, Count, NotNegativeSeconds, Positive, Share, checked
from penstock.core.settings import near
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.words import count_of, percent
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow, busy_resource, value
from penstock.policy.allocation.rounding import (
    EXACTLY,
    Bounds,
    best_division,
    even_division,
    whole_up,
    with_spare_cores,
)
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import (
    Averages,
    Selectivities,
    Smoothed,
    declared,
    known,
    service_time,
)


def pipelines_of(graph: FlowGraph) -> dict[str, str]:
    """The pipeline of each module, in the order of the graph: that of the source which feeds it.

    It has the part before the dot of its source's name, or the whole name where there is no dot.

    >>> from penstock.core.graph import Module, Stream
    >>> graph = FlowGraph(
    ...     source="fraud.read",
    ...     also=("reports.read",),
    ...     modules=tuple(Module(name=n) for n in ("fraud.read", "fraud.match", "reports.read")),
    ...     streams=(Stream(origin="fraud.read", target="fraud.match"),),
    ... )
    >>> pipelines_of(graph)
    {'fraud.read': 'fraud', 'fraud.match': 'fraud', 'reports.read': 'reports'}
    >>> sink_weights(graph, {"fraud": 5.0})
    {'fraud.match': 5.0, 'reports.read': 1.0}
    """
    pipelines = {source: source.partition(".")[0] for source in graph.sources}
    for name in graph.order():
        for stream in graph.outputs(name):
            pipelines.setdefault(stream.target, pipelines[name])
    return {name: pipelines[name] for name in graph.names()}


def sink_weights(graph: FlowGraph, weights: Mapping[str, float]) -> dict[str, float]:
    """What a row at each sink is worth: its own weight, or its pipeline's, or 1."""
    pipeline = pipelines_of(graph)
    return {sink: weights.get(sink, weights.get(pipeline[sink], 1.0)) for sink in graph.sinks()}


_ALONE: Final = 1e6
"""Times as many rows wait as arrive: then those that arrive no longer count."""
_IDLE: Final = 1e-9
"""Cores up to which all modules of a pipeline together count as idle."""


@dataclass(frozen=True, kw_only=True)
class OfferedLoad:
    """What running pipelines have to do: rows that arrive and wait, and what each takes.

    A core of a module takes `1 / service_time` rows a second: of each input as much as that input's
    share of the rows that arrive (alpha), and it makes `selectivity * probability` rows of each for
    every stream that leaves (beta). Joint inputs are the paper's: a module is taken to need its
    inputs in the proportion in which they come, as it does under back-pressure.

    Rows that wait are offered again. Those before a source add to its rate. Those before a later
    module need no more work upstream, so they are taken to come along with the rows that reach it:
    its inputs produce that much more for it. Where next to none reach it, they are a source.

    >>> from penstock.testing import chain
    >>> offer = OfferedLoad(
    ...     graph=chain(scan={}, match={}),
    ...     rates={"scan": 50.0},
    ...     waiting={"match": 30.0},
    ...     times={"scan": 0.01, "match": 0.02},
    ...     selectivities={("scan", "match"): 0.4},
    ... )
    >>> offer.rows, offer.loads
    ({'scan': 50.0, 'match': 50.0}, {'scan': 0.5, 'match': 1.0})
    >>> offer.network(cores=2, worth={"match": 1.0}).links[0].produces  # and not 0.4 / 0.01
    100.0
    """

    graph: FlowGraph
    rates: Mapping[str, float]
    """Rows a second that arrive to each source."""
    waiting: Mapping[str, float]
    """Rows a second by which those that wait before each module are offered again."""
    times: Mapping[str, float]
    """Seconds of a core that a row takes."""
    selectivities: Mapping[tuple[str, str], float]
    """Rows to each target for each that the origin takes in."""

    @cached_property
    def _rows(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Rows a second at each module, and those that come from other modules, by these."""
        coming: dict[str, dict[str, float]] = {name: {} for name in self.graph.names()}
        rows = dict.fromkeys(coming, 0.0)
        for name in self.graph.order():
            own = self.rates.get(name, 0.0) + self.waiting.get(name, 0.0)
            rows[name] = own + sum(coming[name].values())
            for stream in self.graph.outputs(name):
                coming[stream.target][name] = rows[name] * self.selectivities[name, stream.target]
        return rows, coming

    @property
    def rows(self) -> dict[str, float]:
        """Rows a second that each module has to do if none before it falls behind."""
        return self._rows[0]

    @property
    def loads(self) -> dict[str, float]:
        """Cores that each module would need to keep up with all of it."""
        return {name: rows * self.times[name] for name, rows in self.rows.items()}

    def network(self, *, cores: int, worth: Mapping[str, float]) -> Network | None:
        """The modules among which cores are divided, by the worth of a row at each sink.

        Modules that have nothing to do are left out; None where no module has anything.
        """
        busy = self._busy()
        if not busy:
            return None
        speed = {name: 1 / self.times[name] for name in busy}
        links = {name: self._links(name) for name in busy}
        return Network(
            budget=float(cores),
            modules=busy,
            inflows=tuple(
                Inflow(name, name, consumes=speed[name], rate=self.rows[name])
                for name in busy
                if not links[name]
            ),
            links=tuple(link for name in busy for link in links[name]),
            outflows=tuple(
                Outflow(name, name, produces=speed[name], weight=worth[name])
                for name in busy
                if name in worth
            ),
        )

    def _busy(self) -> tuple[str, ...]:
        """Modules with something to do, of pipelines that are not idle."""
        pipeline, loads = pipelines_of(self.graph), self.loads
        total = dict.fromkeys(pipeline.values(), 0.0)
        for name, load in loads.items():
            total[pipeline[name]] += load
        return tuple(name for name in loads if loads[name] > 0 and total[pipeline[name]] > _IDLE)

    def _links(self, name: str) -> tuple[Link, ...]:
        """Where a module's rows come from; none of a source and of one that has rows of its own."""
        coming = {origin: rows for origin, rows in self._rows[1][name].items() if rows > 0}
        total = sum(coming.values())
        if self.rows[name] > _ALONE * total:
            return ()
        return tuple(
            Link(
                origin,
                name,
                produces=self.rows[name] / total * rows / self.rows[origin] / self.times[origin],
                consumes=rows / total / self.times[name],
            )
            for origin, rows in coming.items()
        )


_LONGER: Final = 3.0
"""Selectivities are averaged over so many times as long: they depend on the data, and one step is a
small sample, because rows leave a module and come to the next in batches."""


@dataclass
class Measured:
    """Moving averages of arrivals, service times and selectivities; the file's until measured.

    >>> from penstock.testing import chain, seen
    >>> known = Measured(chain(scan={}))
    >>> known.observe(seen(scan={"arrival_rate": 40.0, "service_time": 0.02, "backlog": 600.0}))
    >>> known.offer().loads
    {'scan': 1.2}
    """

    graph: FlowGraph
    smoothing: float = 0.3
    """Weight of the newest reading."""
    catch_up: float | None = 30.0
    """Seconds over which rows that wait are offered again; None or 0 ignores them."""
    _rates: Averages = field(init=False, repr=False)
    """Rows a second that arrive to each source."""
    _times: Averages = field(init=False, repr=False)
    """Seconds of a core that a row takes."""
    _waiting: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    """Rows, as last measured."""
    _selectivities: Selectivities = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rates, self._times = Averages(self.smoothing), Averages(self.smoothing)
        slower = partial(Smoothed, self.smoothing / _LONGER)
        self._selectivities = Selectivities(self.graph, slower)

    def observe(self, seen: Observation) -> None:
        """Learn from a reading; unknown values are ignored."""
        for name in self.graph.names():
            reading = seen.modules.get(name, ModuleReading())
            if name in self.graph.sources:
                self._rates.update(name, reading.arrival_rate)
            self._times.update(name, service_time(reading))
            if (waiting := known(reading.backlog)) is not None:
                self._waiting[name] = waiting
        self._selectivities.observe(seen)

    def unknown(self, seen: Observation) -> str | None:
        """What is missing to divide cores by, as text; None where nothing is."""
        for name in self.graph.names():
            if name not in seen.modules:
                return f"module {name} was not seen"
        for name in self.graph.sources:
            if known(seen.modules[name].arrival_rate) is None:
                return f"the arrival rate of {name} is unknown"
        for name, time in self._service_times().items():
            if not time:
                return f"the service time of {name} is unknown"
        return None

    def offer(self) -> OfferedLoad:
        """What there is to do, once nothing is unknown."""
        return OfferedLoad(
            graph=self.graph,
            rates=self._rates.all(),
            waiting={name: rows / (self.catch_up or inf) for name, rows in self._waiting.items()},
            times=self._service_times(),
            selectivities={
                (stream.origin, stream.target): self._selectivities.of(stream)
                for stream in self.graph.streams
            },
        )

    def _service_times(self) -> dict[str, float]:
        declared = {module.name: module.service_time for module in self.graph.modules}
        return declared | self._times.all()


_MOST_NAMED: Final = 4
"""Pipelines that a reason names."""
_NOTABLE: Final = 0.005
"""Differences below this share of the weighted output are not reported."""
_NEXT_TO_NOTHING: Final = 1e-4


def why_divided(
    division: Mapping[str, int],
    needs: Mapping[str, int],
    loads: Mapping[str, float],
    *,
    pipelines: Mapping[str, str],
    worth: Mapping[str, float],
    more: float,
) -> str:
    """What each pipeline gets, those that are worth most first, and how much more that brings than
    an even division.

    >>> why_divided(
    ...     {"fraud": 4, "reports": 4},
    ...     {"fraud": 4, "reports": 9},
    ...     {"fraud": 3.2, "reports": 8.5},
    ...     pipelines={"fraud": "fraud", "reports": "reports"},
    ...     worth={"fraud": 5.0, "reports": 1.0},
    ...     more=0.62,
    ... )
    'fraud, worth 5 a row, gets the 4 cores it needs; reports, worth 1, gets 4 of the 9 cores it \
needs; about 62 % more weighted output than an even division'
    """
    modules = {p: [m for m in pipelines if pipelines[m] == p] for p in pipelines.values()}
    weights = {p: max(worth[m] for m in modules[p] if m in worth) for p in modules}
    clauses: list[str] = []
    for p in sorted(modules, key=lambda p: -weights[p])[:_MOST_NAMED]:
        name = p if len(modules) > 1 else "the pipeline"
        unit = "" if clauses else " a row"
        priced = f", worth {weights[p]:g}{unit}," if len(set(weights.values())) > 1 else ""
        clauses.append(f"{name}{priced} {_gets(modules[p], division, needs, loads)}")
    if len(modules) > _MOST_NAMED:
        clauses.append(f"and {count_of(len(modules) - _MOST_NAMED, 'more pipeline')}")
    if more >= _NOTABLE:
        clauses.append(f"about {_share(more)} more weighted output than an even division")
    return "; ".join(clauses)


def _gets(
    modules: Collection[str],
    division: Mapping[str, int],
    needs: Mapping[str, int],
    loads: Mapping[str, float],
) -> str:
    """What the modules of a pipeline get.

    >>> division, loads = {"read": 4, "look": 2}, {"read": 1.5, "look": 3.6}
    >>> _gets(division, division, {"read": 2, "look": 4}, loads)
    'gets 6 cores, and look has 2 of the 4 it needs'
    """
    has, need = (sum(of[name] for name in modules) for of in (division, needs))
    cores = count_of(has, "core")
    if has < need:
        return f"gets {has} of the {count_of(need, 'core')} it needs"
    if not any(loads[name] for name in modules):
        return f"has no rows and keeps {cores}"
    scarce = max(modules, key=lambda name: needs[name] - division[name])
    if division[scarce] < needs[scarce]:
        return f"gets {cores}, and {scarce} has {division[scarce]} of the {needs[scarce]} it needs"
    return f"gets the {cores} it needs" if has == need else f"gets {cores} and needs {need}"


def why_kept(*, more: float, gain: float) -> str:
    """Why a division is left as it is.

    >>> why_kept(more=0.012, gain=0.02)
    'held, another division would bring 1.2 % more weighted output and a move must bring 2 %'
    >>> why_kept(more=0.0, gain=0.02)
    'held, no other division would bring more weighted output'
    """
    if more < _NEXT_TO_NOTHING:
        return "held, no other division would bring more weighted output"
    would = f"another division would bring {_share(more)} more weighted output"
    return f"held, {would} and a move must bring {_share(gain)}"


def _share(of: float) -> str:
    return percent(of, ".2g") if of < 1 else percent(of, ".0f")


_PATIENCE: Final = 3
"""Steps in a row in which fewer cores must do before some are released."""
_PARTICULAR: Final = ("shrink", "single-output")
"""Methods that suit some graphs only."""


@dataclass
@checked("policy allocation")
class Allocate:
    """Divide a fixed number of cores among the modules of all pipelines for the most output.

    Output is what rows that arrive to the last modules are worth, by the weight of their pipeline.
    While anything that this takes is unknown, all modules keep what they have.

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> fraud, reports = (Module(name=n, service_time=0.05) for n in ("fraud", "reports"))
    >>> graph = FlowGraph(source="fraud", also=("reports",), modules=(fraud, reports))
    >>> policy = Allocate(graph, cores=8, weights={"fraud": 5.0})
    >>> few, many = ({"arrival_rate": rate, "running": 4} for rate in (110.0, 400.0))
    >>> policy(seen(fraud=few, reports=many)).why
    'fraud, worth 5 a row, gets the 6 cores it needs; reports, worth 1, gets 2 of the 20 cores it \
needs; about 23 % more weighted output than an even division'
    """

    name: ClassVar[str] = "allocation"

    graph: FlowGraph
    cores: Count | None = None
    """Cores to divide, one of each executor; as many as the modules begin with, unless given.
    Several pipelines have theirs at the top of the file."""
    weights: Mapping[str, Positive] = field(default_factory=dict)
    """What a row is worth at the end of each pipeline, or at a module that feeds no other; 1 of
    those that are left out."""
    method: str = "cutting-plane"
    """Which planner finds the real-valued division from which the best whole one is sought, where
    there are too many of these to try them all."""
    catch_up: NotNegativeSeconds | None = 30.0
    """Seconds over which rows that wait are offered again; 0 or None leaves them aside."""
    smoothing: Share = 0.3
    """Weight of the newest reading in the averages of arrivals, service times and selectivities."""
    gain: BelowOne = 0.02
    """Share by which the weighted output must grow for executors to be moved."""
    spare: bool = True
    """Whether cores that bring nothing go to the busiest modules, where a rise of load finds them;
    else they stay unused."""
    _measured: Measured = field(init=False, repr=False)
    _needless: int = field(default=0, init=False, repr=False)
    """Steps in a row in which fewer cores would have done."""

    def __post_init__(self) -> None:
        self._check_cores()
        self._check_weights()
        self._check_method()
        self._measured = Measured(self.graph, self.smoothing, self.catch_up)

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn, divide, and move what is worth moving."""
        self._measured.observe(seen)
        in_use = in_force(seen)
        if (unknown := self._measured.unknown(seen)) is not None:
            return _decision(in_use, f"all held, {unknown}")
        try:
            return self._decide(self._measured.offer(), in_use)
        except SettingError as error:  # numbers beyond what the methods can compute with
            return _decision(in_use, f"all held, {error}")

    @property
    def bounds(self) -> Bounds:
        """The cores that there are, and what each module may have of them."""
        begun = sum(module.initial_replicas for module in self.graph.modules)
        return Bounds.of(self.graph, begun if self.cores is None else self.cores)

    def _decide(self, offer: OfferedLoad, in_use: Mapping[str, int]) -> Decision:
        bounds, worth = self.bounds, sink_weights(self.graph, self.weights)
        network = offer.network(cores=bounds.cores, worth=worth)
        running = {name: in_use[name] for name in self.graph.names() if name in in_use}
        fits = len(running) == len(self.graph.modules) and bounds.admits(running)
        if network is None:
            why = "held, no rows come" if fits else "no rows come"
            return _decision({**in_use, **(running if fits else even_division(bounds))}, why)
        division = best_division(network, bounds, start=lambda: self._planned(network))
        if self.spare:
            division = with_spare_cores(division, network, bounds)
        if fits and (why_not := self._no_reason_to_move(network, running, division)) is not None:
            return _decision(in_use, why_not, network, running)
        loads = offer.loads
        why = why_divided(
            division,
            {name: max(whole_up(loads[name]), low) for name, low in bounds.low.items()},
            loads,
            pipelines=pipelines_of(self.graph),
            worth=worth,
            more=_more(network, division, even_division(bounds)),
        )
        return _decision({**in_use, **division}, why, network, division)

    def _planned(self, network: Network) -> Mapping[str, float]:
        from penstock.policy.allocation import PLANNERS

        return PLANNERS[self.method](network).resource

    def _no_reason_to_move(
        self, network: Network, running: Mapping[str, int], division: Mapping[str, int]
    ) -> str | None:
        more = _more(network, division, running)
        growth = sum(division.values()) - sum(running.values())
        self._needless = self._needless + 1 if growth < 0 else 0
        worthwhile = more >= self.gain and more > EXACTLY
        if (self.spare and growth > 0) or worthwhile or self._needless >= _PATIENCE:
            self._needless = 0
            return None
        return why_kept(more=more, gain=self.gain)

    def _check_cores(self) -> None:
        fewest = sum(module.min_replicas for module in self.graph.modules)
        if self.cores is not None and self.cores < fewest:
            raise SettingError(
                f"cores of policy allocation must be {fewest} or more, the min_replicas of all "
                f"modules together, got {self.cores}"
            )

    def _check_weights(self) -> None:
        """Reject weights of what is neither a pipeline nor a sink."""
        known = {*pipelines_of(self.graph).values(), *self.graph.sinks()}
        for name in self.weights:
            if name not in known:
                raise SettingError(
                    f"weights of policy allocation name {name!r}, which is neither a pipeline nor "
                    f"a module that feeds no other{near(name, known)}"
                )

    def _check_method(self) -> None:
        from penstock.policy.allocation import PLANNERS

        if self.method not in PLANNERS:
            raise SettingError(
                f"there is no method {self.method!r} of policy allocation"
                f"{near(self.method, PLANNERS)}"
            )
        if self.method in _PARTICULAR:
            # A row a second at every source shows whether the method suits the graph.
            modules, streams = self.graph.modules, self.graph.streams
            offer = OfferedLoad(
                graph=self.graph,
                rates=dict.fromkeys(self.graph.sources, 1.0),
                waiting={},
                times={module.name: module.service_time or 1.0 for module in modules},
                selectivities={(s.origin, s.target): declared(s) for s in streams},
            )
            worth = sink_weights(self.graph, self.weights)
            PLANNERS[self.method](offer.network(cores=1, worth=worth))


def _more(network: Network, division: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Share by which a division brings more than another."""
    return value(network, division) / value(network, other) - 1.0


def _decision(
    degrees: Mapping[str, int],
    why: str,
    network: Network | None = None,
    division: Mapping[str, int] | None = None,
) -> Decision:
    expects: dict[str, float] = {}
    if network is not None and division is not None:
        busy = busy_resource(network, division)
        expects = {f"utilisation:{name}": busy[name] / division[name] for name in network.modules}
        expects = {"value": value(network, division), **expects}
    return Decision(configuration=Configuration(degrees=dict(degrees)), why=why, expects=expects)
