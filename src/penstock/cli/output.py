"""Results to stdout, everything else to stderr, and measurements as people read them."""

import json
import os
import sys
from contextlib import suppress
from typing import IO, Any

from penstock.core import words
from penstock.core.errors import PenstockError
from penstock.core.signals import Latency, ModuleReading


def print_line(text: str = "") -> None:
    """A line of the result."""
    write(sys.stdout, text)


def print_json(data: Any) -> None:
    """The result as one JSON document."""
    print_line(json.dumps(data, indent=2, allow_nan=False))


def say(text: str) -> None:
    """A line beside the result; a stderr that has gone is no reason to fail."""
    with suppress(OSError, ValueError, PenstockError):
        write(sys.stderr, f"penstock: {text}")


def open_in_browser(address: str, what: str) -> None:
    """Open a page, or say that the user has to."""
    import webbrowser

    if not webbrowser.open(address):
        say(f"there is no browser to open; open {what} yourself")


def write(stream: IO[str] | None, text: str) -> None:
    """A line to a stream, out at once, in whatever letters the stream can show."""
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        raise PenstockError(f"cannot write the output ({error.strerror})") from error


def drop_stdout() -> None:
    """Let the rest of stdout go nowhere, so that Python's last flush does not complain."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


# Measurements as people read them; what is unknown is a dash, never a zero.


UNKNOWN = "-"


def number(value: float | None) -> str:
    """A count or a rate.

    >>> number(1234.5), number(0.25), number(None)
    ('1,234', '0.25', '-')
    """
    return UNKNOWN if value is None else words.number(value)


def percent(share: float | None) -> str:
    """A share of one; what is nearly nothing or nearly all does not round to it.

    >>> percent(0.756), percent(0.998), percent(1.0), percent(0.002)
    ('76 %', '>99 %', '100 %', '<1 %')
    """
    return UNKNOWN if share is None else words.percent(share, "whole")


def duration(seconds: float | None) -> str:
    """Seconds in the unit a reader would choose."""
    return UNKNOWN if seconds is None else words.duration(seconds)


def p95(latency: Latency | None) -> str:
    """The 95th percentile."""
    return UNKNOWN if latency is None else duration(latency.p95)


def executors(module: ModuleReading) -> str:
    """Executors wanted, requested and running.

    >>> executors(ModuleReading(wanted=4, requested=4, running=3))
    '4/4/3'
    """
    counts = (module.wanted, module.requested, module.running)
    return "/".join(UNKNOWN if count is None else str(count) for count in counts)
