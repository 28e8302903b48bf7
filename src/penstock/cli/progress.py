"""How far a long computation is, beside its result."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from penstock.cli.output import say

Tell = Callable[[int, int], None]
"""Takes how many of how many are done."""

_LINES: Final = 10
"""Plain lines, at most, where there is no terminal."""


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[Tell]:
    """A bar with the time that is left on a terminal, a few plain lines elsewhere."""
    if quiet or sys.stderr is None:
        yield lambda done, total: None  # noqa: ARG005  # nobody wants to know
    elif sys.stderr.isatty():
        with _bar(what) as tell:
            yield tell
    else:
        yield lines(what, say)


def lines(what: str, write: Callable[[str], None]) -> Tell:
    """Tell of every tenth part.

    >>> tell = lines("runs", print)
    >>> for done in range(31):
    ...     tell(done, 30)  # doctest: +ELLIPSIS
    0 of 30 runs done
    3 of 30 runs done
    6 of 30 runs done
    ...
    30 of 30 runs done
    """

    def tell(done: int, total: int) -> None:
        if done * _LINES // total > (done - 1) * _LINES // total:
            write(f"{done} of {total} {what} done")

    return tell


@contextmanager
def _bar(what: str) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), f"{what},", TimeRemainingColumn(), "left")
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
