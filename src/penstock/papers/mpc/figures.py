"""The data of Fig. 11 to 17: one run of each strategy step by step, and means over seeds."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from penstock.experiment.results import Chart, Entry, Figure, Floats, Line, find
from penstock.papers.mpc.runs import Course, Outcome
from penstock.papers.mpc.setup import KEEPS_UP, VARIANTS, Variant
from penstock.policy.mpc import STRATEGIES

Courses = dict[tuple[str, str], Course]
"""By workload and name of the variant."""

_CHOICES: Final = {
    "nosw": "without switching cost",
    "sw-1": "one step ahead",
    "sw-2": "two steps ahead",
}
_WORKLOADS: Final = {"rwalk": "random walk", "day": "trading day"}


def is_drawn(variant: Variant) -> bool:
    """Whether its steps are shown, and not only their sums."""
    return variant.choice == "nosw" or variant.name in ("th-power sw-1", "th-power sw-2")


def figures(entries: Sequence[Entry], outcomes: Sequence[Outcome]) -> tuple[Figure, ...]:
    """Those that the workloads that ran can tell of."""
    courses = {
        (o.case.workload, o.case.variant.name): o.course for o in outcomes if o.course is not None
    }
    workloads = [w for w in _WORKLOADS if find(entries, workload=w)]
    return (
        *([_replicas(courses)] if "day" in workloads else []),
        _bars("12", "Reconfigurations", entries, workloads, "reconfigurations"),
        _watts(courses, workloads),
        _bars("14a", "Replicas", entries, workloads, "replicas", _by_replicas),
        _bars("14b", "Watts (modelled)", entries, workloads, "watts", _by_power),
        *([_ratios(courses)] if "rwalk" in workloads else []),
        _bars("16", "Seconds in which quality is missed", entries, workloads, "violations"),
        _bars("17", "Amplitude of reconfigurations", entries, workloads, "amplitude"),
    )


def _replicas(courses: Courses) -> Figure:
    free = courses["day", "th-power nosw"]
    return Figure(
        number="11",
        title="Replicas of th-power on the trading day",
        charts=tuple(
            Chart(
                title=f"without switching cost, and {_CHOICES[choice]} with it",
                x="step",
                y="replicas",
                stepped=True,
                lines=(
                    _steps("without", free.replicas),
                    _steps(_CHOICES[choice], courses["day", f"th-power {choice}"].replicas),
                ),
            )
            for choice in ("sw-1", "sw-2")
        ),
    )


def _watts(courses: Courses, workloads: Sequence[str]) -> Figure:
    return Figure(
        number="13",
        title="Watts without switching cost (modelled)",
        charts=tuple(
            Chart(
                title=_WORKLOADS[workload],
                x="step",
                y="W",
                stepped=True,
                lines=tuple(
                    _steps(strategy, courses[workload, f"{strategy} nosw"].watts)
                    for strategy in STRATEGIES
                ),
            )
            for workload in workloads
        ),
    )


def _ratios(courses: Courses) -> Figure:
    return Figure(
        number="15",
        title="Results by triggering tuples of th-power on the random walk",
        charts=tuple(
            Chart(
                title=told,
                x="step",
                y="results / tuples",
                lines=tuple(_ratio(courses["rwalk", f"th-power {choice}"])),
            )
            for choice, told in _CHOICES.items()
        ),
        notes=(f"Quality is missed where results are fewer than {KEEPS_UP:g} of the tuples.",),
    )


def _ratio(course: Course) -> Iterator[Line]:
    yield _steps("results / tuples", course.ratio)
    yield _steps("missed below", np.full(len(course.ratio), KEEPS_UP))


def _by_replicas(variant: Variant) -> bool:
    return not STRATEGIES[variant.strategy].power


def _by_power(variant: Variant) -> bool:
    return STRATEGIES[variant.strategy].power


def _bars(
    number: str,
    title: str,
    entries: Sequence[Entry],
    workloads: Sequence[str],
    quantity: str,
    which: Callable[[Variant], bool] = lambda _: True,
) -> Figure:
    shown = [variant for variant in VARIANTS if which(variant)]
    chart = Chart(
        title=title,
        x="strategy",
        y=quantity,
        names=tuple(variant.name for variant in shown),
        lines=tuple(
            Line(
                name=_WORKLOADS[workload],
                x=np.arange(float(len(shown))),
                y=_means(entries, workload, shown, quantity),
            )
            for workload in workloads
        ),
    )
    if not any((line.y > 0).any() for line in chart.lines):
        return Figure(number=number, title=title, charts=(), notes=("None in so few seconds.",))
    return Figure(number=number, title=title, charts=(chart,))


def _means(
    entries: Sequence[Entry], workload: str, variants: Sequence[Variant], quantity: str
) -> Floats:
    found = [
        find(
            entries,
            table="strategies",
            workload=workload,
            strategy=variant.strategy,
            variant=variant.choice,
            quantity=quantity,
        )
        for variant in variants
    ]
    return np.array([np.nan if entry is None else entry.ours.mean for entry in found])


def _steps(name: str, values: Floats) -> Line:
    return Line(name=name, x=np.arange(float(len(values))), y=values)
