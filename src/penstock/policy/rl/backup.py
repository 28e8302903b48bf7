"""Full-backup model-based learning of when to add and when to give up (e2df, Section 6.2.2).

A state is how many there are (x: nodes or replicas), how hard things are (y: a level of utilisation
or of arrivals) and a flag (f: whether an idle node exists; always 0 for operators). An action adds
-1, 0 or 1. Levels and flags move by chances that are counted; what an action costs is known; the
penalty that a state brings is not, and is learned. After every step each state is valued again.

Arrays are ordered (action, level, flag, number), the numbers last because there are most of them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import compiled, entry

Floats = NDArray[np.float64]


class Table(NamedTuple):
    """What is known and what has been learned, as arrays that are changed in place."""

    q: Floats
    """Cost in the long run, by action (-1, 0, 1), level, flag and number."""
    penalty: Floats
    """Penalty to expect on coming to a state, by level, flag and number."""
    known: Floats
    """What an action costs by itself, by action and number; inf where it is not allowed."""
    level_counts: Floats
    """How often each level came after each."""
    flag_counts: Floats
    """How often each flag came after each flag and action."""
    level_chances: Floats
    flag_chances: Floats
    visits: Floats
    """How often each state was come to, by level, flag and number."""
    values: Floats
    """Scratch: the least cost in the long run from each state."""
    expected: Floats
    """Scratch: what a number of nodes or replicas is worth from a level, before it is known what
    level comes next."""


def new_table(
    known: Floats, *, levels: int, flags: int = 1, prior: float = 1.0, assume_idle: bool = False
) -> Table:
    """A table that knows the costs of actions and nothing else.

    `prior` is how often levels and flags count as having stayed as they were. With `assume_idle` a
    new node counts as having been idle, or a manager that never had one would not learn that it can
    be released.

    >>> known = np.array([[np.inf, 0.0], [0.5, 1.0], [1.0, np.inf]])
    >>> new_table(known, levels=3).q.shape
    (3, 3, 1, 2)
    """
    numbers = known.shape[1]
    flag_chances = np.repeat(np.eye(flags)[:, np.newaxis, :], 3, axis=1)
    if assume_idle:
        flag_chances[:, 2, :] = np.eye(flags)[-1]
    return Table(
        q=np.zeros((3, levels, flags, numbers)),
        penalty=np.zeros((levels, flags, numbers)),
        known=known.copy(),
        level_counts=prior * np.eye(levels),
        flag_counts=prior * flag_chances,
        level_chances=np.eye(levels),
        flag_chances=flag_chances,
        visits=np.zeros((levels, flags, numbers)),
        values=np.zeros((levels, flags, numbers)),
        expected=np.zeros((levels, flags, numbers)),
    )


@entry
def warn(table: Any, level: int, flag: int, number: int, penalty: float, rate: float) -> None:
    """Take in a penalty that a state brings, or would bring if it were visited (e2df, Expr. 5)."""
    before = table.penalty[level, flag, number]
    after = (1 - rate) * before + rate * penalty
    table.penalty[level, flag, number] = after
    _keep_monotone(table.penalty, level, number, after)


@entry
def learn(
    table: Any,
    level: int,
    flag: int,
    action: int,
    to_level: int,
    to_flag: int,
    to_number: int,
    penalty: float,
    rate: float,
) -> None:
    """Take in one step: where it led after an action (-1, 0, 1), and the penalty paid there."""
    _count(table, level, flag, action + 1, to_level, to_flag)
    table.visits[to_level, to_flag, to_number] += 1
    warn(table, to_level, to_flag, to_number, penalty, rate)


@entry
def plan(table: Any, discount: float, sweeps: int) -> None:
    """Value every state and action again, so many times over."""
    for _ in range(sweeps):
        back_up(table, discount)


@entry
def back_up(table: Any, discount: float) -> None:
    """Value every state and action again from what is known by now (e2df, Alg. 2)."""
    _value(table)
    _expect(table, discount)
    levels, flags, numbers = table.penalty.shape
    for action in range(3):
        for level in range(levels):
            for flag in range(flags):
                if action == 0 and flags == 2 and flag == 0:  # without an idle node none can go
                    table.q[action, level, flag, :] = np.inf
                else:
                    _weigh(table, action, level, flag, numbers)


@entry
def choose(table: Any, level: int, flag: int, number: int) -> int:
    """The action of least cost in the long run: -1, 0 or 1; nothing is done where that is as good.

    The fewer of two equals: what is given up can be had again.
    """
    best, least = 0, table.q[1, level, flag, number]
    for action in (0, 2):
        allowed = table.known[action, number] < np.inf
        if allowed and table.q[action, level, flag, number] < least:
            best, least = action - 1, table.q[action, level, flag, number]
    return best


@compiled
def _count(table: Any, level: int, flag: int, action: int, to_level: int, to_flag: int) -> None:
    table.level_counts[level, to_level] += 1
    table.flag_counts[flag, action, to_flag] += 1
    total = table.level_counts[level].sum()
    for other in range(table.level_counts.shape[0]):
        table.level_chances[level, other] = table.level_counts[level, other] / total
    total = table.flag_counts[flag, action].sum()
    for other in range(table.flag_counts.shape[0]):
        table.flag_chances[flag, action, other] = table.flag_counts[flag, action, other] / total


@compiled
def _keep_monotone(penalty: Any, level: int, number: int, learned: float) -> None:
    """No less to expect with fewer of them or a higher level, no more with more or a lower one."""
    levels, flags, numbers = penalty.shape
    for other in range(levels):
        for flag in range(flags):
            if other >= level:
                for fewer in range(number + 1):
                    penalty[other, flag, fewer] = max(penalty[other, flag, fewer], learned)
            if other <= level:
                for more in range(number, numbers):
                    penalty[other, flag, more] = min(penalty[other, flag, more], learned)


@compiled
def _value(table: Any) -> None:
    levels, flags, numbers = table.penalty.shape
    for level in range(levels):
        for flag in range(flags):
            for number in range(numbers):
                stay = table.q[1, level, flag, number]
                fewer, more = table.q[0, level, flag, number], table.q[2, level, flag, number]
                table.values[level, flag, number] = min(stay, min(fewer, more))


@compiled
def _expect(table: Any, discount: float) -> None:
    levels, flags, numbers = table.penalty.shape
    for level in range(levels):
        table.expected[level] = 0.0
        for to_level in range(levels):
            chance = table.level_chances[level, to_level]
            if chance > 0:
                for flag in range(flags):
                    for number in range(numbers):
                        table.expected[level, flag, number] += chance * (
                            table.penalty[to_level, flag, number]
                            + discount * table.values[to_level, flag, number]
                        )


@compiled
def _weigh(table: Any, action: int, level: int, flag: int, numbers: int) -> None:
    shift = action - 1
    for number in range(numbers):
        table.q[action, level, flag, number] = table.known[action, number]
    for to_flag in range(table.penalty.shape[1]):
        chance = table.flag_chances[flag, action, to_flag]
        if chance > 0:
            for number in range(max(0, -shift), numbers - max(0, shift)):
                table.q[action, level, flag, number] += (
                    chance * table.expected[level, to_flag, number + shift]
                )
