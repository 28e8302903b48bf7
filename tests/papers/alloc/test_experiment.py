"""What is run for the alloc paper, and what is measured of it."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from penstock.papers.alloc.adaptation import HOPS
from penstock.papers.alloc.experiment import (
    BATCH,
    Followed,
    Graph,
    Outcome,
    Plan,
    Task,
    gather,
    tasks,
)
from penstock.papers.alloc.graphs import REDUCED, WITHIN
from penstock.papers.framework import Options

TREES = Task(sort="trees", nodes=1000, kind=WITHIN, seeds=(1,))


def test_each_seed_is_drawn_once_however_many_there_are() -> None:
    batches = [
        task.seeds for task in tasks(Options(seeds=BATCH + 1)) if replace(task, seeds=(1,)) == TREES
    ]
    assert [seed for batch in batches for seed in batch] == list(range(1, BATCH + 2))


def test_a_tree_that_never_gets_there_counts_with_all_hops() -> None:
    tree = Followed(reached=nan, course=np.full(HOPS, 0.9), share=0.9)
    found = gather(Options(seeds=1), [Outcome(task=TREES, trees=({"adapting": tree},))])
    assert found.mean((WITHIN, "adapting", 1000), "hops") == HOPS
    assert found.mean((WITHIN, "adapting", 1000), "never") == 1.0
    assert found.mean((WITHIN, "adapting", 1000), "in the end") == 0.9


def test_a_question_goes_up_and_down_and_the_answer_once_more() -> None:
    names = ("heuristic-a", "heuristic-a, one round", "heuristic-b", "cutting-plane")
    shares = (0.7, 0.6, 0.8, 1.0)
    plans = {n: Plan(share=s, passes=11, messages=9) for n, s in zip(names, shares, strict=True)}
    graph = Graph(edges=74, sources=5, sinks=4, plans=plans)
    task = Task(sort="graphs", nodes=20, kind=REDUCED, seeds=(1, 2))
    other = replace(graph, plans={**plans, "heuristic-b": replace(plans["heuristic-b"], share=1.0)})
    found = gather(Options(seeds=2), [Outcome(task=task, graphs=(graph, other))])
    subject = ("heuristic-b", REDUCED, 20)
    assert found.mean(subject, "iterations") == 5
    assert found.mean(subject, "worst") == 0.8
    assert found.mean(subject, "good") == 0.5
    assert found.mean(subject, "spread") == pytest.approx(0.1414, abs=1e-4)
    assert found.mean(("heuristic-a", REDUCED, 20), "once") == 0.6
