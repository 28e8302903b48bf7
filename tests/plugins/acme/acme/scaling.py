"""Policies and a guard."""

from dataclasses import dataclass, replace

from penstock.core.graph import FlowGraph
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, current


@dataclass
class Fast:
    """As many executors as the arriving rows keep busy, within the bounds of the graph."""

    graph: FlowGraph
    aim: float = 0.5
    """The busy share that it aims at."""

    def __call__(self, seen: Observation, /) -> Decision:
        """Scale by the ratio of the measured utilisation to the aim."""
        degrees = dict(current(seen).degrees)
        for name, reading in seen.modules.items():
            if reading.utilisation is not None and degrees.get(name):
                degrees[name] = max(round(degrees[name] * reading.utilisation / self.aim), 1)
        return Decision(configuration=Configuration(degrees=degrees), why=f"aims at {self.aim:g}")


def steady(seen: Observation, least: int = 1) -> Decision:
    """A policy that is a function: keeps what there is, and at least so many."""
    degrees = {name: max(degree, least) for name, degree in current(seen).degrees.items()}
    return Decision(configuration=Configuration(degrees=degrees), why="keeps what there is")


def make_fast(graph: FlowGraph, aim: float = 0.5) -> Policy:
    """A factory."""
    return Fast(graph, aim)


def nonsense(seen: Observation) -> int:
    """A function that decides nothing."""
    return len(seen.modules)


ANSWER = 42


@dataclass
class Even:
    """A guard that rounds degrees up to even numbers."""

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy decides, rounded."""
        decided = self.policy(seen)
        degrees = {n: d + d % 2 for n, d in decided.configuration.degrees.items()}
        if degrees == decided.configuration.degrees:
            return decided
        return replace(
            decided,
            configuration=replace(decided.configuration, degrees=degrees),
            why=f"{decided.why}, rounded up to even numbers",
            proposed=decided.proposed or decided.configuration,
        )
