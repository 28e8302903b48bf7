"""What is checked before anything is started."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.core.errors import ClusterError
from penstock.spark.cluster import supervisor
from penstock.spark.cluster.embedded import (
    EmbeddedCluster,
    check_port_free,
    free_port,
    write_configuration,
)
from penstock.spark.java import find_java, usable_home
from penstock.spark.session import check_master, compiled_spark_home, open_session
from tests.support.processes import wait_until


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path, "21.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": os.environ["PATH"]})
    assert (found.home, found.version, found.origin) == (home, 21, "JAVA_HOME")


def test_a_java_home_without_java_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"JAVA_HOME is .*no bin/java.*unset it"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_a_java_home_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="which is Java 8; Spark needs 17"):
        find_java({"JAVA_HOME": str(fake_java(tmp_path, "1.8.0_402"))})


def test_without_any_java_the_bundled_one_is_used() -> None:
    found = find_java({"PATH": "/nonexistent"})
    assert found.origin == "bundled"
    assert found.version >= 17


def test_an_old_java_on_the_path_is_passed_over(tmp_path: Path) -> None:
    home = fake_java(tmp_path, "11.0.2")
    assert find_java({"PATH": str(home / "bin")}).origin == "bundled"


def test_the_bundled_java_starts_with_the_words_that_spark_gives_it(tmp_path: Path) -> None:
    home = usable_home(find_java({"PATH": "/nonexistent"}), tmp_path)
    words = ["--add-modules=jdk.incubator.vector", "-Dgreeting=two words", "-version"]
    output = subprocess.run([home / "bin" / "java", *words], capture_output=True, check=False)
    assert output.returncode == 0


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ClusterError, match=f"port {port} .*cluster.port"):
            check_port_free(port)


def test_no_other_program_is_given_the_free_port_before_its_daemon_starts() -> None:
    ports = {free_port() for _ in range(20)}
    assert len(ports) > 10
    assert max(ports) < 32768  # where the ports begin that Linux gives to programs


@pytest.mark.parametrize("master", ["local", "local[4]", "mesos://x", "", "spark"])
def test_a_master_without_executors_is_refused(master: str) -> None:
    with pytest.raises(ClusterError, match="no executors to scale"):
        check_master(master)


@pytest.mark.parametrize("master", ["spark://", "spark://127.0.0.1", "spark://h:port"])
def test_a_master_that_is_no_address_is_refused(master: str) -> None:
    with pytest.raises(ClusterError, match="is no address"):
        check_master(master)


@pytest.mark.parametrize("scheme", ["spark://127.0.0.1:{}", "k8s://http://127.0.0.1:{}"])
def test_a_master_that_does_not_answer_is_named(scheme: str) -> None:
    master = scheme.format(free_port())
    with pytest.raises(ClusterError, match=f"nothing answers at master {master}"):
        check_master(master)


def test_yarn_needs_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with pytest.raises(ClusterError, match="HADOOP_CONF_DIR"):
        check_master("yarn")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    check_master("yarn")


def test_the_secret_is_readable_by_its_owner_alone_and_new_each_time(tmp_path: Path) -> None:
    write_configuration(tmp_path / "a")
    write_configuration(tmp_path / "b")
    first, second = (tmp_path / name / "spark-defaults.conf" for name in "ab")
    assert first.stat().st_mode & 0o077 == 0
    assert first.read_text() != second.read_text()
    assert "spark.authenticate true" in first.read_text()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def test_a_daemon_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    command = [
        sys.executable,
        supervisor.__file__,
        "0",
        "sh",
        "-c",
        f"echo $$ > {note}; exec sleep 60",
    ]
    start = f"import subprocess; subprocess.Popen({command!r}, stdin=subprocess.PIPE).wait()"
    owner = subprocess.Popen([sys.executable, "-c", start])
    wait_until(lambda: note.exists() and note.read_text().strip())
    daemon = int(note.read_text())
    assert not gone(daemon)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    wait_until(lambda: gone(daemon))


@pytest.mark.parametrize("by", ["its end", "a signal"])
def test_what_a_daemon_has_started_ends_with_it(tmp_path: Path, by: str) -> None:
    note, stubborn = tmp_path / "pid", "trap '' TERM; while true; do sleep 1; done"
    work = f'sh -c "{stubborn}" & echo $! > {note}; exec sleep {0 if by == "its end" else 60}'
    command = [sys.executable, supervisor.__file__, "0", "sh", "-c", work]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as kept:
        wait_until(lambda: note.exists() and note.read_text().strip())
        if by == "a signal":
            kept.terminate()
        kept.wait()
    wait_until(lambda: gone(int(note.read_text())))


def test_the_supervisor_exits_as_its_command_did() -> None:
    command = [sys.executable, supervisor.__file__, "0", "sh", "-c", "exit 7"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as kept:
        assert kept.wait() == 7


def test_a_daemon_that_dies_is_started_again_as_often_as_was_said(tmp_path: Path) -> None:
    note = tmp_path / "turns"
    command = [sys.executable, supervisor.__file__, "2", "sh", "-c", f"echo turn >> {note}; exit 3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as kept:
        assert kept.wait() == 3
        output = kept.stderr.read().decode() if kept.stderr else ""
    assert note.read_text().split() == ["turn"] * 3
    assert output.splitlines() == ["ended with exit code 3; restarting"] * 2


def test_a_daemon_is_not_started_again_for_an_owner_that_is_gone(tmp_path: Path) -> None:
    note = tmp_path / "turns"
    work = f"echo turn >> {note}; exec sleep 60"
    command = [sys.executable, supervisor.__file__, "5", "sh", "-c", work]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as kept:
        wait_until(note.exists)
    assert kept.returncode != 0
    assert note.read_text().split() == ["turn"]


def test_a_cluster_whose_master_cannot_start_says_so_at_once(tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "java", "17.0.1")  # it answers a version and does nothing else
    cluster = EmbeddedCluster(
        folder=tmp_path, java_home=broken, spark_home=compiled_spark_home(tmp_path)
    )
    with (
        pytest.raises(ClusterError, match=r"the master of the embedded cluster ended .*master.log"),
        cluster,
    ):
        pass


def test_of_several_masters_one_that_answers_is_enough() -> None:
    with socket.socket() as master:
        master.bind(("127.0.0.1", 0))
        master.listen()
        check_master(f"spark://127.0.0.1:{free_port()},127.0.0.1:{master.getsockname()[1]}")


def test_a_kubernetes_address_is_mended_in_its_own_words() -> None:
    with pytest.raises(ClusterError, match=r"write it as k8s://https://host:6443"):
        check_master("k8s://")


# PySpark leaves the pipe of a JVM that did not start for the collector to close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_session_that_cannot_start_reports_what_spark_said(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    home = usable_home(find_java(), tmp_path)
    conf = {"spark.driver.memory": "half"}
    with (
        pytest.raises(ClusterError, match=r"Spark did not start: .*half.*; see .*driver.log"),
        open_session("x", "local[1]", conf, environment={"JAVA_HOME": str(home)}, log=log),
    ):
        pass
