"""A policy that learns for each module by itself: what `rl` and `q-learning` do alike."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.core.errors import SettingError
from penstock.core.signals import Decision, Observation
from penstock.policy.learning.agent import Agent
from penstock.policy.learning.entries import as_entry, check_fits, restore
from penstock.policy.learning.managing import Managers
from penstock.policy.learning.operators import OperatorSettings
from penstock.policy.mpc.rebalance import Rebalancer
from penstock.policy.mpc.verdict import Verdict, conclude


@dataclass
class OperatorLearning(OperatorSettings):
    """Learns from every step, whoever acted in it, and proposes for each module."""

    kind: ClassVar[str]
    """Of its tables."""

    _managers: Managers = field(init=False, repr=False, compare=False)
    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Begin with what was saved, where that is asked for."""
        super().__post_init__()
        self._managers = Managers(self, self.agent)
        if self.load is not None:
            self._begin_with(self.load)

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn, value every state anew, and choose for each module."""
        return conclude(seen, self.verdicts(seen), self._rebalancers)

    def verdicts(self, seen: Observation) -> list[Verdict]:
        """Learn from a step, and say what each module's manager would do."""
        return self._managers.verdicts(seen)

    def agent(self, name: str) -> Agent:
        """One that knows nothing of a module yet."""
        raise NotImplementedError

    def agents(self) -> dict[str, Agent]:
        """What each module's manager has learned so far."""
        return dict(self._managers.agents())

    def tables(self) -> dict[str, dict[str, Any]]:
        """By level and module, what can be saved."""
        entries = {
            name: as_entry(agent, kind=self.kind, settings=self.meaning(name))
            for name, agent in self.agents().items()
        }
        return {"application": entries}

    def _begin_with(self, path: str) -> None:
        from penstock.policy.learning.saved import of_level

        tables = of_level(path, "application")
        ours = [name for name in tables if self.knows(name)]
        if not ours:
            raise SettingError(
                f"{path} holds tables of {', '.join(tables)}, and the modules are "
                f"{', '.join(self.graph.names())}; load another or leave load out"
            )
        for name in ours:
            self._take_over(name, tables[name], f"the table of {name} in {path}")

    def _take_over(self, name: str, entry: dict[str, Any], what: str) -> None:
        shape = (self.levels, 1, self.graph[name].max_replicas + 1)
        settings = self.meaning(name)
        check_fits(entry, kind=self.kind, shape=shape, settings=settings, what=what)
        restore(self._managers.of(name).agent, entry, what=what)
