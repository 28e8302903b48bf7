"""How long one learning update of a region takes: 50 nodes, 11 levels of utilisation.

Compiled, as the policy does it, and as Alg. 2 of the e2df paper in plain Python, on the same table
in the same run. CPU time of one core. Run with `python -m benchmarks.learning_update`.
"""

import time
from statistics import median
from typing import Final

import numpy as np

from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Observation, RegionReading
from penstock.policy.rl import known_costs, utilisation_levels
from penstock.policy.rl.backup import Floats, Table, back_up, choose, learn, new_table
from penstock.policy.rl.nodes import LearnedNodes

NODES: Final = 50
QUANTUM: Final = 0.1
DISCOUNT: Final = 0.99
REPEATS: Final = 9
UPDATES: Final = 500
"""Of a repeat, compiled; plain Python gets one."""


def trained(steps: int = 2000) -> Table:
    """A table of a region whose nodes and load have wandered about."""
    draw = np.random.default_rng(1)
    table = new_table(
        known_costs(1, NODES, each=0.3, change=0.0), levels=utilisation_levels(QUANTUM), flags=2
    )
    level, number, flag = 5, 8, 0
    for _ in range(steps):
        after = min(max(level + int(draw.integers(-1, 2)), 0), 10)
        count = min(max(number + int(draw.integers(-1, 2)), 1), NODES)
        idle = int(draw.random() < 0.5)
        penalty = 0.7 * float(draw.random() < 0.1)
        learn(table, level, flag, count - number, after, idle, count, penalty, 0.1)
        back_up(table, DISCOUNT)
        level, number, flag = after, count, idle
    return table


def plain_back_up(table: Table) -> Floats:
    """Every state, every action and every state that may follow, one at a time."""
    levels, flags, numbers = table.penalty.shape
    known, penalty, q = table.known.tolist(), table.penalty.tolist(), table.q.tolist()
    level_chances, flag_chances = table.level_chances.tolist(), table.flag_chances.tolist()
    found = np.full(table.q.shape, np.inf)
    for level in range(levels):
        for flag in range(flags):
            for number in range(numbers):
                for action in (-1, 0, 1):
                    cost = known[action + 1][number]
                    if cost == np.inf or (action == -1 and flag == 0):
                        continue
                    there = number + action
                    for to_level in range(levels):
                        for to_flag in range(flags):
                            chance = level_chances[level][to_level]
                            chance *= flag_chances[flag][action + 1][to_flag]
                            if chance > 0:
                                best = min(q[a][to_level][to_flag][there] for a in range(3))
                                ahead = penalty[to_level][to_flag][there] + DISCOUNT * best
                                cost += chance * ahead
                    found[action + 1, level, flag, number] = cost
    return found


def compiled_milliseconds(table: Table) -> float:
    """CPU time of one update: learn, back up, choose."""
    start = time.process_time()
    for _ in range(UPDATES):
        learn(table, 5, 0, 0, 5, 1, 8, 0.0, 0.1)
        back_up(table, DISCOUNT)
        choose(table, 5, 1, 8)
    return 1e3 * (time.process_time() - start) / UPDATES


def plain_milliseconds(table: Table) -> float:
    """CPU time of one back-up in plain Python, whose result must be the same."""
    start = time.process_time()
    found = plain_back_up(table)
    taken = 1e3 * (time.process_time() - start)
    back_up(table, DISCOUNT)
    np.testing.assert_allclose(found, table.q, rtol=1e-9)
    return taken


def policy_milliseconds() -> float:
    """CPU time of one decision of the policy for one region, its sentence included."""
    policy = LearnedNodes(Infrastructure(regions=(Region(name="dc1", max_nodes=NODES),)), sweeps=1)
    reading = RegionReading(nodes=8, idle=1, replicas=12, utilisation=0.5, unmet=0)
    now = Observation(at=1.0, step=60.0, modules={}, regions={"dc1": reading})
    policy(now)
    start = time.process_time()
    for _ in range(UPDATES):
        policy(now)
    return 1e3 * (time.process_time() - start) / UPDATES


def main() -> None:
    """Print a line for each way, and how much faster one is."""
    table = trained()
    compiled_milliseconds(table)
    ours, plain, whole = [], [], []
    for _ in range(REPEATS):
        ours.append(compiled_milliseconds(table))
        plain.append(plain_milliseconds(table))
        whole.append(policy_milliseconds())
    print(f"{NODES} nodes, {utilisation_levels(QUANTUM)} levels; CPU ms of one update")
    print(f"{'':<28}{'low':>10}{'median':>10}{'high':>10}   of {REPEATS}")
    for name, taken in (("compiled", ours), ("plain Python", plain), ("policy, all of it", whole)):
        print(f"{name:<28}{min(taken):>10.4f}{median(taken):>10.4f}{max(taken):>10.4f}")
    print(f"compiled is {median(plain) / median(ours):.0f} times as fast as plain Python")


if __name__ == "__main__":
    main()
