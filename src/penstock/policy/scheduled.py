"""Spark's own ways to share executors among queries: what Penstock's division is compared with."""

from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.degrees import in_force


@dataclass
class Scheduled:
    """Decides nothing: every query may use every executor, in the order of Spark's scheduler."""

    cores: int | None = None
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
    """Whoever comes first has what it can use: Spark's default."""

    mode: ClassVar[str] = "FIFO"
    rule: ClassVar[str] = "first come, first served"


SCHEDULERS: Final[dict[str, type[Scheduled]]] = {"fair": Fair, "fifo": Fifo}
