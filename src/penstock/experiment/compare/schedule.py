"""Degrees for every step, known beforehand: what a clairvoyant does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.core.graph import FlowGraph
from penstock.core.signals import Configuration, Decision, Observation

Degrees = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A policy that follows a plan: the degrees to ask for at the start of each step.

    >>> from penstock.testing import seen
    >>> plan = Schedule(({"count": 1}, {"count": 3}), step=2.0)
    >>> plan(seen(at=2.0, count={"running": 1})).configuration.degrees
    {'count': 3}
    """

    plan: tuple[Degrees, ...]
    """The first are in force before the first step."""
    step: float

    def __call__(self, seen: Observation, /) -> Decision:
        """What was planned for this moment."""
        turn = min(round(seen.at / self.step), len(self.plan) - 1)
        degrees = {name: n for name, n in self.plan[turn].items() if name in seen.modules}
        why = f"step {turn + 1} of a plan made with the whole load known"
        return Decision(configuration=Configuration(degrees=degrees), why=why)

    @property
    def price(self) -> float:
        """Executors that it asks for, over time."""
        return self.step * sum(sum(degrees.values()) for degrees in self.plan)


def deployed(graph: FlowGraph, degrees: Degrees) -> FlowGraph:
    """The graph whose modules begin with these degrees.

    >>> from penstock.core.graph import Module
    >>> graph = FlowGraph(source="count", modules=(Module(name="count"),))
    >>> deployed(graph, {"count": 3})["count"].initial_replicas
    3
    """
    modules = [
        replace(module, initial_replicas=degrees.get(module.name, module.initial_replicas))
        for module in graph.modules
    ]
    return replace(graph, modules=tuple(modules))
