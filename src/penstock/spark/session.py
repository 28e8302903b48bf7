"""Open a Spark session whose executors are requested by us: Spark's own allocation never acts.

`compiled_spark_home` is a SPARK_HOME whose Python files are already compiled. Spark puts its own
`pyspark.zip` in front of every Python process it starts, and Python compiles what it finds in a zip
file each time. On a cluster of our own the same files are used unpacked, compiled once at
installation. Otherwise this home is Spark's.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.core.errors import ClusterError, PlantError, first_line
from penstock.spark.cluster.embedded import LIGHT_JVM, LOOPBACK

_NEVER: Final = "3650d"
_END_TIMEOUT: Final = 30.0
"""Seconds for a JVM to end before it is killed."""
_LOCAL_CHECKPOINTS: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

ELASTIC: Final[Mapping[str, str]] = {
    # Resource profiles need dynamic allocation; with these timeouts it never acts by itself.
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.schedulerBacklogTimeout": _NEVER,
    "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout": _NEVER,
    "spark.dynamicAllocation.executorIdleTimeout": _NEVER,
    "spark.dynamicAllocation.shuffleTracking.enabled": "false",  # decommissioning does instead
    # A decommissioned executor finishes its tasks; its blocks need not be migrated.
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "false",
    # With the default of 3 s a stateful query hardly uses new executors.
    "spark.locality.wait": "0s",
    # An idle query reports every second, so that silence means trouble.
    "spark.sql.streaming.noDataProgressEventInterval": "1s",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.executor.cores": "1",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
}
EMBEDDED: Final[Mapping[str, str]] = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.executor.extraJavaOptions": LIGHT_JVM,
    "spark.driver.extraJavaOptions": LIGHT_JVM,
    "spark.driver.memory": "1g",
    "spark.python.daemon.module": "penstock.spark.daemon",
    "spark.sql.streaming.checkpointFileManagerClass": _LOCAL_CHECKPOINTS,
}


def check_master(master: str) -> None:
    """Refuse an unusable master before anything is started."""
    if master.startswith(("spark://", "k8s://")):
        return _check_reachable(master)
    if master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise ClusterError(
                "master yarn needs HADOOP_CONF_DIR or YARN_CONF_DIR in the environment; "
                "set it to the folder with yarn-site.xml"
            )
        return None
    if master.startswith("local-cluster["):
        return None
    raise ClusterError(
        f"master {master!r} has no executors to scale; "
        "give spark://host:port, yarn or k8s://host:port, or leave --master out to start a cluster"
    )


def _check_reachable(master: str) -> None:
    """Refuse a master if none of its addresses answers."""
    scheme, _, rest = master.partition("://")
    places = [_host_and_port(master, scheme, address) for address in rest.split(",")]
    failures = [failure for failure in map(try_connecting, places) if failure]
    if len(failures) == len(places):
        raise ClusterError(
            f"nothing answers at master {master} ({failures[0]}); check the address, "
            "or leave --master out to start a cluster on this machine"
        )


def _host_and_port(master: str, scheme: str, address: str) -> tuple[str, int]:
    parts = urlsplit(address if "://" in address else f"//{address}")
    with suppress(ValueError):
        port = parts.port or (0 if scheme == "spark" else 80 if parts.scheme == "http" else 443)
        if parts.hostname and port:
            return parts.hostname, port
    example = "spark://host:7077" if scheme == "spark" else "k8s://https://host:6443"
    raise ClusterError(f"master {master!r} is no address; write it as {example}")


def try_connecting(place: tuple[str, int]) -> str | None:
    """Why a connection fails; None if it succeeds."""
    try:
        socket.create_connection(place, timeout=5).close()
    except OSError as error:
        return str(error.strerror or error)
    return None


@contextmanager
def open_session(
    name: str, master: str, conf: Mapping[str, str], *, environment: Mapping[str, str], log: Path
) -> Iterator[SparkSession]:
    """A session that ends with its block. The output of its JVM goes to `log`."""
    _check_no_session()
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    before = dict(os.environ)
    os.environ.update(environment)
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        with log.open("ab") as file, _stderr_to(file.fileno()):
            spark = _create(builder, log)
        _restore(on_interrupt)
        try:
            yield spark
        except (PySparkException, Py4JError) as error:
            raise PlantError(f"Spark failed: {first_line(error)}; see {log}") from error
        finally:
            _close(spark)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _restore(on_interrupt: Any) -> None:
    """Restore the Ctrl-C handler, which PySpark replaces."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)


def _create(builder: Any, log: Path) -> SparkSession:
    try:
        session: SparkSession = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise ClusterError(f"Spark did not start: {_reason(error, log)}; see {log}") from error
    except BaseException:  # Ctrl-C while it starts
        _end_jvm()
        raise
    return session


def _reason(error: Exception, log: Path) -> str:
    """Why a session could not be opened, from its log or the error."""
    text = log.read_text(errors="replace")
    if "All masters are unresponsive" in text:
        return "the master's address does not answer as a Spark master, or refuses the application"
    errors = [line.strip() for line in text.splitlines() if "rror" in line or "nvalid" in line]
    return errors[0] if errors and not hasattr(error, "java_exception") else first_line(error)


def _check_no_session() -> None:
    """Refuse a second session in a process; end the JVM of an earlier one."""
    if SparkContext._active_spark_context is not None:
        raise ClusterError(
            "a Spark session is already active in this process; "
            "stop it first, or start Penstock in a process of its own"
        )
    _end_jvm()


def _close(spark: SparkSession) -> None:
    """Stop the session and its JVM, so that the next session starts a new one."""
    try:
        spark.stop()
    finally:
        _end_jvm()


def _end_jvm() -> None:
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    SparkContext._gateway = SparkContext._jvm = None
    try:
        gateway.shutdown()
    finally:
        if process is not None:
            process.stdin.close()  # by which it ends
            try:
                process.wait(_END_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def _stderr_to(descriptor: int) -> Iterator[None]:
    """Redirect the stderr that a child inherits."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def compiled_spark_home(scratch: Path) -> Path:
    """Make the home below `scratch`, out of links to the installed PySpark."""
    import py4j
    import pyspark

    spark, home = Path(pyspark.__file__).parent, scratch / "home"
    library = home / "python" / "lib"
    library.mkdir(parents=True)
    for entry in spark.iterdir():
        if entry.name != "python":
            (home / entry.name).symlink_to(entry)
    for archive in (spark / "python" / "lib").glob("*.zip"):
        package = Path(py4j.__file__).parent if archive.name.startswith("py4j") else spark
        stand_in = library / archive.name
        stand_in.mkdir()
        (stand_in / package.name).symlink_to(package)
    return home
