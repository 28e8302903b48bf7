"""Keep a daemon only as long as its owner lives.

Started as `python keeper.py COMMAND...` with a pipe for standard input: runs the command, and
ends it when the pipe closes, which happens however the owner dies. Exits as the command did.
"""

import os
import subprocess
import sys
import threading

PATIENCE = 10.0
"""Seconds that the command has to leave by itself before it is killed."""


def keep(command: list[str]) -> int:
    """Run a command until it ends or our standard input closes; returns its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_owner, args=(child,), daemon=True).start()
    return child.wait()


def _end_with_owner(child: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 4096):  # unbuffered: a lock on it would outlive our exit
        pass
    child.terminate()
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
