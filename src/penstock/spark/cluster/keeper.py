"""Keep a daemon only as long as its owner lives, and start it again where it dies before.

Started as `python keeper.py TIMES COMMAND...` with a pipe for standard input: runs the command,
again up to TIMES times where it ends by itself, and ends it when the pipe closes, which happens
however the owner dies. Where the pipe says `leave`, the command gets the signal by which Spark's
daemons take their leave, and is not started again. Exits as the command did.
"""

import os
import signal
import subprocess
import sys
import threading

PATIENCE = 10.0
"""Seconds that the command has to leave by itself before it is killed."""
LEAVE = b"leave\n"
"""What the owner says so that the command finishes what it does."""


class Keeper:
    """Runs one command for one owner."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._wanted = True
        self._starting = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def keep(self, again: int) -> int:
        """Run the command until it ends for good; returns its last exit code."""
        threading.Thread(target=self._listen, daemon=True).start()
        code = 0
        for turn in range(again + 1):
            child = self._start()
            if child is None:
                break
            code = child.wait()
            if self._wanted and turn < again:
                sys.stderr.write(f"ended with {code}; it is started again\n")
        return code

    def _start(self) -> "subprocess.Popen[bytes] | None":
        with self._starting:  # or the owner could leave between a look and a start
            if not self._wanted:
                return None
            self._child = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
            return self._child

    def _listen(self) -> None:
        while told := os.read(sys.stdin.fileno(), 4096):  # a buffer's lock would outlive our exit
            if LEAVE in told and (child := self._last_child()) is not None:
                child.send_signal(signal.SIGPWR)
        if (child := self._last_child()) is None:
            return
        child.terminate()
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()

    def _last_child(self) -> "subprocess.Popen[bytes] | None":
        """The child that no other will follow."""
        with self._starting:
            self._wanted = False
            return self._child


if __name__ == "__main__":
    sys.exit(Keeper(sys.argv[2:]).keep(int(sys.argv[1])))
