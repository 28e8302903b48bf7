"""A plant that plays a recording, so that a policy can be tried on what really happened.

The past does not answer back: rates, backlog and executors stay as they were recorded, whatever
the policy asks for. What it would have asked is returned and remembered.

>>> from penstock.core.loop import control
>>> from penstock.core.signals import Configuration, ModuleReading
>>> seen = Observation(at=1.0, step=1.0, modules={"count": ModuleReading(requested=2, running=2)})
>>> plant = Replay(observations=(seen,))
>>> four = Configuration(degrees={"count": 4})
>>> [tick] = control(plant, lambda seen: Decision(configuration=four, why="to see"))
>>> tick.asked.degrees, plant.decisions[0].why
({'count': 4}, 'to see')
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.core.signals import Configuration, Decision, Observation, Tick, check_degrees, current


@dataclass(slots=True, kw_only=True)
class Replay:
    """Recorded observations as a plant."""

    observations: tuple[Observation, ...]
    decisions: list[Decision] = field(default_factory=list)
    """Every decision since the replay began."""
    _modules: tuple[str, ...] = ()
    _recorded: dict[str, int] = field(default_factory=dict)
    _asked: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, ticks: Iterable[Tick]) -> "Replay":
        """A replay of what recorded ticks had seen."""
        return cls(observations=tuple(tick.seen for tick in ticks))

    def readings(self) -> Iterator[Observation]:
        """Each observation as recorded; each call restarts the replay."""
        self.decisions.clear()
        self._asked.clear()
        for seen in self.observations:
            self._modules, self._recorded = tuple(seen.modules), dict(current(seen).degrees)
            yield seen

    def apply(self, decision: Decision, /) -> Configuration | None:
        """Remember a decision; returns it where it differs from what was in force.

        In force is what this replay was last asked for, or the recording before any asking.
        """
        check_degrees(decision.configuration.degrees, self._modules)
        self.decisions.append(decision)
        in_force = {**self._recorded, **self._asked}
        if {**in_force, **decision.configuration.degrees} == in_force:
            return None
        self._asked.update(decision.configuration.degrees)
        return decision.configuration
