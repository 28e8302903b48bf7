"""Thresholds first, and what was learned once it has settled."""

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Final

from penstock.core.schema import BelowOne, Bounds, Count, OneOf, Share
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.policy.common.degrees import in_force
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.verdict import UtilisationRule, Verdict, conclude
from penstock.policy.rl.agent import ModelBased
from penstock.policy.rl.learners import QLearning, Rl
from penstock.policy.rl.operators import OperatorLearning, OperatorSettings, late_with

LEARNERS: Final[dict[str, type[OperatorLearning]]] = {"q-learning": QLearning, "rl": Rl}


@dataclass
class WarmStart(OperatorSettings):
    """Begins with `threshold`; a module is handed over to the learner when it has settled.

    The learner watches from the start and learns from what thresholds do. Since these never let a
    module fall behind, `rl` is also warned of what would come of fewer replicas: each an M/D/1
    queue, with the time that rows take now. It has settled for a
    module when, for `patience` steps, nothing that was learned has changed what it would do in any
    state that was visited, nor any such state's cost by more than `tolerance`. A module that was
    handed over stays so.

    >>> from penstock.core.graph import FlowGraph, Module
    >>> from penstock.testing import seen
    >>> count = Module(name="count", service_time=0.003, max_replicas=8)
    >>> policy = WarmStart(FlowGraph(source="count", modules=(count,)), bound=0.011, patience=9)
    >>> now = {"arrival_rate": 900.0, "waiting_time": 0.001, "service_time": 0.003,
    ...        "utilisation": 0.68, "running": 4}
    >>> policy(seen(count=now)).why
    'count holds at 4, 68 % busy'
    >>> text = [policy(seen(count=now)).why for _ in range(200)]
    >>> next(why for why in text if "switches to rl" in why)
    'count switches to rl, which converged in 24 steps; \
count holds at 4, 900 rows/s at level 3, expected cost 0.17'
    """

    label: ClassVar[str] = "policy warm-start"

    learner: Annotated[str, OneOf(tuple(LEARNERS))] = "rl"
    """What it is handed over to: rl or q-learning."""
    max_utilisation: Share = 0.75
    """Busy share above which `threshold` lets a module grow."""
    scale_in_factor: BelowOne = 0.75
    """Share of that under which the rest must stay for it to shrink."""
    patience: Count = 60
    """Steps for which what would be done must have stayed the same."""
    tolerance: Annotated[float, Bounds(above=0, below=1)] = 0.005
    """Share of its cost by which a state may still move meanwhile."""
    _threshold: UtilisationRule = field(init=False, repr=False, compare=False)
    _learner: OperatorLearning = field(init=False, repr=False, compare=False)
    _steady: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _steps: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _handed: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._threshold = UtilisationRule(self.max_utilisation, self.scale_in_factor)
        shared = [f.name for f in fields(OperatorSettings) if f.init]
        self._learner = LEARNERS[self.learner](**{name: getattr(self, name) for name in shared})
        self._handed = self._handed_before()

    def __call__(self, seen: Observation, /) -> Decision:
        """Let the learner learn, and decide for each module by its rule or by the learner."""
        learned = self._learner.verdicts(seen)
        for name in self._learner.agents().keys() - self._handed:
            self._foresee(name, seen.modules.get(name, ModuleReading()))
        verdicts = [self._settle(seen, verdict) for verdict in learned]
        return conclude(seen, verdicts, self._rebalancers)

    @property
    def handed_over(self) -> frozenset[str]:
        """Modules for which the learner decides."""
        return frozenset(self._handed)

    def tables(self) -> dict[str, dict[str, Any]]:
        """By level and module, what can be saved."""
        entries = self._learner.tables()["application"]
        return {
            "application": {
                name: {**entry, "handed_over": name in self._handed}
                for name, entry in entries.items()
            }
        }

    def _settle(self, seen: Observation, learned: Verdict) -> Verdict:
        name = learned.name
        if name in self._handed:
            return learned
        if self._has_settled(name):
            self._handed.add(name)
            steps = self._learner.agents()[name].progress.steps
            text = f"{name} switches to {self.learner}, which converged in {steps} steps"
            return replace(learned, why=f"{text}; {learned.why}")
        return self._threshold(name, seen.modules[name], in_force(seen).get(name))

    def _foresee(self, name: str, reading: ModuleReading) -> None:
        """Warn the learner of the most replicas with which the module would be late."""
        agent, settings = self._learner.agents()[name], self._learner
        now = settings.state(name, reading, reading.running or 0)
        if not isinstance(agent, ModelBased) or isinstance(now, str):
            return
        late = late_with(reading, settings.bound_of(name))
        if late is not None and late < now.number:
            agent.warn(replace(now, number=late), settings.performance_weight)

    def _has_settled(self, name: str) -> bool:
        agent = self._learner.agents().get(name)
        if agent is None or agent.progress.steps == self._steps.get(name):
            return False  # it learned nothing in this step
        progress = agent.progress
        steady = not progress.other and progress.moved <= self.tolerance
        self._steps[name] = progress.steps
        self._steady[name] = self._steady.get(name, 0) + 1 if steady else 0
        return self._steady[name] >= self.patience

    def _handed_before(self) -> set[str]:
        if self.load is None:
            return set()
        from penstock.policy.rl.saved import of_level

        tables = of_level(self.load, "application")
        return {n for n, entry in tables.items() if entry.get("handed_over") and self.knows(n)}
