"""Machine code kept on disk, loaded only where everything that it was compiled from is the same.

Numba compares the file of the function that it loads. Functions and constants of other files are
part of the machine code too: with an older version of them it computes wrong figures, or reads
beyond the end of an array. Here the key of an entry covers them all.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

_FunctionCache: Any = import_module("numba.core.caching").FunctionCache  # it has no types


class KernelCache(_FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, with what the function calls in the key."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), fingerprint(self._py_func))

    def _save_overload(self, sig: Any, data: Any) -> None:
        with _alone(Path(self._cache_path)):
            super()._save_overload(sig, data)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps two processes that save at once from giving different code the same file name."""
    with (folder / "penstock.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fingerprint(function: FunctionType) -> str:
    """A checksum of a function, of the compiled functions it calls and of the constants it uses."""
    parts: dict[FunctionType, str] = {}
    _visit(function, parts)
    return sha256("\n".join(sorted(parts.values())).encode()).hexdigest()


def _visit(function: FunctionType, parts: dict[FunctionType, str]) -> None:
    if function in parts:
        return
    used = _used(function)
    values = [f"{name}={_written(used[name])}" for name in sorted(used)]
    parts[function] = f"{_address(function)} {_parts(function.__code__)} {values}"
    for value in used.values():
        if isinstance(value, Dispatcher):
            _visit(value.py_func, parts)


def _used(function: FunctionType) -> dict[str, Any]:
    """What the function takes from its module and from modules imported there, by name."""
    names, known = _names(function.__code__), function.__globals__
    direct = {name: known[name] for name in names if name in known}
    modules = {name: value for name, value in direct.items() if isinstance(value, ModuleType)}
    through = {
        f"{name}.{inner}": getattr(module, inner)
        for name, module in modules.items()
        for inner in names
        if hasattr(module, inner)
    }
    return direct | through


def _address(function: FunctionType) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _names(code: CodeType) -> set[str]:
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inner)


def _parts(code: CodeType) -> str:
    consts = [_parts(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_varnames} {code.co_names} {consts}"


def _written(value: Any) -> str:
    """A constant in full; of anything else its name, since its code is covered or not ours."""
    if isinstance(value, Dispatcher):
        return _address(value.py_func)
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, bool | int | float | str | bytes | tuple | np.generic | np.dtype):
        return repr(value)
    return f"{getattr(value, '__name__', type(value))} {getattr(value, '_fields', ())}"
