"""The command line as a shell sees it: processes, streams, signals and exit codes."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import ENDLESS, LONG, PENSTOCK, modules_after, penstock


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("simulate", "--help")])
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    heavy = {"numpy", "numba", "rich", "pyspark", "pyarrow", "yaml", "pandas"}
    assert not heavy & modules_after(*words)


def test_simulating_validating_and_reporting_need_no_spark(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    quick = ["simulate", "wordcount", "--duration", "2s", "--quiet", "--out", out]
    for words in (quick, ["validate", "wordcount"], ["report", out]):
        assert "pyspark" not in modules_after(*words)


def test_exit_codes_and_streams(tmp_path: Path) -> None:
    done = penstock("validate", "wordcount")
    assert (done.returncode, done.stderr) == (0, "")
    wrong = penstock("simulate", "wordcount", "--duration", "10", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        "penstock: wordcount.yaml with duration=10: duration of the pipeline needs a unit, got 10; "
        "write 10s, 10ms or 10m\n"
    )
    assert list(tmp_path.iterdir()) == []


def endless(out: Path, *words: str) -> "subprocess.Popen[str]":
    """A run that has taken its first step."""
    process = subprocess.Popen(
        [*PENSTOCK, *ENDLESS, "--out", str(out), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "starting wordcount on the twin\n"
    assert process.stdout.readline().startswith("2/")
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_cleanly_with_its_record(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process = endless(tmp_path / "run")
    process.send_signal(number)
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == code
    assert err.startswith(f"penstock: stopped by {number.name} after ")
    assert len(err.splitlines()) == 1
    assert out.rstrip().endswith(str(tmp_path / "run" / "report.html"))
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["steps"] == len((tmp_path / "run" / "ticks.jsonl").read_text().splitlines())


def test_more_signals_do_not_leave_half_a_summary(tmp_path: Path) -> None:
    process = endless(tmp_path / "run")
    for _ in range(3):
        process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=LONG)
    assert process.returncode in (130, 143)  # the kernel may deliver the last one first
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["steps"] > 0
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_reader_that_hangs_up_ends_the_run_quietly(tmp_path: Path) -> None:
    process = endless(tmp_path / "run")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=LONG) == 141
    process.stderr.close()
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_record_that_may_not_grow_ends_the_run_with_2_and_stays_readable(tmp_path: Path) -> None:
    """A limit on the size of files, as a stand-in for a disk that is full to every process."""
    assert penstock("simulate", "wordcount", "--duration", "2s", cwd=tmp_path).returncode == 0
    program = (
        "import resource, sys; from penstock.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    out = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-c", program, *ENDLESS, "--quiet", "--json", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 2
    message = (
        f"cannot write in the run folder {out} (File too large); give --out a folder elsewhere"
    )
    assert done.stderr.splitlines()[-1] == f"penstock: {message}"
    assert json.loads(done.stdout)["error"] == message
    ticks = (out / "ticks.jsonl").read_text().splitlines()
    assert len(ticks) > 20
    assert all(json.loads(tick)["decided"]["why"] for tick in ticks)
    assert penstock("report", str(out), "--out", str(tmp_path / "page.html")).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_output_that_cannot_be_written_is_reported() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PENSTOCK, "validate", "wordcount"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONG,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "penstock: cannot write the output (No space left on device)\n"


def test_an_unexpected_error_is_a_sentence_and_a_traceback_only_on_request(tmp_path: Path) -> None:
    """A folder of the user's own that shadows one of our packages is as unexpected as it gets."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "yaml.py").write_text("raise RuntimeError('not the yaml\\nyou want')\n")
    plain = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [*PENSTOCK, "validate", "wordcount"]
    quiet = subprocess.run(command, capture_output=True, text=True, env=plain, check=False)
    assert quiet.returncode == 1
    assert quiet.stderr == (
        "penstock: something unexpected went wrong (RuntimeError: not the yaml); "
        "set PENSTOCK_DEBUG=1 to see where\n"
    )
    debug = {**plain, "PENSTOCK_DEBUG": "1"}
    loud = subprocess.run(command, capture_output=True, text=True, env=debug, check=False)
    assert "Traceback" in loud.stderr


def test_a_terminal_gets_a_table_that_updates_in_place(tmp_path: Path) -> None:
    shown = on_terminal("simulate", "wordcount", "--out", str(tmp_path / "run"))
    assert "executors wanted" in shown
    assert "\x1b[" in shown
    assert "1 min of 1 min" in shown
    assert "wordcount on the twin: 1 min, 30 steps" in shown


def on_terminal(*words: str) -> str:
    """What a command shows on a terminal of 120 columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    with subprocess.Popen([*PENSTOCK, *words], stdout=theirs, stderr=theirs, env=environment) as p:
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], LONG)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # the other side has closed
                break
        assert p.wait(LONG) == 0
    os.close(ours)
    return shown.decode()
