"""What commands that run an experiment share: its folder and page, tables, and progress."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from pathlib import Path
from signal import SIGINT
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from penstock import __version__
from penstock.cli.interrupt import Interrupted, Interrupts
from penstock.cli.output import print_json, print_line, say
from penstock.core.errors import FileError

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.experiment.results import Reproduction, Table


_WIDE: Final = 160
"""Characters of a line that a terminal cannot show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an experiment came to: for machines, as a page and in lines."""

    data: dict[str, Any]
    page: Callable[[str], str]
    """Takes when and with what it was made."""
    lines: Callable[[], Iterator[str]]


def carry_out(
    args: Namespace,
    name: str,
    files: tuple[str, str],
    run: Callable[[Path], Outcome],
    *,
    stopped: str = "nothing was written",
) -> int:
    """Run an experiment, write its data and its page, and print it; with a signal all or nothing.

    `name` is that of the folder where `--out` gives none; `files` are those of data and page.
    """
    from penstock.record import run_path
    from penstock.record.disk import write_whole

    started = datetime.now().astimezone()
    path = Path(args.out) if args.out else run_path(name, started)
    results, report = (path / file for file in files)
    with Interrupts() as interrupts:
        try:
            with results_folder(path, *files) as finish:
                outcome = run(path)
                interrupts.hold()
                data = {**outcome.data, "folder": str(path), "report": str(report)}
                write_whole(results, json.dumps(data, allow_nan=False) + "\n")
                when = f"{started.day} {started:%B %Y, %H:%M} \u00b7 penstock {__version__}"
                write_whole(report, outcome.page(when))
                finish()
        except (Interrupted, KeyboardInterrupt):
            interrupts.settle()
            say(f"stopped; {stopped}")
            return 128 + (interrupts.signal or SIGINT)
    if args.json:
        print_json(data)
        return 0
    for line in (*outcome.lines(), "", f"  page    {report}", f"  data    {results}"):
        print_line(line)
    return 0


def sheets(done: "Reproduction") -> Iterator[str]:
    """Every line: tables with their notes, and what was found again."""
    console = wide_console()
    yield f"{done.paper}: {done.title}"
    for remark in done.remarks:
        yield from wrapped(remark, console.width)
    yield from all_tables(done.tables, console)
    yield ""
    yield "Found again?"
    for claim in done.claims:
        answer = ("fit" if claim.calibrated else "yes") if claim.holds else "NO"
        yield from wrapped(f"{claim.text} {claim.answer}", console.width, mark=f"{answer:<4}")


def wide_console() -> "Console":
    """As wide and as colourful as what the lines are shown on."""
    from rich.console import Console  # only who shows a table needs it

    seen = sys.stdout is not None and sys.stdout.isatty()
    width = Console(file=sys.stdout).width if seen else _WIDE
    return Console(file=StringIO(), width=width, force_terminal=seen, highlight=False)


def all_tables(tables: "Iterable[Table]", console: "Console") -> Iterator[str]:
    """Tables with their notes, a blank line before each."""
    for table in tables:
        yield ""
        yield from table_lines(table, console)
        for note in table.notes:
            yield from wrapped(note, console.width, mark="- ")


def table_lines(table: "Table", console: "Console") -> Iterator[str]:
    """A table as lines, fitted to the console."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name, *cells in zip(table.header, *table.rows, strict=True):
        numbers = any(cell[:1].isdigit() for cell in cells)
        grid.add_column(Text(name), justify="right" if numbers else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell) for cell in row))
    with console.capture() as shown:
        console.print(Text(table.title, style="bold"))
        console.print(grid)
    yield from (line.rstrip() for line in shown.get().splitlines())


def wrapped(text: str, width: int, mark: str = "") -> Iterator[str]:
    """A text that begins with a mark, its further lines set in below it.

    >>> list(wrapped("one two three", 11, mark="- "))
    ['  - one two', '    three']
    """
    first, rest = f"  {mark}", " " * (2 + len(mark))
    return iter(wrap(text, width, initial_indent=first, subsequent_indent=rest))


# How far a long computation is, beside its result.


ShowProgress = Callable[[int, int], None]
"""Takes how many of how many are done."""

_LINES: Final = 10
"""Plain lines, at most, where there is no terminal."""


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[ShowProgress]:
    """A bar with the time that is left on a terminal, a few plain lines elsewhere."""
    if quiet or sys.stderr is None:
        yield lambda done, total: None  # noqa: ARG005  # no progress is shown
    elif sys.stderr.isatty():
        with _bar(what) as show:
            yield show
    else:
        yield lines(what, say)


def lines(what: str, write: Callable[[str], None]) -> ShowProgress:
    """Write a line at every tenth of the work.

    >>> show = lines("runs", print)
    >>> for done in range(31):
    ...     show(done, 30)  # doctest: +ELLIPSIS
    0 of 30 runs done
    3 of 30 runs done
    6 of 30 runs done
    ...
    30 of 30 runs done
    """

    def show(done: int, total: int) -> None:
        if done * _LINES // total > (done - 1) * _LINES // total:
            write(f"{done} of {total} {what} done")

    return show


@contextmanager
def _bar(what: str) -> Iterator[ShowProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), f"{what},", TimeRemainingColumn(), "left")
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# The folder of a command that leaves a page and its data.


_LEAST_FREE: Final = 20_000_000


@contextmanager
def results_folder(path: Path, *known: str) -> Iterator[Callable[[], Any]]:
    """The folder for files of known names, taken away again unless what is yielded is called.

    One that holds anything else is refused.
    """
    from penstock.record import folder
    from penstock.record.disk import check_space

    with ExitStack() as refused:
        refused.callback(folder.make(path))
        with folder.claim_folder(path):
            strangers = sorted(entry.name for entry in path.iterdir() if entry.name not in known)
            if strangers:
                raise FileError(
                    f"the folder {path} holds something else ({strangers[0]}); give --out another "
                    "folder"
                )
            check_space(path, _LEAST_FREE)
            yield refused.pop_all
