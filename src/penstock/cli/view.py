"""What a user sees of a run while it lasts: lines, or a table that updates in place."""

import sys
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, Self

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from penstock.cli.output import UNKNOWN, duration, executors, number, p95, percent, write
from penstock.core.signals import Observation, RegionReading, Tick
from penstock.record.acts import nodes_in_force

if TYPE_CHECKING:
    from penstock.pipeline.file import PipelineFile


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that is shown of a module or a region: in a line, and as a column of the table."""

    title: str
    """Of the column."""
    label: str
    """In a line."""
    rank: int
    """A narrow terminal shows the columns of the lowest ranks; the name is first."""
    text: Callable[[Any], str]
    suffix: str = ""
    """After a known value in a line."""


MODULE: Final = (
    Field("rows/s in", "in", 4, lambda m: number(m.arrival_rate), "/s"),
    Field("rows/s out", "out", 6, lambda m: number(m.processed_rate), "/s"),
    Field("backlog", "backlog", 2, lambda m: number(m.backlog)),
    Field("busy", "busy", 5, lambda m: percent(m.utilisation)),
    Field("batch", "batch", 7, lambda m: duration(m.batch_duration)),
    Field("latency p95", "p95", 3, lambda m: p95(m.latency)),
    Field("executors wanted\n/requested /running", "executors", 1, executors),
)
NO_ANSWER: Final = "no answer"


def nodes(region: RegionReading) -> str:
    """Nodes wanted, requested and running, or that the region does not answer.

    >>> nodes(RegionReading(nodes=2, wanted=3, requested=3)), nodes(RegionReading(wanted=3))
    ('3/3/2', 'no answer')
    """
    if not region.answers:
        return NO_ANSWER
    counts = (region.wanted, region.requested, region.nodes)
    return "/".join(UNKNOWN if count is None else str(count) for count in counts)


REGION: Final = (
    Field("nodes wanted\n/requested /running", "nodes", 1, nodes),
    Field("idle", "idle", 3, lambda r: number(r.idle)),
    Field("unmet", "unmet", 2, lambda r: number(r.unmet)),
    Field("busy", "busy", 5, lambda r: percent(r.utilisation)),
)
TROUBLE: Final = Field("trouble", "trouble", 4, lambda r: r.trouble or "")
"""A column of regions only where one has some."""


def _in_a_line(reading: object, fields: Sequence[Field]) -> str:
    texts = ((field, field.text(reading)) for field in fields)
    return ", ".join(
        f"{field.label} {text}{'' if text == UNKNOWN else field.suffix}" for field, text in texts
    )


def region_line(seen: Observation) -> str:
    """Every region of a step in a line, nothing where there are none.

    >>> regions = {"dc1": RegionReading(nodes=2, idle=1, unmet=0, wanted=3, requested=3)}
    >>> regions["dc2"] = RegionReading(trouble="its manager is gone")
    >>> region_line(Observation(at=2, step=2, modules={}, regions=regions))
    'dc1: nodes 3/3/2, idle 1, unmet 0, busy - | dc2: no answer, its manager is gone'
    """

    def text(region: RegionReading) -> str:
        known = _in_a_line(region, REGION) if region.answers else NO_ANSWER
        return f"{known}, {region.trouble}" if region.trouble else known

    return " | ".join(f"{name}: {text(region)}" for name, region in seen.regions.items())


class View(AbstractContextManager["View"], Protocol):
    """Shows ticks as they come."""

    def show(self, tick: Tick, /) -> None:
        """Show one more."""
        ...

    def note(self, text: str, /) -> None:
        """Say what is going on while there is no tick to show."""
        ...


def choose_view(args: Namespace, file: "PipelineFile") -> View:
    """A table on a terminal, plain lines elsewhere; beside the result where that is JSON."""
    stream = sys.stderr if args.json else sys.stdout
    if args.quiet or stream is None:
        return Lines(None, file.duration)
    if not stream.isatty():
        return Lines(stream, file.duration)

    return Table(stream, file) if is_capable(stream) else Lines(stream, file.duration)


class Lines:
    """One plain line a tick, for logs and pipes; nothing without a stream."""

    def __init__(self, stream: IO[str] | None, total: float) -> None:
        self.stream = stream
        self.total = total

    def show(self, tick: Tick, /) -> None:
        """Show one more."""
        write(self.stream, line(tick, self.total))

    def note(self, text: str, /) -> None:
        """Say what is going on."""
        write(self.stream, text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to take down."""


def line(tick: Tick, total: float) -> str:
    """A tick in one line: time, what was measured of each module and region, and the decision.

    >>> from penstock.core.signals import Configuration, Decision, ModuleReading
    >>> seen = Observation(
    ...     at=2, step=2, modules={"count": ModuleReading(arrival_rate=60, running=1)}
    ... )
    >>> held = Decision(configuration=Configuration(degrees={"count": 1}), why="idle")
    >>> line(Tick(seen=seen, decided=held, asked=None), total=60)
    '2/60 s | count: in 60/s, out -, backlog -, busy -, batch -, p95 -, executors -/-/1 | idle'
    """
    modules = " | ".join(
        f"{name}: {_in_a_line(module, MODULE)}" for name, module in tick.seen.modules.items()
    )
    beside = [text for text in (region_line(tick.seen), processors(tick.seen)) if text]
    parts = [modules, *beside, tick.decided.why]
    return f"{number(tick.seen.at)}/{number(total)} s | {' | '.join(parts)}"


def processors(seen: Observation) -> str:
    """The clock and the power of a step, nothing where neither is known.

    >>> from penstock.core.signals import Power
    >>> power = Power(watts=20.6, modelled=True)
    >>> processors(Observation(at=2, step=2, modules={}, frequency=1.9, power=power))
    '1.9 GHz, 20.6 W modelled'
    """
    known = [f"{number(seen.frequency)} GHz"] if seen.frequency is not None else []
    if seen.power is not None:
        known.append(f"{number(seen.power.watts)} W{' modelled' * seen.power.modelled}")
    return ", ".join(known)


# The table on a terminal that updates in place.


_DECISIONS: Final = 4
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
        regions = [self._regions(self.newest)] if self.newest.seen.regions else []
        above = Group(self._modules(self.newest), *regions, self._progress(self.newest))
        return Group(above, self._decisions(self._room(above)))

    def _room(self, above: RenderableType) -> int:
        """Lines that are left below."""
        return self.live.console.height - self._lines(above) - 1

    def _lines(self, shown: RenderableType) -> int:
        return len(self.live.console.render_lines(shown, pad=False))

    def _modules(self, tick: Tick) -> RenderableType:
        return _grid("module", tick.seen.modules, MODULE, self.live.console.width)

    def _regions(self, tick: Tick) -> RenderableType:
        regions = tick.seen.regions
        has_trouble = any(region.trouble for region in regions.values())
        fields = (*REGION, TROUBLE) if has_trouble else REGION
        return _grid("region", regions, fields, self.live.console.width)

    def _progress(self, tick: Tick) -> RenderableType:
        total, promised = self.file.duration, self.file.slo.latency_p95
        elapsed = f"{duration(tick.seen.at)} of {duration(total)}"
        kept = f"latency p95 {p95(tick.seen.latency)}"
        kept += f", promised {duration(promised)}" if promised else ""
        kept += f"; {machine}" if (machine := processors(tick.seen)) else ""
        if self.live.console.width < _WIDE:
            return Text(f"{elapsed}, {kept}")
        grid = Grid.grid(padding=(0, 2))
        grid.add_row(ProgressBar(total=total, completed=tick.seen.at, width=30), elapsed, kept)
        return grid

    def _decisions(self, room: int) -> RenderableType:
        """The last changes, as many as there are lines for, and at least one decision."""
        holds = self.newest is not None and self.newest.asked is None
        fewest = 0 if holds or not self.changes else 1
        for first in range(len(self.changes) - fewest):
            if self._lines(shown := self._listed(first)) <= room:
                return shown
        return self._listed(len(self.changes) - fewest)

    def _listed(self, first: int) -> RenderableType:
        grid = Grid.grid(padding=(0, 1))
        for tick in list(self.changes)[first:]:
            grid.add_row(_moment(tick), _asked(tick), tick.decided.why)
        if self.newest is not None and self.newest.asked is None:
            grid.add_row(_moment(self.newest), "", Text(self.newest.decided.why, style="dim"))
        return grid

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()


def _grid(
    of: str, readings: Mapping[str, object], fields: Sequence[Field], width: int
) -> RenderableType:
    """A table of as many columns as there is room for, at least the names."""
    named = [(of, 0), *((field.title, field.rank) for field in fields)]
    rows = [(name, *(field.text(one) for field in fields)) for name, one in readings.items()]
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = fitting(rows, width, named)
    for index in shown:
        title = named[index][0]
        least = max(len(word) for word in title.split())
        grid.add_column(title, justify="right" if index else "left", min_width=least)
    for row in rows:
        grid.add_row(*(row[index] for index in shown))
    return grid


def fitting(
    rows: Sequence[Sequence[str]], width: int, columns: Sequence[tuple[str, int]]
) -> list[int]:
    """The columns, titles with ranks, that a terminal of that many characters has room for.

    >>> columns = [("module", 0), ("rows/s in", 2), ("executors", 1)]
    >>> fitting([("splitter", "230", "1/1/1")], 26, columns)
    [0, 2]
    """
    width -= 2  # rich's edges
    shown: list[int] = []
    for index in sorted(range(len(columns)), key=lambda index: columns[index][1]):
        texts = [*columns[index][0].split(), *(row[index][:_LONGEST_NAME] for row in rows)]
        width -= max(len(text) for text in texts) + 3  # and what rich puts between two columns
        if width < 0 and shown:
            break
        shown.append(index)
    return sorted(shown)


def _moment(tick: Tick) -> Text:
    return Text(duration(tick.seen.at), style="cyan")


def _asked(tick: Tick) -> Text:
    """Degrees and, where they are decided, the clock and nodes that change.

    >>> from penstock.core.signals import Configuration, Decision, Observation
    >>> asked = Configuration(degrees={"split": 2, "count": 3}, frequency=1.9, nodes={"dc1": 2})
    >>> seen = Observation(at=2, step=2, modules={})
    >>> str(_asked(Tick(seen=seen, decided=Decision(configuration=asked, why="-"), asked=asked)))
    '2/3 1.9 GHz dc1 2'
    """
    if tick.asked is None:
        return Text(UNKNOWN, style="bold")
    degrees = "/".join(str(degree) for degree in tick.asked.degrees.values()) or UNKNOWN
    clock = tick.asked.frequency
    parts = [degrees, *([] if clock is None else [f"{number(clock)} GHz"])]
    before = nodes_in_force(tick.seen)
    parts += [f"{name} {n}" for name, n in tick.asked.nodes.items() if before.get(name) != n]
    return Text(" ".join(parts), style="bold")
