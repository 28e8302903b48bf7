"""The state store: the state of every key, in files that every replica can read.

A task writes the rows that it accepted to a file of its own. An index, written once per step, lists
the slices of files that make up the state of each key, so a key's next owner can read it while its
old owner is busy. A step is committed once its index is written; files that no index names are
never read.

    store/
      name                         a unique id of this store
      handed-on                    the last step whose results were delivered
      files/ab12.npy               rows of several keys, one after the other
      index/000000000014.arrow     for every key: rows ever accepted, pieces, pending pieces
      results/000000000014.arrow   the results of the step
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.query.keyed.work import Rows, joined

LONGEST_CHAIN: Final = 8
"""Slices that the state of a key may consist of; beyond that it is rewritten as one."""


class FileSlice(NamedTuple):
    """Rows `begin` up to `end` of a file."""

    file: str
    begin: int
    end: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyState:
    """The stored state of one key."""

    count: int = 0
    """Rows ever accepted."""
    pieces: tuple[FileSlice, ...] = ()
    """The most recent rows, oldest first."""
    pending: tuple[FileSlice, ...] = ()
    """Rows that arrived before the state did, not yet processed."""

    def after(self, accepted: int, piece: FileSlice | None, *, whole: bool) -> "KeyState":
        """The state after more rows; a slice of the whole state replaces all others."""
        added = () if piece is None else (piece,)
        pieces = added if whole else self.pieces + added
        return KeyState(count=self.count + accepted, pieces=pieces)

    def with_pending(self, piece: FileSlice) -> "KeyState":
        """The state with more pending rows."""
        return replace(self, pending=(*self.pending, piece))


Index = Mapping[str, KeyState]

_PIECES: Final = pa.list_(
    pa.struct([("file", pa.string()), ("begin", pa.int64()), ("end", pa.int64())])
)
_COLUMNS: Final = pa.schema(
    [("key", pa.string()), ("count", pa.int64()), ("pieces", _PIECES), ("pending", _PIECES)]
)


class StateStore:
    """The files of one keyed operator."""

    def __init__(self, path: str) -> None:
        self.path = path
        root = Path(path)
        self._files, self._indices, self._results = (
            root / "files",
            root / "index",
            root / "results",
        )
        self._name, self._delivered_file = root / "name", root / "handed-on"
        self._opened: dict[str, Rows] = {}

    def create(self) -> None:
        """Make the folders, and a unique name."""
        for folder in (self._files, self._indices, self._results):
            folder.mkdir(parents=True, exist_ok=True)
        if not self._name.exists():
            self._name.write_text(uuid4().hex)

    def identity(self) -> str:
        """The unique name, which differs from that of an earlier store at the same path."""
        return self._name.read_text()

    def write(self, rows: Rows) -> str:
        """Rows in a new file; returns its name."""
        name = f"{uuid4().hex}.npy"
        np.save(self._files / name, rows, allow_pickle=False)
        return name

    def read(self, pieces: Iterable[FileSlice], dtype: np.dtype[Any]) -> Rows:
        """The rows of some slices, concatenated."""
        parts = [self._open(piece.file)[piece.begin : piece.end] for piece in pieces]
        return joined(parts, dtype)

    def _open(self, name: str) -> Rows:
        """A file, opened once for all its slices."""
        if name not in self._opened:
            mapped = np.load(self._files / name, mmap_mode="r", allow_pickle=False)
            self._opened[name] = np.asarray(mapped)
        return self._opened[name]

    def entries(self, step: int | None, keys: Iterable[str]) -> dict[str, KeyState]:
        """The state of these keys, and of all keys with pending rows, after a step."""
        table = self._table(step)
        if table is None:
            return {}
        wanted = pc.is_in(table["key"], value_set=pa.array(list(keys), pa.string()))
        pending = pc.greater(pc.list_value_length(table["pending"]), 0)
        return _entries(table.filter(pc.or_(wanted, pending)))

    def index(self, step: int | None) -> dict[str, KeyState]:
        """The state of every key after a step."""
        table = self._table(step)
        return {} if table is None else _entries(table)

    def newest(self) -> int | None:
        """The last committed step."""
        return max(self._steps(), default=None)

    def done(self, step: int) -> bool:
        """Whether a step is committed."""
        return _path(self._indices, step).exists()

    def commit(self, step: int, index: Index, results: pa.Table) -> None:
        """Commit a step, results first; old steps are removed."""
        _write(_path(self._results, step), results)
        _write(_path(self._indices, step), _to_table(index))
        needed = min(step - 3, self.delivered())
        for folder in (self._indices, self._results):
            for old in folder.glob("*.arrow"):
                if int(old.stem) < needed:
                    old.unlink(missing_ok=True)

    def delivered(self) -> int:
        """The last step whose results were delivered; -1 for none."""
        try:
            return int(self._delivered_file.read_text())
        except FileNotFoundError:
            return -1

    def mark_delivered(self, step: int) -> None:
        """Note that the results of a step, and of all before it, were delivered."""
        draft = self._delivered_file.with_name(f".{uuid4().hex}")
        draft.write_text(str(step))
        draft.replace(self._delivered_file)

    def undelivered(self) -> list[int]:
        """Committed steps whose results were not delivered, in order."""
        last = self.delivered()
        return sorted(step for step in self._steps() if step > last)

    def _steps(self) -> list[int]:
        return [int(file.stem) for file in self._indices.glob("*.arrow")]

    def results(self, step: int) -> pa.Table:
        """The results of a committed step."""
        return _read(_path(self._results, step))

    def forget(self, files: Iterable[str]) -> None:
        """Remove files that no index names."""
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                (self._files / name).unlink()

    def sweep(self, index: Index) -> None:
        """Remove files that an index does not name: those of tasks that failed."""
        named = files_of(index)
        self.forget([entry.name for entry in self._files.iterdir() if entry.name not in named])

    def _table(self, step: int | None) -> pa.Table | None:
        """The index of a step; None where there is none."""
        try:
            return None if step is None else _read(_path(self._indices, step))
        except FileNotFoundError:
            return None


def files_of(index: Index) -> set[str]:
    """The files that an index names."""
    return {piece.file for entry in index.values() for piece in entry.pieces + entry.pending}


def _path(folder: Path, step: int) -> Path:
    return folder / f"{step:012d}.arrow"


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def _write(path: Path, table: pa.Table) -> None:
    draft = path.with_name(f".{uuid4().hex}")
    with pa.OSFile(str(draft), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    os.replace(draft, path)  # noqa: PTH105  # atomic, which is the point


def _to_table(index: Index) -> pa.Table:
    columns = [
        list(index),
        [entry.count for entry in index.values()],
        [[piece._asdict() for piece in entry.pieces] for entry in index.values()],
        [[piece._asdict() for piece in entry.pending] for entry in index.values()],
    ]
    return pa.table(columns, schema=_COLUMNS)


def _entries(table: pa.Table) -> dict[str, KeyState]:
    return {
        row["key"]: KeyState(
            count=row["count"],
            pieces=tuple(FileSlice(**piece) for piece in row["pieces"]),
            pending=tuple(FileSlice(**piece) for piece in row["pending"]),
        )
        for row in table.to_pylist()
    }
