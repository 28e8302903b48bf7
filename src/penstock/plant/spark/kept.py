"""A process that a keeper runs for us: started again where it dies, and ended however we end."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.plant.spark import keeper


@dataclass(frozen=True, slots=True)
class Kept:
    """The keeper of one process, and the pipe by which it is told what to do."""

    keeper: "subprocess.Popen[bytes]"

    @classmethod
    def start(
        cls, command: Sequence[str], *, again: int, environment: Mapping[str, str], log: Path
    ) -> "Kept":
        """Run a command, and again as often as that where it ends by itself."""
        with log.open("wb") as told:
            return cls(
                subprocess.Popen(
                    [sys.executable, "-I", keeper.__file__, str(again), *command],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=told,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,  # Ctrl-C is ours to handle, in order
                )
            )

    @property
    def code(self) -> int | None:
        """With what it ended for good; None while it runs or is about to run again."""
        return self.keeper.poll()

    def ask_to_leave(self) -> None:
        """Let it finish what it does; it is not started again. `dismiss` ends it."""
        if self.keeper.stdin is not None:
            with suppress(OSError, ValueError):  # it has ended, or was dismissed meanwhile
                self.keeper.stdin.write(keeper.LEAVE)

    def dismiss(self) -> None:
        """End it, by force where it does not end in time; returns at once."""
        if self.keeper.stdin is not None:
            self.keeper.stdin.close()

    def wait(self) -> None:
        """Wait for its end after a dismissal."""
        self.keeper.wait(keeper.PATIENCE + 5)
