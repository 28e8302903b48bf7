"""Keep a daemon only as long as its owner lives, and start it again where it dies before.

Started as `python keeper.py TIMES COMMAND...` with a pipe for standard input: runs the command,
again up to TIMES times where it ends by itself, and ends it when the pipe closes, which happens
however the owner dies. Exits as the command did.
"""

import os
import subprocess
import sys
import threading

PATIENCE = 10.0
"""Seconds that the command has to leave by itself before it is killed."""


class Keeper:
    """Runs one command for one owner."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._owned = True
        self._starting = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def keep(self, again: int) -> int:
        """Run the command until it ends for good; returns its last exit code."""
        threading.Thread(target=self._end_with_owner, daemon=True).start()
        code = 0
        for turn in range(again + 1):
            child = self._start()
            if child is None:
                break
            code = child.wait()
            if self._owned and turn < again:
                sys.stderr.write(f"ended with {code}; it is started again\n")
        return code

    def _start(self) -> "subprocess.Popen[bytes] | None":
        with self._starting:  # or the owner could leave between a look and a start
            if not self._owned:
                return None
            self._child = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
            return self._child

    def _end_with_owner(self) -> None:
        while os.read(sys.stdin.fileno(), 4096):  # unbuffered: a lock on it would outlive our exit
            pass
        with self._starting:
            self._owned = False
            child = self._child
        if child is None:
            return
        child.terminate()
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()


if __name__ == "__main__":
    sys.exit(Keeper(sys.argv[2:]).keep(int(sys.argv[1])))
