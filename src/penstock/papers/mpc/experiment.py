"""The operator, workloads, strategies and runs of Section 5: 12 replicas, 2,836 symbols.

Rows are *triggering tuples*, those after which a window is worked on: one in 25 quotes. The others
cost next to nothing, and are not simulated.

The workloads of Section 5.1 are a random walk of 180 s, and a trading day in 235 s. The published
data have the walk; of the day the paper draws a picture. Here both are generated, and `--data`
takes the published walk and frequencies in their place.

- `rwalk` moves by a normal draw of 16,500 quotes/s in every second, from 300,000, and is reflected
  at the least and the greatest rate of the published one, whose moves have that deviation.
- `day` is high at the open and at the close and low in between, with noise in every second and
  bursts of a few seconds: more variable than the walk, as the paper says. Its height and noise are
  chosen so that strategies use about as many replicas as in Tab. 7, and miss about as often.

>>> quotes("rwalk", seed=1).shape, quotes("day", seed=1).shape
((180,), (235,))
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count as count_up
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np

from penstock.core.errors import FileError, SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Policy
from penstock.core.settings import near
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Holt
from penstock.model.power import VoltageTable, power
from penstock.papers.data import published
from penstock.papers.framework import (
    Clock,
    Collected,
    Options,
    Results,
    Run,
    Values,
    autoregression,
    collect,
)
from penstock.policy.mpc import (
    STRATEGIES,
    Mpc,
    Prices,
    Problem,
    Trajectory,
    branch_and_bound,
    lpt,
    solve,
)
from penstock.policy.mpc.controller import LastMeasured, ModuleController, Optimiser
from penstock.policy.spl import Spl
from penstock.policy.static import Static
from penstock.policy.threshold import Rules
from penstock.twin import KeyedTwin
from penstock.twin.records import Array
from penstock.workload import RandomWalk
from penstock.workload.curve import Curve, Curved, Floats
from penstock.workload.keys import names
from penstock.workload.keys import shares as usual_shares
from penstock.workload.trace import read_counts

PUBLISHED: Final = published(__package__)
WORKLOADS: Final = tuple(PUBLISHED.workloads)
NAME: Final = "trader"
QUOTES: Final = 25
"""Of a symbol, for each result."""
SERVICE_TIME: Final = 0.45e-3
"""Seconds that a triggering tuple takes at 2 GHz. Read from Section 5.2.2: 6 replicas are enough
for 300,000 quotes/s and 8 for 400,000, where 7 are not; so it lies between 0.4375 and 0.5 ms."""
SERVICE_CV: Final = 0.3
MOST_REPLICAS: Final = 12
FASTEST: Final = 2.0
"""GHz."""

VOLTAGES: Final = VoltageTable({(12 + i) / 10: round(0.80 + 0.015 * i, 3) for i in range(9)})
"""0.80 V at 1.2 GHz to 0.92 V at 2 GHz. The paper prints none."""
IDLE_WATTS: Final = 16.0
"""What the cores take whatever they do. The paper's watts are measured, and Expr. 9 has only what
comes on top."""
_CAPACITANCE: Final = (PUBLISHED.peak_watts - IDLE_WATTS) / float(
    power(MOST_REPLICAS, FASTEST, VOLTAGES, capacitance=1.0)
)


def watts(replicas: int, clock: float) -> float:
    """What a meter would show: modelled.

    >>> watts(12, 2.0), round(watts(6, 2.0), 1), round(watts(10, 1.2), 1)
    (68.25, 47.3, 36.5)
    """
    return IDLE_WATTS + float(power(replicas, clock, VOLTAGES, capacitance=_CAPACITANCE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The configuration that a run begins with."""

    replicas: int
    clock: float = FASTEST


@dataclass(frozen=True, slots=True)
class Triggers(Curved):
    """Triggering tuples of a workload that is known by the second."""

    quotes: tuple[float, ...]

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # all of it
        """Flat within a second, and nothing after the last."""
        rates = np.array([*self.quotes, 0.0]) / QUOTES
        return Curve.through(starts=np.arange(len(rates)), rates=rates)


def operator(replicas: int = 1) -> FlowGraph:
    """The algo-trader, as it begins."""
    module = Module(
        name=NAME,
        service_time=SERVICE_TIME,
        service_cv=SERVICE_CV,
        max_replicas=MOST_REPLICAS,
        initial_replicas=replicas,
    )
    return FlowGraph(source=NAME, modules=(module,))


def enough(rate: float, busy: float = 0.95) -> int:
    """Replicas at 2 GHz that are no busier than that with so many quotes a second.

    >>> enough(300e3), enough(400e3)
    (6, 8)
    """
    return min(ceil(rate / QUOTES * SERVICE_TIME / busy), MOST_REPLICAS)


def open_operator(
    quotes: Floats, shares: Mapping[str, float], *, seed: int, step: float, start: Start
) -> KeyedTwin:
    """The operator with all keys spread evenly, and a journal of its rows.

    It runs on for a while after the last quote, so that the journal has every row.
    """
    return KeyedTwin(
        operator(start.replicas),
        Triggers(tuple(quotes.tolist())),
        step=step,
        duration=len(quotes) + DRAIN,
        shares=shares,
        routing=lpt(shares, start.replicas),
        seed=seed,
        frequency=start.clock,
        reference=FASTEST,
        power=watts,
        journal=True,
    )


DRAIN: Final = 20.0
"""Seconds after the last quote in which the remaining backlog is processed."""


# The strategies of Tab. 6 and 7, with the settings that the paper gives them.


THRESHOLD: Final = {"rwalk": 1.5e-3, "day": 7e-3}
"""Seconds that a result may take, on average over a second."""
KEEPS_UP: Final = 0.95
"""Results by triggering tuples of a second, under which quality is missed."""
HOLT: Final = {"rwalk": {"a": 1.0, "b": 0.015}, "day": {"a": 0.67, "b": 0.26}}
SCALE: Final = SERVICE_TIME
"""Seconds of effective service time that alpha is the price of: what a single replica has, which is
the most there can be. The paper divides its prices by such bounds (Section 3.3.1)."""
HEADROOM: Final = 0.95
"""Busy share at which a replica is taken to be full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A strategy, with or without switching cost, and how far it looks ahead."""

    strategy: str
    switching: bool = True
    horizon: int = 1
    step: int = 1
    """Seconds between decisions."""

    @property
    def name(self) -> str:
        """As a script finds it.

        >>> Variant(strategy="th-node", horizon=2).name, Variant(strategy="spl", step=4).name
        ('th-node sw-2', 'spl 4s')
        """
        return f"{self.strategy} {self.choice}"

    @property
    def choice(self) -> str:
        """What distinguishes it from others of its strategy."""
        if self.step > 1:
            return f"{self.step}s"
        if not self.controlled:
            return "peak"
        return f"sw-{self.horizon}" if self.switching else "nosw"

    @property
    def controlled(self) -> bool:
        """Whether it is one of Tab. 6."""
        return self.strategy in STRATEGIES


PEAK: Final = Variant(strategy="static")
"""12 replicas at 2 GHz, all the time."""
VARIANTS: Final = tuple(
    variant
    for strategy in STRATEGIES
    for variant in (
        Variant(strategy=strategy, switching=False),
        *(Variant(strategy=strategy, horizon=horizon) for horizon in (1, 2, 3)),
    )
)
"""Those of Fig. 11 to 17."""
COMPARED: Final = (
    Variant(strategy="rules-90", step=4),
    Variant(strategy="rules-95", step=4),
    Variant(strategy="spl", step=4),
    Variant(strategy="th-node", horizon=2, step=4),
    Variant(strategy="th-node", horizon=2, step=2),
)
"""Those of Tab. 7, on the trading day."""


def policy(variant: Variant, graph: FlowGraph, workload: str) -> Policy:
    """The strategy, ready to decide."""
    if variant.controlled:
        return controller(variant, graph, workload)
    if variant.strategy == "spl":
        return Spl(congestion=0.1, sensitivity=0.9, levels=12)
    if variant == PEAK:
        return Static()
    return Rules(max_utilisation=_MOST_BUSY[variant.strategy], min_utilisation=0.8)


def controller(variant: Variant, graph: FlowGraph, workload: str) -> Mpc:
    """One of Tab. 6."""
    return Mpc(
        graph,
        strategy=variant.strategy,
        horizon=variant.horizon,
        switching=variant.switching,
        alpha=PUBLISHED.alpha[variant.strategy][workload],
        beta=PUBLISHED.beta,
        gamma=PUBLISHED.gamma,
        threshold=THRESHOLD[workload],
        scale=SCALE,
        headroom=HEADROOM,
        forecaster={"holt": HOLT[workload]},
        trust=False,
        own_queues=False,
        voltages={str(clock): volts for clock, volts in VOLTAGES.volts.items()},
    )


_MOST_BUSY: Final = {"rules-90": 0.9, "rules-95": 0.95}


SECONDS: Final = {"rwalk": 180, "day": 235}
KEYS: Final = 2836
_TRIES: Final = 100_000
"""More than any seed ever takes: no two try the same walk."""
WALK_FILE: Final = "random_walk_rates.txt"
KEYS_FILE: Final = "key_frequencies.txt"

_START, _MOVE, _LOW, _HIGH = 300e3, 16.5e3, 135e3, 458e3
"""Of the walk, in quotes a second."""
_MEAN, _SPREAD = 297e3, 73e3
"""Mean and standard deviation of the published walk. Another is drawn unless its mean is within"""
_NEAR: Final = (0.05, 0.15)
"""these shares of them."""

_NOON: Final = 122e3
"""Quotes a second when the day is quietest,"""
_OPEN: Final = 380e3
"""by how much it is busier at the open,"""
_OPEN_LASTS: Final = 46.0
"""which fades in so many seconds,"""
_CLOSE: Final = 380e3
"""and at the close,"""
_CLOSE_LASTS: Final = 9.0
"""which comes in so many."""
_SLOW: Final = 0.08
"""Deviation of what lasts for a while, as a share,"""
_SLOW_LASTS: Final = 20.0
"""and for how many seconds it does."""
_FAST: Final = 0.1
"""Deviation of a single second, as a share."""


def quotes(name: str, seed: int, data: str | None = None) -> Floats:
    """Quotes a second, for each second."""
    if name not in WORKLOADS:
        raise SettingError(f"there is no workload {name!r} in the paper{near(name, WORKLOADS)}")
    if name == "day":
        return _day(np.random.default_rng([seed, 1]))
    return _walk(seed) if data is None else read_counts(str(Path(data) / WALK_FILE))[1]


def shares(data: str | None = None) -> Mapping[str, float]:
    """The share of the quotes that each symbol has."""
    if data is None:
        return usual_shares(KEYS)
    frequencies = _frequencies(Path(data) / KEYS_FILE)
    return dict(zip(names(len(frequencies)), frequencies, strict=True))


def _walk(seed: int) -> Floats:
    at = np.arange(float(SECONDS["rwalk"]))
    for attempt in count_up(1):
        walk = RandomWalk(
            start=_START, step=_MOVE, low=_LOW, high=_HIGH, seed=_TRIES * seed + attempt
        )
        rates = walk.rate(at)
        if _typical(rates):
            break
    return rates


def _typical(rates: Floats) -> bool:
    off = abs(rates.mean() / _MEAN - 1.0), abs(rates.std() / _SPREAD - 1.0)
    return all(share <= near for share, near in zip(off, _NEAR, strict=True))


def _day(random: np.random.Generator) -> Floats:
    at = np.arange(float(SECONDS["day"]))
    opening = _OPEN * np.exp(-at / _OPEN_LASTS)
    closing = _CLOSE * np.exp((at - SECONDS["day"]) / _CLOSE_LASTS)
    swings = _SLOW * autoregression(random.standard_normal(len(at)), np.exp(-1.0 / _SLOW_LASTS))
    noise = _FAST * random.standard_normal(len(at))
    rates: Floats = (_NOON + opening + closing) * np.exp(swings + noise)
    return rates


def _frequencies(path: Path) -> list[float]:
    """The last line of the file, after a number of its own; the first says how many there are."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        frequencies = [float(word) for word in lines[1].split()[1:]]
        announced = int(lines[0].split()[0])
    except (OSError, UnicodeDecodeError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or "it is no list of frequencies"
        raise FileError(f"cannot read {path}: {reason}") from None
    if len(frequencies) != announced:
        raise FileError(f"{path} announces {announced} frequencies, and {len(frequencies)} follow")
    return frequencies


# One strategy on one workload, second by second.


QUEUE: Final = 256
"""Rows that the queue before a replica holds, for the congestion index of SPL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one run is about."""

    workload: str
    seed: int
    variant: Variant
    seconds: int | None = None
    """Only the first of them; all unless given."""
    data: str | None = None
    """Folder of the published data, in place of generated ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """A run: configurations by control step, and what became of rows by the second."""

    replicas: Floats
    clocks: Floats
    """GHz."""
    watts: Floats
    came: Floats
    """Triggering tuples."""
    done: Floats
    """Results."""
    latency: Floats
    """Mean seconds from tuple to result, of those done; NaN where there were none."""

    @property
    def ratio(self) -> Floats:
        """Results by triggering tuples."""
        return np.divide(self.done, self.came, where=self.came > 0, out=np.ones_like(self.done))


@dataclass
class Tally:
    """Counts rows by the second in which they came and were done."""

    seconds: int
    came: Floats = field(init=False)
    done: Floats = field(init=False)
    took: Floats = field(init=False)
    """Seconds from tuple to result, added up by the second of the result."""

    def __post_init__(self) -> None:
        """None yet."""
        self.came, self.done, self.took = (np.zeros(self.seconds) for _ in range(3))

    def observe(self, rows: Array) -> None:
        """Rows that were done in a step; what is done after the last second counts no more."""
        self.came += self._by_second(rows["arrived"])
        self.done += self._by_second(rows["done"])
        self.took += self._by_second(rows["done"], rows["done"] - rows["arrived"])

    @property
    def latency(self) -> Floats:
        """Mean of each second; NaN where nothing was done."""
        means: Floats = np.full(self.seconds, np.nan)
        np.divide(self.took, self.done, where=self.done > 0, out=means)
        return means

    def _by_second(self, at: Array, weights: Array | None = None) -> Floats:
        counted = np.bincount(at.astype(np.int64), weights, minlength=self.seconds)
        return np.asarray(counted[: self.seconds], np.float64)


def play(case: Case) -> Course:
    """Let a strategy control the operator for as long as quotes come.

    >>> case = Case(workload="rwalk", seed=1, variant=Variant(strategy="th-node"), seconds=4)
    >>> course = play(case)
    >>> course.replicas.tolist(), course.ratio.round(1).tolist()
    ([6.0, 6.0, 6.0, 6.0], [1.0, 1.0, 1.0, 1.0])
    """
    rates = quotes(case.workload, case.seed, case.data)[: case.seconds]
    start = first(case.variant, case.workload, float(rates[0]))
    step = float(case.variant.step)
    twin = open_operator(rates, shares(case.data), seed=case.seed, step=step, start=start)
    decide = policy(case.variant, operator(start.replicas), case.workload)
    tally, seen = Tally(len(rates)), []
    for observation in twin.readings():
        rows = twin.journal()
        tally.observe(rows)
        if observation.at - observation.step < len(rates):
            seen.append(observation)
            spl = case.variant.strategy == "spl"
            twin.apply(decide(at_splitter(observation, rows) if spl else observation))
    return _course(seen, tally)


def at_splitter(seen: Observation, rows: Array) -> Observation:
    """What SPL sees: rows that could not be sent on at once, counted as rows that it misses.

    Its congestion index is the share of rows that find the queue before their replica full. Queues
    of the twin are endless, so these are the rows that waited for as long as a full one takes.
    """
    reading = seen.modules[NAME]
    if not len(rows) or reading.processed_rate is None:
        return seen
    blocked = float((rows["begun"] - rows["arrived"] > QUEUE * SERVICE_TIME).mean())
    sent = reading.processed_rate / max(1.0 - blocked, 1.0 / len(rows))
    return replace(seen, modules={NAME: replace(reading, arrival_rate=sent)})


def first(variant: Variant, workload: str, rate: float) -> Start:
    """The configuration that suits the first second: what the strategy would choose for nothing.

    >>> first(Variant(strategy="th-node", horizon=2), "rwalk", rate=300e3)
    Start(replicas=6, clock=2.0)
    """
    if variant == PEAK:
        return Start(replicas=MOST_REPLICAS)
    degree = enough(rate)
    if not variant.controlled:
        return Start(replicas=degree)
    free = replace(variant, switching=False, horizon=1)
    chosen = replace(controller(free, operator(), workload), warm_up=0)(_known(rate, degree))
    return Start(
        replicas=chosen.configuration.degrees[NAME],
        clock=chosen.configuration.frequency or FASTEST,
    )


def _known(rate: float, degree: int) -> Observation:
    reading = ModuleReading(arrival_rate=rate / QUOTES, running=degree)
    return Observation(at=0.0, step=1.0, modules={NAME: reading}, frequency=FASTEST)


def _course(seen: Sequence[Observation], tally: Tally) -> Course:
    return Course(
        replicas=np.array([o.modules[NAME].running for o in seen], np.float64),
        clocks=np.array([o.frequency for o in seen], np.float64),
        watts=np.array([o.power.watts for o in seen if o.power], np.float64),
        came=tally.came,
        done=tally.done,
        latency=tally.latency,
    )


# What is left of one run when its seconds have been counted: what workers hand back.


def score(course: Course, *, late: float | None) -> dict[str, float]:
    """The properties of a strategy (mpc, Section 2.3), over one run.

    `late` is the latency above which quality is missed, None where it is throughput. The size of a
    reconfiguration counts 0.1 GHz as much as a replica.

    >>> steady = np.full(3, 1000.0)
    >>> course = Course(
    ...     replicas=np.array([4.0, 4.0, 7.0]), clocks=np.array([2.0, 2.0, 1.6]),
    ...     watts=np.array([30.0, 30.0, 33.0]), came=steady,
    ...     done=np.array([1000.0, 940.0, 1050.0]), latency=np.full(3, 0.001),
    ... )
    >>> list(score(course, late=None).values())
    [1.0, 1.0, 5.0, 5.0, 31.0]
    """
    moves = np.hypot(np.diff(course.replicas), np.round(10.0 * np.diff(course.clocks)))
    changes = moves[moves > 0]
    missed = course.ratio < KEEPS_UP if late is None else ~(course.latency <= late)
    return {
        "reconfigurations": float(len(changes)),  # stability
        "violations": float(missed.sum()),  # accuracy: seconds in which quality was missed
        "amplitude": float(changes.mean()) if len(changes) else 0.0,  # settling time
        "replicas": float(course.replicas.mean()),  # overshoot
        "watts": float(course.watts.mean()),  # modelled
    }


def examine(case: Case) -> Run[Course]:
    """Carry out one run; of the first seed its seconds are handed back, where they are drawn."""
    course, kind = play(case), STRATEGIES.get(case.variant.strategy)
    late = THRESHOLD[case.workload] if kind and kind.latency else None
    drawn = case.seed == 1 and is_drawn(case.variant)
    return Run(
        [((case.workload, case.variant), score(course, late=late))],
        {(case.workload, case.variant.name): course} if drawn else {},
    )


# How far each search has to look for the best course: Tab. 5, along a random walk.


VARIANT: Final = Variant(strategy="lat-power")
"""Whose decisions are looked at. The paper does not say; of the two strategies that have 108
configurations, this one comes near its figures. Where quality is throughput, all that keep up cost
alike, and hardly any can be passed over."""
HORIZONS: Final = (1, 2, 3)
DECISIONS: Final = 30
TREE: Final = "branch-and-bound"
SEARCHES: Final[dict[str, Optimiser]] = {
    TREE: branch_and_bound,
    "dynamic-programming": solve,
}


@dataclass
class Probe:
    """A search that asks both, notes what each of them took, and returns what they found."""

    clock: Clock | None
    explored: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in SEARCHES})
    spent: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SEARCHES})
    agreed: bool = True

    def __call__(self, problem: Problem) -> Trajectory:
        """Each gets a copy, so that neither lives on what the other has worked out."""
        plans = [self._time(name, replace(problem)) for name in SEARCHES]
        self.agreed &= plans[0].choices == plans[1].choices
        return plans[0]

    def values(self, horizon: int) -> Iterator[tuple[Hashable, dict[str, float]]]:
        """Means over the decisions, by horizon and search; seconds only with a clock.

        States are whole courses, or pairs of consecutive configurations.
        """
        for name, counts in self.explored.items():
            times = {"seconds": fmean(self.spent[name])} if self.spent[name] else {}
            agreed = {"agreed": float(self.agreed)}
            yield (horizon, name), {"explored": fmean(counts), **times, **agreed}

    def _time(self, name: str, problem: Problem) -> Trajectory:
        before = self.clock() if self.clock else None
        plan = SEARCHES[name](problem)
        if self.clock and before is not None:
            self.spent[name].append(self.clock() - before)
        self.explored[name].append(plan.explored)
        return plan


def efforts(
    rates: Sequence[float], clock: Clock | None = None
) -> Iterator[tuple[Hashable, dict[str, float]]]:
    """What each search took, where lat-power with switching cost decides over each horizon.

    >>> [round(values["explored"]) for (_, search), values in efforts([300e3]) if search == TREE]
    [108, 2052, 28512]
    """
    for horizon in HORIZONS:
        yield from _effort(horizon, rates[:DECISIONS], clock)


def _effort(
    horizon: int, rates: Sequence[float], clock: Clock | None
) -> Iterator[tuple[Hashable, dict[str, float]]]:
    probe = Probe(clock)
    prices = Prices(
        strategy=VARIANT.strategy,
        alpha=PUBLISHED.alpha[VARIANT.strategy]["rwalk"],
        beta=PUBLISHED.beta,
        gamma=PUBLISHED.gamma,
        threshold=THRESHOLD["rwalk"],
        headroom=HEADROOM,
        voltages=VOLTAGES,
    )
    known = LastMeasured(operator()[NAME])
    forecaster = Holt(**HOLT["rwalk"])
    deciding = ModuleController(known, prices, forecaster, horizon=horizon, optimiser=probe)
    start = first(VARIANT, "rwalk", rates[0])
    degree, at = start.replicas, start.clock
    for rate in rates:
        reading = ModuleReading(arrival_rate=rate / QUOTES, running=degree)
        deciding.observe(Observation(at=0.0, step=1.0, modules={NAME: reading}, frequency=FASTEST))
        course = deciding.plan(degree=degree, clock=at, clocks=VOLTAGES.frequencies)
        degree, at = course.replicas, course.clock
    return probe.values(horizon)


# What is run, and what is measured of it.


Measured = Results[Course]
"""Subjects are workload and variant, or strategy for what is saved; horizon and search (Tab. 5).
Details are courses by workload and name of the variant."""


def check(options: Options) -> None:
    """Refuse a folder without the published data."""
    if options.data is not None:
        quotes("rwalk", 1, options.data)
        shares(options.data)


def is_drawn(variant: Variant) -> bool:
    """Whether its steps are shown, and not only their sums."""
    return variant.choice == "nosw" or variant.name in ("th-power sw-1", "th-power sw-2")


def tasks(options: Options) -> Iterator[Case]:
    """Every variant on every workload with every seed."""
    for seed in range(1, options.seeds + 1):
        for workload in options.workloads:
            compared = COMPARED if workload == "day" else ()
            for variant in (*VARIANTS, PEAK, *compared):
                yield Case(
                    workload=workload,
                    seed=seed,
                    variant=variant,
                    seconds=options.steps,
                    data=options.data,
                )


def derive(options: Options, measured: Collected) -> Values:
    """What frequencies save without switching cost, seed by seed, and the effort of searches."""
    saved = (pair for workload in options.workloads for pair in _saved(workload, measured))
    searched = efforts(quotes("rwalk", 1, options.data).tolist(), options.clock)
    return {**collect(saved), **collect(searched)}


def _saved(workload: str, measured: Collected) -> Iterator[tuple[Hashable, dict[str, float]]]:
    for strategy in PUBLISHED.saved_watts:
        free = Variant(strategy=strategy, switching=False)
        compared = (free, replace(free, strategy=strategy.replace("power", "node")), PEAK)
        each = (measured[(workload, variant), "watts"] for variant in compared)
        for ours, node, static in zip(*each, strict=True):
            saved = {"share saved": 1 - ours / static, "watts saved": node - ours}
            yield (workload, strategy), saved
