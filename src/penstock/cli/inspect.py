"""`penstock inspect`: what a policy has learned, to be looked at."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import Option
from penstock.cli.output import percent, print_json, print_line
from penstock.core.errors import FileError

if TYPE_CHECKING:
    from penstock.policy.rl.saved import Inspected


HELP: Final = "show what a policy has learned: its action in each state"
EXAMPLES: Final = """\
examples:
  penstock inspect runs/demo              the tables that a run left
  penstock inspect learned.json --json

Each grid has a column for every number of replicas or nodes and a row for every level of load:
+ one more, - one fewer, \u00b7 as it is, blank where it has never been.
"""

_LEGEND: Final = (
    "+ one more, - one fewer, \u00b7 as it is, blank where it has never been",
    "settled: what would be done there has not changed for a hundred steps",
)
_ACTIONS: Final = {-1: "-", 0: "\u00b7", 1: "+"}
_TEN: Final = 10
_THINGS: Final = {"application": "replicas", "infrastructure": "nodes"}


OPTIONS: Final = (
    Option("what", "FILE|RUN", "a file with learned tables, or the folder of a run that has one"),
)


def execute(args: Namespace) -> int:
    """Print every table."""
    from penstock.policy.rl.saved import inspection, read

    path = _file(Path(args.what))
    tables = inspection(read(path))
    if args.json:
        print_json(_for_machines(path, tables))
    else:
        for line in lines(tables):
            print_line(line)
    return 0


def lines(tables: Sequence["Inspected"]) -> Iterator[str]:
    """Every table as grids, with how well it is known."""
    if not tables:
        yield "nothing was learned"
        return
    for table in tables:
        yield _heading(table)
        for place, flag in enumerate(table.flags):
            yield from _titled(flag, grid(table, place))
        yield ""
    yield from _LEGEND


def grid(table: "Inspected", flag: int) -> Iterator[str]:
    """What would be done, the highest level on top, the fewest on the left; visited states only."""
    visits, actions = table.visits[flag], table.actions[flag]
    columns = _reach([any(any(row) for row in rows) for rows in zip(*table.visits, strict=True)])
    rows = _reach([any(row[level] for row in visits) for level in range(len(table.levels))])
    if not rows:
        yield "  (never visited)"
        return
    width = max(len(table.levels[level]) for level in rows)
    for level in reversed(rows):
        shown = (_ACTIONS[actions[n][level]] if visits[n][level] else " " for n in columns)
        yield f"  {table.levels[level]:>{width}} |{''.join(shown)}".rstrip()
    yield from _footer([table.numbers[n] for n in columns], _THINGS[table.level], width)


def _file(path: Path) -> Path:
    """The file of learned tables that a path means."""
    from penstock.record.folder import LEARNED, SETTINGS

    if not path.is_dir():
        return path
    if (path / LEARNED).exists():
        return path / LEARNED
    if (path / SETTINGS).exists():
        raise FileError(
            f"the run in {path} left no {LEARNED}; runs with a policy that learns (rl, q-learning, "
            "warm-start) write one when they end"
        )
    raise FileError(f"the folder {path} has no {LEARNED}; give a file, or the folder of a run")


def _for_machines(path: Path, tables: Sequence["Inspected"]) -> dict[str, Any]:
    from penstock.record.codec import plain

    return {"file": str(path), "managers": [plain(table) for table in tables]}


def _heading(table: "Inspected") -> str:
    """Who learned what, how long, and how settled it is."""
    states = [visits for flag in table.visits for row in flag for visits in row]
    visited = sum(visits > 0 for visits in states)
    heading = (
        f"{table.manager} ({table.level}, {table.kind}): {table.steps:,} steps, "
        f"{visited:,} of {len(states):,} states visited, {percent(table.settled)} of them settled"
    )
    if table.handed_over is None:
        return heading
    return f"{heading}, {'decides itself' if table.handed_over else 'does not decide itself yet'}"


def _titled(title: str, body: Iterator[str]) -> Iterator[str]:
    if title:
        yield f"  {title}:"
    yield from body


def _reach(visited: Sequence[bool]) -> list[int]:
    """From the first to the last that was visited.

    >>> _reach([False, True, False, True, False])
    [1, 2, 3]
    """
    places = [place for place, was in enumerate(visited) if was]
    return list(range(places[0], places[-1] + 1)) if places else []


def _footer(numbers: Sequence[int], things: str, indent: int) -> Iterator[str]:
    """The numbers below a grid, a character each, the tens above the ones where they begin.

    >>> for line in _footer([8, 9, 10, 11], "nodes", indent=3):
    ...     print(line)
             1
           8901 nodes
    """
    margin = " " * (indent + 4)
    if numbers[-1] >= _TEN:
        begin = {numbers[0], *range(_TEN, numbers[-1] + 1, _TEN)}
        tens = (str(n // _TEN % _TEN) if n in begin and n >= _TEN else " " for n in numbers)
        yield f"{margin}{''.join(tens)}".rstrip()
    yield f"{margin}{''.join(str(n % _TEN) for n in numbers)} {things}"
