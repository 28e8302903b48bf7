"""The table on a terminal that updates in place."""

from collections import deque
from typing import IO, TYPE_CHECKING, Final, Self

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

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
    "executors wanted\n/requested/running",
)
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
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in _COLUMNS:
            grid.add_column(column, justify="left" if column == "module" else "right")
        for name, module in tick.seen.modules.items():
            grid.add_row(name, *cells(module))
        return grid

    def _progress(self, tick: Tick) -> RenderableType:
        total = self.file.duration
        grid = Grid.grid(padding=(0, 2))
        told = f"{duration(tick.seen.at)} of {duration(total)}"
        promised = self.file.slo.latency_p95
        kept = f"latency p95 {p95(tick.seen.latency)}"
        kept += f", promised {duration(promised)}" if promised else ""
        grid.add_row(ProgressBar(total=total, completed=tick.seen.at, width=30), told, kept)
        return grid

    def _decisions(self) -> RenderableType:
        grid = Grid.grid(padding=(0, 1))
        for tick in self.changes:
            grid.add_row(_moment(tick), _degrees(tick), tick.decided.why)
        if self.newest is not None and self.newest.asked is None:
            grid.add_row(_moment(self.newest), "", Text(self.newest.decided.why, style="dim"))
        return grid

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()


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


def _degrees(tick: Tick) -> Text:
    degrees = tick.asked.degrees.values() if tick.asked else ()
    return Text("/".join(str(degree) for degree in degrees) or UNKNOWN, style="bold")
