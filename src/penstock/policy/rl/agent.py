"""What one manager learns, of one module or region.

An agent gets the state to which a step led and chooses an action. It learns from what happened,
whatever acted. A table is made of few levels of measured quantities:

>>> level_of(410.0, span=650.0, levels=10), utilisation_level(0.57, quantum=0.1)
(6, 6)

What actions cost by themselves, in terms of the weights:

>>> known_costs(1, 4, each=0.4, change=0.2)
array([[inf, inf, 0.3, 0.4, 0.5],
       [0. , 0.1, 0.2, 0.3, 0.4],
       [0.3, 0.4, 0.5, 0.6, inf]])
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, isclose
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.words import joined

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

MOST_LEVELS: Final = 1001
"""The table of transitions has the square of that."""
MOST_STATES: Final = 1_000_000
SWEEPS: Final = 30
"""How often policies that run for minutes value every state again at each step."""

_ORDER: Final = np.array([0, -1, 1])


def greedy(q: Floats) -> Longs:
    """The action of least cost in each state: nothing where that is as good, else the fewer.

    >>> greedy(np.array([[1.0, 2.0], [1.0, 3.0], [0.5, 2.0]]))
    array([ 1, -1])
    """
    actions: Longs = _ORDER[np.argmin(q[[1, 0, 2]], axis=0)]
    return actions


@dataclass
class Progress:
    """How long the choices in the states that were visited have stayed the same.

    >>> progress = Progress()
    >>> q, visits = np.ones((3, 1, 1, 2)), np.ones((1, 1, 2))
    >>> for _ in range(3):
    ...     progress.note(q, visits)
    >>> progress.steps, progress.other, progress.moved
    (3, False, 0.0)
    """

    steps: int = 0
    """Steps that taught something."""
    other: bool = True
    """Whether the last of them changed what would be done in a state that was visited."""
    moved: float = np.inf
    """The largest change that it made to what an action in such a state costs, by that cost."""
    changed: Longs | None = field(default=None, compare=False)
    """By state, the step in which its choice last changed."""
    _choices: Longs | None = field(default=None, repr=False, compare=False)
    _q: Floats | None = field(default=None, repr=False, compare=False)

    def note(self, q: Floats, visits: Floats) -> None:
        """Hold what is known by now against what was known a step ago, where it was visited."""
        choices = greedy(q)
        self.steps += 1
        if self.changed is None:
            self.changed = np.zeros(choices.shape, np.int64)
        if self._choices is not None and self._q is not None:
            visited, other = visits > 0, choices != self._choices
            self.changed[other] = self.steps
            self.other = bool(other[visited].any())
            now, before = q[:, visited], self._q[:, visited]
            both = np.isfinite(now) & np.isfinite(before)
            apart = np.abs(now[both] - before[both]) / np.maximum(np.abs(now[both]), 1e-12)
            self.moved = float(np.max(apart, initial=0.0))
        self._choices, self._q = choices, q.copy()

    def settled(self, visits: Floats, *, patience: int) -> float:
        """Share of the visited states whose choice has stayed the same for so many steps."""
        visited = visits > 0
        if self.changed is None or not visited.any():
            return 0.0
        return float(np.mean(self.steps - self.changed[visited] >= patience))


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How many there are, how hard things are, and whether a node is idle."""

    number: int
    level: int
    flag: int = 0

    def action_since(self, last: "State") -> int:
        """What was done, as far as a table knows it.

        >>> State(number=5, level=0).action_since(State(number=2, level=0))
        1
        """
        return max(-1, min(self.number - last.number, 1))


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

    @property
    def why(self) -> str:
        """What a step is expected to cost on average, with as many digits as make two differ.

        >>> Choice(action=1, cost=0.41213, without=0.41248).why
        'expected cost 0.4121 instead of 0.4125'
        >>> Choice(action=0, cost=0.4, without=0.4).why
        'expected cost 0.4'
        >>> Choice(action=-1, cost=0.5, without=0.4, trial=True).why
        'exploration'
        """
        if self.trial:
            return "exploration"
        if self.action == 0:
            return f"expected cost {self.cost:.2g}"
        for digits in range(2, 7):
            best, other = f"{self.cost:.{digits}g}", f"{self.without:.{digits}g}"
            if best != other:
                break
        return f"expected cost {best} instead of {other}"


@dataclass
class Agent(ABC):
    """Learns from steps, and chooses. Arrays are ordered by action, level, flag and number."""

    kind: ClassVar[str]
    """As saved tables call it."""

    known: Floats
    """What an action costs by itself, by action and number: `known_costs`."""
    levels: int
    flags: int = 1
    discount: float = 0.99
    learning_rate: float = 0.1
    name: str = ""
    """Of the module or region, so that two agents of the same seed do not try in step."""
    progress: Progress = field(default_factory=Progress, init=False)

    @abstractmethod
    def learn(self, last: State | None, now: State, penalty: float) -> None:
        """Take in where a step led, and the penalty paid there; unknown is where it began from."""

    @abstractmethod
    def choose(self, now: State) -> Choice:
        """What to do."""

    @abstractmethod
    def arrays(self) -> dict[str, Floats]:
        """Everything that was learned and cannot be computed again, by name."""

    @property
    def visits(self) -> Floats:
        """How often each state was come to, by level, flag and number."""
        return self.arrays()["visits"]

    def restore(self, arrays: Mapping[str, Floats]) -> None:
        """Begin with what `arrays` gave."""
        for name, values in self.arrays().items():
            values[...] = arrays[name]

    def _choice(self, q: Floats, action: int, *, trial: bool = False) -> Choice:
        """An action in a state, of which `q` has the cost of each action in the long run."""
        cost, without = ((1 - self.discount) * q[[action + 1, 1]]).tolist()
        return Choice(action=action, cost=cost, without=without, trial=trial)


@dataclass
class ModelBased(Agent):
    """Counts what follows what and values every state again at each step (e2df, Section 6.2.2).

    >>> agent = ModelBased(known_costs(1, 4, each=0.5, change=0.0), levels=2)
    >>> few, more = State(number=1, level=1), State(number=2, level=1)
    >>> for _ in range(50):
    ...     agent.learn(few, few, 0.5)
    ...     agent.learn(few, more, 0.0)
    >>> agent.choose(few).action, agent.choose(more).action
    (1, 0)
    """

    kind: ClassVar[str] = "rl"

    sweeps: int = 1
    """How often every state is valued again at each step; once in the paper."""
    assume_idle: bool = False
    """Whether a new node is taken for idle until one was seen."""
    _table: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from penstock.policy.rl.backup import new_table  # numba takes its time

        self._table = new_table(
            self.known, levels=self.levels, flags=self.flags, assume_idle=self.assume_idle
        )

    def learn(self, last: State | None, now: State, penalty: float) -> None:
        """Count where it led, average the penalty, and back up."""
        from penstock.policy.rl import backup

        if last is not None:
            step = last.level, last.flag, now.action_since(last), now.level, now.flag, now.number
            backup.learn(self._table, *step, float(penalty), float(self.learning_rate))
        backup.plan(self._table, float(self.discount), self.sweeps)
        if last is not None:
            self.progress.note(self._table.q, self._table.visits)

    def warn(self, of: State, penalty: float) -> None:
        """Expect a penalty of a state that it has not been to."""
        from penstock.policy.rl import backup

        rate = float(self.learning_rate)
        backup.warn(self._table, of.level, of.flag, of.number, float(penalty), rate)

    def choose(self, now: State) -> Choice:
        """The action of least cost in the long run."""
        from penstock.policy.rl import backup

        action = int(backup.choose(self._table, now.level, now.flag, now.number))
        return self._choice(self._table.q[:, now.level, now.flag, now.number], action)

    def arrays(self) -> dict[str, Floats]:
        """What was counted and learned."""
        names = ("q", "penalty", "level_counts", "flag_counts", "visits")
        return {name: getattr(self._table, name) for name in names}

    def restore(self, arrays: Mapping[str, Floats]) -> None:
        """Take over what was learned; chances follow from counts."""
        super().restore(arrays)
        for of in ("level", "flag"):
            counts = getattr(self._table, f"{of}_counts")
            getattr(self._table, f"{of}_chances")[...] = counts / counts.sum(-1, keepdims=True)


# States: measured quantities in few levels, and what is known of them beforehand.


def level_of(rate: float, span: float, levels: int) -> int:
    """The level of a rate, of so many that divide the span evenly; the last one has no end.

    >>> level_of(0.0, 650.0, 10), level_of(649.0, 650.0, 10), level_of(5000.0, 650.0, 10)
    (0, 9, 9)
    """
    if span <= 0:
        return levels - 1 if rate > 0 else 0
    return min(floor(min(rate / span, 1.0) * levels), levels - 1)


def utilisation_level(utilisation: float, quantum: float) -> int:
    """The nearest multiple of the quantum, the higher of two.

    >>> utilisation_level(0.25, 0.25), utilisation_level(0.125, 0.25), utilisation_level(1.4, 0.25)
    (1, 1, 4)
    """
    nearest = floor(min(utilisation, 1.0) / quantum + 0.5)
    return min(nearest, utilisation_levels(quantum) - 1)


def utilisation_levels(quantum: float) -> int:
    """How many multiples of the quantum there are from 0 to 1.

    >>> utilisation_levels(0.1), utilisation_levels(1.0)
    (11, 2)
    """
    return round(1 / quantum) + 1


def known_costs(least: int, most: int, *, each: float, change: float) -> Floats:
    """By action (-1, 0, 1) and number, from 0 to the most; inf where an action is not allowed.

    `each` is the weight of resources, paid in full where there are as many as can be; `change` that
    of a reconfiguration (e2df, Expr. 1 and 6). Doing nothing is always allowed.
    """
    actions = np.array([[-1], [0], [1]])
    after = np.arange(most + 1) + actions
    allowed = ((least <= after) & (after <= most)) | (actions == 0)
    return np.where(allowed, each * after / most + change * (actions != 0), np.inf)


def check_quantum(quantum: float, *, of: str) -> None:
    """Reject a quantum with more levels than can be learned.

    >>> check_quantum(0.0001, of="policy rl of infrastructure")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: quantum of policy rl of infrastructure makes 10001 levels, \
at most 1001 can be learned; take 0.001 or more, got 0.0001
    """
    if utilisation_levels(quantum) > MOST_LEVELS:
        raise SettingError(
            f"quantum of {of} makes {utilisation_levels(quantum)} levels, at most {MOST_LEVELS} "
            f"can be learned; take {1 / (MOST_LEVELS - 1):g} or more, got {quantum:g}"
        )


def check_weights(weights: Mapping[str, float], *, of: str) -> None:
    """Reject weights that are negative or do not sum to one.

    >>> check_weights({"demand_weight": 0.7, "resource_weight": 0.5}, of="policy rl")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: demand_weight and resource_weight of policy rl must be 0 or \
more and sum to 1, got 0.7 and 0.5
    """
    given = list(weights.values())
    if not all(weight >= 0 for weight in given) or not isclose(sum(given), 1.0, abs_tol=1e-6):
        raise SettingError(
            f"{joined(list(weights))} of {of} must be 0 or more and sum to 1, "
            f"got {joined([f'{weight:g}' for weight in given])}"
        )


def check_size(states: int, *, table: str, remedy: str) -> None:
    """Reject a table that would take minutes to look through once.

    >>> check_size(2_000_000, table="dc1", remedy="raise quantum or lower max_nodes")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: the table of dc1 would have 2,000,000 states, and 1,000,000 \
are the most; raise quantum or lower max_nodes
    """
    if states > MOST_STATES:
        raise SettingError(
            f"the table of {table} would have {states:,} states, and {MOST_STATES:,} are the "
            f"most; {remedy}"
        )
