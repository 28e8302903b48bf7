"""A module: what a flow graph is made of, and what it takes to run.

>>> Module(name="match", service_time=-1.0)
Traceback (most recent call last):
...
penstock.core.errors.SettingError: service_time of module match must not be negative, got -1.0
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, inf
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.settings import seconds

SCALINGS: Final = ("ideal", "saturating", "minimum", "measured")
"""How a module's service time may fall with its replicas."""

MIGRATIONS: Final = ("mp", "r-blk", "s-blk")
"""How the state of keys may change hands."""

_NOT_NEGATIVE: Final = (
    "service_time",
    "service_cv",
    "trigger",
    "overhead",
    "task_overhead",
    "overhead_cv",
    "warm_up",
    "start_up",
    "price",
    "delay_cost",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A streaming query, or a stage of one, with a degree of parallelism of its own."""

    name: str
    service_time: float = seconds(0.0)
    """Mean seconds that one replica takes for a row."""
    service_cv: float = 0.0
    """Coefficient of variation of the service time: 0 fixed, 1 exponential."""
    min_replicas: int = 1
    max_replicas: int = 20
    initial_replicas: int = 1
    buffer: float = inf
    """Rows that can wait before the module; a full buffer holds up the module before it."""
    trigger: float = seconds(0.0)
    """Seconds between micro-batches; 0 processes row by row."""
    max_batch: float | None = seconds(None)
    """Seconds of service that one replica takes on in a micro-batch, at most; all that waits,
    unless given. Shorter batches let new replicas take part sooner."""
    overhead: float = seconds(0.0)
    """Seconds that a micro-batch takes beyond its rows: planning, commit, scheduling."""
    task_overhead: float = seconds(0.0)
    """Seconds that every replica is busy in a micro-batch beyond its rows: a task started, a Python
    worker woken, state loaded. They lengthen the batch as `overhead` does, and count as work."""
    overhead_cv: float = 0.0
    """Coefficient of variation of both overheads from batch to batch (log-normal): 0 fixed."""
    warm_up: float = seconds(0.0)
    """Seconds that the first micro-batch with new replicas takes longer, while these load code."""
    start_up: float = seconds(0.0)
    """Seconds from asking for an executor until it takes tasks."""
    price: float = 0.0
    """Cost of one replica for one control step."""
    delay_cost: float = 0.0
    """Cost of one second between results."""
    scaling: str = "ideal"
    """How the service time falls with n replicas (game, Fig. 3): `ideal` as 1/n, `saturating` no
    further than at best_replicas, `minimum` rising again beyond them, `measured` as in speedup."""
    best_replicas: float | None = None
    """Replicas with the shortest service time, for saturating and minimum."""
    speedup: tuple[float, ...] = ()
    """How many times as fast as one the first 1, 2, 3... replicas are, for measured."""
    operators: tuple[str, ...] = ()
    """What the module runs on Spark, by the pipeline's names; its own name where none is given."""
    region: str | None = None
    """The region whose nodes host its replicas, where there are regions."""
    keys: int = 0
    """Keys by which rows are routed, each to the one replica that has its state; 0 where any
    replica serves any row."""
    migration: str = "mp"
    """How the state of a key changes hands: `mp` (nobody waits but the key), `r-blk` (the replica
    that gets keys waits for all of them) or `s-blk` (rows of such keys are held before all others
    that follow); mpc, Section 5.2.2."""
    work: str = "wait"
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
        for name in _NOT_NEGATIVE:
            if not getattr(self, name) >= 0:
                raise SettingError(
                    f"{name} of module {self.name} must not be negative, got {getattr(self, name)}"
                )
        if self.max_batch is not None and not self.max_batch > 0:
            raise SettingError(
                f"max_batch of module {self.name} must be above 0s, got {self.max_batch:g}s"
            )
        if not 1 <= self.min_replicas <= self.initial_replicas <= self.max_replicas:
            raise SettingError(
                f"module {self.name} needs 1 <= min_replicas <= initial_replicas <= max_replicas, "
                f"got {self.min_replicas}, {self.initial_replicas}, {self.max_replicas}"
            )
        if self.work not in ("wait", "cpu", "none"):
            raise SettingError(
                f"work of module {self.name} must be wait, cpu or none, got {self.work!r}"
            )
        if self.migration not in MIGRATIONS:
            raise SettingError(
                f"migration of module {self.name} must be one of {', '.join(MIGRATIONS)}, "
                f"got {self.migration!r}"
            )
        if self.keys < 0:
            raise SettingError(f"keys of module {self.name} must not be negative, got {self.keys}")
        if not self.buffer >= 1:
            raise SettingError(f"buffer of module {self.name} must hold a row, got {self.buffer}")
        self._check_scaling()

    def _check_scaling(self) -> None:
        if self.scaling not in SCALINGS:
            raise SettingError(
                f"scaling of module {self.name} must be one of {', '.join(SCALINGS)}, "
                f"got {self.scaling!r}"
            )
        has_best, has_speedup = self.best_replicas is not None, bool(self.speedup)
        if has_best != (self.scaling in ("saturating", "minimum")):
            raise self._misplaced("best_replicas", "saturating or minimum", has_best)
        if has_speedup != (self.scaling == "measured"):
            raise self._misplaced("speedup", "measured", has_speedup)
        if self.best_replicas is not None and not 1 <= self.best_replicas < inf:
            raise SettingError(
                f"best_replicas of module {self.name} must be 1 or more and finite, "
                f"got {self.best_replicas:g}"
            )
        if has_speedup:
            check_speedup(self.speedup, of=f"speedup of module {self.name}")

    def _misplaced(self, setting: str, scaling: str, given: bool) -> SettingError:
        return SettingError(
            f"{setting} of module {self.name} belongs to scaling {scaling}, and scaling is "
            f"{self.scaling}; {'leave it out' if given else 'add it'}"
        )


def check_speedup(speedup: Sequence[float], *, of: str) -> None:
    """Refuse speed-ups under which the service time is no convex function of the replicas.

    >>> check_speedup([1.0, 1.2, 3.0], of="speedup")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: speedup must save less time with every replica, \
got [1.0, 1.2, 3.0]; smooth it
    """
    if not speedup or speedup[0] != 1.0 or not all(0 < s < inf for s in speedup):
        raise SettingError(f"{of} must begin with 1 and be above 0 and finite, got {list(speedup)}")
    saved = [1 / before - 1 / after for before, after in pairwise(speedup)]
    if any(after > before + 1e-9 for before, after in pairwise(saved)):
        raise SettingError(
            f"{of} must save less time with every replica, got {list(speedup)}; smooth it"
        )
