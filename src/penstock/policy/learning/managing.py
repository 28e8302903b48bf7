"""Operator managers: one for each module, with what it has learned and what it says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.signals import ModuleReading, Observation
from penstock.policy.degrees import in_force
from penstock.policy.learning.agent import Agent, Choice, State
from penstock.policy.learning.operators import OperatorSettings
from penstock.policy.learning.response import response_time
from penstock.policy.learning.wording import costs, rows
from penstock.policy.mpc.verdict import Verdict, held, judged


@dataclass
class OperatorManager:
    """What one module's manager remembers."""

    agent: Agent
    last: State | None = None
    """Where it was a step ago; None after a gap."""
    waits_since: int | None = None
    """The level at which executors were asked for that are still to come."""

    def withdraws(self, level: int, coming: int) -> bool:
        """Whether it may do without what is still to come: only once there is less to do."""
        if coming <= 0:
            self.waits_since = None
        elif self.waits_since is None:
            self.waits_since = level
        return self.waits_since is None or level < self.waits_since


@dataclass
class Managers:
    """A manager for each module that was seen, made when it first is."""

    settings: OperatorSettings
    make: Callable[[str], Agent]
    """Makes the agent of a module."""
    by_name: dict[str, OperatorManager] = field(default_factory=dict)

    def verdicts(self, seen: Observation) -> list[Verdict]:
        """Learn from a step, and say what each module's manager would do."""
        known = in_force(seen)
        for name, manager in self.by_name.items():
            if name not in known:
                manager.last = None
        return judged(seen, self._judge)

    def agents(self) -> Mapping[str, Agent]:
        """Of each module that was seen."""
        return {name: manager.agent for name, manager in self.by_name.items()}

    def of(self, name: str) -> OperatorManager:
        """The manager of a module."""
        if name not in self.by_name:
            self.by_name[name] = OperatorManager(self.make(name))
        return self.by_name[name]

    def _judge(self, name: str, reading: ModuleReading, degree: int) -> Verdict:
        if not self.settings.knows(name):
            return held(name, degree, "it is not in the graph")
        manager = self.of(name)
        found = self.settings.state(name, reading, degree)
        response = response_time(reading)
        if isinstance(found, str) or response is None:
            manager.last = None
            why = found if isinstance(found, str) else "its response time is unknown"
            return held(name, degree, why)
        manager.agent.learn(manager.last, found, self.settings.penalty(name, response))
        manager.last = found
        choice, coming = manager.agent.choose(found), degree - (reading.running or 0)
        withdraws = manager.withdraws(found.level, coming)
        if coming > 0 and not (withdraws and choice.action < 0):
            return held(name, degree, f"{coming} executor{'s' * (coming > 1)} still to come")
        return _told(name, reading, degree, found, choice)


def _told(name: str, reading: ModuleReading, degree: int, state: State, choice: Choice) -> Verdict:
    now = f"{rows(reading.arrival_rate)}{_waiting(reading)} at level {state.level}"
    if choice.action == 0 or degree + choice.action < 1:
        return held(name, degree, f"{now}, {costs(choice)}")
    after = degree + choice.action
    return Verdict(
        module=name,
        before=degree,
        after=after,
        why=f"{name} {degree} -> {after}: {now}, {costs(choice)}",
        expects=_expected(reading, degree, after),
    )


def _waiting(reading: ModuleReading) -> str:
    """Rows that wait, where any that count do."""
    return f" and {reading.backlog:,.0f} waiting" if (reading.backlog or 0.0) >= 1 else ""


def _expected(reading: ModuleReading, degree: int, after: int) -> dict[str, Any]:
    if reading.utilisation is None:
        return {}
    return {"utilisation": min(reading.utilisation * degree / after, 1.0)}
