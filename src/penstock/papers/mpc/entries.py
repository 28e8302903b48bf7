"""Every figure that can be set beside the paper's, with its interval."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.experiment.interval import Interval, interval
from penstock.experiment.results import Entry
from penstock.papers.mpc import published
from penstock.papers.mpc.runs import Effort, Outcome, Score
from penstock.papers.mpc.setup import COMPARED, PEAK, SECONDS, VARIANTS, Variant

TOLERANCE: Final = 0.1
"""Share by which a figure may be off before it needs a reason."""
TOLERANCE_OF_COUNTS: Final = 0.25
"""The same for what is counted, or a difference of others."""
QUANTITIES: Final = ("reconfigurations", "violations", "amplitude", "replicas", "watts")
COUNTED: Final = ("reconfigurations", "violations", "explored", "seconds", "watts saved")


def entries(outcomes: Sequence[Outcome], efforts: Sequence[Effort]) -> tuple[Entry, ...]:
    """Tab. 5, the strategies of Fig. 12 to 17, Section 5.3.2 and Tab. 7."""
    workloads = tuple(dict.fromkeys(outcome.case.workload for outcome in outcomes))
    return (
        *_searches(efforts),
        *(entry for workload in workloads for entry in _strategies(outcomes, workload)),
        *(entry for workload in workloads for entry in _power(outcomes, workload)),
        *_comparison(outcomes),
    )


def scores(outcomes: Sequence[Outcome], workload: str, variant: Variant) -> list[Score]:
    """Of each seed."""
    return [
        outcome.score
        for outcome in outcomes
        if outcome.case.workload == workload and outcome.case.variant == variant
    ]


def _searches(efforts: Sequence[Effort]) -> Iterator[Entry]:
    paper: dict[str, Mapping[int, float]] = {
        "explored": published.EXPLORED,
        "seconds": published.SEARCH_TIME,
    }
    for effort in efforts:
        for quantity in ("explored", "seconds"):
            for search, value in getattr(effort, quantity).items():
                theirs = paper[quantity][effort.horizon] if search == "branch-and-bound" else None
                where = {"horizon": str(effort.horizon), "search": search, "quantity": quantity}
                yield _entry({"table": "5", **where}, Interval(value, None, 1), theirs)


def _strategies(outcomes: Sequence[Outcome], workload: str) -> Iterator[Entry]:
    whole = _whole(outcomes, workload)
    for variant in (*VARIANTS, PEAK):
        for quantity, found in _measured(scores(outcomes, workload, variant)):
            hit = (workload, variant.name, quantity) == ("rwalk", "th-power sw-2", "violations")
            paper = published.VIOLATIONS if hit and whole else None
            if variant == PEAK and quantity == "watts":
                paper = published.PEAK_WATTS
            yield _entry(
                {"table": "strategies", **_place(workload, variant, quantity)}, found, paper
            )


def _power(outcomes: Sequence[Outcome], workload: str) -> Iterator[Entry]:
    """What frequencies save, without switching cost; the paper does not say on which workload."""
    watts = {
        variant.strategy: [score.watts for score in scores(outcomes, workload, variant)]
        for variant in (*VARIANTS, PEAK)
        if variant.choice == "nosw" or variant == PEAK
    }
    for strategy, paper in published.SAVING.items():
        shares = [1 - a / b for a, b in zip(watts[strategy], watts["static"], strict=True)]
        where = {"workload": workload, "strategy": strategy, "quantity": "share saved"}
        yield _entry({"table": "5.3.2", **where}, interval(shares), paper)
    for kind, (low, high) in published.SAVED_WATTS.items():
        node, power = watts[f"{kind}-node"], watts[f"{kind}-power"]
        saved = [a - b for a, b in zip(node, power, strict=True)]
        where = {"workload": workload, "strategy": f"{kind}-power", "quantity": "watts saved"}
        yield _entry({"table": "5.3.2", **where}, interval(saved), (low + high) / 2)


def _comparison(outcomes: Sequence[Outcome]) -> Iterator[Entry]:
    whole = _whole(outcomes, "day")
    for variant in COMPARED:
        paper = published.COMPARISON[variant.name] if whole else {}
        for quantity, found in _measured(scores(outcomes, "day", variant)):
            where = _place("day", variant, quantity)
            yield _entry({"table": "7", **where}, found, paper.get(quantity))


def _measured(found: Sequence[Score]) -> Iterator[tuple[str, Interval]]:
    for quantity in QUANTITIES if found else ():
        yield quantity, interval([getattr(score, quantity) for score in found])


def _whole(outcomes: Sequence[Outcome], workload: str) -> bool:
    """Whether all seconds were played, so that numbers of them can be compared."""
    played = [o.case.seconds for o in outcomes if o.case.workload == workload]
    return all(seconds is None or seconds >= SECONDS[workload] for seconds in played)


def _place(workload: str, variant: Variant, quantity: str) -> dict[str, str]:
    return {
        "workload": workload,
        "strategy": variant.strategy,
        "variant": variant.choice,
        "quantity": quantity,
    }


def _entry(where: Mapping[str, str], ours: Interval, paper: float | None) -> Entry:
    counted = where["quantity"] in COUNTED
    tolerance = TOLERANCE_OF_COUNTS if counted else TOLERANCE
    return Entry(where=where, ours=ours, paper=paper, tolerance=tolerance)
