"""Ticks as rows of numbers: what the page draws, in as few letters as it takes.

A row is a JSON list made once, when its tick comes, and sent as it is ever after. Columns are only
ever added, so that a row shorter than the list of columns lacks the last ones.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Final

from penstock.core.signals import ModuleReading, Tick
from penstock.dashboard.metrics import forecast
from penstock.record.so_far import SoFar

Column = tuple[str, str, str]
"""What it is of (`run`, `module` or `query`), the name of that, and the measure."""

_READ: Final = ("arrival_rate", "processed_rate", "backlog", "utilisation", "batch_duration")
_COUNTED: Final = ("wanted", "requested", "running")


class Columns:
    """The columns so far, and each tick as a row of them."""

    def __init__(self) -> None:
        self.names: list[Column] = []
        self._place: dict[Column, int] = {}

    def row(self, tick: Tick, so_far: SoFar) -> str:
        """A tick as a JSON list; what is unknown is null."""
        found = dict(_values(tick, so_far))
        for column in [name for name in found if name not in self._place]:
            self._place[column] = len(self.names)
            self.names.append(column)
        return f"[{','.join(_short(found.get(column)) for column in self.names)}]"


def _values(tick: Tick, so_far: SoFar) -> Iterator[tuple[Column, float | None]]:
    seen, latency = tick.seen, tick.seen.latency
    yield ("run", "", "at"), seen.at
    yield ("run", "", "step"), seen.step
    for quantile in ("p50", "p95", "p99"):
        yield ("run", "", quantile), getattr(latency, quantile) if latency else None
    yield ("run", "", "pool"), seen.pool
    yield ("run", "", "watts"), seen.power.watts if seen.power else None
    yield ("run", "", "cost"), so_far.cost
    yield ("run", "", "joules"), so_far.joules
    yield ("run", "", "executor_seconds"), so_far.executor_seconds
    for name, reading in seen.modules.items():
        yield from _reading("module", name, reading)
        for state in _COUNTED:
            yield ("module", name, state), getattr(reading, state)
        yield ("module", name, "forecast"), forecast(tick, name)
    for name, reading in seen.queries.items():
        yield from _reading("query", name, reading)


def _reading(of: str, name: str, reading: ModuleReading) -> Iterator[tuple[Column, float | None]]:
    for measure in _READ:
        yield (of, name, measure), getattr(reading, measure)


def _short(value: float | None) -> str:
    """A number in JSON, as exact as a pixel asks for.

    >>> _short(0.1234567891), _short(86400.25), _short(None), _short(float("nan"))
    ('0.1234568', '86400.25', 'null', 'null')
    """
    return "null" if value is None or not isfinite(value) else f"{value:.7g}"
