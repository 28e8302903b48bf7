"""What the alloc paper leaves open, and what was taken."""

from typing import Final

from penstock.experiment.papers import alloc_adaptation as following
from penstock.experiment.papers import alloc_trees as trees
from penstock.experiment.reproduction import Table
from penstock.policy.allocation.adaptation import SMOOTHING
from penstock.policy.allocation.adaptation_change import SLACK, THRESHOLD

ASSUMPTIONS: Final = (
    (
        "sources and sinks of a graph",
        "nodes are modules; one without predecessors has an unlimited source, one without "
        "successors a sink",
        "",
    ),
    ("rates and weights", "uniform in (0, 1), each by itself; budget 1", ""),
    ("S_i", "without i itself, since s_i would be empty otherwise", ""),
    (
        "random trees",
        f"a chain of {trees.DEPTH} hops, then modules below any drawn from those above the bottom; "
        "sinks behind leaves",
        "alloc_trees.DEPTH",
    ),
    (
        "a random subset",
        f"each module with a chance of {trees.CHOSEN:g}: all subsets are alike",
        "alloc_trees.CHOSEN",
    ),
    (
        "+-20 %",
        "factors uniform in [0.8, 1.2], each rate by itself; also shown: 0.8 or 1.2",
        "alloc_trees.EXTENT",
    ),
    (
        "perturbations in a row",
        f"add up; {following.PERTURBATIONS} of them, {following.EVERY} hops apart",
        "alloc_adaptation.PERTURBATIONS",
    ),
    (
        "change-point detection",
        f"sums of logarithms of measured by announced rate, beyond {SLACK:g}; a change above "
        f"{THRESHOLD:g} (CUSUM)",
        "adaptation_change",
    ),
    (
        "aggregated parameters",
        "what resource brings in the subtree, in pieces of falling worth; the paper's Theorem 3 "
        "forgets leaves that may be worth having",
        "adaptation_curve",
    ),
    (
        "when a plan takes effect",
        "when its furthest module has heard it, everywhere at once; also shown: as it passes",
        "Reading.together",
    ),
    (
        "the moving average",
        f"of a module's weight in the pool, {SMOOTHING:g} of the last hop's",
        "adaptation.SMOOTHING",
    ),
    (
        "resource that a module cannot use",
        "the others have it, by weight; also shown: it lies idle",
        "Reading.lent",
    ),
    ("hop 0", "the perturbation, before anybody knows", ""),
)
"""What is open, what was taken, and where it is set."""


def assumptions() -> Table:
    """All of them."""
    return Table(
        title="What the paper leaves open, and what was taken",
        header=("open", "taken", "set by"),
        rows=ASSUMPTIONS,
        notes=(
            "The figures of Tab. 3 and 4 are compatible with these choices, which does not prove "
            "that the authors made them.",
        ),
    )
