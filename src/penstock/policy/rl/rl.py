"""Learn what each module's replicas are worth, with a model of what follows what."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.policy.rl.agent import SWEEPS, Agent, ModelBased, check_sweeps
from penstock.policy.rl.operators import OperatorLearning
from penstock.policy.rl.saved import MODEL_BASED


@dataclass
class Rl(OperatorLearning):
    """Model-based reinforcement learning for each module (e2df, Section 7.2).

    A module's state is how many replicas run and how many rows a second come. Replicas and changes
    cost something, and so does a response that takes longer than the bound. From what followed
    what, each module's manager learns what a replica more or fewer will cost in the long run, and
    does what costs least. At first it knows nothing and gives replicas up until that hurts;
    `warm-start` begins with thresholds instead.

    >>> from penstock.core.graph import FlowGraph, Module
    >>> from penstock.testing import seen
    >>> count = Module(name="count", service_time=0.003, max_replicas=8)
    >>> policy = Rl(FlowGraph(source="count", modules=(count,)), bound=0.011)
    >>> def slow(n):
    ...     return seen(count={"arrival_rate": 900.0, "waiting_time": 0.02 / n,
    ...                        "service_time": 0.003, "running": n})
    >>> policy(slow(2)).why
    'count 2 -> 1: 900 rows/s at level 3, expected cost 0.014 against 0.015 without'
    >>> for _ in range(8):
    ...     decided = policy(slow(2))
    >>> decided.why
    'count 2 -> 3: 900 rows/s at level 3, expected cost 0.117 against 0.118 without'
    """

    called: ClassVar[str] = "policy rl"
    kind: ClassVar[str] = MODEL_BASED

    sweeps: int = SWEEPS
    """How often every state is valued anew at each step; the paper does it once, which takes
    hundreds of steps to show."""

    def __post_init__(self) -> None:
        """Refuse never to look ahead."""
        check_sweeps(self.sweeps, of=self.called)
        super().__post_init__()

    def agent(self, name: str) -> Agent:
        """One that knows nothing of a module yet."""
        return ModelBased(
            self.known(name),
            levels=self.levels,
            discount=self.discount,
            learning_rate=self.learning_rate,
            sweeps=self.sweeps,
        )
