"""What the twin cannot simulate, refused before it starts."""

from math import inf
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.settings import near
from penstock.plant.twin.laws import LAWS, MOST_NORMAL_CV

# Beyond these the draws lose their precision, or time stands still.
_LONGEST_SERVICE: Final = 1e9
_LOWEST_CV: Final = 1e-4
_HIGHEST_CV: Final = {"gamma": 1e2, "normal": MOST_NORMAL_CV}
_SHORTEST_TRIGGER: Final = 1e-6
_MOST_VISITS: Final = 1e10
"""Rows at all modules together; a core simulates some five million of them a second."""


def check_settings(graph: FlowGraph, step: float, duration: float, seed: int, service: str) -> None:
    """Refuse times without an end, and modules whose draws would be wrong."""
    for name, value in (("step", step), ("duration", duration)):
        if not 0 < value < inf:
            raise SettingError(f"{name} of the twin must be above 0 and finite, got {value}")
    if seed < 0:
        raise SettingError(f"seed of the twin must not be negative, got {seed}")
    if service not in LAWS:
        raise SettingError(f"there is no law of service times {service!r}{near(service, LAWS)}")
    for module in graph.modules:
        _check_setting(module, "service_time", 0.0, _LONGEST_SERVICE)
        _check_setting(module, "service_cv", _LOWEST_CV, _HIGHEST_CV[service])
        _check_setting(module, "trigger", _SHORTEST_TRIGGER, inf)


def check_size(graph: FlowGraph, rows: float, duration: float) -> None:
    """Refuse a run that would compute for hours."""
    visits = rows * sum(graph.visits().values())
    if visits > _MOST_VISITS:
        raise SettingError(
            f"the workload brings {rows:.3g} rows in {duration:g} s, {visits:.3g} at all modules "
            f"together, and the twin simulates at most {_MOST_VISITS:g}; lower the rate or the "
            "duration"
        )


def _check_setting(module: Module, name: str, low: float, high: float) -> None:
    value = getattr(module, name)
    if value != 0 and not low <= value <= high:
        raise SettingError(
            f"{name} of module {module.name} must be 0 or from {low:g} to {high:g} on the twin, "
            f"got {value:g}"
        )
