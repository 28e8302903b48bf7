"""What is run for the alloc paper, and what is measured of it."""

from dataclasses import replace

import numpy as np
import pytest

from penstock.papers.alloc.adaptation import HOPS, Course
from penstock.papers.alloc.experiment import BATCH, Task, examine, followed, tasks
from penstock.papers.alloc.graphs import REDUCED, WITHIN
from penstock.papers.framework import Options, Run, gather
from tests.support.papers import paper

TREES = Task(sort="trees", nodes=1000, kind=WITHIN, seeds=(1,))


def test_each_seed_is_drawn_once_however_many_there_are() -> None:
    batches = [
        task.seeds for task in tasks(Options(seeds=BATCH + 1)) if replace(task, seeds=(1,)) == TREES
    ]
    assert [seed for batch in batches for seed in batch] == list(range(1, BATCH + 2))


def test_a_tree_that_never_gets_there_counts_with_all_hops() -> None:
    values = followed(Course(optimum=np.ones(HOPS), value=np.full(HOPS, 0.9)))
    assert (values["hops"], values["never"], values["in the end"]) == (HOPS, 1.0, 0.9)


def test_a_question_goes_up_and_down_and_the_answer_once_more() -> None:
    [run] = [examine(Task(sort="graphs", nodes=20, kind=REDUCED, seeds=(1,)))]
    values = dict(run.values)
    planned = values["heuristic-b", REDUCED, 20]
    assert planned["iterations"] == (planned["passes"] - 1) / 2
    one_round = values["heuristic-a, one round", REDUCED, 20]
    assert values["heuristic-a", REDUCED, 20]["once"] == one_round["share"]


def test_spread_and_worst_are_of_all_graphs_together() -> None:
    subject = ("heuristic-b", REDUCED, 20)
    values = [(subject, {"edges": 74.0, "share": share, "good": share > 0.9}) for share in (0.8, 1)]
    measured = gather(paper("alloc"), Options(seeds=2), [Run(values)])
    assert measured.mean(subject, "worst") == 0.8
    assert measured.mean(subject, "good") == 0.5
    assert measured.mean(subject, "spread") == pytest.approx(0.1414, abs=1e-4)
