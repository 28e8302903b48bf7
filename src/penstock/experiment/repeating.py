"""The runs of a paper, one after another or in processes of their own, in the same order.

>>> repeat(abs, [-3, 4], jobs=1)
[3, 4]
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import TypeVar

from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.experiment.workers import spread

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

Progress = Callable[[int, int], None]
"""Told how many of how many runs are done."""


def silent(_done: int, _total: int, /) -> None:
    """Tell nobody."""


def check_amounts(**amounts: int | None) -> None:
    """Refuse nothing to do.

    >>> check_amounts(seeds=3, steps=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: steps must be 1 or more, got 0
    """
    for name, amount in amounts.items():
        if amount is not None and amount < 1:
            raise SettingError(f"{name} must be 1 or more, got {amount}")


def check_workloads(chosen: Iterable[str], known: Sequence[str]) -> None:
    """Refuse workloads that a paper does not have."""
    for workload in chosen:
        if workload not in known:
            raise SettingError(
                f"there is no workload {workload!r} in the paper{near(workload, known)}"
            )


def repeat(
    examine: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    *,
    jobs: int,
    progress: Progress = silent,
    compile_with: Task | None = None,
) -> list[Outcome]:
    """What comes of each task, in the order of the tasks whatever the number of jobs.

    With several jobs, `compile_with` is a short task that is done first and here: it compiles the
    twin once, on disk, and not in every worker.
    """
    if jobs > 1 and compile_with is not None:
        examine(compile_with)
    done: dict[int, Outcome] = {}
    progress(0, len(tasks))
    with closing(spread(examine, tasks, jobs=jobs)) as results:
        for index, outcome in results:
            done[index] = outcome
            progress(len(done), len(tasks))
    return [done[index] for index in range(len(tasks))]
