"""Busy processes beside the executors of a run on Spark: real ones, which leave nothing behind.

    with open_spark(...) as plant, Hog(interference, lasts=file.duration):
        for tick in control(plant, policy):
            ...

Their clock starts with the block. They end with their stretch, with the block, or with the process
that started them, even one that is killed; whatever happens, not much later than the run was to.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self, TypeVar

from penstock.core.errors import PlantError
from penstock.core.interference import Interference
from penstock.pipeline import busy

P = TypeVar("P")

_OVERTIME: Final = 2.0
"""How many times as long as planned a run may take before its busy processes give up on it."""


@dataclass(slots=True)
class Hog:
    """The processes of one interference, from the start of a block to its end at the latest."""

    interference: Interference
    lasts: float
    """Seconds that the run is to take."""
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False, repr=False)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the processes that were started."""
        return tuple(child.pid for child in self._children)

    def __enter__(self) -> Self:
        now = time.monotonic()
        until = min(self.interference.end, _OVERTIME * self.lasts)
        if until <= self.interference.from_:
            return self
        try:
            for _ in range(self.interference.processes):
                self._children.append(_start(now + self.interference.from_, now + until))
        except OSError as error:
            self._end()
            raise PlantError(
                f"{self.interference.processes} busy processes of interference could not be "
                f"started ({error.strerror}); ask for fewer"
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        for child in self._children:
            child.kill()  # it has nothing to put in order
        for child in self._children:
            child.wait()
            if child.stdin:
                child.stdin.close()


@contextmanager
def beside(
    opened: AbstractContextManager[P], interference: Interference | None, lasts: float
) -> Iterator[P]:
    """A plant with busy processes beside it, whose clock starts when the plant is open."""
    with opened as plant:
        if interference is None:
            yield plant
            return
        with Hog(interference, lasts):
            yield plant


def elsewhere(interference: Interference | None, master: str | None) -> str | None:
    """What to say of a cluster whose executors may be on other machines than the processes.

    >>> elsewhere(Interference(processes=2), "yarn")
    'the busy processes of interference run on this machine: executors of yarn that are on others \
do not feel them'
    """
    if interference is None or not interference.processes or master is None:
        return None
    return (
        f"the busy processes of interference run on this machine: executors of {master} that are "
        "on others do not feel them"
    )


def _start(begin: float, end: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", busy.__file__, repr(begin), repr(end)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C is for the owner, which then ends them
    )
