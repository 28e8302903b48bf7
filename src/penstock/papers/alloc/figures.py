"""Fig. 7 and 8: how a tree follows its rates."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.experiment.results import Chart, Figure, Floats, Line
from penstock.papers.alloc import published
from penstock.papers.alloc.adaptation import (
    EVERY,
    PERTURBATIONS,
    PLAIN,
    READINGS,
    SHARED,
    Reading,
    again,
    once,
    play,
)
from penstock.papers.alloc.entries import AFTER
from penstock.papers.alloc.graphs import WITHIN
from penstock.papers.alloc.runs import Runs

SHOWN: Final = AFTER["later"] + 1
"""Hops of Fig. 7."""


def figures(runs: Runs) -> tuple[Figure, ...]:
    """Both."""
    return (_after_one(runs), _under_many())


def _after_one(runs: Runs) -> Figure:
    single = once(published.DRAWN, WITHIN, 1)
    tree = [_line(r.name, play(single, r, hops=SHOWN).share) for r in READINGS]
    return Figure(
        number="7",
        title="Share of the new optimum after a perturbation",
        charts=(
            _chart(f"a tree of {published.DRAWN} nodes", tree),
            _chart("mean by nodes", list(_means(runs, SHARED))),
            _chart(f"mean by nodes: {PLAIN.name}, and idle resource is lost", _means(runs, PLAIN)),
        ),
        notes=(f"Rates change by {WITHIN}, at hop 0. The tree is that of the first seed.",),
    )


def _means(runs: Runs, reading: Reading) -> list[Line]:
    def lines() -> Iterator[Line]:
        for nodes in published.TREE_SIZES:
            courses = [tree.course for tree in runs.trees(nodes, WITHIN, reading)]
            yield _line(f"{nodes:,} nodes", np.mean(courses, axis=0)[:SHOWN])

    return list(lines())


def _under_many() -> Figure:
    many = again(published.DRAWN, WITHIN, 1)
    course = play(many, SHARED, hops=EVERY * PERTURBATIONS)
    return Figure(
        number="8",
        title=f"Value under a perturbation every {EVERY} hops",
        charts=(
            Chart(
                title=f"a tree of {published.DRAWN} nodes",
                x="hop",
                y="",
                stepped=True,
                lines=(_line("optimum", course.optimum), _line("achieved", course.value)),
            ),
        ),
        notes=(
            f"Rates change by {WITHIN}, and changes add up. The tree is that of the first seed.",
        ),
    )


def _chart(title: str, lines: list[Line]) -> Chart:
    return Chart(title=title, x="hop", y="%", lines=tuple(lines))


def _line(name: str, values: Floats) -> Line:
    return Line(name=name, x=np.arange(float(len(values))), y=values)
