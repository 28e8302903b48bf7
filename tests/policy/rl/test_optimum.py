"""After learning, what is done costs at most 5 % more than the best that can be done."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module
from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Observation, RegionReading
from penstock.policy import Rl
from penstock.policy.rl import known_costs
from penstock.policy.rl.agent import Agent, greedy
from penstock.policy.rl.nodes import LearnedNodes
from penstock.testing import seen

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Numbers move by actions, levels and flags by chance; arrays are as in a learned table."""

    known: Floats
    """By action and number."""
    level_chances: Floats
    """By level and next level."""
    flag_chances: Floats
    """By flag, action and next flag."""
    penalty: Floats
    """Paid on coming to a level, flag and number."""
    discount: float = 0.99

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels, flags and numbers."""
        return self.penalty.shape

    def weigh(self, values: Floats) -> Floats:
        """What each action is worth in each state, if those are the values that follow."""
        flags = self.shape[1]
        q = np.full((3, *self.shape), np.inf)
        ahead = np.tensordot(self.level_chances, self.penalty + self.discount * values, axes=1)
        for flag in range(flags):
            for action in (-1, 0, 1):
                if action == -1 and flags == 2 and flag == 0:
                    continue  # without an idle node none can go
                mixed = np.tensordot(self.flag_chances[flag, action + 1], ahead, axes=(0, 1))
                here = np.flatnonzero(np.isfinite(self.known[action + 1]))
                q[action + 1, :, flag, here] = (
                    self.known[action + 1, here] + mixed[:, here + action]
                ).T
        return q

    def best_values(self) -> Floats:
        """By value iteration."""
        values = np.zeros(self.shape)
        for _ in range(1000):
            values = self.weigh(values).min(axis=0)
        return values

    def values_of(self, actions: Longs) -> Floats:
        """Of always doing what a table of actions (-1, 0, 1) says."""
        values = np.zeros(self.shape)
        for _ in range(1000):
            values = np.take_along_axis(self.weigh(values), actions[None] + 1, axis=0)[0]
        return values


def level_chain(draw: np.random.Generator, levels: int) -> Floats:
    """A random walk that mostly stays, with chances of its own at each level."""
    chances = np.zeros((levels, levels))
    for level in range(levels):
        for step in (-1, 0, 1):
            chances[level, min(max(level + step, 0), levels - 1)] += draw.uniform(
                *((4.0, 6.0) if step == 0 else (0.2, 1.0))
            )
    shares: Floats = chances / chances.sum(axis=1, keepdims=True)
    return shares


def needs(draw: np.random.Generator, levels: int, most: int) -> Longs:
    """How many are enough at each level: more at a higher one."""
    found: Longs = np.sort(draw.integers(1, most + 1, size=levels))
    return found


LEVELS, MOST, STEPS = 5, 6, 2500


def too_few(need: Longs) -> Floats:
    """By level and number, 1 where there are fewer than needed."""
    return (np.arange(MOST + 1) < need[:, None]).astype(float)


def excess(world: World, agent: Agent) -> float:
    """Cost of what was learned by that of the optimum, over the states as they were visited."""
    learned = world.values_of(greedy(agent.arrays()["q"]))
    return float((learned * agent.visits).sum() / (world.best_values() * agent.visits).sum())


@pytest.mark.parametrize("seed", range(4))
def test_rl_of_a_module_comes_within_5_percent_of_value_iteration(seed: int) -> None:
    draw = np.random.default_rng(seed)
    need, chain = needs(draw, LEVELS, MOST), level_chain(draw, LEVELS)
    module = Module(name="count", service_time=0.01, max_replicas=MOST)
    policy = Rl(FlowGraph(source="count", modules=(module,)), bound=0.5, levels=LEVELS, peak=100.0)
    number, level = 1, 0
    for _ in range(STEPS):
        reading = {
            "arrival_rate": 100.0 * (level + 0.5) / LEVELS,
            "waiting_time": float(number < need[level]),
            "service_time": 0.01,
            "running": number,
        }
        number = policy(seen(count=reading)).configuration.degrees["count"]
        level = int(draw.choice(LEVELS, p=chain[level]))
    world = World(
        known=known_costs(1, MOST, each=1 / 3, change=1 / 3),
        level_chances=chain,
        flag_chances=np.ones((1, 3, 1)),
        penalty=too_few(need)[:, None, :] / 3,
    )
    assert 1 - 1e-6 <= excess(world, policy.agents()["count"]) < 1.05


@pytest.mark.parametrize("seed", range(4))
def test_rl_of_a_region_comes_within_5_percent_of_value_iteration(seed: int) -> None:
    draw = np.random.default_rng(seed)
    need, chain = needs(draw, LEVELS, MOST), level_chain(draw, LEVELS)
    idle_chances = draw.dirichlet([2, 2], size=(2, 3))
    places = Infrastructure(regions=(Region(name="dc1", max_nodes=MOST),))
    policy = LearnedNodes(places, quantum=1 / (LEVELS - 1))
    number, level, idle = 1, 0, 0
    for at in range(STEPS):
        reading = RegionReading(
            nodes=number,
            idle=idle,
            replicas=2,
            utilisation=level / (LEVELS - 1),
            unmet=int(number < need[level]),
        )
        decided = policy(Observation(at=at, step=1.0, modules={}, regions={"dc1": reading}))
        after = decided.configuration.nodes["dc1"]
        idle = int(draw.random() < idle_chances[idle, after - number + 1, 1])
        number, level = after, int(draw.choice(LEVELS, p=chain[level]))
    world = World(
        known=known_costs(1, MOST, each=0.3, change=0.0),
        level_chances=chain,
        flag_chances=idle_chances,
        penalty=0.7 * too_few(need)[:, None, :].repeat(2, axis=1),
    )
    assert 1 - 1e-6 <= excess(world, policy.agents()["dc1"]) < 1.05
