"""Tab. IV and V, Fig. 12 to 17 and the claims of the game paper, and what goes beyond it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from penstock.core.words import percent
from penstock.experiment.results import Entry, Figure, Floats, Interval, Line
from penstock.papers.data import facts, read_paper, writer
from penstock.papers.framework import Cell, Finding, Options, Row, Table, line
from penstock.papers.game import experiment
from penstock.papers.game.experiment import (
    BOTH,
    COMPARED,
    INCREMENTS,
    MODULES,
    OPTIMUM,
    OPTIMUM_SEEDS,
    PUBLISHED,
    STEP,
    STEPS,
    WORKLOADS,
    Detail,
    Measured,
    service,
)

GOSSIP_ITERATIONS: Final = 15
NAMES: Final = {"nash": "selfish", "incentive": "cooperative", "social": "optimum"}
"""By strategy."""


def _span(module: str, cores: int) -> str:
    """The seconds between images for which a module is given so many cores.

    >>> _span("denoiser-2", 3)
    '0.61 to 0.915 s'
    """
    work = service()[module].service_time * service().visits()[module]
    return f"{work / cores:.3g} to {work / (cores - 1):.3g} s"


FILE: Final = read_paper(__package__).using(
    vars(experiment),
    globals(),
    buffer=service()["recognizer"].buffer,
    two_cores=_span("denoiser-1", 2),
    three_cores=_span("denoiser-2", 3),
)
measure = FILE.measures

# Tables.


def tables(results: Measured) -> Iterator[Table]:
    """A part of Tab. IV for each workload, and Tab. V."""
    whole, workloads = results.options.steps == STEPS, _ran(results.options)
    *parts, last = (_table_iv(workload, whole=whole) for workload in workloads)
    yield from (replace(part, notes=()) for part in parts)
    yield replace(last, beside=parts)
    rows = (row for workload in workloads for row in _rows_v(workload, whole=whole))
    yield FILE.sheet("V").table(rows)


def _ran(options: Options) -> list[str]:
    return [workload for workload in WORKLOADS if workload in options.workloads]


def _table_iv(workload: str, *, whole: bool) -> Table:
    sheet = FILE.sheet("IV", workload=workload)

    def cells(module: str, *strategies: str) -> Iterator[Cell]:
        for quantity in sheet.write:
            compares = whole or quantity == "efficiency"
            row = vars(PUBLISHED)[quantity][workload, module]
            for strategy in strategies:
                place = {"workload": workload, "module": module, "strategy": strategy}
                paper = {quantity: row.get(strategy) if compares else None}
                yield from sheet.cells((workload, strategy, module), place, paper, [quantity])

    return sheet.table(
        Row((module,), tuple(cells(module, *COMPARED)), tuple(cells(module, "social")))
        for module in MODULES
    )


def _rows_v(workload: str, *, whole: bool) -> Iterator[Row]:
    sheet = FILE.sheet("V")

    def cell(quantity: str, strategy: str) -> Cell:
        place = {"workload": workload, "strategy": strategy}
        paper = {quantity: _printed(workload, strategy, quantity, whole=whole)}
        [made] = sheet.cells((workload, strategy), place, paper, [quantity])
        return made

    def ratio(quantity: str) -> Cell:
        return replace(cell(quantity, BOTH), words=writer(",.3f"), calibrated=False)

    for quantity, name in _ROWS.items():
        last = ratio(quantity) if quantity in ("cost", "images") else ""
        values = (cell(quantity, strategy) for strategy in NAMES)
        yield Row((workload if quantity == "cost" else "", name), (*values, last))
    further = tuple(cell(q, strategy) for q in ("messages", "rounds") for strategy in NAMES)
    yield Row(("", "price of stability"), ("", "", "", ratio("stability")), further)


_ROWS: Final = {
    "cost": "total cost",
    "images": "completed images",
    "throughput": "images a step",
    "turned_away": "share turned away",
}


def _printed(workload: str, strategy: str, quantity: str, *, whole: bool) -> float | None:
    """Totals are of all steps; ratios and throughput compare whatever the number of steps."""
    if quantity == "stability":
        return float(PUBLISHED.stability[workload])
    pair: Mapping[str, float] | None = PUBLISHED.table_v.get((workload, quantity))
    if pair is None or not (whole or quantity == "throughput" or strategy == BOTH):
        return None
    return pair["incentive"] / pair["nash"] if strategy == BOTH else pair.get(strategy)


# Why figures of ours are not the paper's, each reason worked out from what both say.


def _apart(differing: Sequence[Entry]) -> list[Entry]:
    return [e for e in differing if e.where["quantity"] == "cost" and e.where["strategy"] != BOTH]


@measure
def costs_apart(differing: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The paper's cost, and ours, beside what the paper's images cost at least."""
    for entry in _apart(differing):
        workload, strategy = entry.where["workload"], entry.where["strategy"]
        least = least_cost(workload, strategy)
        yield {
            "workload": workload,
            "name": NAMES[strategy],
            "images": PUBLISHED.table_v[workload, "throughput"][strategy],
            "least": least,
            "theirs": _beside(entry.paper or 0.0, least),
            "ours": _beside(entry.ours.mean, least),
        }


@measure
def first_cost_apart(differing: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """What cyclic costs at least, and what the paper prints; once, where any cost differs."""
    for _ in _apart(differing)[:1]:
        images, cost = (PUBLISHED.table_v["cyclic", q]["nash"] for q in ("throughput", "cost"))
        yield {"images": images, "least": least_cost("cyclic", "nash"), "cost": cost}


@measure
def stability_apart(differing: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The price of stability as the paper prints it, and by its own figures."""
    for entry in (e for e in differing if e.where["quantity"] == "stability"):
        workload = entry.where["workload"]
        selfish, cooperative = PUBLISHED.table_v[workload, "cost"].values()
        yield {
            "workload": workload,
            "printed": PUBLISHED.stability[workload],
            "cooperative": cooperative,
            "selfish": selfish,
            "ratio": cooperative / selfish,
            "paced": least_cost(workload, "incentive") / least_cost(workload, "nash"),
        }


def _beside(cost: float, least: float) -> str:
    """How far a cost is from the least.

    >>> _beside(2123.0, 1862.0), _beside(1860.0, 1862.0)
    ('14 % more', 'the same')
    """
    share = round(cost / least - 1.0, 2)
    more = "more" if share > 0 else "less"
    return f"{percent(abs(share), '.0f')} {more}" if share else "the same"


def least_cost(workload: str, strategy: str) -> float:
    """What the paper's images cost at least, by its own parameters.

    Each module pays for the seconds between two results and for its replicas, of which none is
    wasted. That is convex in the rate, so an even pace is the cheapest.

    >>> round(least_cost("cyclic", "nash")), PUBLISHED.table_v["cyclic", "cost"]["nash"]
    (1896, 1792)
    """
    pace: float = STEP * STEPS / PUBLISHED.table_v[workload, "images"][strategy]
    graph = service()
    reach = graph.visits()
    return STEPS * sum(
        m.delay_cost * pace / reach[m.name]
        + m.price
        * (m.max_replicas if m.max_replicas == 1 else m.service_time * reach[m.name] / pace)
        for m in graph.modules
    )


# Claims.


def _ratios(results: Measured, quantity: str) -> dict[str, float]:
    """The cooperative strategy by the selfish one."""
    means = {w: results.mean((w, BOTH), quantity) for w in results.options.workloads}
    return {workload: mean for workload, mean in means.items() if mean is not None}


@measure
def cheaper(results: Measured) -> dict[str, float]:
    """Share of the selfish cost that cooperation saves."""
    return {workload: 1.0 - ratio for workload, ratio in _ratios(results, "cost").items()}


@measure
def more_images(results: Measured) -> dict[str, float]:
    """Images of the cooperative strategy beyond those of the selfish one, as a share of these."""
    return {workload: ratio - 1.0 for workload, ratio in _ratios(results, "images").items()}


@measure
def efficiencies(results: Measured) -> list[float]:
    """The least and the greatest of all modules."""
    subjects = [(w, s, m) for w in results.options.workloads for s in COMPARED for m in MODULES]
    means = [mean for one in subjects if (mean := results.mean(one, "efficiency")) is not None]
    return [min(means), max(means)] if means else []


@measure
def gossip_error(results: Measured) -> list[float]:
    """The greatest of all runs."""
    details = results.details.values()
    return [max(float(d.gossip_errors[GOSSIP_ITERATIONS - 1]) for d in details)] if details else []


@measure
def paid(results: Measured) -> Finding | None:
    """The modules that were paid, if any run was looked at step by step."""
    if not results.details:
        return None
    most = np.max([detail.incentives.max(axis=0) for detail in results.details.values()], axis=0)
    names = [name for name, share in zip(service().names(), most, strict=True) if share > 0]
    return Finding([", ".join(names) or "none was paid"], set(names) <= set(MODULES[2:]))


def _of_optimum(results: Measured, quantity: str) -> list[float]:
    """All repetitions of all workloads."""
    each = (results.measured.get(((w, OPTIMUM), quantity), ()) for w in WORKLOADS)
    return [value for values in each if not isinstance(values, Interval) for value in values]


@measure
def dearer(results: Measured) -> Finding | None:
    """The optimum beside incentives: counts of all repetitions, and the worst ratio of costs."""
    if not (costs := _of_optimum(results, "cost")):
        return None
    counts = {quantity: sum(_of_optimum(results, quantity)) for quantity in ("dearer", "alike")}
    steps, cost = len(costs) * (results.options.steps or STEPS), max(costs)
    return Finding({**counts, "cost": cost, "steps": steps}, counts["dearer"] == 0 and cost < 1.001)


@measure
def messages_of_optimum(results: Measured) -> list[float]:
    """The greatest share of those with incentives."""
    return sorted(_of_optimum(results, "messages"))[-1:]


# Figures: one run step by step, and what agents sent in it.


def figures(results: Measured) -> Iterator[Figure]:
    """Those that the workloads that ran have data for."""
    details, elastic = results.details, MODULES[2:]
    yield FILE.figure(
        "12",
        {
            workload: (
                line("mean of the step", detail.inter_arrival),
                line("expected by the dispatcher", detail.estimate, first=1),
            )
            for workload, detail in details.items()
        },
    )
    cores = {f"{m}, {w}": _both(d.degrees, m) for w, d in details.items() for m in elastic}
    yield FILE.figure("13", cores)
    walk = details.get("rwalk")
    if walk:
        yield FILE.figure("14", {module: _both(walk.costs, module) for module in MODULES})
    paid = {
        workload: [line(m, detail.incentives[:, _column(m)], first=1) for m in elastic]
        for workload, detail in details.items()
    }
    yield FILE.figure("15", paid)
    if walk and walk.tuning:
        rounds, ratio, x = walk.tuning.rounds, walk.tuning.stability, np.array(INCREMENTS)
        yield FILE.figure(
            "16",
            {
                "Rounds of a step": [line("rounds", rounds, x)],
                "Price of stability": [line("price of stability", ratio, x)],
            },
            alike=float(np.ptp(ratio)) < 1e-3,
            unbounded=_unbounded(),
        )
    errors = np.mean([detail.gossip_errors for detail in details.values()], axis=0)
    drawn = line("error of the sum", errors, first=1.0)
    error = errors[GOSSIP_ITERATIONS - 1]
    yield FILE.figure("17a", {"Worst informed agent": [drawn]}, error=error)
    names = ("selfish", "cooperative, tree", "cooperative, gossip", "optimum")
    counted = {w: _messages(results, w, detail) for w, detail in details.items()}
    yield FILE.bars("17b", "All agents", names, counted)


def _both(columns: Mapping[str, Floats], module: str) -> tuple[Line, ...]:
    """Both strategies; a decision holds from the step after the one that it was made in."""
    return tuple(line(NAMES[name], columns[name][:, _column(module)]) for name in COMPARED)


def _column(module: str) -> int:
    return service().names().index(module)


def _unbounded() -> float:
    """Cores of the recogniser at the optimum, were there any number of them."""
    graph, reach = service(), service().visits()
    elastic = [m for m in graph.modules if m.max_replicas > 1]
    work = sum(m.price * m.service_time * reach[m.name] for m in elastic)
    delay = sum(m.delay_cost / reach[m.name] for m in graph.modules)
    return float(graph["recognizer"].service_time / np.sqrt(work / delay))


def _messages(results: Measured, workload: str, detail: Detail) -> list[float | None]:
    selfish, tree, optimum = (results.mean((workload, name), "messages") for name in NAMES)
    return [selfish, tree, detail.gossip_messages, optimum]


# The paper.


def _facts(options: Options) -> dict[str, Any]:
    return {
        **facts(options),
        "seeds_of_social": min(options.seeds, OPTIMUM_SEEDS),
        "some_without_optimum": options.seeds > OPTIMUM_SEEDS,
        "whole": options.steps == STEPS,
    }


PAPER: Final = FILE.paper(
    "game",
    tasks=experiment.tasks,
    examine=experiment.examine,
    steps=STEPS,
    workloads=WORKLOADS,
    tables=tables,
    figures=figures,
    facts=_facts,
)
"""Section 6: images come to the recognition service for 600 steps under three workloads, and the
degrees of its modules are decided by selfish agents, by agents with incentives, and in closed form.
"""
