"""Results to stdout, everything else to stderr, neither of which need be there."""

import json
import os
import sys
from contextlib import suppress
from typing import IO, Any

from penstock.core.errors import PenstockError


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
