"""How long 100,000 minutes with two levels that learn take: compiled, beside the ordinary loop.

Both do the same in every slot: the word count of the e2df paper in three regions, four operator
managers and three region managers that learn. The ordinary loop, `control` with a `SlotTwin` and
policies, also tells why. It turns 2,000 slots, and its time is scaled.
`python -m benchmarks.closed_loop`.
"""

import time
from collections.abc import Callable
from statistics import median

from penstock.core.loop import control
from penstock.papers.e2df.closed_loop import Levels, play
from penstock.papers.e2df.experiment import SLOT, SLOTS_OF_THE_PAPER, graph, places, rates
from penstock.policy.hierarchy import (
    Accept,
    ApplicationManager,
    Conflicts,
    InfrastructureManager,
    TwoLevels,
)
from penstock.policy.rl import Rl
from penstock.policy.rl.nodes import LearnedNodes
from penstock.twin import SlotTwin
from penstock.workload import Step

REPEATS, PLAIN_SLOTS, PLAIN_REPEATS = 5, 2_000, 3
LIMIT = 10.0
LEVELS = Levels()


def main() -> None:
    """Print seconds of a core for the whole, and how they compare."""
    compiled(2, seed=0)  # which compiles
    ordinary(2, seed=0)
    ours = [clocked(compiled, SLOTS_OF_THE_PAPER, seed) for seed in range(REPEATS)]
    plain = [clocked(ordinary, PLAIN_SLOTS, seed) for seed in range(PLAIN_REPEATS)]
    scale = SLOTS_OF_THE_PAPER / PLAIN_SLOTS
    print(f"{SLOTS_OF_THE_PAPER:,} slots, both levels learning, in seconds of a core")
    print(f"{'':20}{'low':>10}{'median':>10}{'high':>10}")
    show("compiled", ours)
    show(f"ordinary, x {scale:g}", [scale * seconds for seconds in plain])
    ratio = scale * median(plain) / median(ours)
    print(f"ratio {ratio:.1f}; to reach: under {LIMIT:g} s")


def show(name: str, seconds: list[float]) -> None:
    """One line."""
    print(f"{name:20}{min(seconds):>10.2f}{median(seconds):>10.2f}{max(seconds):>10.2f}")


def clocked(work: Callable[[int, int], None], slots: int, seed: int) -> float:
    """Seconds of this process's time."""
    begin = time.process_time()
    work(slots, seed)
    return time.process_time() - begin


def compiled(slots: int, seed: int) -> None:
    """The whole loop in one call."""
    play(graph(), places(), rates(slots, seed), LEVELS, seed=seed)


def ordinary(slots: int, seed: int) -> None:
    """Slot by slot, with a policy that tells why."""
    flow, where = graph(), places()
    levels = tuple((rate, SLOT * at) for at, rate in enumerate(rates(slots, seed).tolist()))
    twin = SlotTwin(flow, where, Step(levels), step=SLOT, duration=SLOT * slots, seed=seed)
    operators = Rl(
        flow, bound=LEVELS.bound, levels=LEVELS.levels, peak=LEVELS.peak, sweeps=1, catch_up=None
    )
    regions = LearnedNodes(where, demand_weight=LEVELS.demand_weight, sweeps=1)
    policy = TwoLevels(
        ApplicationManager(operators, Conflicts(), graph=flow, infrastructure=where),
        InfrastructureManager(regions, Accept(), infrastructure=where),
    )
    for _ in control(twin, policy):
        pass


if __name__ == "__main__":
    main()
