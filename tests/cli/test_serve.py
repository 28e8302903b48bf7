"""`penstock serve` and `--dashboard` as a shell sees them."""

import json
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.dashboard_runs import EVERYWHERE, finished, ticks
from tests.support.processes import ENDLESS, PATIENCE, PENSTOCK, modules_after, penstock


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finished(tmp_path / "run", ticks(20))


@contextmanager
def started(*words: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*PENSTOCK, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def get(address: str, path: str) -> str:
    with urllib.request.urlopen(address + path, timeout=PATIENCE) as answer:  # noqa: S310  # our own
        return str(answer.read().decode())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_serves_until_it_is_stopped(run: Path, number: signal.Signals, code: int) -> None:
    with started("serve", str(run), "--port", "0") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith(f"serving {run} at http://127.0.0.1:")
        address = first.split(" at ")[1].partition(",")[0]
        assert len(json.loads(get(address, "run.json"))["rows"]) == 20
        process.send_signal(number)
        _, stderr = process.communicate(timeout=PATIENCE)
        assert (process.returncode, stderr) == (code, "")


def test_another_host_prints_an_address_with_a_token(run: Path) -> None:
    with started("serve", str(run), "--host", EVERYWHERE, "--port", "0", "--json") as process:
        assert process.stdout is not None
        text = "".join(iter(process.stdout.readline, "}\n"))
        output = json.loads(text + "}")
        assert output["address"].startswith("http://0.0.0.0:")
        assert len(output["address"].partition("?token=")[2]) >= 32


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["serve"], "serve needs the folder of a run, such as penstock serve runs/demo"),
        (["serve", "nowhere"], "the run folder nowhere does not exist; give the folder"),
        (
            ["serve", "x", "--port", "99999"],
            "--port: a port is a number from 0 to 65535, got '99999'",
        ),
        (["simulate", "wordcount", "--dashboard", "x"], "--dashboard: a port is a number"),
        (["serve", ".", "--host", EVERYWHERE, "--token", "abc"], "a token needs 16 to 200"),
    ],
)
def test_mistakes_get_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = penstock(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"penstock: {sentence}")
    assert done.stderr.count("\n") == 1


def test_grafana_gets_its_dashboard() -> None:
    assert json.loads(penstock("serve", "--grafana").stdout)["title"] == "Penstock"


def test_serving_needs_no_spark_and_its_help_nothing_heavy() -> None:
    assert "pyspark" not in modules_after("serve", "--grafana")
    assert not {"numpy", "rich", "yaml"} & modules_after("serve", "--help")


def test_a_run_with_a_dashboard_says_where_and_ends_as_always(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    words = [*ENDLESS[1:], "--quiet", "--out", out, "--dashboard"]
    with started("simulate", *words) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        address = said.partition(" at ")[2].partition(" while")[0]
        assert said == f"penstock: the run is at {address} while it lasts\n"
        assert json.loads(get(address, "run.json"))["now"]["state"] in ("waiting", "live")
        while not json.loads(get(address, "run.json")).get("rows"):
            assert process.poll() is None
        assert "penstock_up 1" in get(address, "metrics")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
    assert (tmp_path / "run" / "summary.json").exists()
    done = penstock("simulate", "wordcount", "--duration", "4s", "--out", out, "--dashboard")
    assert (done.returncode, "at http://127.0.0.1:" in done.stderr) == (0, True)


def test_a_dashboard_whose_port_is_taken_keeps_the_run_from_starting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = penstock("simulate", "wordcount", "--dashboard", port, "--out", "run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"penstock: port {port} of 127.0.0.1 is in use; choose another, or 0 for any that is free\n"
    )
    assert list(tmp_path.iterdir()) == []
