"""Tab. 1 to 4, Fig. 7 and 8 and the claims of the alloc paper, and what goes beyond it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

from penstock.core.words import count_of, percent
from penstock.experiment.results import Figure, Line, Words
from penstock.experiment.results import Table as Sheet
from penstock.papers.alloc import experiment, published
from penstock.papers.alloc.adaptation import (
    EVERY,
    HOPS,
    PERTURBATIONS,
    PLAIN,
    REACHED,
    READINGS,
    SHARED,
    STILL,
    Reading,
    again,
    once,
    play,
)
from penstock.papers.alloc.experiment import AFTER, KINDS, SHOWN, Measured, at_hop, further
from penstock.papers.alloc.graphs import CHOSEN, DEPTH, EXTENT, GRAPHS, ORDER, REDUCED, WITHIN
from penstock.papers.framework import (
    Cell,
    Claim,
    Options,
    Paper,
    Row,
    Table,
    Test,
    agrees,
    assumptions,
    at_least,
    at_most,
    cells,
    chart,
    curve,
    decimals,
    falling,
    figure,
    legend,
    line,
    listed,
    order,
    percents,
)
from penstock.policy.allocation.adaptation import SLACK, SMOOTHING, THRESHOLD

TABLES: Final = {"heuristic-a": "1", "heuristic-b": "2", "cutting-plane": "beyond"}
"""By planner."""
NAMES: Final = {"heuristic-a": "Heuristic A", "heuristic-b": "Heuristic B"}
LEAST: Final = 0.9
"""Share of the optimum under perturbations, on average."""
OPTIMAL: Final = 0.99
"""Share from which on the optimum is reached, as far as one can see in a figure."""
EXACT: Final = 0.999
"""Share of the optimum that exact agents reach on average,"""
EXACT_WORST: Final = 0.99
"""and of the worst graph."""
FEW_PASSES: Final = 15

# Tables.


_PERCENT, _PRECISE = decimals(1, 100), decimals(2, 100)
_SHARES: Final = ("share", "once", "spread", "good", "never", "at once", "in the end")
_QUALITY: Final = {
    "edges": "edges",
    "sources": "sources",
    "sinks": "sinks",
    "share": "% of the optimum",
    "spread": "std",
    "good": "% of graphs above 90",
}
_LEGEND: Final = legend("10 %")
_QUANTITIES: Final = (
    *("edges", "sources", "sinks", "share", "spread", "worst", "good", "passes", "messages"),
)
"""Of every planner, printed or not."""


def tables(results: Measured) -> Iterator[Table | Sheet]:
    """Those of the paper, and ours."""
    yield _heuristic(results, "heuristic-a", {**_QUALITY, "once": "% in one round"}, _ROUNDS)
    yield _heuristic(results, "heuristic-b", {**_QUALITY, "iterations": "iterations"}, _GRADIENT)
    yield Table(
        title="Beyond the paper: cutting-plane on the same graphs",
        header=("nodes", "links", "% of the optimum", "worst", "passes", "messages"),
        rows=list(_graphs("cutting-plane", ("share", "worst", "passes", "messages"))),
        notes=(
            "Agents as in Heuristic B, with an optimum that they know to be one within 0.1 %. A "
            "pass is one sweep over the graph, up or down.",
        ),
    )
    sizes = [f"{nodes:,}" for nodes in published.TREE_SIZES]
    yield Table(
        title=f"Tab. 3: hops until {percent(REACHED)} of the new optimum, by nodes of the tree",
        header=("rates change by", "reading", *sizes, "% at hop 0", "% never"),
        rows=list(_readings("3", "hops", ("at once", "never"), tuple(AFTER))),
        notes=(
            _LEGEND,
            f"Trees that have not got there after {HOPS} hops count with {HOPS}. The last columns "
            f"are of {published.TREE_SIZES[-1]:,} nodes.",
            "A share that a module cannot use for want of input goes to the others, as in any pool "
            f"of cores that is shared by weight. That alone saves much ({STILL.name}): many trees "
            "are at 95 % before any module acts. What is left is to change which branches are "
            "served. Where it lies idle, more is lost, and the paper's hops are not reached.",
            "Plans take effect when their furthest module has heard them. Where each hop acts by "
            "itself, upper modules of a branch work for lower ones that are not there yet.",
        ),
    )
    yield Table(
        title=f"Tab. 4: % of the optimum under a perturbation every {EVERY} hops, by nodes",
        header=("rates change by", "reading", *sizes),
        rows=list(_readings("4", "share")),
        notes=(
            _LEGEND,
            "Perturbations add up. The paper's +-20 % is read as any factor from 0.8 to 1.2; with "
            "0.8 or 1.2 and nothing between, rates move further than news of them.",
        ),
    )
    yield assumptions(
        ASSUMPTIONS,
        "The figures of Tab. 3 and 4 are compatible with these choices, which does not prove that "
        "the authors made them.",
    )


def _heuristic(
    results: Measured, planner: str, quantities: Mapping[str, str], explanation: str
) -> Table:
    means = results.means(_as_written(planner), "share")
    better = means is not None and at_least(_paper(planner, "share")).passes(means)
    return Table(
        title=f"Tab. {TABLES[planner]}: {NAMES[planner]} on random graphs",
        header=("nodes", "links", *quantities.values()),
        rows=list(_graphs(planner, tuple(quantities))),
        notes=(_LEGEND, *_of_graphs(), *([explanation] if better else [])),
    )


def _graphs(planner: str, quantities: Sequence[str]) -> Iterator[Row]:
    further = tuple(q for q in _QUANTITIES if q not in quantities)

    def words(quantity: str) -> Words:
        precise = quantity == "worst" or (quantity, planner) == ("share", "cutting-plane")
        return _PRECISE if precise else _written(quantity)

    for kind in GRAPHS:
        for nodes in published.SIZES:
            where = {"table": TABLES[planner], "graph": kind, "nodes": f"{nodes}"}
            paper = published.HEURISTICS.get(planner, {}) if kind == REDUCED else {}
            both = (
                cells(
                    (planner, kind, nodes),
                    {**where, "planner": planner},
                    {quantity: words(quantity) for quantity in each},
                    paper.get(f"{nodes}"),
                )
                for each in (quantities, further)
            )
            yield Row((f"{nodes}", kind), *both)


def _written(quantity: str) -> Words:
    return _PERCENT if quantity in _SHARES else decimals(1)


def _readings(
    table: str, quantity: str, last: Sequence[str] = (), unprinted: Sequence[str] = ()
) -> Iterator[Row]:
    """A row for each, with a size in each column, and more of the largest size."""
    *smaller, largest = published.TREE_SIZES
    for kind in KINDS:
        for reading in READINGS:
            of = partial(_of_tree, table, kind, reading)
            printed = [of(nodes, quantity) for nodes in published.TREE_SIZES]
            others = [of(nodes, *last) for nodes in smaller]
            others += [of(nodes, *unprinted) for nodes in published.TREE_SIZES]
            yield Row(
                (kind, reading.name),
                (*chain.from_iterable(printed), *of(largest, *last)),
                tuple(chain.from_iterable(others)),
            )


def _of_tree(
    table: str, kind: str, reading: Reading, nodes: int, *quantities: str
) -> tuple[Cell, ...]:
    """The reading that compares with the paper was chosen because it comes near its figures."""
    compared = {"3": "hops", "4": "share"}[table]
    paper = published.TREES[f"{nodes}"] if (reading, kind) == (SHARED, WITHIN) else {}
    place = {"table": table, "perturbation": kind, "reading": reading.name}
    return cells(
        (kind, reading.name, nodes),
        {**place, "nodes": f"{nodes}"},
        {name: _written(name) for name in quantities},
        {compared: paper.get(compared)},
        calibrated=(compared,),
    )


# Why figures of ours are not the paper's: only what was seen or tried out.


def _of_graphs() -> Iterator[str]:
    """Under Tab. 1 and 2."""
    first, *larger = (f"{nodes * (nodes - 1) / 4:,g}" for nodes in published.SIZES)
    yield (
        f"The paper's edges cannot come from its generator. {REDUCED.capitalize()}, it keeps links "
        "to immediate successors only, a small part of what is printed; with links to "
        f"{ORDER}, {first}, {' and '.join(larger)} edges are to be expected (N(N-1)/4), which is "
        "above it."
    )
    yield (
        "Tab. 1 and 2 of the paper differ by 150 edges at 100 nodes, where chance moves a mean of "
        "1,000 graphs by about 5. Points without predecessors or successors are 1 + 1/2 + ... + "
        "1/N on average, for sources as for sinks; the paper has more sources than sinks."
    )


_ROUNDS: Final = (
    "Ours repeats the round, with what resource brought as its price, as long as that helps. The "
    "paper has one round, and does not say what several parents mean for it."
)
_GRADIENT: Final = (
    "The paper does not say how it estimates its gradient, nor how far it moves. Ours comes with "
    "the answer of Algorithm 1, and steps are in logarithms of the proportions, which may lie "
    "orders of magnitude apart."
)

ASSUMPTIONS: Final = f"""
sources and sinks of a graph | nodes are modules; one without predecessors has an unlimited \
source, one without successors a sink |
rates and weights | uniform in (0, 1), each by itself; budget 1 |
S_i | without i itself, since s_i would be empty otherwise |
random trees | a chain of {DEPTH} hops, then modules below any drawn from those above the bottom; \
sinks behind leaves | graphs.DEPTH
a random subset | each module with a chance of {CHOSEN:g}: all subsets are alike | graphs.CHOSEN
+-20 % | factors uniform in [0.8, 1.2], each rate by itself; also shown: 0.8 or 1.2 | graphs.EXTENT
perturbations in a row | add up; {PERTURBATIONS} of them, {EVERY} hops apart \
| adaptation.PERTURBATIONS
change-point detection | sums of logarithms of measured by announced rate, beyond {SLACK:g}; a \
change above {THRESHOLD:g} (CUSUM) | adaptation_change
aggregated parameters | what resource brings in the subtree, in pieces of falling worth; the \
paper's Theorem 3 forgets leaves that may be worth having | adaptation_curve
when a plan takes effect | when its furthest module has heard it, everywhere at once; also shown: \
as it passes | Reading.together
the moving average | of a module's weight in the pool, {SMOOTHING:g} of the last hop's \
| adaptation.SMOOTHING
resource that a module cannot use | the others have it, by weight; also shown: it lies idle \
| Reading.lent
hop 0 | the perturbation, before any module knows |
"""


# Claims.


def _as_written(planner: str) -> list[tuple[str, str, int]]:
    """The subjects of a planner, by the size of the graph."""
    return [(planner, REDUCED, nodes) for nodes in published.SIZES]


def _trees(kind: str, reading: Reading = SHARED) -> list[tuple[str, str, int]]:
    return [(kind, reading.name, nodes) for nodes in published.TREE_SIZES]


def _paper(planner: str, quantity: str) -> list[float]:
    return [row[quantity] for row in published.HEURISTICS[planner].values()]


def _beside_paper(
    values: Sequence[float], paper: Sequence[float], write: Callable[[Sequence[float]], str]
) -> str:
    return f"{write(values)}; the paper has {write(paper)}."


def _as_good(planner: str) -> Claim[None]:
    paper = _paper(planner, "share")
    return Claim(
        text=f"Tab. {TABLES[planner]}: {NAMES[planner]} is as good as the paper's.",
        measured=lambda results: results.means(_as_written(planner), "share"),
        test=at_least(paper),
        found=lambda shares: f"{percents(shares)} of the optimum; the paper has {percents(paper)}.",
    )


def _quick(kind: str, reading: Reading = SHARED) -> Claim[None]:
    paper = [row["hops"] for row in published.TREES.values()]
    return Claim(
        text=f"Tab. 3: {percent(REACHED)} of the new optimum within the paper's hops, where rates "
        f"change by {kind}{_plainly(reading)}.",
        measured=lambda results: results.means(_trees(kind, reading), "hops"),
        test=at_most(paper),
        found=lambda hops: _beside_paper(hops, paper, listed),
        calibrated=reading == SHARED,
        reason=_WHY_NOT if reading == PLAIN else "",
    )


def _follows(kind: str, reading: Reading = SHARED) -> Claim[None]:
    return Claim(
        text=f"Tab. 4: {percent(LEAST)} of the optimum under a perturbation every {EVERY} hops, "
        f"where rates change by {kind}{_plainly(reading)}.",
        measured=lambda results: results.means(_trees(kind, reading), "share"),
        test=at_least(LEAST),
        found=lambda shares: f"{percents(shares)}.",
        calibrated=reading == SHARED,
        reason=_WHY_NOT if reading == PLAIN else "Rates move further than news of them.",
    )


_WHY_NOT: Final = (
    "What a module cannot use is lost, and upper modules of a branch work for lower ones that are "
    "not there yet."
)


def _plainly(reading: Reading) -> str:
    return ", as the text is read most plainly" if reading == PLAIN else ""


_EDGES: Final = _paper("heuristic-a", "edges")
_ITERATIONS: Final = _paper("heuristic-b", "iterations")
_FOLLOWED: Final = [row["share"] for row in published.TREES.values()]

CLAIMS: Final[tuple[Claim[None], ...]] = (
    *map(_as_good, NAMES),
    Claim(
        text="Heuristic B is consistently better than Heuristic A.",
        measured=lambda results: [
            results.means(_as_written(planner), quantity)
            for planner, quantity in (
                *(("heuristic-b", "share"), ("heuristic-a", "once")),
                ("heuristic-a", "share"),
            )
        ],
        test=order(lambda m: all(b > a for b, a in zip(m[0], m[1], strict=True))),
        found=lambda m: (
            f"B has {percents(m[0])}, A {percents(m[1])} in one round, as the paper's, and "
            f"{percents(m[2])} in several."
        ),
    ),
    Claim(
        text="The larger the graph, the worse is Heuristic A.",
        measured=lambda results: results.means(_as_written("heuristic-a"), "share"),
        test=order(falling),
        found=lambda shares: f"{percents(shares)}.",
    ),
    Claim(
        text="Tab. 2: iterations are few.",
        measured=lambda results: results.means(_as_written("heuristic-b"), "iterations"),
        test=at_most(max(_ITERATIONS)),
        found=lambda ours: _beside_paper(ours, _ITERATIONS, listed),
    ),
    Claim(
        text="Tab. 1: the generator as it is written makes as many edges as are printed.",
        measured=lambda results: results.means(_as_written("heuristic-a"), "edges"),
        test=agrees(_EDGES, within=0.1, share=True),
        found=lambda ours: _beside_paper(ours, _EDGES, listed),
        reason="The paper's edges cannot come from its generator, as the notes under Tab. 1 say.",
    ),
    Claim(
        text=f"Beyond the paper: cutting-plane has {percent(EXACT)} of the optimum on average and "
        f"{percent(EXACT_WORST)} in the worst graph.",
        measured=lambda results: [
            results.means(_as_written("cutting-plane"), quantity) for quantity in ("share", "worst")
        ],
        test=Test(
            "at least",
            lambda m: min(m[0]) >= EXACT and min(m[1]) >= EXACT_WORST,
            f"at least {EXACT:g} and {EXACT_WORST:g}",
        ),
        found=lambda m: f"{percents(m[0], 2)}, and {percents(m[1], 2)}.",
    ),
    Claim(
        text=f"Beyond the paper: cutting-plane takes {FEW_PASSES} passes at most, on average.",
        measured=lambda results: results.means(_as_written("cutting-plane"), "passes"),
        test=at_most(FEW_PASSES),
        found=lambda passes: f"{listed(passes)}.",
    ),
    *map(_quick, KINDS),
    _quick(WITHIN, PLAIN),
    Claim(
        text=f"After {AFTER['in the end']} hops, twice the depth, trees are at the new optimum "
        "(Fig. 7).",
        measured=lambda results: [results.means(_trees(WITHIN), when) for when in AFTER],
        test=Test("at least", lambda m: min(m[0]) >= OPTIMAL, f"at least {OPTIMAL:g}"),
        found=lambda m: (
            f"{percents(m[0])} of it, and {percents(m[1])} after "
            f"{AFTER['later']} hops, as each only goes half the way at every hop."
        ),
    ),
    *map(_follows, KINDS),
    _follows(WITHIN, PLAIN),
    Claim(
        text="Tab. 4: as close to the optimum as the paper's, to the digit that it prints.",
        measured=lambda results: results.means(_trees(WITHIN), "share"),
        test=Test(
            "at least",
            lambda m: all(round(a, 3) >= b for a, b in zip(m, _FOLLOWED, strict=True)),
            "at least the paper's",
        ),
        found=lambda shares: _beside_paper(shares, _FOLLOWED, percents),
        calibrated=True,
    ),
)


# Figures.


def figures(results: Measured) -> Iterator[Figure]:
    """Both."""
    tree = f"a tree of {published.DRAWN} nodes"
    single = once(published.DRAWN, WITHIN, 1)
    shares = (line(reading.name, play(single, reading, hops=SHOWN).share) for reading in READINGS)
    lost = f"mean by nodes: {PLAIN.name}, and idle resource is lost"
    yield figure(
        "7",
        "Share of the new optimum after a perturbation",
        chart(tree, "hop", "%", *shares),
        chart("mean by nodes", "hop", "%", *_means(results, SHARED)),
        chart(lost, "hop", "%", *_means(results, PLAIN)),
        notes=(f"Rates change by {WITHIN}, at hop 0. The tree is that of the first seed.",),
    )
    many = again(published.DRAWN, WITHIN, 1)
    course = play(many, SHARED, hops=EVERY * PERTURBATIONS)
    both = line("optimum", course.optimum), line("achieved", course.value)
    yield figure(
        "8",
        f"Value under a perturbation every {EVERY} hops",
        chart(tree, "hop", "", *both, stepped=True),
        notes=(
            f"Rates change by {WITHIN}, and changes add up. The tree is that of the first seed.",
        ),
    )


def _means(results: Measured, reading: Reading) -> Iterator[Line]:
    for subject in _trees(WITHIN, reading):
        shares = (results.mean(subject, at_hop(hop)) for hop in range(SHOWN))
        yield curve(f"{subject[2]:,} nodes", range(SHOWN), shares)


# The paper.


def _remarks(options: Options) -> Iterator[str]:
    yield (
        f"{count_of(options.seeds, 'random graph')} and trees a row, "
        f"{further(options):,} of those with links to all successors; every planner has the same "
        "ones. The optimum is that of the linear program (HiGHS), and of trees that at the price "
        "of resource at which all of it is used."
    )
    yield (
        f"In trees a unit of time is a hop. At hop 0 each module is perturbed with a chance of "
        f"{CHOSEN:g}: its rates change by up to {percent(EXTENT)}. Modules notice, report "
        "to their parents, and the top plans again."
    )
    yield (
        "The paper leaves much open, from how a tree is drawn to what becomes of resource that a "
        "module cannot use: what was taken is in the last table, and other readings are rows of "
        "Tab. 3 and 4."
    )


def _settings(options: Options) -> dict[str, Any]:
    return {
        "seeds_of_all_successors": further(options),
        "depth": DEPTH,
        "chosen": CHOSEN,
        "extent": EXTENT,
        "hops": HOPS,
        "hops_between_perturbations": EVERY,
        "perturbations": PERTURBATIONS,
        "smoothing": SMOOTHING,
        "slack": SLACK,
        "threshold": THRESHOLD,
    }


PAPER: Final = Paper(
    name="alloc",
    title="A decentralized control mechanism for stream processing networks",
    seeds=1000,
    tasks=experiment.tasks,
    examine=experiment.examine,
    derive=experiment.derive,
    settings=_settings,
    remarks=_remarks,
    tables=tables,
    figures=figures,
    claims=CLAIMS,
)
"""Section 7: agents divide a budget on random graphs, and follow the rates of random trees."""
