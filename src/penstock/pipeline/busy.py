"""Keep one core busy for a stretch of time, as long as the owner lives.

Started as `python busy.py BEGIN END` with a pipe for standard input. Both are moments of the
machine's monotonic clock. It waits until BEGIN, computes until END, and leaves at once when the
pipe closes, which happens however the owner dies. Should all of that fail, an alarm ends it.
"""

import select
import signal
import sys
import time

BREATH = 20_000
"""Numbers added up between two looks at the owner: about a millisecond."""
GRACE = 2
"""Seconds after END at which the alarm goes off."""


def keep_busy(begin: float, end: float, owner: int) -> None:
    """Wait, then compute, until the end or until the pipe from the owner closes."""
    if closed(owner, within=max(begin - time.monotonic(), 0.0)):
        return
    while time.monotonic() < end and not closed(owner, within=0.0):
        sum(range(BREATH))


def closed(owner: int, within: float) -> bool:
    """Whether the pipe closes within so many seconds; nothing is ever written to it."""
    return bool(select.select([owner], [], [], within)[0])


if __name__ == "__main__":
    begin, end = float(sys.argv[1]), float(sys.argv[2])
    signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), 0.0) + GRACE)
    keep_busy(begin, end, sys.stdin.fileno())
