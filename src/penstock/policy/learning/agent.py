"""What one manager learns, of one module or region.

An agent is told where a step led, and says what it would do. It does not know who acted: what it
learns from is what happened.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.policy.learning.progress import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How many there are, how hard things are, and whether a node is idle."""

    number: int
    level: int
    flag: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What an agent would do: add -1, 0 or 1."""

    action: int
    cost: float
    """Mean cost of a step, in the long run, that it expects of that."""
    without: float
    """The same of doing nothing."""
    trial: bool = False
    """Whether it only wants to see what happens."""


@runtime_checkable
class Agent(Protocol):
    """Learns from steps, and chooses."""

    progress: Progress

    @property
    def visits(self) -> Floats:
        """How often each state was come to, by level, flag and number."""
        ...

    def learn(self, last: State | None, now: State, penalty: float) -> None:
        """Take in where a step led, and the penalty paid there; unknown is where it began from."""
        ...

    def choose(self, now: State) -> Choice:
        """What to do."""
        ...

    def arrays(self) -> dict[str, Floats]:
        """Everything that was learned, by name."""
        ...

    def restore(self, arrays: dict[str, Floats]) -> None:
        """Begin with what `arrays` gave."""
        ...


def action_between(last: State, now: State) -> int:
    """What was done, as far as a table knows it.

    >>> action_between(State(number=2, level=0), State(number=5, level=0))
    1
    """
    return max(-1, min(now.number - last.number, 1))


@dataclass
class ModelBased:
    """Counts what follows what and values every state anew at each step (e2df, Section 6.2.2).

    >>> from penstock.policy.learning.costs import known_costs
    >>> agent = ModelBased(known_costs(1, 4, each=0.5, change=0.0), levels=2)
    >>> few, more = State(number=1, level=1), State(number=2, level=1)
    >>> for _ in range(50):
    ...     agent.learn(few, few, 0.5)
    ...     agent.learn(few, more, 0.0)
    >>> agent.choose(few).action, agent.choose(more).action
    (1, 0)
    """

    known: Floats
    levels: int
    flags: int = 1
    discount: float = 0.99
    learning_rate: float = 0.1
    sweeps: int = 1
    """How often every state is valued anew at each step; once in the paper."""
    assume_idle: bool = False
    """Whether a new node is taken for idle until one was seen."""
    progress: Progress = field(default_factory=Progress, init=False)
    _table: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Know the costs of actions and nothing else."""
        from penstock.policy.learning.backup import new_table  # numba takes its time

        self._table = new_table(
            self.known, levels=self.levels, flags=self.flags, assume_idle=self.assume_idle
        )

    @property
    def visits(self) -> Floats:
        """How often each state was come to."""
        found: Floats = self._table.visits
        return found

    def learn(self, last: State | None, now: State, penalty: float) -> None:
        """Count where it led, average the penalty, and back up."""
        from penstock.policy.learning import backup

        if last is not None:
            backup.learn(
                self._table,
                last.level,
                last.flag,
                action_between(last, now),
                now.level,
                now.flag,
                now.number,
                float(penalty),
                float(self.learning_rate),
            )
        backup.plan(self._table, float(self.discount), self.sweeps)
        if last is not None:
            self.progress.note(self._table.q, self._table.visits)

    def warn(self, of: State, penalty: float) -> None:
        """Expect a penalty of a state that it has not been to."""
        from penstock.policy.learning import backup

        rate = float(self.learning_rate)
        backup.warn(self._table, of.level, of.flag, of.number, float(penalty), rate)

    def choose(self, now: State) -> Choice:
        """The action of least cost in the long run."""
        from penstock.policy.learning import backup

        action = int(backup.choose(self._table, now.level, now.flag, now.number))
        costs = (1 - self.discount) * self._table.q[:, now.level, now.flag, now.number]
        return Choice(action=action, cost=float(costs[action + 1]), without=float(costs[1]))

    def arrays(self) -> dict[str, Floats]:
        """What cannot be computed anew."""
        table = self._table
        return {
            "q": table.q,
            "penalty": table.penalty,
            "level_counts": table.level_counts,
            "flag_counts": table.flag_counts,
            "visits": table.visits,
        }

    def restore(self, arrays: dict[str, Floats]) -> None:
        """Take over what was learned; chances follow from counts."""
        table = self._table
        for name, values in self.arrays().items():
            values[...] = arrays[name]
        for counts, chances in (
            (table.level_counts, table.level_chances),
            (table.flag_counts, table.flag_chances),
        ):
            chances[...] = counts / counts.sum(axis=-1, keepdims=True)
