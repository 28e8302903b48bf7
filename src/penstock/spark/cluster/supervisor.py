"""Run a daemon for one owner: restart it when it dies, stop it when the owner does.

Started as `python supervisor.py RESTARTS COMMAND...` with a pipe as standard input. The command is
restarted up to RESTARTS times when it ends by itself, and stopped when the pipe closes, which
happens however the owner dies, or on SIGTERM. On the line `decommission` it gets the signal that
decommissions Spark daemons, and is not restarted. Processes that the command leaves behind, such as
executors that hang in their own shutdown, are killed. The exit code is that of the command.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

STOP_TIMEOUT = 10.0
"""Seconds from the request to stop until the command is killed."""
DECOMMISSION = b"decommission\n"
"""What the owner writes to let the command finish its work."""


class Supervisor:
    """Runs one command for one owner."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._wanted = True
        self._starting = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def run(self, restarts: int) -> int:
        """Run the command until it ends for good; returns its last exit code."""
        threading.Thread(target=self._listen, daemon=True).start()
        # in a thread, because the handler may have interrupted the holder of a lock
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=self._stop).start())
        code = 0
        for attempt in range(restarts + 1):
            child = self._start()
            if child is None:
                break
            code = child.wait()
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            if self._wanted and attempt < restarts:
                sys.stderr.write(f"ended with exit code {code}; restarting\n")
        return code

    def _start(self) -> "subprocess.Popen[bytes] | None":
        with self._starting:  # or the owner could end between the check and the start
            if not self._wanted:
                return None
            self._child = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, process_group=0)
            return self._child

    def _listen(self) -> None:
        while line := os.read(sys.stdin.fileno(), 4096):  # a buffer's lock would outlive our exit
            if DECOMMISSION in line and (child := self._last_child()) is not None:
                child.send_signal(signal.SIGPWR)
        self._stop()

    def _stop(self) -> None:
        if (child := self._last_child()) is None:
            return
        child.terminate()
        try:
            child.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            child.kill()

    def _last_child(self) -> "subprocess.Popen[bytes] | None":
        """The current child; no other is started after it."""
        with self._starting:
            self._wanted = False
            return self._child


if __name__ == "__main__":
    sys.exit(Supervisor(sys.argv[2:]).run(int(sys.argv[1])))
