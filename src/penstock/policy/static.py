"""Never scales."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.core.schema import Count, checked
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.common.degrees import PerModule, in_force, of_module


@dataclass
@checked("policy static")
class Static:
    """Keeps the degrees that it was given; a module without one keeps what it has.

    >>> from penstock.testing import seen
    >>> Static(degrees={"counter": 4})(seen(splitter={"running": 2}, counter={"running": 2})).why
    'splitter keeps its 2; counter is set to 4'
    """

    degrees: PerModule | None = None
    """Executors of every module, or by module."""

    def __call__(self, seen: Observation, /) -> Decision:
        """The same as ever."""
        known, degrees = in_force(seen), dict[str, int]()
        clauses = []
        for name in seen.modules:
            given = of_module(self.degrees, name)
            degree = given or known.get(name)
            if degree is None:
                clauses.append(f"{name} is left alone, its executors are unknown")
                continue
            degrees[name] = degree
            clauses.append(f"{name} {'keeps its' if given is None else 'is set to'} {degree}")
        named = self.degrees if isinstance(self.degrees, Mapping) else {}
        others = [name for name in named if name not in seen.modules]
        clauses += [f"{name} is not among the modules seen" for name in others]
        why = "; ".join(clauses) or "no module was seen"
        return Decision(configuration=Configuration(degrees=degrees), why=why)


# Spark's own ways to share executors among queries: what Penstock's division is compared with.


@dataclass
@checked("scheduler {self.mode}")
class Scheduled:
    """Decides nothing: every query may use every executor, in the order of Spark's scheduler."""

    cores: Count | None = None
    """Executors that all share."""
    mode: ClassVar[str]
    """What Spark calls it."""
    rule: ClassVar[str]

    def __call__(self, seen: Observation, /) -> Decision:
        """Nothing to decide."""
        cores = self.cores if seen.pool is None else seen.pool
        many = "the executors" if cores is None else f"the {cores} executors"
        why = f"Spark's own scheduler shares {many} among {len(seen.modules)} queries: {self.rule}"
        return Decision(configuration=Configuration(degrees=in_force(seen)), why=why)


@dataclass
class Fair(Scheduled):
    """Every pipeline has the same share of the executors while it has work.

    >>> from penstock.testing import seen
    >>> Fair(cores=8)(seen(lookup={}, score={})).why
    "Spark's own scheduler shares the 8 executors among 2 queries: the same for every pipeline"
    """

    mode: ClassVar[str] = "FAIR"
    rule: ClassVar[str] = "the same for every pipeline"


@dataclass
class Fifo(Scheduled):
    """The first query takes what it can use: Spark's default."""

    mode: ClassVar[str] = "FIFO"
    rule: ClassVar[str] = "first come, first served"


SCHEDULERS: Final[dict[str, type[Scheduled]]] = {"fair": Fair, "fifo": Fifo}
