"""Compiling the event loop: in full on first use, from disk after that."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from numba import njit
from numba.core import options

from penstock.model.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

# Division by zero gives inf as in numpy, and other threads may run while the loop does.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}
if hasattr(options.DefaultOptions, "_nrt"):
    # Nothing in the loop makes an array; counting references to them would take half the time.
    _OPTIONS["_nrt"] = False


def compiled(function: F) -> F:
    """Compile a part of the event loop that is large, or rarely called."""
    made: F = njit(**_OPTIONS)(function)
    return made


def inlined(function: F) -> F:
    """Compile a part of the event loop into whatever calls it: a call costs as much as its work."""
    made: F = njit(forceinline=True, **_OPTIONS)(function)
    return made


def entry(function: F) -> F:
    """Compile a function that Python calls, keeping the machine code on disk.

    Where no folder can be written to, as in a read-only container, it is compiled anew each time.
    """
    made = njit(**_OPTIONS)(function)
    with suppress(RuntimeError):
        made._cache = KernelCache(function)  # what `cache=True` does
    kept: F = made
    return kept
