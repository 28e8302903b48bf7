"""Learned tables as a file: written, read, checked and looked into.

>>> learned(print)
{}

The table of one manager becomes plain JSON values:

>>> from penstock.policy.rl.learners import ModelFree
>>> from penstock.policy.rl.agent import known_costs
>>> agent = ModelFree(known_costs(1, 2, each=0.5, change=0.0), levels=1)
>>> entry = as_entry(agent, settings={"span": 600.0})
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
from penstock.policy.rl.agent import Agent, Floats, Progress, greedy

Entry = Mapping[str, Any]
"""The table of one manager, as JSON has it."""
Shape = tuple[int, ...]
"""Of a table: levels, flags and numbers."""

FORMAT: Final = "penstock-tables"
VERSION: Final = 1
LEVELS: Final = ("application", "infrastructure")
KINDS: Final = ("rl", "q-learning")
PATIENCE: Final = 100
"""Steps for which a choice must have stayed the same to count as settled."""
_AXES: Final = ("levels", "flags", "numbers")
_MOST: Final = 10**15
"""Above any count or cost that can be; and every whole number up to it is one exactly."""


def as_entry(agent: Agent, *, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent has learned, and the settings that a table can only be read with."""
    arrays = {name: _plain(values) for name, values in agent.arrays().items()}
    if agent.progress.changed is not None:
        arrays["changed"] = _plain(agent.progress.changed.astype(float))
    return {
        "kind": agent.kind,
        "shape": dict(zip(_AXES, agent.visits.shape, strict=True)),
        "settings": dict(settings),
        "steps": agent.progress.steps,
        "arrays": arrays,
    }


def restore(agent: Agent, entry: Entry, *, settings: Mapping[str, Any], what: str) -> None:
    """Let an agent begin with what another has learned, unless the table means something else."""
    _check_fits(entry, agent, settings, what)
    arrays = _arrays(entry, what=what)
    agent.progress = _progress(entry, arrays)
    agent.restore(arrays)


def _check_fits(entry: Entry, agent: Agent, settings: Mapping[str, Any], what: str) -> None:
    if entry["kind"] != agent.kind:
        raise SettingError(
            f"{what} was learned by {entry['kind']}, and {agent.kind} is to begin with it; "
            "load one of its own or leave load out"
        )
    saved, needed = _shape(entry), agent.visits.shape
    if saved != needed:
        raise SettingError(
            f"{what} has {_sized(saved)}, and {_sized(needed)} are needed; "
            "load one that was learned with the same settings or leave load out"
        )
    for name, now in settings.items():
        before = entry["settings"].get(name)
        if not _same(before, now):
            raise SettingError(
                f"{what} was learned with {name} {_shown(before)}, and it is {_shown(now)} now; "
                "set it back or leave load out"
            )


def _shape(entry: Entry) -> Shape:
    return tuple(entry["shape"][axis] for axis in _AXES)


def _arrays(entry: Entry, *, what: str) -> dict[str, Floats]:
    """The arrays of an entry, each of the shape that it must have; `what` names the table."""
    levels, flags, _ = shape = _shape(entry)
    shapes = {"q": (3, *shape), "visits": shape, "changed": shape}
    if entry["kind"] == "rl":
        counts = {"level_counts": (levels, levels), "flag_counts": (flags, 3, flags)}
        shapes |= {"penalty": shape, **counts}
    given = entry["arrays"]
    for name in shapes.keys() - given.keys() - {"changed"}:
        raise FileError(f"{what} has no {name}; save it again")
    return {name: _array(given[name], shapes[name], name, what) for name in shapes if name in given}


def _array(given: Any, shape: Shape, name: str, what: str) -> Floats:
    try:
        values: Floats = np.array(given, np.float64)  # null becomes nan
    except (TypeError, ValueError, OverflowError):
        raise FileError(f"{name} of {what} is not made of numbers; save it again") from None
    if values.shape != shape:
        raise FileError(
            f"{name} of {what} has the shape {_by(values.shape)}, and {_by(shape)} is needed; "
            "save it again"
        )
    if name == "q":
        values[np.isnan(values)] = np.inf
    kept = values[np.isfinite(values)]
    unusable = np.isnan(values).any() or values.min() < 0 or (kept > _MOST).any()
    if name == "q":  # doing nothing is always allowed, so its cost is known
        unusable = unusable or bool(np.isinf(values[1]).any())
    if unusable or (name.endswith("_counts") and not values.sum(axis=-1).all()):
        raise FileError(f"{name} of {what} holds a number that cannot be; save it again")
    return values


def _progress(entry: Entry, arrays: Mapping[str, Floats]) -> Progress:
    changed = arrays.get("changed")
    return Progress(
        steps=entry["steps"], changed=None if changed is None else changed.astype(np.int64)
    )


def _plain(values: Floats) -> Any:
    """Nested lists; null for inf, which JSON does not know."""
    held = values.astype(object)
    held[np.isinf(values)] = None
    return held.tolist()


def _same(saved: Any, needed: Any) -> bool:
    if isinstance(saved, int | float) and isinstance(needed, int | float):
        return isclose(saved, needed, rel_tol=1e-6)
    return bool(saved == needed)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "none"


def _sized(shape: Shape) -> str:
    levels, flags, numbers = shape
    return f"{levels} levels, {count_of(flags, 'flag')} and numbers to {numbers - 1}"


def _by(shape: Shape) -> str:
    return " x ".join(map(str, shape))


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
    taught = {level: tables for level, tables in levels.items() if tables}
    return {"format": FORMAT, "version": VERSION, **taught} if taught else {}


def _learners(policy: object) -> Iterator[Learns]:
    if isinstance(policy, Learns):
        yield policy
    elif is_dataclass(policy) and not isinstance(policy, type):
        for held in (getattr(policy, f.name) for f in fields(policy)):
            if callable(held):
                yield from _learners(held)


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
        tables = data.get(level, {})
        if not isinstance(tables, dict):
            raise FileError(f"{path} has no tables under {level}; save them again")
        for manager, entry in tables.items():
            _check_whole(entry, f"the table of {manager} in {path}")
    return data


def of_level(path: str | Path, level: str) -> dict[str, Any]:
    """The tables of a file by manager, of one level; an error where there are none."""
    tables: dict[str, Any] = read(path).get(level) or {}
    if not tables:
        other = next(one for one in LEVELS if one != level)
        raise SettingError(
            f"{path} holds no tables of the {level}, only of the {other}; "
            "load another or leave load out"
        )
    return tables


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise FileError(f"there is no file {path} with learned tables") from None
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise FileError(f"{path} cannot be read: {why}; give another file") from None
    except (ValueError, RecursionError) as error:
        why = str(error).split("\n")[0][:100]
        raise FileError(
            f"{path} holds no learned tables that can be read ({why}); save them again"
        ) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number to learn from")


def _check_whole(entry: Any, what: str) -> None:
    """Reject an entry that is not whole; what it means is for those who load it to say."""
    shape = entry.get("shape") if isinstance(entry, dict) else None
    whole = (
        isinstance(shape, dict)
        and all(_is_count(shape.get(axis), 1) for axis in _AXES)
        and all(isinstance(entry.get(key), dict) for key in ("settings", "arrays"))
        and _is_count(entry.get("steps"), 0)
    )
    if not whole:
        raise FileError(f"{what} is not whole; save it again")
    if entry.get("kind") not in KINDS:
        raise FileError(
            f"{what} is of kind {entry.get('kind')!r}, and there are {' and '.join(KINDS)}"
        )
    _arrays(entry, what=what)


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One manager's table: what it would do in each state, and how well it knows that.

    `actions`, `visits` and `penalties` are ordered by flag, number and level.
    """

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
    """-1, 0 or 1."""
    visits: tuple[tuple[tuple[int, ...], ...], ...]
    """How often each state was come to."""
    penalties: tuple[tuple[tuple[float, ...], ...], ...] | None
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
        for level in LEVELS
        for manager, entry in (data.get(level) or {}).items()
    )


def _inspect(level: str, manager: str, entry: Entry) -> Inspected:
    arrays = _arrays(entry, what=f"the table of {manager}")
    _, flags, numbers = _shape(entry)
    return Inspected(
        level=level,
        manager=manager,
        kind=entry["kind"],
        numbers=tuple(range(numbers)),
        levels=_labels(entry),
        flags=("no idle node", "an idle node") if flags == 2 else ("",),
        actions=_grid(greedy(arrays["q"])),
        visits=_grid(arrays["visits"].astype(np.int64)),
        penalties=_grid(arrays["penalty"]) if "penalty" in arrays else None,
        steps=entry["steps"],
        settled=_progress(entry, arrays).settled(arrays["visits"], patience=PATIENCE),
        handed_over=entry.get("handed_over"),
    )


def _grid(values: NDArray[Any]) -> Any:
    """By flag, number and level, from level, flag and number."""
    return tuple(tuple(tuple(row) for row in flag) for flag in values.transpose(1, 2, 0).tolist())


def _labels(entry: Entry) -> tuple[str, ...]:
    """Where each level begins."""
    levels, settings = _shape(entry)[0], entry["settings"]
    if isinstance(settings.get("quantum"), int | float):
        return tuple(percent(n * settings["quantum"]) for n in range(levels))
    if isinstance(settings.get("span"), int | float):
        return tuple(f"{n * settings['span'] / levels:.3g}/s" for n in range(levels))
    return tuple(str(n) for n in range(levels))
