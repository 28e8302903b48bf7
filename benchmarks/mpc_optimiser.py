"""How long the best course of model predictive control takes to find, beside the paper's search.

Twelve replicas and nine frequencies (108 configurations), a rate that walks at random, and the
prices of the paper with the switching cost: dynamic programming for horizons up to 50, the tree
search up to 3, and the figures that the mpc paper prints in its Tab. 5. CPU time of one core. Run
with `python -m benchmarks.mpc_optimiser`.
"""

import time
from collections.abc import Callable
from statistics import mean, median
from typing import Final

import numpy as np

from penstock.model.power import VOLTAGES
from penstock.policy.mpc import Options, Outlook, Prices, Problem, branch_and_bound, solve
from penstock.policy.mpc.horizon import Trajectory

HORIZONS: Final = (1, 2, 3, 10, 50)
PROBLEMS: Final = 15
"""Of each horizon; the walk begins anew for each."""
REPEATS: Final = 5
LONGEST_TREE: Final = 3
PAPER: Final = {1: (108, 0.04577), 2: (2_537, 0.608), 3: (72_055, 17.0)}
"""States explored and milliseconds, by horizon: mpc, Tab. 5."""
OPTIONS: Final = Options.of(least=1, most=12, clocks=VOLTAGES.frequencies)
PRICES: Final = {
    "Th-Power": Prices(strategy="th-power", scale=0.001),
    "Lat-Power": Prices(strategy="lat-power", threshold=0.0015),
}
"""As the paper has them: a price of 200 by the millisecond, a threshold of 1.5 ms."""
SERVICE: Final = 0.0004
"""Seconds that a row takes at 2 GHz."""


def problem(prices: Prices, horizon: int, draw: np.random.Generator) -> Problem:
    """A walk that starts where the configuration in force, 6 at 1.6 GHz, is 80 % busy."""
    service = SERVICE * 2.0 / OPTIONS.clocks
    start = 0.8 * 6 * 1.6 / 2.0 / SERVICE
    outlook = Outlook(
        rates=np.maximum(start + np.cumsum(draw.normal(0.0, 0.08 * start, horizon)), 100.0),
        service_times=service,
        parallel=OPTIONS.replicas,
    )
    return Problem(
        stages=prices.stages(OPTIONS, outlook),
        switching=prices.switching(OPTIONS),
        start=prices.start(OPTIONS, 6, 1.6),
        current=OPTIONS.index(6, 1.6),
        fallback=len(OPTIONS) - 1,
    )


def fresh(given: Problem) -> Problem:
    """The same problem, with nothing of it computed yet."""
    return Problem(
        stages=given.stages,
        switching=given.switching,
        start=given.start,
        current=given.current,
        fallback=given.fallback,
    )


def milliseconds(search: Callable[[Problem], Trajectory], given: Problem) -> float:
    """CPU time of the middle one of several runs."""
    taken = []
    for _ in range(REPEATS):
        anew = fresh(given)
        start = time.process_time()
        search(anew)
        taken.append(1e3 * (time.process_time() - start))
    return median(taken)


def line(prices: Prices, horizon: int, draw: np.random.Generator) -> float:
    """Print a horizon's line; returns the time of dynamic programming."""
    problems = [problem(prices, horizon, draw) for _ in range(PROBLEMS)]
    ours = median(milliseconds(solve, given) for given in problems)
    head = f"{horizon:>3}{108.0**horizon:>12.4g}{solve(problems[0]).explored:>12,}{ours:>10.3f}"
    if horizon > LONGEST_TREE:
        print(head)
        return ours
    found = [branch_and_bound(given) for given in problems]
    for given, tree in zip(problems, found, strict=True):
        assert tree.choices == solve(given).choices
    explored = mean(tree.explored for tree in found)
    slow = median(milliseconds(branch_and_bound, given) for given in problems)
    states, paper = PAPER[horizon]
    print(f"{head}{explored:>12,.0f}{slow:>10.2f}{states:>12,}{paper:>10.3g}")
    return ours


def main() -> None:
    """Print a table for each strategy."""
    print(f"108 configurations; median of {PROBLEMS} problems, each the median of {REPEATS} runs")
    print(f"{'':>15}{'dynamic programming':>22}{'tree search':>22}{'paper (Tab. 5)':>22}")
    print(f"{'h':>3}{'courses':>12}" + f"{'states':>12}{'CPU ms':>10}" * 3)
    for name, prices in PRICES.items():
        print(name)
        draw = np.random.default_rng(1)
        taken = {horizon: line(prices, horizon, draw) for horizon in HORIZONS}
        print(f"time of h = 50 by that of h = 10: {taken[50] / taken[10]:.2f} (linear: 5)")


if __name__ == "__main__":
    main()
