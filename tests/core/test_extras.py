"""Extras are declared once for pip and once for people, and both say the same."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from penstock.core.extras import BASE, EXTRAS

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def names(requirements: list[str]) -> tuple[str, ...]:
    """The distributions of a list of requirements."""
    return tuple(re.split(r"[<>=~!\[ ]", each)[0] for each in requirements)


def test_messages_know_the_extras_of_the_package() -> None:
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert names(project["dependencies"]) == BASE
    assert extras.pop("all") == [f"penstock[{','.join(EXTRAS)}]"]
    assert {name: names(each) for name, each in extras.items()} == {
        name: extra.packages for name, extra in EXTRAS.items()
    }


def without(package: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that lacks a package."""
    blocked = f"import sys; sys.modules[{package!r}] = None\n{code}"
    return subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("package", "words", "message"),
    [
        ("numba", "simulate wordcount", "simulating needs numba; pip install 'penstock[twin]'"),
        ("numba", "compare wordcount", "comparing needs numba; pip install 'penstock[twin]'"),
        ("numba", "fit runs/x", "fitting needs numba; pip install 'penstock[twin]'"),
        ("rich", "simulate wordcount", "simulating needs rich; pip install 'penstock[twin]'"),
        ("scipy", "reproduce game", "reproducing needs scipy; pip install 'penstock[twin]'"),
        ("pyspark", "run wordcount", "running needs pyspark; pip install 'penstock[cluster]'"),
    ],
)
def test_a_command_without_its_extra_is_refused_in_a_sentence(
    package: str, words: str, message: str
) -> None:
    done = without(package, f"from penstock.cli import main\nsys.exit(main({words.split()!r}))")
    assert (done.returncode, done.stderr) == (2, f"penstock: {message}\n")


@pytest.mark.parametrize(
    ("package", "code", "message"),
    [
        (
            "numba",
            "from penstock.pipeline.file import load\n"
            "from penstock.pipeline.twins import open_twin\n"
            "open_twin(load('wordcount'))",
            "simulating needs numba; pip install 'penstock[twin]'",
        ),
        (
            "numba",
            "from penstock.query.kernels import skyline; skyline([[1.0, 2.0]])",
            "a preference query needs numba; pip install 'penstock[query]'",
        ),
        (
            "numba",
            "import penstock.apps.trading.application",
            "trading needs numba; pip install 'penstock[apps]'",
        ),
        (
            "pyspark",
            "import penstock; penstock.attach(None)",
            "attaching needs the pyspark of your program; run it in the environment that has it",
        ),
        (
            "cv2",
            "from penstock.pipeline.file import load; "
            "from penstock.pipeline.deploy.pipeline import application_of; "
            "application_of(load('recognition'))",
            "recognition needs cv2; pip install 'penstock[apps]'",
        ),
    ],
)
def test_code_without_its_extra_raises_the_sentence(package: str, code: str, message: str) -> None:
    done = without(package, code)
    last = done.stderr.strip().splitlines()[-1]
    assert last == f"penstock.core.errors.MissingPackageError: {message}"
