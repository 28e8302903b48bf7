"""A package with plug-ins, installed from its folder into an environment of its own."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest

from tests.support.paths import ROOT

ACME = Path(__file__).parent / "acme"

pytestmark = pytest.mark.slow

Penstock = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of a fresh environment with Penstock and the package in it."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    uv = shutil.which("uv") or shutil.which("uv", path=ROOT / ".tools" / "bin")
    python = folder / "bin" / "python"
    package = folder.parent / "acme"
    shutil.copytree(ACME, package, ignore=shutil.ignore_patterns("__pycache__"))
    if uv:
        create = [uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        create = [sys.executable, "-m", "venv", str(folder)]
        install = [str(python), "-m", "pip", "install", "--quiet"]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run(create, check=True, env=clean)
    run([*install, f"{ROOT}[twin,cluster]", str(package)], check=True, env=clean)
    yield python
    shutil.rmtree(folder)  # more than a gigabyte


@pytest.fixture
def penstock(python: Path, tmp_path: Path) -> Penstock:
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def call(*words: str) -> CompletedProcess[str]:
        command = [str(python.parent / "penstock"), *words]
        done = run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done

    return call


@pytest.mark.parametrize("name", ["clicks", "acme.clicks:CLICKS"])
def test_validate_takes_the_application(penstock: Penstock, name: str) -> None:
    assert "fine for run" in penstock("validate", name).stdout


@pytest.mark.parametrize(
    ("policy", "workload"),
    [("fast", "spiky:10/s"), ("acme.scaling:steady", "acme.loads:Spiky:10/s")],
)
def test_simulate_takes_the_parts(penstock: Penstock, policy: str, workload: str) -> None:
    words = ["--policy", policy, "--workload", workload, "--duration", "10s", "--json"]
    done = penstock("simulate", "clicks", *words)
    assert json.loads(done.stdout)["policy"] == policy


def test_compare_takes_the_parts(penstock: Penstock) -> None:
    policies = "fast,acme.scaling:Fast:aim=0.8,acme.scaling:steady,threshold"
    words = ["--policies", policies, "--duration", "20s", "--seeds", "1", "--json"]
    done = penstock("compare", "clicks", *words)
    assert "acme.scaling:steady" in done.stdout


def test_a_module_in_the_working_directory_is_found(penstock: Penstock, tmp_path: Path) -> None:
    (tmp_path / "my_policy.py").write_text("from acme.scaling import steady as mine\n")
    words = ["--policy", "my_policy:mine", "--duration", "10s", "--json"]
    done = penstock("simulate", "clicks", *words)
    assert json.loads(done.stdout)["policy"] == "my_policy:mine"


@pytest.mark.spark
@pytest.mark.parametrize("set_", [(), ("--set", "pipeline=acme.clicks:CLICKS")])
def test_run_takes_the_parts(penstock: Penstock, tmp_path: Path, set_: tuple[str, ...]) -> None:
    words = ["--duration", "16s", "--out", "run", "--json", *set_]
    done = penstock("run", "clicks", *words)
    assert json.loads(done.stdout)["results"]["clicks"] > 0
