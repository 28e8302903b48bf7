"""Learn what each module's replicas are worth, with a model of what follows what."""

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Final
from zlib import crc32

import numpy as np

from penstock.core.schema import BelowOne, Bounds, Count, Fraction, Natural, OneOf, Share
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.verdict import ModuleState, Verdict, by_utilisation, conclude
from penstock.policy.rl.agent import SWEEPS, Agent, Choice, Floats, ModelBased, State, greedy
from penstock.policy.rl.operators import OperatorLearning, OperatorSettings, late_with
from penstock.policy.rl.saved import of_level


@dataclass
class Rl(OperatorLearning):
    """Model-based reinforcement learning for each module (e2df, Section 7.2).

    A module's state is how many replicas run and how many rows a second come. Replicas and changes
    cost something, and so does a response that takes longer than the bound. From what followed
    what, each module's manager learns what a replica more or fewer will cost in the long run, and
    does what costs least. At first it knows nothing and gives replicas up until that hurts;
    `warm-start` begins with thresholds instead.

    >>> from penstock.testing import chain, seen
    >>> policy = Rl(chain(count={"service_time": 0.003, "max_replicas": 8}), bound=0.011)
    >>> def slow(n):
    ...     return seen(count={"arrival_rate": 900.0, "waiting_time": 0.02 / n,
    ...                        "service_time": 0.003, "running": n})
    >>> policy(slow(2)).why
    'count 2 -> 1: 900 rows/s at level 3, expected cost 0.014 instead of 0.015'
    >>> for _ in range(8):
    ...     decided = policy(slow(2))
    >>> decided.why
    'count 2 -> 3: 900 rows/s at level 3, expected cost 0.117 instead of 0.118'
    """

    label: ClassVar[str] = "policy rl"
    agent_kind: ClassVar[type[Agent]] = ModelBased
    agent_settings: ClassVar[tuple[str, ...]] = ("sweeps",)

    sweeps: Count = SWEEPS
    """How often every state is valued again at each step; the paper does it once, which takes
    hundreds of steps to show."""


@dataclass
class ModelFree(Agent):
    """Q-learning: moves what an action is worth towards what it brought, without a model.

    Chance comes from the seed, the name and the number of the step, so that a copy, or one that was
    saved and loaded, tries the same.

    >>> from penstock.policy.rl.agent import known_costs
    >>> agent = ModelFree(known_costs(1, 2, each=0.5, change=0.0), levels=1, epsilon=0.0)
    >>> few, more = State(number=1, level=0), State(number=2, level=0)
    >>> for _ in range(100):
    ...     agent.learn(few, few, 0.9)
    ...     agent.learn(few, more, 0.0)
    ...     agent.learn(more, more, 0.0)
    ...     agent.learn(more, few, 0.9)
    >>> agent.choose(few).action, agent.choose(more).action
    (1, 0)
    """

    kind: ClassVar[str] = "q-learning"

    epsilon: float = 0.1
    """Chance of trying something, in the first step."""
    decay: float = 0.999
    """By which that chance is multiplied at each step."""
    seed: int = 0
    _q: Floats = field(init=False, repr=False)
    """Cost in the long run; inf where an action is not allowed."""
    _visits: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = (self.levels, self.flags, self.known.shape[1])
        self._visits = np.zeros(shape)
        self._q = np.zeros((3, *shape))
        self._q[np.broadcast_to(np.isinf(self.known)[:, None, None, :], self._q.shape)] = np.inf

    def learn(self, last: State | None, now: State, penalty: float) -> None:
        """Move one value."""
        if last is None:
            return
        action = now.action_since(last) + 1
        self._visits[now.level, now.flag, now.number] += 1
        best = self._q[:, now.level, now.flag, now.number].min()
        target = self.known[action, last.number] + penalty + self.discount * best
        before = self._q[action, last.level, last.flag, last.number]
        if np.isfinite(before):  # another actor may do what is not allowed here
            after = before + self.learning_rate * (target - before)
            self._q[action, last.level, last.flag, last.number] = after
        self.progress.note(self._q, self._visits)

    def choose(self, now: State) -> Choice:
        """The action of least cost in the long run, or now and then any."""
        q, step = self._q[:, now.level, now.flag, now.number], self.progress.steps
        best = action = int(greedy(q))
        draw = np.random.default_rng((self.seed, crc32(self.name.encode()), step))
        if draw.random() < self.epsilon * self.decay**step:
            action = int(draw.choice(np.flatnonzero(np.isfinite(q)))) - 1
        return self._choice(q, action, trial=action != best)

    def arrays(self) -> dict[str, Floats]:
        """Everything that was learned."""
        return {"q": self._q, "visits": self._visits}


@dataclass
class QLearning(OperatorLearning):
    """Q-learning for each module: the states, actions and costs of `rl`, and no model.

    It learns one value at a step, so it takes long and has to try what it does not know: a baseline
    to hold `rl` against (e2df, Section 6.2.1).

    >>> from penstock.testing import chain, seen
    >>> graph = chain(count={"service_time": 0.003, "max_replicas": 8})
    >>> policy = QLearning(graph, bound=0.011, epsilon=1.0, seed=1)
    >>> now = {"arrival_rate": 900.0, "waiting_time": 0.001, "service_time": 0.003, "running": 3}
    >>> policy(seen(count=now)).why
    'count 3 -> 2: 900 rows/s at level 3, exploration'
    """

    label: ClassVar[str] = "policy q-learning"
    agent_kind: ClassVar[type[Agent]] = ModelFree
    agent_settings: ClassVar[tuple[str, ...]] = ("epsilon", "decay", "seed")

    epsilon: Fraction = 0.1
    """Chance of trying any action instead of the best, in the first step."""
    decay: Fraction = 0.999
    """By which that chance is multiplied at every step."""
    seed: Natural = 0
    """The same seed tries the same."""


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

    >>> from penstock.testing import chain, seen
    >>> graph = chain(count={"service_time": 0.003, "max_replicas": 8})
    >>> policy = WarmStart(graph, bound=0.011, patience=9)
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
    _learner: OperatorLearning = field(init=False, repr=False, compare=False)
    _steady: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _steps: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _handed: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        shared = [f.name for f in fields(OperatorSettings) if f.init]
        self._learner = LEARNERS[self.learner](**{name: getattr(self, name) for name in shared})
        tables = {} if self.load is None else of_level(self.load, "application")
        handed = {name for name, entry in tables.items() if entry.get("handed_over")}
        self._handed = {name for name in handed if self.knows(name)}

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
        if learned.before is None:
            return learned
        module = ModuleState(name, seen.modules[name], learned.before)
        return by_utilisation(module, self.max_utilisation, self.scale_in_factor)

    def _foresee(self, name: str, reading: ModuleReading) -> None:
        """Warn the learner of the most replicas with which the module would be late."""
        agent, settings = self._learner.agents()[name], self._learner
        now = settings.state(ModuleState(name, reading, reading.running or 0))
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
