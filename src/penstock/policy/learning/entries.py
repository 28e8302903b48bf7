"""One manager's table as plain JSON values, and back.

>>> from penstock.policy.learning.model_free import ModelFree
>>> from penstock.policy.learning.costs import known_costs
>>> agent = ModelFree(known_costs(1, 2, each=0.5, change=0.0), levels=1)
>>> entry = as_entry(agent, kind="q-learning", settings={"span": 600.0})
>>> entry["shape"], entry["arrays"]["q"][0]
({'levels': 1, 'flags': 1, 'numbers': 3}, [[[None, None, 0.0]]])
"""

from collections.abc import Mapping
from math import isclose
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.policy.learning.agent import Agent

Floats = NDArray[np.float64]
Shape = tuple[int, int, int]
"""Levels, flags and numbers."""

MOST: Final = 10**15
"""Above any count or cost that can be; and every whole number up to it is one exactly."""
MODEL_BASED: Final = "rl"
MODEL_FREE: Final = "q-learning"


def as_entry(agent: Agent, *, kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent has learned."""
    levels, flags, numbers = agent.visits.shape
    progress = agent.progress
    arrays = {name: _plain(values) for name, values in agent.arrays().items()}
    if progress.changed is not None:
        arrays["changed"] = _plain(progress.changed.astype(float))
    return {
        "kind": kind,
        "shape": {"levels": levels, "flags": flags, "numbers": numbers},
        "settings": dict(settings),
        "steps": progress.steps,
        "arrays": arrays,
    }


def restore(agent: Agent, entry: Mapping[str, Any], *, what: str) -> None:
    """Let an agent begin with what another has learned."""
    arrays = arrays_of(entry, what=what)
    changed = arrays.pop("changed", None)
    agent.restore(arrays)
    agent.progress.steps = entry["steps"]
    agent.progress.changed = None if changed is None else changed.astype(np.int64)


def arrays_of(entry: Mapping[str, Any], *, what: str) -> dict[str, Floats]:
    """The arrays of an entry, each of the shape that it must have; `what` names the table."""
    found = {}
    for name, shape in _shapes(entry["kind"], shape_of(entry)).items():
        if name == "changed" and name not in entry["arrays"]:
            continue
        if name not in entry["arrays"]:
            raise SettingError(f"{what} has no {name}; save it again")
        found[name] = _array(entry["arrays"][name], shape, name, what)
    return found


def shape_of(entry: Mapping[str, Any]) -> Shape:
    """Levels, flags and numbers of an entry."""
    shape = entry["shape"]
    return shape["levels"], shape["flags"], shape["numbers"]


def check_fits(
    entry: Mapping[str, Any], *, kind: str, shape: Shape, settings: Mapping[str, Any], what: str
) -> None:
    """Refuse a table that means something else to the one who would load it."""
    if entry["kind"] != kind:
        raise SettingError(
            f"{what} was learned by {entry['kind']}, and {kind} is to begin with it; "
            "load one of its own or leave load out"
        )
    if shape_of(entry) != shape:
        raise SettingError(
            f"{what} has {_sized(shape_of(entry))}, and {_sized(shape)} are needed; "
            "load one that was learned with the same settings or leave load out"
        )
    for name, needed in settings.items():
        found = entry["settings"].get(name)
        if not _same(found, needed):
            raise SettingError(
                f"{what} was learned with {name} {_told(found)}, and it is {_told(needed)} now; "
                "set it back or leave load out"
            )


def _shapes(kind: str, shape: Shape) -> dict[str, tuple[int, ...]]:
    levels, flags, _ = shape
    shapes = {"q": (3, *shape), "visits": shape, "changed": shape}
    if kind == MODEL_FREE:
        return shapes
    counts = {"level_counts": (levels, levels), "flag_counts": (flags, 3, flags)}
    return {**shapes, "penalty": shape, **counts}


def _array(given: Any, shape: tuple[int, ...], name: str, what: str) -> Floats:
    try:
        values: Floats = np.array(given, np.float64)  # null becomes nan
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"{name} of {what} is not made of numbers; save it again") from None
    if values.shape != shape:
        raise SettingError(
            f"{name} of {what} has the shape {_by(values.shape)}, and {_by(shape)} is needed; "
            "save it again"
        )
    if name == "q":
        values[np.isnan(values)] = np.inf
    kept = values[np.isfinite(values)]
    unusable = np.isnan(values).any() or values.min() < 0 or (kept > MOST).any()
    if name == "q":  # doing nothing is always allowed, so its cost is known
        unusable = unusable or bool(np.isinf(values[1]).any())
    if unusable or (name.endswith("_counts") and not values.sum(axis=-1).all()):
        raise SettingError(f"{name} of {what} holds a number that cannot be; save it again")
    return values


def _plain(values: Floats) -> Any:
    """Nested lists; null for inf, which JSON does not know."""
    held = values.astype(object)
    held[np.isinf(values)] = None
    return held.tolist()


def _same(found: Any, needed: Any) -> bool:
    if isinstance(found, int | float) and isinstance(needed, int | float):
        return isclose(found, needed, rel_tol=1e-6)
    return bool(found == needed)


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "none"


def _sized(shape: Shape) -> str:
    levels, flags, numbers = shape
    return f"{levels} levels, {flags} flag{'s' * (flags > 1)} and numbers to {numbers - 1}"


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
