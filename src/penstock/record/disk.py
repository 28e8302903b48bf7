"""Writing to a disk that may be full, read-only or somebody else's."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Final

from penstock.core.errors import FileError

_PROBE: Final = 64 * 1024  # more than a file system keeps inside an inode
_ELSEWHERE: Final = "give --out a folder elsewhere"
_FULL: Final = f"free some space or {_ELSEWHERE}"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the operating system refuses into one sentence with the remedy."""
    try:
        yield
    except OSError as error:
        raise FileError(_sentence(folder, error)) from error


def check_space(folder: Path, least: int) -> None:
    """Refuse a folder whose disk has fewer than `least` bytes free, or takes none of ours."""
    with writing(folder):
        free = shutil.disk_usage(folder).free
        if free < least:
            raise FileError(
                f"only {free / 1e6:.0f} MB are free for the run folder {folder}, "
                f"a run needs {least / 1e6:.0f} MB; {_FULL}"
            )
        probe = folder / ".probe"
        try:
            write_whole(probe, "0" * _PROBE)
        finally:
            probe.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there in full or not at all."""
    partial = path.with_name(path.name + ".part")
    with writing(path.parent):
        try:
            with partial.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


class LineFile:
    """A file that grows by whole lines, each out of our hands when `append` returns.

    A line that does not fit is taken back, so that only a kill can leave half a line. The file
    appears with its first line. Threads may share one. While it is held, lines wait in memory.
    """

    def __init__(self, path: Path, *, held: bool = False) -> None:
        self._path = path
        self._lock = Lock()
        self._file: FileIO | None = None
        self._closed = False
        self._waiting: list[str] | None = [] if held else None

    def append(self, line: str) -> None:
        """Add a line, unless the file has been closed."""
        with self._lock, writing(self._path.parent):
            if self._waiting is not None:
                self._waiting.append(line)
            else:
                self._write(line)

    def release(self) -> None:
        """Write what has waited, and hold back no more."""
        with self._lock, writing(self._path.parent):
            waiting, self._waiting = self._waiting, None
            for line in waiting or ():
                self._write(line)

    def _write(self, line: str) -> None:
        if not self._closed:
            self._file = self._file or FileIO(self._path, "a")
            _append(self._file, (line + "\n").encode("utf-8"))

    def close(self) -> None:
        """Sync to the disk and close; once more does nothing."""
        with self._lock, writing(self._path.parent):
            self._closed = True
            if self._file is not None and not self._file.closed:
                try:
                    _sync(self._file)
                finally:
                    self._file.close()


def _sync(file: FileIO) -> None:
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno != errno.EINVAL:  # a pipe or a device, such as /dev/null, keeps nothing
            raise


def _append(file: FileIO, data: bytes) -> None:
    end = file.seek(0, os.SEEK_END)
    left = memoryview(data)
    try:
        while left:
            left = left[file.write(left) :]
    except BaseException:
        with suppress(OSError):
            file.truncate(end)
        raise


def _sentence(folder: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"the disk of the run folder {folder} is full; {_FULL}"
    if error.errno == errno.EDQUOT:
        return f"the disk quota of the run folder {folder} is used up; {_FULL}"
    if error.errno == errno.EROFS:
        return f"the run folder {folder} is on a read-only file system; {_ELSEWHERE}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to write in the run folder {folder}; {_ELSEWHERE}"
    return f"cannot write in the run folder {folder} ({error.strerror}); {_ELSEWHERE}"
