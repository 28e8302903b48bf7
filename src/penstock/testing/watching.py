"""Notice files, sockets and processes that code touches, with Python's audit events."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

_EVENTS: Final = (
    "open",
    "os.system",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.sendto",
    "subprocess.Popen",
)
_touched: dict[int, list[str]] = {}  # by thread: what others do is no concern of ours


@contextmanager
def watched() -> Iterator[list[str]]:
    """What is touched inside, by the names of Python's audit events.

    >>> with watched() as touched:
    ...     open("/dev/null").close()
    >>> touched
    ['open']
    """
    _listen()
    touched: list[str] = []
    _touched[threading.get_ident()] = touched
    try:
        yield touched
    finally:
        del _touched[threading.get_ident()]


@cache
def _listen() -> None:
    sys.addaudithook(_note)  # a hook stays for the life of the process, so there is only one


def _note(event: str, _: tuple[object, ...]) -> None:
    touched = _touched.get(threading.get_ident())
    if touched is not None and event in _EVENTS:
        touched.append(event)
