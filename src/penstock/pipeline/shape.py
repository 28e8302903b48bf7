"""Which operators an application has and which feed which, and whether the modules of a file fit.

>>> shape = chain("splitter", "filter", "counter")
>>> from penstock.core.graph import FlowGraph
>>> graph = FlowGraph(
...     source="front",
...     modules=(
...         Module(name="front", operators=("splitter", "filter")),
...         Module(name="counter"),
...     ),
...     streams=(Stream(origin="front", target="counter"),),
... )
>>> misfits(graph.modules, graph.streams, shape)
[]

An application is declared once, as an `AppSpec`: its shape, which is all that checks and the twin
need, and the import string of what runs on Spark.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from penstock.core.graph import Module, Stream
from penstock.core.plugins import Registry
from penstock.core.settings import near


@dataclass(frozen=True, slots=True)
class Shape:
    """An application's operators and the connections between them."""

    operators: tuple[str, ...]
    """In an order in which rows cross them."""
    feeds: tuple[tuple[str, str], ...]
    keyed: tuple[str, ...] = ()
    """Operators that work by key, and so each begin a module that has keys."""
    exchanges: bool = False
    """Whether rows change places between executors."""

    def after(self, operator: str) -> tuple[str, ...]:
        """Operators that take its rows."""
        return tuple(b for a, b in self.feeds if a == operator)

    def before(self, operator: str) -> tuple[str, ...]:
        """Operators whose rows it takes."""
        return tuple(a for a, b in self.feeds if b == operator)


def chain(*operators: str, keyed: tuple[str, ...] = (), exchanges: bool = False) -> Shape:
    """Operators one after the other."""
    return Shape(operators, tuple(pairwise(operators)), keyed, exchanges or bool(keyed))


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why the modules of a file cannot run an application, and where in the file it shows."""

    message: str
    module: str | None = None
    setting: str = "operators"
    """Of the module, where the file is to be changed."""


def operators_of(modules: Iterable[Module]) -> dict[str, tuple[str, ...]]:
    """What each module runs: its own name, unless it says otherwise."""
    return {module.name: module.operators or (module.name,) for module in modules}


def misfits(
    modules: Iterable[Module], streams: Iterable[Stream] | None, shape: Shape
) -> list[Misfit]:
    """What keeps these modules from running this application; of what follows from something else
    nothing. Where the streams are unknown nothing is said of them.

    >>> trader = Module(name="trader")
    >>> misfits([trader], [], chain("trader", keyed=("trader",)))[0].message
    'trader works by key; give its module keys, such as keys: 2836'
    """
    modules = tuple(modules)
    named = operators_of(modules)
    wrong = (
        list(_strangers(named, shape))
        or list(_miscounted(named, shape))
        or list(_unfused(named, shape))
        or ([] if streams is None else list(_streams_amiss(streams, named, shape)))
    )
    return [*wrong, *_misplaced_keys(modules, shape)]


def _misplaced_keys(modules: Iterable[Module], shape: Shape) -> Iterable[Misfit]:
    """Modules with keys that do not work by key, and those that do and have none."""
    for module in modules:
        first = (module.operators or (module.name,))[0]
        if first in shape.operators and bool(module.keys) != (first in shape.keyed):
            extra = f"module {module.name} has keys, and {first} does not work by key"
            lacks = f"{first} works by key; give its module keys, such as keys: 2836"
            yield Misfit(f"{extra}; leave keys out" if module.keys else lacks, module.name, "keys")


def _strangers(named: dict[str, tuple[str, ...]], shape: Shape) -> Iterable[Misfit]:
    for module, operators in named.items():
        for operator in operators:
            if operator not in shape.operators:
                what = f"this pipeline has no operator {operator!r}"
                yield Misfit(what + near(operator, shape.operators), module)


def _miscounted(named: dict[str, tuple[str, ...]], shape: Shape) -> Iterable[Misfit]:
    counts = Counter(operator for operators in named.values() for operator in operators)
    for operator in shape.operators:
        if counts[operator] == 0:
            yield Misfit(f"no module runs {operator}; {_must(shape)}")
        if counts[operator] > 1:
            yield Misfit(f"{operator} is run by {counts[operator]} modules; leave it to one")


def _unfused(named: dict[str, tuple[str, ...]], shape: Shape) -> Iterable[Misfit]:
    """Operators of one module must follow each other, with no other way in or out between them."""
    for module, operators in named.items():
        for a, b in pairwise(operators):
            if shape.after(a) != (b,) or shape.before(b) != (a,):
                listed = ", ".join(operators)
                yield Misfit(
                    f"module {module} cannot run {listed} together, since rows do not go from {a} "
                    f"to {b} alone; {_must(shape)}",
                    module,
                )


def _streams_amiss(
    streams: Iterable[Stream], named: dict[str, tuple[str, ...]], shape: Shape
) -> Iterable[Misfit]:
    home = {operator: module for module, operators in named.items() for operator in operators}
    needed = {(home[a], home[b]) for a, b in shape.feeds if home[a] != home[b]}
    given = {(stream.origin, stream.target) for stream in streams}
    for origin, target in sorted(needed - given):
        yield Misfit(f"rows of {origin} go to {target}; add a stream from {origin} to {target}")
    for origin, target in sorted(given - needed):
        yield Misfit(f"no rows of {origin} go to {target} in this pipeline; remove the stream")


def _must(shape: Shape) -> str:
    return f"the modules must run {', '.join(shape.operators)} in this order"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSpec:
    """An application, without what it runs on Spark."""

    name: str
    shape: Shape
    spark: str
    """The import string of its `Application`, or of a function that makes one of a pipeline file;
    imported where it is run."""
    files: str | None = None
    """The package that ships its pipeline files, `NAME.yaml` among them."""
    takes_query: bool = False
    """Whether its files have a section `query`."""
    makes_own_rows: bool = False
    """Whether it shares rows out among executors while it makes them, and so takes no others."""
    one_text: bool = False
    """Whether its rows are one text, so that lines of a topic will do."""
    needs: tuple[str, ...] = ()
    """Modules without which it does not run; those of built-in ones are in the extra `apps`."""


def _as_spec(part: Any) -> AppSpec:
    if not isinstance(part, AppSpec):
        raise TypeError(f"it must be an AppSpec of penstock.pipeline.shape, got {part!r}")
    return part


APPLICATIONS: Final[Registry[AppSpec]] = Registry(
    "pipeline",
    group="penstock.applications",
    built_in={
        "wordcount": "penstock.apps.wordcount:WORDCOUNT",
        "recognition": "penstock.apps.recognition:RECOGNITION",
        "trading": "penstock.apps.trading:TRADING",
        "preference": "penstock.apps.preference:PREFERENCE",
        "enrichment": "penstock.apps.enrichment:ENRICHMENT",
    },
    adapt=_as_spec,
)
"""Applications that run on Spark."""
