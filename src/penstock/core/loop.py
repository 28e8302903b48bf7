"""The control loop: observe, decide, act, and yield each tick."""

from collections.abc import Iterator

from penstock.core.roles import Plant, Policy
from penstock.core.signals import Tick


def control(plant: Plant, policy: Policy) -> Iterator[Tick]:
    """Drive a plant with a policy, yielding each turn as it happens.

    The command line prints ticks, the recorder writes them, a test calls `list()`.
    """
    for seen in plant.readings():
        decided = policy(seen)
        asked = plant.apply(decided)
        yield Tick(seen=seen, decided=decided, asked=asked)
