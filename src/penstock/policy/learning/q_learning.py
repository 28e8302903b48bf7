"""Learn what each module's replicas are worth, from experience alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.errors import SettingError
from penstock.policy.learning.agent import Agent
from penstock.policy.learning.entries import MODEL_FREE
from penstock.policy.learning.learning import OperatorLearning
from penstock.policy.learning.model_free import ModelFree


@dataclass
class QLearning(OperatorLearning):
    """Q-learning for each module: the states, actions and costs of `rl`, and no model.

    It learns one value at a step, so it takes long and has to try what it does not know: a baseline
    to hold `rl` against (e2df, Section 6.2.1).

    >>> from penstock.core.graph import FlowGraph, Module
    >>> from penstock.testing import seen
    >>> count = Module(name="count", service_time=0.003, max_replicas=8)
    >>> graph = FlowGraph(source="count", modules=(count,))
    >>> policy = QLearning(graph, bound=0.011, epsilon=1.0, seed=1)
    >>> now = {"arrival_rate": 900.0, "waiting_time": 0.001, "service_time": 0.003, "running": 3}
    >>> policy(seen(count=now)).why
    'count 3 -> 2: 900 rows/s at level 3, to see what happens'
    """

    called: ClassVar[str] = "policy q-learning"
    kind: ClassVar[str] = MODEL_FREE

    epsilon: float = 0.1
    """Chance of trying any action instead of the best, in the first step."""
    decay: float = 0.999
    """By which that chance is multiplied at every step."""
    seed: int = 0
    """The same seed tries the same."""

    def __post_init__(self) -> None:
        """Refuse chances that are none."""
        for name in ("epsilon", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(
                    f"{name} of {self.called} must be in [0, 1], got {getattr(self, name):g}"
                )
        if self.seed < 0:
            raise SettingError(f"seed of {self.called} must be 0 or more, got {self.seed}")
        super().__post_init__()

    def agent(self, name: str) -> Agent:
        """One that knows nothing of a module yet."""
        return ModelFree(
            self.known(name),
            levels=self.levels,
            discount=self.discount,
            learning_rate=self.learning_rate,
            epsilon=self.epsilon,
            decay=self.decay,
            seed=self.seed,
            name=name,
        )
