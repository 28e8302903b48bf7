"""Pipelines that share a cluster, each simulated by a twin of its own, in step as one plant."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from math import inf, isclose
from typing import Protocol

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.roles import Plant
from penstock.core.settings import near
from penstock.core.signals import Configuration, Decision, Observation, Power, check_degrees, worst


class Part(Plant, Protocol):
    """A twin of one pipeline."""

    graph: FlowGraph


class JointTwin:
    """Several twins as one plant, by the name of their pipeline: readings are merged, and each gets
    its own part of a decision.

    Modules must have names of their own throughout (`fraud.match`). Latency end to end is that of
    the pipeline whose 95th percentile is worst in this step, watts are those of all together, and a
    frequency is given where all have the same. With weights, by pipeline or by last module, the
    results include what all rows that left the last modules were worth; 1 each where not given.

    >>> from penstock.core.graph import Module
    >>> from penstock.twin import Twin
    >>> from penstock.workload import Constant
    >>> def twin(name, rate):
    ...     graph = FlowGraph(source=name, modules=(Module(name=name, service_time=0.004),))
    ...     return Twin(graph, Constant(rate), step=10.0, duration=20.0, arrivals="even")
    >>> joint = JointTwin(
    ...     {"fraud": twin("fraud.match", 100.0), "reports": twin("reports.sum", 10.0)},
    ...     weights={"fraud": 5.0},
    ... )
    >>> for seen in joint.readings():
    ...     print(*(f"{name} {m.utilisation:.0%} busy" for name, m in seen.modules.items()))
    fraud.match 40% busy reports.sum 4% busy
    fraud.match 40% busy reports.sum 4% busy
    >>> round(joint.results["weighted_output"])
    10194
    """

    def __init__(
        self, parts: Mapping[str, Part], *, weights: Mapping[str, float] | None = None
    ) -> None:
        _check_parts(parts, weights or {})
        self.parts = dict(parts)
        self._weights = None if weights is None else dict(weights)
        self._output = 0.0

    @property
    def results(self) -> dict[str, float]:
        """Results of each part that has any, as `pipeline.result`, and the total worth."""
        results = {
            f"{name}.{key}": value
            for name, part in self.parts.items()
            for key, value in getattr(part, "results", {}).items()
        }
        return results if self._weights is None else {**results, "weighted_output": self._output}

    def readings(self) -> Iterator[Observation]:
        """Simulate a control step of every part at a time, until the run of all ends."""
        runs = [part.readings() for part in self.parts.values()]
        for turn in zip_longest(*runs):
            seen = dict(zip(self.parts, turn, strict=True))
            _check_step(seen)
            self._output += sum(self._worth(name, part) for name, part in seen.items())
            yield _merged(list(seen.values()))

    def apply(self, decision: Decision, /) -> Configuration | None:
        """Hand every part the degrees and tables of its own modules, and the clock of all."""
        names = [name for part in self.parts.values() for name in part.graph.names()]
        check_degrees(decision.configuration.degrees, names)
        asked = [part.apply(_part_of(decision, part.graph)) for part in self.parts.values()]
        changed = [configuration for configuration in asked if configuration is not None]
        if not changed:
            return None
        degrees = {name: n for made in changed for name, n in made.degrees.items()}
        routing = {name: table for made in changed for name, table in made.routing.items()}
        decided = decision.configuration.frequency is not None
        return Configuration(
            degrees=degrees,
            routing=routing,
            frequency=changed[0].frequency if decided else None,
        )

    def _worth(self, name: str, seen: Observation) -> float:
        """Of the rows that left the last modules of a part in this step."""
        weights = self._weights or {}
        rates = {n: seen.modules[n].processed_rate for n in self.parts[name].graph.sinks()}
        weighed = {n: weights.get(n, weights.get(name, 1.0)) for n in rates}
        return sum(weighed[n] * rate * seen.step for n, rate in rates.items() if rate is not None)


def _part_of(decision: Decision, graph: FlowGraph) -> Decision:
    names, whole = set(graph.names()), decision.configuration
    return replace(
        decision,
        configuration=replace(
            whole,
            degrees={name: degree for name, degree in whole.degrees.items() if name in names},
            routing={name: table for name, table in whole.routing.items() if name in names},
        ),
    )


def _merged(seen: list[Observation]) -> Observation:
    return Observation(
        at=seen[0].at,
        step=seen[0].step,
        modules={name: module for part in seen for name, module in part.modules.items()},
        latency=worst(part.latency for part in seen),
        frequency=seen[0].frequency if len({part.frequency for part in seen}) == 1 else None,
        power=_total([part.power for part in seen]),
    )


def _total(powers: list[Power | None]) -> Power | None:
    known = [power for power in powers if power is not None]
    if len(known) < len(powers):
        return None
    return Power(
        watts=sum(power.watts for power in known), modelled=any(power.modelled for power in known)
    )


def _check_parts(parts: Mapping[str, Part], weights: Mapping[str, float]) -> None:
    if not parts:
        raise SettingError("a joint twin needs at least one pipeline, got none")
    owner: dict[str, str] = {}
    for name, part in parts.items():
        for module in part.graph.names():
            if module in owner:
                raise SettingError(
                    f"pipelines {owner[module]} and {name} both have a module {module}; put the "
                    "pipeline's name before it"
                )
            owner[module] = name
    known = {*parts, *(sink for part in parts.values() for sink in part.graph.sinks())}
    for name in weights:
        if name not in known:
            raise SettingError(f"there is no pipeline {name!r} to weigh{near(name, known)}")


def _check_step(seen: Mapping[str, Observation | None]) -> None:
    """Refuse twins with steps or durations of their own."""
    times = [inf if one is None else one.at for one in seen.values()]
    if not isclose(min(times), max(times)):
        raise SettingError(
            f"pipelines {', '.join(seen)} are out of step; give all one step and one duration"
        )
