"""A Spark standalone cluster of our own on loopback: a master, and workers as its nodes.

Each is a process of its own. They end when the cluster is left, and also when the process that
started them dies in any other way.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from penstock.core.errors import ClusterError, PlantError
from penstock.plant.spark import keeper

LOOPBACK: Final = "127.0.0.1"
LIGHT_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Starts sooner and stays smaller; a daemon never lives long enough to miss the second compiler."""
_YIELDING: Final = ("nice", "-n", "5")
"""Executors share this machine with the driver, which decides for them and must not wait."""
_START_PATIENCE: Final = 90.0
_RESTARTS: Final = 3
"""How often a worker that dies is started again; a master would come back without its memory."""
_LOGGING: Final = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(slots=True, kw_only=True)
class EmbeddedCluster:
    """A master and its workers, alive between `with` and the end of its block."""

    folder: Path
    """Where logs, configuration and the workers' scratch space go."""
    java_home: Path
    spark_home: Path
    workers: int = 2
    cores: int = 8
    """Cores that each worker offers; may be more than the machine has, for work that waits."""
    memory: str = "8g"
    port: int = 0
    """The master's port; 0 for any that is free."""
    _exit: ExitStack = field(default_factory=ExitStack, repr=False)
    _page: str = ""
    _daemons: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict, repr=False)
    url: str = ""

    def __enter__(self) -> Self:
        """Start the master, then the workers; returns before the workers have registered."""
        try:
            self._start()
        except BaseException:
            self._exit.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every process that was started."""
        self._exit.close()

    @property
    def conf_dir(self) -> Path:
        """Spark's configuration folder, the driver's included: it holds the shared secret."""
        return self.folder / "conf"

    def await_workers(self) -> None:
        """Wait until every worker has registered."""
        self._await(lambda: self.state().get("aliveworkers") == self.workers, "workers")

    def check(self) -> None:
        """Tell where a part of the cluster has ended for good; a worker is first started again."""
        for name, daemon in self._daemons.items():
            if daemon.poll() is not None:
                raise PlantError(
                    f"the {name} of the embedded cluster ended with exit code {daemon.returncode}; "
                    f"read {self.folder / name}.log"
                )

    def state(self) -> dict[str, Any]:
        """What the master says of itself: workers, cores, applications."""
        try:
            with urllib.request.urlopen(self._page, timeout=5) as page:  # noqa: S310  # our own
                told: dict[str, Any] = json.load(page)
                return told
        except (OSError, ValueError):
            return {}

    def _start(self) -> None:
        write_configuration(self.conf_dir)
        port, page = self.port or free_port(), free_port()
        check_port_free(port)
        self._page, self.url = f"http://{LOOPBACK}:{page}/json/", f"spark://{LOOPBACK}:{port}"
        master = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        self._daemon("master", "org.apache.spark.deploy.master.Master", *master)
        self._await(lambda: self.state().get("status") == "ALIVE", "master")
        for number in range(1, self.workers + 1):
            self._worker(f"worker-{number}")

    def _worker(self, name: str) -> None:
        offer = ["--cores", str(self.cores), "--memory", self.memory]
        place = ["--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(self.folder / name)]
        main = "org.apache.spark.deploy.worker.Worker"
        self._daemon(name, main, *place, *offer, self.url, before=_YIELDING, again=_RESTARTS)

    def _daemon(
        self, name: str, main: str, *arguments: str, before: Sequence[str] = (), again: int = 0
    ) -> None:
        log = self._exit.enter_context((self.folder / f"{name}.log").open("wb"))
        launcher = str(self.spark_home / "bin" / "spark-class")
        keep = [sys.executable, "-I", keeper.__file__, str(again)]
        command = [*keep, *before, launcher, main, *arguments]
        process = subprocess.Popen(
            command,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is ours to handle, in order
        )
        self._daemons[name] = process
        self._exit.callback(_dismiss, process)

    def _await(self, ready: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + _START_PATIENCE
        while not ready():
            self._check_start()
            if time.monotonic() > give_up:
                raise ClusterError(
                    f"the {what} of the embedded cluster did not come up in "
                    f"{_START_PATIENCE:.0f} s; read the logs in {self.folder}"
                )
            time.sleep(0.05)

    def _check_start(self) -> None:
        try:
            self.check()
        except PlantError as error:
            raise ClusterError(str(error)) from None

    def _environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "JAVA_HOME": str(self.java_home),
            "SPARK_HOME": str(self.spark_home),
            "SPARK_CONF_DIR": str(self.conf_dir),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": LIGHT_JVM,
        }


def write_configuration(conf_dir: Path) -> None:
    """Write Spark's configuration with a fresh secret, readable by its owner alone."""
    conf_dir.mkdir(parents=True, exist_ok=True)
    defaults = conf_dir / "spark-defaults.conf"
    defaults.touch(mode=0o600)
    secret = secrets.token_hex(32)
    defaults.write_text(f"spark.authenticate true\nspark.authenticate.secret {secret}\n")
    (conf_dir / "log4j2.properties").write_text(_LOGGING)


def free_port() -> int:
    """A port of loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port_free(port: int, setting: str = "cluster.port") -> None:
    """Refuse a port that somebody listens on, naming the setting that asked for it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise ClusterError(
                f"port {port} of {LOOPBACK} cannot be used ({error.strerror}); "
                f"set {setting} to another one, or leave it out"
            ) from None


def _dismiss(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.wait(keeper.PATIENCE + 5)
