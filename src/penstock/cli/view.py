"""What a user sees of a run while it lasts."""

import sys
from argparse import Namespace
from contextlib import AbstractContextManager
from typing import IO, TYPE_CHECKING, Protocol, Self

from penstock.cli import regions
from penstock.cli.output import write
from penstock.cli.words import duration, executors, number, p95, percent
from penstock.core.signals import ModuleReading, Observation, Tick

if TYPE_CHECKING:
    from penstock.pipeline.file import PipelineFile


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
    from penstock.cli.table import Table, is_capable

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

    >>> from penstock.core.signals import Configuration, Decision, Observation
    >>> seen = Observation(
    ...     at=2, step=2, modules={"count": ModuleReading(arrival_rate=60, running=1)}
    ... )
    >>> held = Decision(configuration=Configuration(degrees={"count": 1}), why="idle")
    >>> line(Tick(seen=seen, decided=held, asked=None), total=60)
    '2/60 s | count: in 60/s, out -, backlog -, busy -, batch -, p95 -, executors -/-/1 | idle'
    """
    modules = " | ".join(f"{name}: {_module(m)}" for name, m in tick.seen.modules.items())
    beside = [text for text in (regions.line(tick.seen), processors(tick.seen)) if text]
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


def _module(module: ModuleReading) -> str:
    return (
        f"in {_rate(module.arrival_rate)}, out {_rate(module.processed_rate)}, "
        f"backlog {number(module.backlog)}, busy {percent(module.utilisation)}, "
        f"batch {duration(module.batch_duration)}, p95 {p95(module.latency)}, "
        f"executors {executors(module)}"
    )


def _rate(value: float | None) -> str:
    return number(value) if value is None else f"{number(value)}/s"
