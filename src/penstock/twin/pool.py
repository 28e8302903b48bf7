"""The elastic pool: replicas of a module, asked for and at work once they have started."""

from dataclasses import dataclass, field
from math import inf

from penstock.core.graph import Module


@dataclass(slots=True)
class ElasticPool:
    """The replicas of one module: wanted by the policy, requested within bounds, running.

    A request for fewer cancels those first that have not started. What those that leave still have
    to do is up to the stage that they work for.

    >>> pool = ElasticPool(Module(name="plq", initial_replicas=2, start_up=5.0))
    >>> pool.ask(4, now=10.0)
    >>> pool.running, pool.requested, pool.next_ready()
    (2, 4, 15.0)
    >>> pool.start_ready(now=15.0)
    >>> pool.running
    4
    """

    module: Module
    running: int = field(init=False)
    wanted: int = field(init=False)
    _starting: list[float] = field(default_factory=list, init=False)
    """When each replica beyond those at work will be ready, in that order."""

    def __post_init__(self) -> None:
        """Begin with the initial ones."""
        self.running = self.wanted = self.module.initial_replicas

    @property
    def requested(self) -> int:
        """Replicas that there will be when all have started."""
        return self.running + len(self._starting)

    def bounded(self, degree: int) -> int:
        """The nearest degree that the module may have."""
        return min(max(degree, self.module.min_replicas), self.module.max_replicas)

    def ask(self, degree: int, now: float) -> None:
        """Start, cancel or dismiss as many as it takes to have so many."""
        self.running = min(self.running, degree)
        missing = degree - self.running
        del self._starting[missing:]
        self._starting += [now + self.module.start_up] * (missing - len(self._starting))

    def next_ready(self) -> float:
        """When the next replica will be ready; inf where none is starting."""
        return self._starting[0] if self._starting else inf

    def last_ready(self, now: float) -> float:
        """When all will be ready."""
        return self._starting[-1] if self._starting else now

    def start_ready(self, now: float) -> None:
        """Put those to work that are ready by now."""
        while self._starting and self._starting[0] <= now:
            self._starting.pop(0)
            self.running += 1
