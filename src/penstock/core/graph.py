"""The flow graph: modules, and the streams between them.

>>> graph = FlowGraph(
...     source="split",
...     modules=(Module(name="split", service_time=0.003), Module(name="count")),
...     streams=(Stream(origin="split", target="count", selectivity=2.0),),
... )
>>> graph.visits()
{'split': 1.0, 'count': 2.0}

A module: what a flow graph is made of, and what it takes to run.

>>> Module(name="match", service_time=-1.0)
Traceback (most recent call last):
...
penstock.core.errors.SettingError: service_time of module match must be 0s or more, got -1s
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import floor, inf
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.schema import (
    As,
    Bounds,
    Count,
    NotNegativeSeconds,
    OneOf,
    Positive,
    PositiveSeconds,
    Share,
    checked,
)
from penstock.core.settings import near

SCALINGS: Final = ("ideal", "saturating", "minimum", "measured")
"""How a module's service time may fall with its replicas."""

MIGRATIONS: Final = ("mp", "r-blk", "s-blk")
"""How the state of keys may change hands."""

WORK: Final = ("wait", "cpu", "none")
"""How a row may spend its service time on Spark."""

Variation = Annotated[float, Bounds(least=0, most=100)]
"""Standard deviation over mean."""
Price = Annotated[float, Bounds(least=0, most=1_000_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("module {self.name}")
class Module:
    """A streaming query, or a stage of one, with a degree of parallelism of its own."""

    name: str
    service_time: NotNegativeSeconds = 0.0
    """Mean seconds that one replica takes for a row."""
    service_cv: Variation = 0.0
    """Coefficient of variation of the service time: 0 fixed, 1 exponential."""
    min_replicas: Count = 1
    """Fewest replicas."""
    max_replicas: Count = 20
    """Most replicas."""
    initial_replicas: Count = 1
    """Replicas at the start of a run; in a file `min_replicas` unless given."""
    buffer: Annotated[float, Bounds(least=1, endless=True)] = inf
    """Rows that can wait before the module; a full buffer holds up the module before it."""
    trigger: NotNegativeSeconds = 0.0
    """Seconds between micro-batches; 0 processes row by row."""
    max_batch: PositiveSeconds | None = None
    """Seconds of service that one replica takes on in a micro-batch, at most; all that waits,
    unless given. Shorter batches let new replicas take part sooner."""
    overhead: NotNegativeSeconds = 0.0
    """Seconds that a micro-batch takes beyond its rows: planning, commit, scheduling."""
    task_overhead: NotNegativeSeconds = 0.0
    """Seconds that every replica is busy in a micro-batch beyond its rows: a task started, a Python
    worker woken, state loaded. They lengthen the batch as `overhead` does, and count as work."""
    overhead_cv: Variation = 0.0
    """Coefficient of variation of both overheads from batch to batch (log-normal): 0 fixed."""
    warm_up: NotNegativeSeconds = 0.0
    """Seconds that the first micro-batch with new replicas takes longer, while these load code."""
    start_up: NotNegativeSeconds = 0.0
    """Seconds from asking for an executor until it takes tasks."""
    price: Price = 0.0
    """Cost of one replica for one control step."""
    delay_cost: Price = 0.0
    """Cost of one second between results."""
    scaling: Annotated[str, OneOf(SCALINGS)] = "ideal"
    """How the service time falls with n replicas (game, Fig. 3): `ideal` as 1/n, `saturating` no
    further than at best_replicas, `minimum` rising again beyond them, `measured` as in speedup."""
    best_replicas: Annotated[float, Bounds(least=1)] | None = None
    """Replicas with the shortest service time, for saturating and minimum."""
    speedup: tuple[float, ...] = ()
    """How many times as fast as one the first 1, 2, 3... replicas are, for measured."""
    operators: tuple[str, ...] = ()
    """What the module runs on Spark, by the pipeline's names; its own name where none is given."""
    region: str | None = None
    """The region whose nodes host its replicas: required where there is an `infrastructure`,
    refused where there is none."""
    keys: Annotated[int, Bounds(least=0, most=10_000_000)] = 0
    """Keys by which rows are routed, each to the one replica that has its state; 0 where any
    replica serves any row. Each takes some 300 bytes of the twin."""
    migration: Annotated[str, OneOf(MIGRATIONS)] = "mp"
    """How the state of a key changes hands: `mp` (only rows of the key wait), `r-blk` (the replica
    that gets keys waits for all of them) or `s-blk` (rows of such keys are held before all others
    that follow); mpc, Section 5.2.2."""
    work: Annotated[str, OneOf(WORK)] = "wait"
    """How a row spends its service time on Spark: `wait` (as for a call to another system), `cpu`,
    or `none`."""

    @property
    def rows_a_batch(self) -> float:
        """Rows that one replica takes on in a micro-batch, at most.

        >>> Module(name="match", service_time=0.2, max_batch=4.0).rows_a_batch
        20
        """
        if self.max_batch is None or not self.service_time:
            return inf
        return max(floor(self.max_batch / self.service_time * (1 + 1e-12)), 1)

    def __post_init__(self) -> None:
        """Refuse what no module can be."""
        if not self.min_replicas <= self.initial_replicas <= self.max_replicas:
            raise SettingError(
                f"module {self.name} needs 1 <= min_replicas <= initial_replicas <= max_replicas, "
                f"got {self.min_replicas}, {self.initial_replicas}, {self.max_replicas}",
                fields=("min_replicas", "initial_replicas", "max_replicas"),
            )
        self._check_scaling()

    def _check_scaling(self) -> None:
        has_best, has_speedup = self.best_replicas is not None, bool(self.speedup)
        if has_best != (self.scaling in ("saturating", "minimum")):
            raise self._misplaced("best_replicas", "saturating or minimum", has_best)
        if has_speedup != (self.scaling == "measured"):
            raise self._misplaced("speedup", "measured", has_speedup)
        if has_speedup:
            check_speedup(self.speedup, of=f"speedup of module {self.name}")

    def _misplaced(self, setting: str, scaling: str, given: bool) -> SettingError:
        needs = f"scaling {self.scaling} of module {self.name} needs {setting}; add it"
        extra = (
            f"{setting} of module {self.name} belongs to scaling {scaling}, and scaling is "
            f"{self.scaling}; leave it out"
        )
        return SettingError(extra if given else needs, fields=(setting, "scaling"))


def check_speedup(speedup: Sequence[float], *, of: str) -> None:
    """Refuse speed-ups under which the service time is no convex function of the replicas.

    >>> check_speedup([1.0, 1.2, 3.0], of="speedup")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: speedup must save less time with every replica, \
got [1.0, 1.2, 3.0]; smooth it
    """
    if not speedup or speedup[0] != 1.0 or not all(0 < s < inf for s in speedup):
        why = f"{of} must begin with 1 and be above 0 and finite, got {list(speedup)}"
        raise SettingError(why, path=("speedup",))
    saved = [1 / before - 1 / after for before, after in pairwise(speedup)]
    if any(after > before + 1e-9 for before, after in pairwise(saved)):
        raise SettingError(
            f"{of} must save less time with every replica, got {list(speedup)}; smooth it",
            path=("speedup",),
        )


_MOST_LISTED: Final = 10
"""Modules that a message lists before it counts the rest, and cycles that are reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("stream {self.origin} -> {self.target}")
class Stream:
    """Rows from one module to another."""

    origin: Annotated[str, As("from")]
    """The module that rows leave."""
    target: Annotated[str, As("to")]
    """The module that they go to."""
    probability: Share = 1.0
    """Share of the origin's output rows that take this way; those of all streams from a module sum
    to 1."""
    selectivity: Positive = 1.0
    """Rows that leave the origin for each row that it takes in, before they part ways."""


class GraphError(SettingError):
    """A graph that no row could cross, and the module or the stream that is to blame."""

    def __init__(
        self, sentence: str, *, module: str | None = None, stream: tuple[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.module = module
        self.stream = stream
        """Where it comes from and where it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowGraph:
    """An acyclic graph of modules with one source, or several such graphs side by side."""

    source: str
    modules: tuple[Module, ...]
    streams: tuple[Stream, ...] = ()
    also: tuple[str, ...] = ()
    """Sources beside the first, one for each further pipeline that shares the cluster."""
    _by_name: Mapping[str, Module] = field(init=False, repr=False, compare=False)
    _outputs: Mapping[str, tuple[Stream, ...]] = field(init=False, repr=False, compare=False)
    _order: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse graphs that no row could cross, naming the module."""
        for error in graph_errors([m.name for m in self.modules], self.sources, self.streams):
            raise error
        outputs: dict[str, list[Stream]] = {module.name: [] for module in self.modules}
        for stream in self.streams:
            outputs[stream.origin].append(stream)
        object.__setattr__(self, "_by_name", {module.name: module for module in self.modules})
        object.__setattr__(self, "_outputs", {name: tuple(out) for name, out in outputs.items()})
        object.__setattr__(self, "_order", tuple(_sorter(outputs, self.streams).static_order()))
        for name, visits in self.visits().items():
            if not 0 < visits < inf:
                raise GraphError(
                    f"module {name} sees {visits:g} rows for each row of {self.source}; "
                    "bring the probabilities and selectivities on the way nearer to 1",
                    module=name,
                )

    def __getitem__(self, name: str) -> Module:
        """The module of that name."""
        return self._by_name[name]

    @property
    def sources(self) -> tuple[str, ...]:
        """Modules that rows come to from outside: one of each pipeline."""
        return (self.source, *self.also)

    def names(self) -> tuple[str, ...]:
        """Every module's name, in the order of the file."""
        return tuple(self._by_name)

    def order(self) -> tuple[str, ...]:
        """Every module's name, each after those that feed it."""
        return self._order

    def outputs(self, name: str) -> tuple[Stream, ...]:
        """Streams that leave a module."""
        return self._outputs[name]

    def sinks(self) -> tuple[str, ...]:
        """Modules that feed no other."""
        return tuple(name for name in self.names() if not self.outputs(name))

    def visits(self) -> dict[str, float]:
        """Rows that each module sees for one row of its source."""
        visits = dict.fromkeys(self.names(), 0.0) | dict.fromkeys(self.sources, 1.0)
        for name in self.order():
            for stream in self.outputs(name):
                visits[stream.target] += visits[name] * stream.selectivity * stream.probability
        return visits


def graph_errors(
    modules: Sequence[str],
    sources: Sequence[str],
    streams: Sequence[Stream],
    *,
    whole: bool = True,
    unsure: Collection[str] = (),
) -> Iterator[GraphError]:
    """All that keeps rows from crossing a graph.

    Where not the `whole` graph is known, nothing is said of modules that no stream leads to; of
    those whose streams are `unsure`, nothing of the sum of their probabilities.

    >>> ring = [Stream(origin="a", target="b", probability=0.5), Stream(origin="b", target="a")]
    >>> for error in graph_errors(["a", "b"], ["a"], ring):
    ...     print(error)
    the streams form a cycle: a -> b -> a; remove one of them
    the probabilities of the streams from a must sum to 1, got 0.5
    """
    counts, pairs = Counter(modules), Counter((s.origin, s.target) for s in streams)
    for name in (name for name, count in counts.items() if count > 1):
        yield GraphError(f"module {name} is defined twice; give one another name", module=name)
    for source in (source for source in sources if source not in counts):
        yield GraphError(f"there is no module {source!r}{near(source, counts)}")
    for pair, count in pairs.items():
        for end in (end for end in pair if end not in counts):
            yield GraphError(f"there is no module {end!r}{near(end, counts)}", stream=pair)
        if count > 1:
            yield GraphError(
                f"stream {' -> '.join(pair)} is given {count} times; "
                "keep one, with the probabilities added up",
                stream=pair,
            )
    cyclic = False
    for path, last in cycles(pairs):
        cyclic = True
        yield GraphError(f"{in_a_cycle(path)}; remove one of them", module=path[0], stream=last)
    yield from _uneven(streams, {*unsure, *(a for (a, _), count in pairs.items() if count > 1)})
    if not cyclic:
        yield from _unfed(modules, sources, streams, whole=whole)


def _sorter(modules: Iterable[str], streams: Iterable[Stream]) -> TopologicalSorter[str]:
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(modules, ()))
    for stream in streams:
        sorter.add(stream.target, stream.origin)
    return sorter


def cycles(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[list[str], tuple[str, str]]]:
    """A few cycles with no stream in common, each with the last of its streams.

    >>> list(cycles([("b", "a"), ("a", "b"), ("b", "c")]))
    [(['b', 'a', 'b'], ('a', 'b'))]
    """
    left = {pair: position for position, pair in enumerate(pairs)}
    for _ in range(_MOST_LISTED):  # each takes a search of the whole graph
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for origin, target in left:
            sorter.add(target, origin)
        try:
            sorter.prepare()
        except CycleError as error:
            circle: list[str] = error.args[1][1:]
        else:
            return
        around = [*pairwise(circle), (circle[-1], circle[0])]
        turn = around.index(min(around, key=left.__getitem__))
        last = max(around, key=left.__getitem__)
        yield [*circle[turn:], *circle[:turn], circle[turn]], last
        del left[last]


def in_a_cycle(path: Sequence[str]) -> str:
    """That modules feed one another, in words.

    >>> in_a_cycle(["a", "b", "a"])
    'the streams form a cycle: a -> b -> a'
    """
    long = len(path) > _MOST_LISTED
    shown = [*path[:3], f"({len(path) - 4} more)", path[0]] if long else path
    return f"the streams form a cycle: {' -> '.join(shown)}"


def _uneven(streams: Iterable[Stream], unsure: Collection[str]) -> Iterator[GraphError]:
    """Modules whose rows do not all take one of the ways, or take several."""
    totals: dict[str, float] = {}
    first: dict[str, str] = {}
    for stream in streams:
        totals[stream.origin] = totals.get(stream.origin, 0.0) + stream.probability
        first.setdefault(stream.origin, stream.target)
    for name, total in totals.items():
        if abs(total - 1) > 1e-6 and name not in unsure:
            why = f"the probabilities of the streams from {name} must sum to 1, got {total:g}"
            yield GraphError(why, stream=(name, first[name]))


def _unfed(
    modules: Iterable[str], sources: Sequence[str], streams: Iterable[Stream], *, whole: bool
) -> Iterator[GraphError]:
    fed = {stream.target: stream for stream in streams}
    wrong = [source for source in sources if source in fed]
    for source in wrong:
        before = fed[source].origin
        yield GraphError(
            f"source {source} is fed by module {before}; name as source the one module "
            "that no stream leads to",
            stream=(before, source),
        )
    for name in modules if whole and not wrong else ():
        if name not in fed and name not in sources:
            yield GraphError(
                f"no row can reach module {name} from {sources[0]}: no stream leads to "
                f"{name}, and a graph has one source",
                module=name,
            )
