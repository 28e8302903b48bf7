"""The tables of a reproduction in a terminal, or plain where there is none."""

import sys
from collections.abc import Iterator
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from penstock.experiment.reproduction import Reproduction, Table

_WIDE: Final = 160
"""Characters of a line that nobody sees on a terminal."""


def sheets(done: "Reproduction") -> Iterator[str]:
    """Every line: tables with their notes, and what was found again."""
    console = wide_console()
    yield f"{done.paper}: {done.title}"
    for remark in done.remarks:
        yield from wrapped(remark, console.width)
    for table in done.tables:
        yield ""
        yield from table_lines(table, console)
        for note in table.notes:
            yield from wrapped(note, console.width, mark="- ")
    yield ""
    yield "Found again?"
    for claim in done.claims:
        answer = "yes" if claim.holds else "NO"
        yield from wrapped(f"{claim.text} {claim.found}", console.width, mark=f"{answer:<4}")


def wide_console() -> Console:
    """As wide and as colourful as what the lines are shown on."""
    seen = sys.stdout is not None and sys.stdout.isatty()
    width = Console(file=sys.stdout).width if seen else _WIDE
    return Console(file=StringIO(), width=width, force_terminal=seen, highlight=False)


def table_lines(table: "Table", console: Console) -> Iterator[str]:
    """A table as lines, fitted to the console."""
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
