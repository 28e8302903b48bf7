"""The backing store: what replicas know of their keys, in files that every replica can read.

A task writes the rows that it accepted to a file of its own. An index, written once for every
step, says which pieces of which files make up the state of a key, so the state of a key can be
read by whoever owns it next while its old owner is busy with other things. A step is done once
its index stands; files that no index names are never read.

    store/
      name                         of this store alone
      handed-on                    the last step whose results were taken
      files/ab12.npy               rows of several keys, one after the other
      index/000000000014.arrow     for every key: rows ever accepted, pieces, pending pieces
      results/000000000014.arrow   what came of the step
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
"""Pieces of which the state of a key may consist; then it is written as a whole again."""


class Piece(NamedTuple):
    """Rows `begin` up to `end` of a file."""

    file: str
    begin: int
    end: int

    @property
    def rows(self) -> int:
        """How many they are."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the store has of one key."""

    count: int = 0
    """Rows that were ever accepted."""
    pieces: tuple[Piece, ...] = ()
    """The most recent of them, oldest first."""
    pending: tuple[Piece, ...] = ()
    """Rows that came before the state did, not yet worked on."""

    def after(self, accepted: int, piece: Piece | None, *, whole: bool) -> "Entry":
        """What it is after more rows were accepted; a whole piece replaces all others."""
        added = () if piece is None else (piece,)
        pieces = added if whole else self.pieces + added
        return Entry(count=self.count + accepted, pieces=pieces)

    def waiting(self, piece: Piece) -> "Entry":
        """What it is with more rows to be worked on later."""
        return replace(self, pending=(*self.pending, piece))


Index = Mapping[str, Entry]

_PIECES: Final = pa.list_(
    pa.struct([("file", pa.string()), ("begin", pa.int64()), ("end", pa.int64())])
)
_COLUMNS: Final = pa.schema(
    [("key", pa.string()), ("count", pa.int64()), ("pieces", _PIECES), ("pending", _PIECES)]
)


class Backing:
    """The files of one keyed operator."""

    def __init__(self, path: str) -> None:
        self.path = path
        root = Path(path)
        self._files, self._indices, self._results = (
            root / "files",
            root / "index",
            root / "results",
        )
        self._name, self._handed = root / "name", root / "handed-on"
        self._opened: dict[str, Rows] = {}

    def create(self) -> None:
        """Make the folders, and a name that no other store ever had."""
        for folder in (self._files, self._indices, self._results):
            folder.mkdir(parents=True, exist_ok=True)
        if not self._name.exists():
            self._name.write_text(uuid4().hex)

    def identity(self) -> str:
        """The name of the store, by which memories of one that lay here before are told apart."""
        return self._name.read_text()

    def write(self, rows: Rows) -> str:
        """Rows in a new file; returns its name."""
        name = f"{uuid4().hex}.npy"
        np.save(self._files / name, rows, allow_pickle=False)
        return name

    def read(self, pieces: Iterable[Piece], dtype: np.dtype[Any]) -> Rows:
        """The rows of some pieces, one after the other."""
        parts = [self._open(piece.file)[piece.begin : piece.end] for piece in pieces]
        return joined(parts, dtype)

    def _open(self, name: str) -> Rows:
        """A file, opened once for all its pieces."""
        if name not in self._opened:
            mapped = np.load(self._files / name, mmap_mode="r", allow_pickle=False)
            self._opened[name] = np.asarray(mapped)
        return self._opened[name]

    def entries(self, step: int, keys: Iterable[str]) -> dict[str, Entry]:
        """What was known of these keys, and of all keys with pending rows, after a step."""
        table = self._table(step)
        if table is None:
            return {}
        wanted = pc.is_in(table["key"], value_set=pa.array(list(keys), pa.string()))
        pending = pc.greater(pc.list_value_length(table["pending"]), 0)
        return _entries(table.filter(pc.or_(wanted, pending)))

    def index(self, step: int) -> dict[str, Entry]:
        """What was known of every key after a step."""
        table = self._table(step)
        return {} if table is None else _entries(table)

    def newest(self) -> int | None:
        """The last step that is done."""
        steps = [int(entry.stem) for entry in self._indices.glob("*.arrow")]
        return max(steps, default=None)

    def done(self, step: int) -> bool:
        """Whether a step is."""
        return _path(self._indices, step).exists()

    def commit(self, step: int, index: Index, results: pa.Table) -> None:
        """Make a step count, results first; those of steps long past are removed."""
        _write(_path(self._results, step), results)
        _write(_path(self._indices, step), _to_table(index))
        needed = min(step - 3, self.handed_on())
        for folder in (self._indices, self._results):
            for old in folder.glob("*.arrow"):
                if int(old.stem) < needed:
                    old.unlink(missing_ok=True)

    def handed_on(self) -> int:
        """The last step whose results someone has taken; -1 for none."""
        try:
            return int(self._handed.read_text())
        except FileNotFoundError:
            return -1

    def hand_on(self, step: int) -> None:
        """Note that the results of a step, and of all before it, were taken."""
        draft = self._handed.with_name(f".{uuid4().hex}")
        draft.write_text(str(step))
        draft.replace(self._handed)

    def waiting(self) -> list[int]:
        """Steps that are done and whose results nobody has taken, in order."""
        steps = sorted(int(entry.stem) for entry in self._indices.glob("*.arrow"))
        return [step for step in steps if step > self.handed_on()]

    def results(self, step: int) -> pa.Table:
        """What came of a step that is done."""
        with pa.memory_map(str(_path(self._results, step))) as source:
            return pa.ipc.open_file(source).read_all()

    def forget(self, files: Iterable[str]) -> None:
        """Remove files that no index names any more."""
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                (self._files / name).unlink()

    def sweep(self, index: Index) -> None:
        """Remove files that an index does not name: those of tasks that failed."""
        named = files_of(index)
        self.forget([entry.name for entry in self._files.iterdir() if entry.name not in named])

    def _table(self, step: int) -> pa.Table | None:
        try:
            with pa.memory_map(str(_path(self._indices, step))) as source:
                return pa.ipc.open_file(source).read_all()
        except FileNotFoundError:
            return None


def files_of(index: Index) -> set[str]:
    """The files that an index names."""
    return {piece.file for entry in index.values() for piece in entry.pieces + entry.pending}


def _path(folder: Path, step: int) -> Path:
    return folder / f"{step:012d}.arrow"


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


def _entries(table: pa.Table) -> dict[str, Entry]:
    return {
        row["key"]: Entry(
            count=row["count"],
            pieces=tuple(Piece(**piece) for piece in row["pieces"]),
            pending=tuple(Piece(**piece) for piece in row["pending"]),
        )
        for row in table.to_pylist()
    }
