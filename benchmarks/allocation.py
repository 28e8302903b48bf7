"""How good, how talkative and how quick the allocation planners are, beside the linear program.

Random graphs by the paper's generator for the planners of any network, and random trees for
`shrink`; all planners get the same graphs in the same run. CPU time of one core, as a multiple of
that of the linear program, which HiGHS solves. Run with `python -m benchmarks.allocation`.
"""

import time
from dataclasses import dataclass, field
from statistics import mean
from typing import Final

import numpy as np

from penstock.papers.alloc import graphs
from penstock.policy.allocation import PLANNERS
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow

SIZES: Final = (20, 50, 100)
GRAPHS: Final = 300
"""Of each size."""
ANY: Final = ("cutting-plane", "heuristic-b", "heuristic-a")
TREES: Final = (1_000, 10_000)
REPEATS: Final = 3
"""Trees of each size."""


@dataclass
class Score:
    """What a planner made of the graphs it was given."""

    shares: list[float] = field(default_factory=list)
    """Of the optimum."""
    passes: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def plan(self, policy: str, network: Network, optimum: float | None = None) -> float:
        """Divide the budget of one graph more; returns the value."""
        start = time.process_time()
        found = PLANNERS[policy](network)
        self.seconds += time.process_time() - start
        self.shares.append(found.value / optimum if optimum else 1.0)
        self.passes.append(found.passes)
        self.messages.append(found.messages)
        return found.value

    def line(self, policy: str, reference: "Score") -> str:
        """The planner's row of the table."""
        return (
            f"{policy:>16}{mean(self.shares):>10.3%}{min(self.shares):>10.3%}"
            f"{mean(self.passes):>8.1f}{max(self.passes):>6}{mean(self.messages):>10,.0f}"
            f"{self.seconds / reference.seconds:>10.2f}"
        )


def tree(size: int, draw: np.random.Generator) -> Network:
    """A tree that fans out from one source, with a sink at each leaf."""
    parents = [int(draw.integers(0, i)) for i in range(1, size)]
    rates = iter((1.0 - draw.random(4 * size)).tolist())
    leaves = sorted(set(range(size)) - set(parents))
    return Network(
        budget=1.0,
        modules=tuple(f"m{i}" for i in range(size)),
        inflows=(Inflow(name="s", target="m0", consumes=next(rates)),),
        links=tuple(
            Link(origin=f"m{i}", target=f"m{j}", produces=next(rates), consumes=next(rates))
            for j, i in enumerate(parents, start=1)
        ),
        outflows=tuple(
            Outflow(name=f"o{i}", origin=f"m{i}", produces=next(rates), weight=next(rates))
            for i in leaves
        ),
    )


def compare(networks: list[Network], policies: tuple[str, ...]) -> None:
    """Print a row for each planner."""
    reference = Score()
    scores = {policy: Score() for policy in policies}
    for network in networks:
        optimum = reference.plan("lp", network)
        for policy, score in scores.items():
            score.plan(policy, network, optimum)
    size = len(networks[0].modules)
    links = mean(len(network.links) for network in networks)
    each = 1e3 * reference.seconds / len(networks)
    print(f"{len(networks)} of {size:,} modules, {links:,.0f} links; linear program {each:.1f} ms")
    for policy, score in scores.items():
        print(score.line(policy, reference))


def main() -> None:
    """Print a table for each size."""
    warm = tree(10, np.random.default_rng(0))
    for policy in PLANNERS.keys() - {"single-output"}:
        PLANNERS[policy](warm)
    head = f"{'':>16}{'of LP':>10}{'worst':>10}{'passes':>8}{'most':>6}{'messages':>10}"
    print(f"{head}{'CPU : LP':>10}")
    for size in SIZES:
        rngs = [np.random.default_rng([size, i]) for i in range(GRAPHS)]
        compare([graphs.draw_graph(size, rng) for rng in rngs], ANY)
    for size in TREES:
        compare([tree(size, np.random.default_rng([size, i])) for i in range(REPEATS)], ("shrink",))


if __name__ == "__main__":
    main()
