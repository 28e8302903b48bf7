"""Every figure of Tab. IV and V, ours with its interval beside the paper's."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from penstock.experiment.interval import interval
from penstock.experiment.results import Entry
from penstock.papers.game import published
from penstock.papers.game.runs import Outcome
from penstock.papers.game.setup import COMPARED, STEPS, service

TOLERANCE: Final = 0.05
"""Share by which a figure may be off before it needs a reason."""
TOLERANCE_OF_COUNTS: Final = 0.25
"""The same for numbers of reconfigurations, which depend on noise alone."""


def entries(outcomes: Sequence[Outcome]) -> tuple[Entry, ...]:
    """Both tables, workload after workload."""
    workloads = dict.fromkeys(outcome.case.workload for outcome in outcomes)
    by_workload = {w: [o for o in outcomes if o.case.workload == w] for w in workloads}
    fourth = [e for w, found in by_workload.items() for e in _table_iv(w, found)]
    fifth = [e for w, found in by_workload.items() for e in _table_v(w, found)]
    return (*fourth, *fifth)


def _table_iv(workload: str, outcomes: Sequence[Outcome]) -> Iterator[Entry]:
    whole = outcomes[0].case.steps == STEPS
    counts = published.RECONFIGURATIONS[workload] if whole else {}
    for module in published.MODULES:
        column = service().names().index(module)
        for strategy in _strategies(outcomes):
            for quantity, paper, tolerance in (
                ("reconfigurations", counts.get(module), TOLERANCE_OF_COUNTS),
                ("efficiency", published.EFFICIENCY[workload][module], TOLERANCE),
            ):
                yield Entry(
                    where={
                        "table": "IV",
                        "workload": workload,
                        "module": module,
                        "strategy": strategy,
                        "quantity": quantity,
                    },
                    ours=interval([v[column] for v in _of(outcomes, strategy, quantity)]),
                    paper=_printed(paper, strategy),
                    tolerance=tolerance,
                )


def _table_v(workload: str, outcomes: Sequence[Outcome]) -> Iterator[Entry]:
    whole = outcomes[0].case.steps == STEPS
    totals = {"cost": published.COST[workload], "images": published.IMAGES[workload]}
    paper = {"throughput": published.THROUGHPUT[workload], **(totals if whole else {})}
    for quantity in ("cost", "images", "throughput", "turned_away", "messages", "rounds"):
        for strategy in _strategies(outcomes):
            yield _entry_v(
                workload,
                strategy,
                quantity,
                _of(outcomes, strategy, quantity),
                _printed(paper.get(quantity), strategy),
            )
    yield from _ratios(workload, outcomes)


def _ratios(workload: str, outcomes: Sequence[Outcome]) -> Iterator[Entry]:
    """The cooperative strategy by the selfish one, seed by seed."""
    both = "incentive/nash"
    stability = [outcome.stability for outcome in outcomes]
    yield _entry_v(workload, both, "stability", stability, published.STABILITY[workload])
    for quantity, paper in (("cost", published.COST), ("images", published.IMAGES)):
        selfish, cooperative = (_of(outcomes, name, quantity) for name in COMPARED)
        ratios = [ours / theirs for ours, theirs in zip(cooperative, selfish, strict=True)]
        yield _entry_v(workload, both, quantity, ratios, _ratio(paper[workload]))


def _entry_v(
    workload: str, strategy: str, quantity: str, values: Sequence[float], paper: float | None
) -> Entry:
    where = {"table": "V", "workload": workload, "strategy": strategy, "quantity": quantity}
    return Entry(where=where, ours=interval(values), paper=paper, tolerance=TOLERANCE)


def _strategies(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Those that any repetition had, in their order."""
    return tuple(dict.fromkeys(name for outcome in outcomes for name in outcome.scores))


def _of(outcomes: Sequence[Outcome], strategy: str, quantity: str) -> list[Any]:
    """One value, or one for each module, of every seed with which the strategy ran."""
    scores = [o.scores[strategy] for o in outcomes if strategy in o.scores]
    return [getattr(score, quantity) for score in scores]


def _printed(pair: tuple[float, float] | None, strategy: str) -> float | None:
    return None if pair is None else dict(zip(COMPARED, pair, strict=True)).get(strategy)


def _ratio(pair: tuple[float, float]) -> float:
    return pair[1] / pair[0]
