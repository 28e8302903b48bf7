"""Workers of a stage: asked for, and at work once they have started."""

from dataclasses import dataclass, field
from math import inf

from penstock.core.graph import Module


@dataclass(slots=True)
class Crew:
    """The workers of one stage.

    >>> crew = Crew(Module(name="plq", initial_replicas=2, start_up=5.0))
    >>> crew.ask(4, now=10.0), crew.running, crew.next_ready()
    (True, 2, 15.0)
    >>> crew.switch(now=15.0)
    4
    """

    module: Module
    running: int = field(init=False)
    wanted: int = field(init=False)
    requested: int = field(init=False)
    _starting: list[float] = field(default_factory=list)
    """When each worker beyond those at work will be ready."""

    def __post_init__(self) -> None:
        """Begin with the initial ones."""
        self.running = self.wanted = self.requested = self.module.initial_replicas

    def ask(self, wanted: int, now: float) -> bool:
        """Ask for so many, within the module's bounds; says whether that changes anything."""
        self.wanted = wanted
        degree = min(max(wanted, self.module.min_replicas), self.module.max_replicas)
        if degree == self.requested:
            return False
        self.requested = degree
        extra = max(degree - self.running, 0)
        del self._starting[extra:]
        self._starting += [now + self.module.start_up] * (extra - len(self._starting))
        return True

    def next_ready(self) -> float:
        """When the next worker will be ready; now, where one has to go."""
        if self.requested < self.running:
            return -inf
        return self._starting[0] if self._starting else inf

    def switch(self, now: float) -> int:
        """Let those go that are too many, and those begin that are ready; says how many work."""
        self.running = min(self.running, self.requested)
        while self._starting and self._starting[0] <= now:
            self._starting.pop(0)
            self.running += 1
        return self.running
