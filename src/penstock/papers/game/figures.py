"""The data of Fig. 12 to 17: one run step by step, and what agents said in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from penstock.experiment.results import Chart, Entry, Figure, Floats, Line, find
from penstock.papers.game.claims import GOSSIP_ITERATIONS
from penstock.papers.game.published import MODULES
from penstock.papers.game.runs import INCREMENTS, Detail, Outcome, Tuning
from penstock.papers.game.setup import COMPARED, service

_NAMES: Final = {"nash": "selfish", "incentive": "cooperative"}
_LAST_TWO: Final = MODULES[2:]


def figures(entries: Sequence[Entry], outcomes: Sequence[Outcome]) -> tuple[Figure, ...]:
    """Those that the workloads that ran can tell of."""
    details = {o.case.workload: o.detail for o in outcomes if o.detail is not None}
    walk = details.get("rwalk")
    return (
        _workloads(details),
        _degrees(details),
        *([_costs(walk)] if walk else []),
        _incentives(details),
        *([_tuning(walk.tuning)] if walk and walk.tuning else []),
        _gossip(details),
        _messages(entries, details),
    )


def _workloads(details: Mapping[str, Detail]) -> Figure:
    return Figure(
        number="12",
        title="Workloads",
        charts=tuple(
            Chart(
                title=workload,
                x="step",
                y="s between images",
                lines=(
                    _steps("mean of the step", detail.inter_arrival),
                    _steps("expected by the dispatcher", detail.estimate, first=1),
                ),
            )
            for workload, detail in details.items()
        ),
        notes=("Generated: the paper draws them without figures.",),
    )


def _degrees(details: Mapping[str, Detail]) -> Figure:
    return Figure(
        number="13",
        title="Cores of the edge detector and of the recogniser",
        charts=tuple(
            Chart(
                title=f"{module}, {workload}",
                x="step",
                y="cores",
                stepped=True,
                lines=tuple(_both(detail.degrees, module)),
            )
            for workload, detail in details.items()
            for module in _LAST_TWO
        ),
    )


def _costs(detail: Detail) -> Figure:
    return Figure(
        number="14",
        title="Cost of each module in a step, rwalk",
        charts=tuple(
            Chart(title=module, x="step", y="$", lines=tuple(_both(detail.costs, module)))
            for module in MODULES
        ),
    )


def _incentives(details: Mapping[str, Detail]) -> Figure:
    return Figure(
        number="15",
        title="Incentives, as shares of the price of a core",
        charts=tuple(
            Chart(
                title=workload,
                x="step",
                y="%",
                stepped=True,
                lines=tuple(
                    _steps(module, detail.incentives[:, _column(module)], first=1)
                    for module in _LAST_TWO
                ),
            )
            for workload, detail in details.items()
        ),
    )


def _tuning(tuning: Tuning) -> Figure:
    increments = np.array(INCREMENTS)
    spread = float(np.ptp(tuning.stability))
    return Figure(
        number="16",
        title="Rounds and price of stability by the increment of incentives, rwalk",
        charts=(
            Chart(
                title="Rounds of a step",
                x="increment",
                y="rounds",
                wide="x",
                lines=(Line(name="rounds", x=increments, y=tuning.rounds),),
            ),
            Chart(
                title="Price of stability",
                x="increment",
                y="cooperative / selfish",
                wide="x",
                lines=(Line(name="price of stability", x=increments, y=tuning.stability),),
            ),
        ),
        notes=tuple(_about_tuning(spread)),
    )


def _about_tuning(spread: float) -> Iterator[str]:
    yield (
        "Decided again in the steps of one run, with each increment; costs by the model, with "
        "whole cores."
    )
    if spread < 1e-3:
        yield (
            "The paper's price of stability gets better with smaller increments. By Tab. III the "
            f"optimum is beyond what 32 cores of the recogniser can do ({_unbounded():.0f} would "
            "be best), so incentives grow until arrivals or the cores are the limit, and end at "
            "the same degrees whatever their increment."
        )


def _gossip(details: Mapping[str, Detail]) -> Figure:
    errors = np.mean([detail.gossip_errors for detail in details.values()], axis=0)
    at = np.arange(1.0, len(errors) + 1)
    return Figure(
        number="17a",
        title="Error of gossip",
        charts=(
            Chart(
                title="Worst informed agent",
                x="iteration",
                y="%",
                wide="y",
                lines=(Line(name="error of the sum", x=at, y=errors),),
            ),
        ),
        notes=(
            f"{100 * errors[GOSSIP_ITERATIONS - 1]:.2g} % after {GOSSIP_ITERATIONS} iterations, "
            "where the paper has about 2 %: here agents share with all neighbours at once; with "
            "one of them, drawn at random, it would be 0.4 %.",
        ),
    )


def _messages(entries: Sequence[Entry], details: Mapping[str, Detail]) -> Figure:
    names = ("selfish", "cooperative, tree", "cooperative, gossip", "optimum")
    places = np.arange(float(len(names)))
    return Figure(
        number="17b",
        title="Messages of a step",
        charts=(
            Chart(
                title="All agents",
                x="strategy",
                y="messages",
                names=names,
                lines=tuple(
                    Line(name=workload, x=places, y=_counted(entries, workload, detail))
                    for workload, detail in details.items()
                ),
            ),
        ),
    )


def _counted(entries: Sequence[Entry], workload: str, detail: Detail) -> Floats:
    found = {
        strategy: find(entries, workload=workload, strategy=strategy, quantity="messages")
        for strategy in (*COMPARED, "social")
    }
    selfish, tree, optimum = (np.nan if e is None else e.ours.mean for e in found.values())
    return np.array([selfish, tree, detail.gossip_messages, optimum])


def _both(columns: Mapping[str, Floats], module: str) -> Iterator[Line]:
    for strategy in COMPARED:
        yield _steps(_NAMES[strategy], columns[strategy][:, _column(module)])


def _steps(name: str, values: Floats, first: int = 0) -> Line:
    """A value for each step; decisions hold from the step after the one that they were made in."""
    return Line(name=name, x=np.arange(float(first), len(values) + first), y=values)


def _column(module: str) -> int:
    return service().names().index(module)


def _unbounded() -> float:
    """Cores of the recogniser at the optimum, were there any number of them."""
    graph, reach = service(), service().visits()
    elastic = [m for m in graph.modules if m.max_replicas > 1]
    work = sum(m.price * m.service_time * reach[m.name] for m in elastic)
    delay = sum(m.delay_cost / reach[m.name] for m in graph.modules)
    return float(graph["recognizer"].service_time / np.sqrt(work / delay))
