"""The table on a terminal that updates in place."""

from collections import deque
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Final, Self

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from penstock.cli.view import processors
from penstock.cli.words import UNKNOWN, duration, executors, number, p95, percent
from penstock.core.signals import ModuleReading, Tick

if TYPE_CHECKING:
    from penstock.pipeline.file import PipelineFile

_DECISIONS: Final = 4
_COLUMNS: Final = (
    "module",
    "rows/s in",
    "rows/s out",
    "backlog",
    "busy",
    "batch",
    "latency p95",
    "executors wanted\n/requested /running",
)
_BY_WEIGHT: Final = (0, 7, 3, 6, 1, 4, 2, 5)
"""Columns in the order in which a narrow terminal gets them."""
_LONGEST_NAME: Final = 20
_WIDE: Final = 80
"""Characters from which there is room for a bar."""
_REFRESHES: Final = 8


def is_capable(stream: IO[str]) -> bool:
    """Whether a terminal can go back over what it has shown."""
    console = Console(file=stream)
    return console.is_terminal and not console.is_dumb_terminal


class Table:
    """Every module's newest measurements, and below them the last changes with their reasons."""

    def __init__(self, stream: IO[str], file: "PipelineFile") -> None:
        self.file = file
        self.text = ""
        self.newest: Tick | None = None
        self.changes: deque[Tick] = deque(maxlen=_DECISIONS)
        self.live = Live(
            console=Console(file=stream),
            get_renderable=self.render,
            refresh_per_second=_REFRESHES,
        )

    def show(self, tick: Tick, /) -> None:
        """Show one more."""
        if tick.asked is not None:
            self.changes.append(tick)
        self.newest = tick

    def note(self, text: str, /) -> None:
        """Say what is going on."""
        self.text = text

    def render(self) -> RenderableType:
        """All that there is to see now."""
        if self.newest is None:
            return Text(self.text, style="dim")
        return Group(self._modules(self.newest), self._progress(self.newest), self._decisions())

    def _modules(self, tick: Tick) -> RenderableType:
        rows = [(name, *cells(module)) for name, module in tick.seen.modules.items()]
        shown = fitting(rows, self.live.console.width)
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        for index in shown:
            header = _COLUMNS[index]
            least = max(len(word) for word in header.split())
            grid.add_column(header, justify="right" if index else "left", min_width=least)
        for row in rows:
            grid.add_row(*(row[index] for index in shown))
        return grid

    def _progress(self, tick: Tick) -> RenderableType:
        total, promised = self.file.duration, self.file.slo.latency_p95
        told = f"{duration(tick.seen.at)} of {duration(total)}"
        kept = f"latency p95 {p95(tick.seen.latency)}"
        kept += f", promised {duration(promised)}" if promised else ""
        kept += f"; {machine}" if (machine := processors(tick.seen)) else ""
        if self.live.console.width < _WIDE:
            return Text(f"{told}, {kept}")
        grid = Grid.grid(padding=(0, 2))
        grid.add_row(ProgressBar(total=total, completed=tick.seen.at, width=30), told, kept)
        return grid

    def _decisions(self) -> RenderableType:
        grid = Grid.grid(padding=(0, 1))
        for tick in self.changes:
            grid.add_row(_moment(tick), _asked(tick), tick.decided.why)
        if self.newest is not None and self.newest.asked is None:
            grid.add_row(_moment(self.newest), "", Text(self.newest.decided.why, style="dim"))
        return grid

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()


def fitting(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The columns that a terminal of that many characters has room for, at least the first.

    >>> fitting([("splitter", "230", "221", "225", "66 %", "863 ms", "1.81 s", "1/1/1")], 50)
    [0, 3, 6, 7]
    """
    width -= 2  # rich's edges
    shown: list[int] = []
    for index in _BY_WEIGHT:
        texts = [*_COLUMNS[index].split(), *(row[index][:_LONGEST_NAME] for row in rows)]
        width -= max(len(text) for text in texts) + 3  # and what rich puts between two columns
        if width < 0 and shown:
            break
        shown.append(index)
    return sorted(shown)


def cells(module: ModuleReading) -> tuple[str, ...]:
    """What the table shows of a module."""
    return (
        number(module.arrival_rate),
        number(module.processed_rate),
        number(module.backlog),
        percent(module.utilisation),
        duration(module.batch_duration),
        p95(module.latency),
        executors(module),
    )


def _moment(tick: Tick) -> Text:
    return Text(duration(tick.seen.at), style="cyan")


def _asked(tick: Tick) -> Text:
    """Degrees and, where it is decided, the clock.

    >>> from penstock.core.signals import Configuration, Decision, Observation
    >>> asked = Configuration(degrees={"split": 2, "count": 3}, frequency=1.9)
    >>> seen = Observation(at=2, step=2, modules={})
    >>> str(_asked(Tick(seen=seen, decided=Decision(configuration=asked, why="-"), asked=asked)))
    '2/3 1.9 GHz'
    """
    if tick.asked is None:
        return Text(UNKNOWN, style="bold")
    degrees = "/".join(str(degree) for degree in tick.asked.degrees.values()) or UNKNOWN
    clock = tick.asked.frequency
    return Text(degrees if clock is None else f"{degrees} {number(clock)} GHz", style="bold")
