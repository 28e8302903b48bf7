"""Learned tables as a file: written, read, checked and looked into.

>>> learned(print)
{}

The table of one manager becomes plain JSON values:

>>> from penstock.policy.rl.learners import ModelFree
>>> from penstock.policy.rl.agent import known_costs
>>> agent = ModelFree(known_costs(1, 2, each=0.5, change=0.0), levels=1)
>>> entry = as_entry(agent, kind="q-learning", settings={"span": 600.0})
>>> entry["shape"], entry["arrays"]["q"][0]
({'levels': 1, 'flags': 1, 'numbers': 3}, [[[None, None, 0.0]]])
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isclose
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import FileError, SettingError
from penstock.core.words import count_of, percent
from penstock.policy.rl.agent import Agent, Progress, greedy

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
    arrays = {}
    for name, shape in _shapes(entry["kind"], shape_of(entry)).items():
        if name == "changed" and name not in entry["arrays"]:
            continue
        if name not in entry["arrays"]:
            raise SettingError(f"{what} has no {name}; save it again")
        arrays[name] = _array(entry["arrays"][name], shape, name, what)
    return arrays


def shape_of(entry: Mapping[str, Any]) -> Shape:
    """Levels, flags and numbers of an entry."""
    shape = entry["shape"]
    return shape["levels"], shape["flags"], shape["numbers"]


def check_fits(
    entry: Mapping[str, Any], *, kind: str, shape: Shape, settings: Mapping[str, Any], what: str
) -> None:
    """Reject a table that means something else to the one who would load it."""
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
        saved = entry["settings"].get(name)
        if not _same(saved, needed):
            raise SettingError(
                f"{what} was learned with {name} {_shown(saved)}, and it is {_shown(needed)} now; "
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


def _same(given: Any, needed: Any) -> bool:
    if isinstance(given, int | float) and isinstance(needed, int | float):
        return isclose(given, needed, rel_tol=1e-6)
    return bool(given == needed)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "none"


def _sized(shape: Shape) -> str:
    levels, flags, numbers = shape
    return f"{levels} levels, {count_of(flags, 'flag')} and numbers to {numbers - 1}"


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


# What managers would do, laid out to be looked at.


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
        return tuple(percent(n * settings["quantum"]) for n in range(levels))
    if isinstance(settings.get("span"), int | float):
        return tuple(f"{n * settings['span'] / levels:.3g}/s" for n in range(levels))
    return tuple(str(n) for n in range(levels))


__all__ = ["Inspected", "Learns", "inspection", "learned", "of_level", "read"]

FORMAT: Final = "penstock-tables"
VERSION: Final = 1
LEVELS: Final = ("application", "infrastructure")
_KINDS: Final = (MODEL_BASED, MODEL_FREE)


@runtime_checkable
class Learns(Protocol):
    """A policy that has something to save."""

    def tables(self) -> dict[str, dict[str, Any]]:
        """By level and manager, what was learned."""
        ...


def learned(policy: object) -> dict[str, Any]:
    """What a policy, or any that it holds, has learned, as plain values; {} where nothing was."""
    levels: dict[str, dict[str, Any]] = {}
    for learner in _learners(policy):
        for level, tables in learner.tables().items():
            levels.setdefault(level, {}).update(tables)
    by_level = {level: tables for level, tables in levels.items() if tables}
    return {"format": FORMAT, "version": VERSION, **by_level} if by_level else {}


def read(path: str | Path) -> dict[str, Any]:
    """The tables of a file, every one checked."""
    data = _parsed(Path(path))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(f"{path} holds no learned tables; give a file that a run has saved")
    if data.get("version") != VERSION:
        raise FileError(
            f"{path} holds learned tables of version {data.get('version')!r}, and this one reads "
            f"version {VERSION}; save them again"
        )
    for level in LEVELS:
        for manager, entry in _entries(data, level, path).items():
            _check(entry, manager, path)
    return data


def of_level(path: str | Path, level: str) -> dict[str, Any]:
    """The tables of a file by manager, of one level; an error where there are none."""
    tables: dict[str, Any] = read(path).get(level) or {}
    if not tables:
        other = {"application": "infrastructure"}.get(level, "application")
        raise SettingError(
            f"{path} holds no tables of the {level}, only of the {other}; "
            "load another or leave load out"
        )
    return tables


def _learners(policy: object) -> Iterator[Learns]:
    if isinstance(policy, Learns):
        yield policy
    elif is_dataclass(policy) and not isinstance(policy, type):
        for held in (getattr(policy, f.name) for f in fields(policy)):
            if callable(held):
                yield from _learners(held)


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise FileError(f"there is no file {path} with learned tables") from None
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise FileError(f"{path} cannot be read: {why}; give another file") from None
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{path} holds no learned tables that can be read ({_short(error)}); save them again"
        ) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number to learn from")


def _short(error: Exception) -> str:
    return str(error).split("\n")[0][:100]


def _entries(data: Mapping[str, Any], level: str, path: str | Path) -> dict[str, Any]:
    entries = data.get(level, {})
    if not isinstance(entries, dict):
        raise FileError(f"{path} has no tables under {level}; save them again")
    return entries


def _check(entry: Any, manager: str, path: str | Path) -> None:
    """Reject an entry that is not whole; what it means is for those who load it to say."""
    what = f"the table of {manager} in {path}"
    shape = entry.get("shape") if isinstance(entry, dict) else None
    whole = (
        isinstance(shape, dict)
        and all(_count(shape.get(key), 1) for key in ("levels", "flags", "numbers"))
        and all(isinstance(entry.get(key), dict) for key in ("settings", "arrays"))
        and _count(entry.get("steps"), 0)
    )
    if not whole:
        raise FileError(f"{what} is not whole; save it again")
    if entry.get("kind") not in _KINDS:
        raise FileError(
            f"{what} is of kind {entry.get('kind')!r}, and there are {' and '.join(_KINDS)}"
        )
    try:
        arrays_of(entry, what=what)
    except SettingError as error:
        raise FileError(str(error)) from None


def _count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST
