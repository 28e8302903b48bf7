"""Compiling loops to machine code: in full on first use, from disk after that.

Without numba the functions stay plain Python. The results are the same, so a policy that learns
works in a driver without a compiler, where it values its table in milliseconds instead of
microseconds. What would take hours instead of seconds asks for `require_compiler` first.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from penstock.core.errors import MissingPackageError
from penstock.core.extras import remedy, require

# Division by zero gives inf as in numpy, and other threads may run while the loop does.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}
_refused: ImportError | None = None
try:
    from numba import njit
    from numba.core.options import DefaultOptions
except ImportError as error:  # also of one that does not fit the numpy beside it
    _refused = error
else:
    if hasattr(DefaultOptions, "_nrt"):
        # Nothing in the loop makes an array; counting references to them would take half the time.
        _OPTIONS["_nrt"] = False

F = TypeVar("F", bound=Callable[..., Any])


def require_compiler(what: str, *, extra: str = "twin") -> None:
    """Reject what is too slow in plain Python."""
    if _refused is not None:
        require(extra, what, "numba")
        raise MissingPackageError(
            f"{what} needs numba, and the one here does not work ({_refused}); {remedy(extra)}"
        )


def compiled(function: F) -> F:
    """Compile a part of the event loop that is large, or rarely called."""
    return _made(function)


def inlined(function: F) -> F:
    """Compile a part of the event loop into whatever calls it: a call costs as much as its work."""
    return _made(function, forceinline=True)


def entry(function: F) -> F:
    """Compile a function that Python calls, keeping the machine code on disk.

    Where no folder can be written to, as in a read-only container, it is compiled again each time.
    """
    made = _made(function)
    if _refused is None:
        from penstock.model.kernel_cache import KernelCache

        with suppress(RuntimeError):
            made._cache = KernelCache(function)  # type: ignore[attr-defined]  # as `cache=True`
    return made


def _made(function: F, **special: bool) -> F:
    if _refused is not None:
        return function
    options = _OPTIONS | special
    made: F = njit(**options)(function)
    return made
