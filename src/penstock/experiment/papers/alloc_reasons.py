"""Why figures of ours are not the paper's: only what was seen or tried out."""

from collections.abc import Iterator, Sequence

from penstock.experiment.papers import alloc_printed as printed
from penstock.experiment.papers.alloc_adaptation import STILL
from penstock.experiment.papers.alloc_graphs import ORDER, REDUCED
from penstock.experiment.reproduction import Entry


def of_graphs() -> Iterator[str]:
    """Under Tab. 1 and 2: the graphs."""
    expected = " and ".join(f"{nodes * (nodes - 1) / 4:,g}" for nodes in printed.SIZES[1:])
    first = printed.SIZES[0] * (printed.SIZES[0] - 1) / 4
    yield (
        f"The paper's edges cannot come from its generator. {REDUCED.capitalize()}, it keeps links "
        "to immediate successors only, a small part of what is printed; with links to "
        f"{ORDER}, {first:g}, {expected} edges are to be expected (N(N-1)/4), which is above it."
    )
    yield (
        "Tab. 1 and 2 of the paper differ by 150 edges at 100 nodes, where chance moves a mean of "
        "1,000 graphs by about 5. Points without predecessors or successors are 1 + 1/2 + ... + "
        "1/N on average, for sources as for sinks; the paper has more sources than sinks."
    )


def of_heuristic(entries: Sequence[Entry], planner: str) -> Iterator[str]:
    """Under either: the heuristic."""
    found = [e for e in entries if e.where.get("planner") == planner and e.paper is not None]
    better = [e for e in found if e.where["quantity"] == "share" and e.ours.mean > (e.paper or 0)]
    if len(better) < len(printed.SIZES):
        return
    if planner == "heuristic-a":
        yield (
            "Ours repeats the round, with what resource brought as its price, as long as that "
            "helps. The paper has one round, and does not say what several parents mean for it."
        )
    else:
        yield (
            "The paper does not say how it estimates its gradient, nor how far it moves. Ours "
            "comes with the answer of Algorithm 1, and steps are in logarithms of the proportions, "
            "which may lie orders of magnitude apart."
        )


def of_hops() -> Iterator[str]:
    """Under Tab. 3."""
    yield (
        "A share that a module cannot use for want of input goes to the others, as in any pool of "
        f"cores that is shared by weight. That alone saves much ({STILL.name}): many trees are "
        "at 95 % before anybody acts. What is left is to change which branches are served. Where "
        "it lies idle, more is lost, and the paper's hops are not reached."
    )
    yield (
        "Plans take effect when their furthest module has heard them. Where each hop acts by "
        "itself, upper modules of a branch work for lower ones that are not there yet."
    )


def of_shares() -> Iterator[str]:
    """Under Tab. 4."""
    yield (
        "Perturbations add up. The paper's +-20 % is read as any factor from 0.8 to 1.2; with 0.8 "
        "or 1.2 and nothing between, rates move further than news of them."
    )
