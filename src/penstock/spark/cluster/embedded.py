"""A Spark standalone cluster of our own on loopback: a master, and workers as its nodes.

Each daemon is a process of its own. They end with the cluster's block, and also when the process
that started them dies in any other way.
"""

import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from penstock.core.errors import ClusterError, PenstockError, PlantError
from penstock.spark.cluster import supervisor
from penstock.spark.cluster.nodes import WorkerSpec, fetch, live_workers


@dataclass(frozen=True, slots=True)
class Daemon:
    """A process under a supervisor, which restarts it when it dies and stops it when we do."""

    supervisor: "subprocess.Popen[bytes]"

    @classmethod
    def start(
        cls, command: Sequence[str], *, restarts: int, environment: Mapping[str, str], log: Path
    ) -> "Daemon":
        """Run a command, restarted up to so many times when it ends by itself."""
        with log.open("wb") as output:
            return cls(
                subprocess.Popen(
                    [sys.executable, "-I", supervisor.__file__, str(restarts), *command],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,  # Ctrl-C is ours to handle, in order
                )
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs or is being restarted."""
        return self.supervisor.poll()

    def decommission(self) -> None:
        """Let it finish its work, without a restart. `stop` ends it."""
        if self.supervisor.stdin is not None:
            with suppress(OSError, ValueError):  # it has ended, or was stopped meanwhile
                self.supervisor.stdin.write(supervisor.DECOMMISSION)

    def stop(self) -> None:
        """End it, by force after a timeout; returns at once."""
        if self.supervisor.stdin is not None:
            self.supervisor.stdin.close()

    def wait(self) -> None:
        """Wait for its end after `stop`."""
        self.supervisor.wait(supervisor.STOP_TIMEOUT + 5)


LOOPBACK: Final = "127.0.0.1"
LIGHT_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Starts sooner and stays smaller; daemons are too short-lived to need the second compiler."""
_LOW_PRIORITY: Final = ("nice", "-n", "5")
"""Executors share this machine with the driver, whose control loop must not be delayed."""
_START_TIMEOUT: Final = 90.0
_RESTARTS: Final = 3
"""Restarts of a worker that dies; a restarted master would have lost its state."""
_DECOMMISSION_TIMEOUT: Final = 60.0
"""Seconds that executors of a decommissioned worker have to finish their tasks."""
_PORTS: Final = range(20000, 32768)
"""Below those that Linux gives to programs which do not choose: no other program gets such a port
before the daemon that it was chosen for has started."""
_PACKING: Final = (
    "-Dspark.deploy.spreadOutApps=false",
    "-Dspark.deploy.workerSelectionPolicy=CORES_FREE_ASC",
)
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
    """For logs, configuration and the workers' scratch space."""
    java_home: Path
    spark_home: Path
    workers: int = 2
    cores: int = 8
    """Cores that each worker offers; may be more than the machine has, for work that waits."""
    memory: str = "8g"
    port: int = 0
    """The master's port; 0 for any that is free."""
    packs: bool = False
    """Whether executors fill a worker before they take another, so that some stay idle."""
    url: str = ""
    _page: str = ""
    _required: dict[str, Daemon] = field(default_factory=dict, repr=False)
    """The master, and workers whose end is an error."""
    _optional: dict[str, Daemon] = field(default_factory=dict, repr=False)
    """Workers that may end: nodes of regions."""
    _releases: list[threading.Thread] = field(default_factory=list, repr=False)

    def __enter__(self) -> Self:
        """Start the master, then the workers; returns before the workers have registered."""
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop every process that was started."""
        self._stop()

    @property
    def conf_dir(self) -> Path:
        """Spark's configuration folder, the driver's included: it holds the shared secret."""
        return self.folder / "conf"

    def await_workers(self) -> None:
        """Wait until every worker has registered."""
        count = len(self._required) - 1 + len(self._optional)  # without the master
        self._await(lambda: self.state().get("aliveworkers") == count, "workers")

    def check(self) -> None:
        """Raise if a required daemon has ended and is not restarted."""
        self._check(self._required, PlantError)

    def state(self, timeout: float = 5.0) -> dict[str, Any]:
        """The master's status: workers, cores, applications; empty if it does not answer."""
        return fetch(self._page, timeout)

    def add(self, worker: WorkerSpec) -> None:
        """Start one more worker, whose end is no error; returns before it has registered."""
        self._optional[worker.name] = self._start_worker(worker)

    def ended(self, name: str) -> bool:
        """Whether a worker that was added has ended and is not restarted."""
        return self._optional[name].exit_code is not None

    def release(self, name: str) -> None:
        """Decommission a worker that was added: its executors finish their tasks, it gets no new
        ones, and it ends. Returns at once."""
        worker = self._optional[name]
        thread = threading.Thread(target=self._decommission, args=(name, worker), daemon=True)
        self._releases.append(thread)
        thread.start()

    def _decommission(self, name: str, worker: Daemon) -> None:
        status = live_workers(self.state()).get(name)
        page = None if status is None else status.page
        worker.decommission()
        deadline = time.monotonic() + _DECOMMISSION_TIMEOUT
        while worker.exit_code is None and time.monotonic() < deadline:
            if self._is_drained(name, page):
                break
            time.sleep(0.1)
        worker.stop()
        worker.wait()

    def _is_drained(self, name: str, page: str | None) -> bool:
        """Whether the master schedules nothing more on a worker, and it has no executors left.

        The worker itself is asked: the master drops its executors as soon as it is decommissioned.
        """
        state = self.state()
        if not state or name in live_workers(state):
            return False
        return page is None or fetch(page).get("executors") == []

    def _start(self) -> None:
        write_configuration(self.conf_dir)
        port, page = self.port or free_port(), free_port()
        check_port_free(port)
        self._page, self.url = f"http://{LOOPBACK}:{page}/json/", f"spark://{LOOPBACK}:{port}"
        address = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        master = ["org.apache.spark.deploy.master.Master", *address]
        options = {"SPARK_MASTER_OPTS": _PACKING} if self.packs else {}
        self._required["master"] = self._start_daemon("master", master, options)
        self._await(lambda: self.state().get("status") == "ALIVE", "master")
        for number in range(1, self.workers + 1):
            worker = WorkerSpec(name=f"worker-{number}", cores=self.cores, memory=self.memory)
            self._required[worker.name] = self._start_worker(worker)

    def _start_worker(self, worker: WorkerSpec) -> Daemon:
        scratch = str(self.folder / worker.name)
        address = ["--host", LOOPBACK, "--webui-port", "0", "--work-dir", scratch]
        main = "org.apache.spark.deploy.worker.Worker"
        options = {"SPARK_WORKER_OPTS": worker.options(self.conf_dir)} if worker.resource else {}
        command = [main, *address, *worker.arguments(), self.url]
        return self._start_daemon(
            worker.name, command, options, prefix=_LOW_PRIORITY, restarts=_RESTARTS
        )

    def _start_daemon(
        self,
        name: str,
        command: Sequence[str],
        options: Mapping[str, Sequence[str]],
        *,
        prefix: Sequence[str] = (),
        restarts: int = 0,
    ) -> Daemon:
        given = {key: f"{os.environ.get(key, '')} {quoted(o)}" for key, o in options.items()}
        return Daemon.start(
            [*prefix, str(self.spark_home / "bin" / "spark-class"), *command],
            restarts=restarts,
            environment={**self._environment(), **given},
            log=self.folder / f"{name}.log",
        )

    def _stop(self) -> None:
        daemons = [*self._optional.values(), *self._required.values()]
        for daemon in daemons:
            daemon.stop()
        for daemon in daemons:
            daemon.wait()
        for thread in self._releases:
            thread.join()

    def _await(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        while not ready():
            self._check({**self._required, **self._optional}, ClusterError)
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the {what} of the embedded cluster did not come up in "
                    f"{_START_TIMEOUT:.0f} s; read the logs in {self.folder}"
                )
            time.sleep(0.05)

    def _check(self, daemons: Mapping[str, Daemon], kind: type[PenstockError]) -> None:
        for name, daemon in daemons.items():
            if daemon.exit_code is not None:
                raise kind(
                    f"the {name} of the embedded cluster ended with exit code {daemon.exit_code}; "
                    f"read {self.folder / name}.log"
                )

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


def quoted(options: Iterable[str]) -> str:
    r"""JVM options as Spark's launcher parses them, with any characters in paths.

    >>> quoted(["-Da=1", "-Dfile=/my runs/x"])
    '"-Da=1" "-Dfile=/my runs/x"'
    """
    escaped = (option.replace("\\", "\\\\").replace('"', '\\"') for option in options)
    return " ".join(f'"{option}"' for option in escaped)


def free_port() -> int:
    """A port of loopback that is free at this moment; the choice is random."""
    for _ in range(100):
        port = secrets.choice(_PORTS)
        with suppress(ClusterError):
            check_port_free(port)
            return port
    raise ClusterError(f"no free port of {LOOPBACK} was found between 20000 and 32767")


def check_port_free(port: int, setting: str = "cluster.port") -> None:
    """Refuse a port in use, naming the setting that asked for it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise ClusterError(
                f"port {port} of {LOOPBACK} cannot be used ({error.strerror}); "
                f"set {setting} to another one, or leave it out"
            ) from None
