"""What managers would do, laid out to be looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.policy.learning.entries import Floats, arrays_of, shape_of
from penstock.policy.learning.progress import Progress, greedy

Grid = tuple[tuple[tuple[float, ...], ...], ...]
"""By flag, number and level."""

PATIENCE: Final = 100
"""Steps for which a choice must have stayed the same to count as settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One manager's table: what it would do in each state, and how well it knows that."""

    level: str
    """`application` or `infrastructure`."""
    manager: str
    """The module or region."""
    kind: str
    """`rl` or `q-learning`."""
    numbers: tuple[int, ...]
    """Of replicas or nodes: the rows of a grid."""
    levels: tuple[str, ...]
    """Of arrivals or utilisation, in words: the columns of a grid."""
    flags: tuple[str, ...]
    """What each grid of the three below is for; one empty text where there is but one."""
    actions: tuple[tuple[tuple[int, ...], ...], ...]
    """-1, 0 or 1, by flag, number and level."""
    visits: tuple[tuple[tuple[int, ...], ...], ...]
    """How often each state was come to."""
    penalties: Grid | None
    """What each state is expected to cost beyond replicas or nodes, where that is learned."""
    steps: int
    """That taught something."""
    settled: float
    """Share of the visited states whose choice has not changed in the last hundred steps."""
    handed_over: bool | None
    """Of `warm-start`, whether it decides; None elsewhere."""


def inspection(data: Mapping[str, Any]) -> tuple[Inspected, ...]:
    """Every table of what `learned` or `read` gave."""
    return tuple(
        _inspect(level, manager, entry)
        for level in ("application", "infrastructure")
        for manager, entry in (data.get(level) or {}).items()
    )


def _inspect(level: str, manager: str, entry: Mapping[str, Any]) -> Inspected:
    arrays = arrays_of(entry, what=f"the table of {manager}")
    _, flags, numbers = shape_of(entry)
    penalties = _grid(arrays["penalty"]) if "penalty" in arrays else None
    return Inspected(
        level=level,
        manager=manager,
        kind=entry["kind"],
        numbers=tuple(range(numbers)),
        levels=_labels(entry),
        flags=("no idle node", "an idle node") if flags == 2 else ("",),
        actions=_grid(greedy(arrays["q"])),
        visits=_grid(arrays["visits"].astype(np.int64)),
        penalties=penalties,
        steps=entry["steps"],
        settled=_settled(entry["steps"], arrays),
        handed_over=entry.get("handed_over"),
    )


def _settled(steps: int, arrays: Mapping[str, Floats]) -> float:
    changed = arrays.get("changed")
    progress = Progress(steps=steps, changed=None if changed is None else changed.astype(np.int64))
    return progress.settled(arrays["visits"], patience=PATIENCE)


def _grid(values: NDArray[Any]) -> Any:
    """By flag, number and level, from level, flag and number."""
    return tuple(tuple(tuple(row) for row in flag) for flag in values.transpose(1, 2, 0).tolist())


def _labels(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Where each level begins."""
    levels, settings = shape_of(entry)[0], entry["settings"]
    if isinstance(settings.get("quantum"), int | float):
        return tuple(f"{100 * n * settings['quantum']:.3g} %" for n in range(levels))
    if isinstance(settings.get("span"), int | float):
        return tuple(f"{n * settings['span'] / levels:.3g}/s" for n in range(levels))
    return tuple(str(n) for n in range(levels))
