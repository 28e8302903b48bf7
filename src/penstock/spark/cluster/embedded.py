"""A Spark standalone cluster of our own on loopback: a master, and workers as its nodes.

Each is a process of its own. They end when the cluster is left, and also when the process that
started them dies in any other way.
"""

import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from penstock.core.errors import ClusterError, PlantError
from penstock.spark.cluster import keeper
from penstock.spark.cluster.offer import Offer, quoted
from penstock.spark.pages import fetch, listed

# A process that a keeper runs for us: started again where it dies, and ended however we end.


@dataclass(frozen=True, slots=True)
class Kept:
    """The keeper of one process, and the pipe by which it is told what to do."""

    keeper: "subprocess.Popen[bytes]"

    @classmethod
    def start(
        cls, command: Sequence[str], *, again: int, environment: Mapping[str, str], log: Path
    ) -> "Kept":
        """Run a command, and again as often as that where it ends by itself."""
        with log.open("wb") as told:
            return cls(
                subprocess.Popen(
                    [sys.executable, "-I", keeper.__file__, str(again), *command],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=told,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,  # Ctrl-C is ours to handle, in order
                )
            )

    @property
    def code(self) -> int | None:
        """With what it ended for good; None while it runs or is about to run again."""
        return self.keeper.poll()

    def ask_to_leave(self) -> None:
        """Let it finish what it does; it is not started again. `dismiss` ends it."""
        if self.keeper.stdin is not None:
            with suppress(OSError, ValueError):  # it has ended, or was dismissed meanwhile
                self.keeper.stdin.write(keeper.LEAVE)

    def dismiss(self) -> None:
        """End it, by force where it does not end in time; returns at once."""
        if self.keeper.stdin is not None:
            self.keeper.stdin.close()

    def wait(self) -> None:
        """Wait for its end after a dismissal."""
        self.keeper.wait(keeper.PATIENCE + 5)


LOOPBACK: Final = "127.0.0.1"
LIGHT_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Starts sooner and stays smaller; a daemon never lives long enough to miss the second compiler."""
_YIELDING: Final = ("nice", "-n", "5")
"""Executors share this machine with the driver, which decides for them and must not wait."""
_START_PATIENCE: Final = 90.0
_RESTARTS: Final = 3
"""How often a worker that dies is started again; a master would come back without its memory."""
_LEAVE_PATIENCE: Final = 60.0
"""Seconds that executors of a leaving worker have for the tasks that they are at."""
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
    """Where logs, configuration and the workers' scratch space go."""
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
    _vital: dict[str, Kept] = field(default_factory=dict, repr=False)
    """Daemons without which nothing goes on."""
    _spare: dict[str, Kept] = field(default_factory=dict, repr=False)
    """Workers that the cluster can lose."""
    _leaving: list[threading.Thread] = field(default_factory=list, repr=False)

    def __enter__(self) -> Self:
        """Start the master, then the workers; returns before the workers have registered."""
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every process that was started."""
        self._stop()

    @property
    def conf_dir(self) -> Path:
        """Spark's configuration folder, the driver's included: it holds the shared secret."""
        return self.folder / "conf"

    def await_workers(self) -> None:
        """Wait until every worker has registered."""
        count = len(self._vital) - 1 + len(self._spare)  # the master is no worker
        self._await(lambda: self.state().get("aliveworkers") == count, "workers")

    def check(self) -> None:
        """Tell where a part that is needed has ended for good; a worker is first started again."""
        self._check(self._vital)

    def state(self, timeout: float = 5.0) -> dict[str, Any]:
        """What the master says of itself: workers, cores, applications; nothing if it is silent."""
        return fetch(self._page, timeout)

    def add(self, offer: Offer) -> None:
        """Start one more worker, which the cluster can lose; returns before it has registered."""
        self._spare[offer.name] = self._start_worker(offer)

    def ended(self, name: str) -> bool:
        """Whether a worker that was added has ended for good."""
        return self._spare[name].code is not None

    def release(self, name: str) -> None:
        """Let a worker that was added leave: it gets no more executors, those that it has finish
        their tasks, and it ends. Returns at once."""
        thread = threading.Thread(target=self._see_off, args=(name, self._spare[name]), daemon=True)
        self._leaving.append(thread)
        thread.start()

    def _see_off(self, name: str, worker: Kept) -> None:
        page = entry.page if (entry := listed(self.state()).get(name)) is not None else None
        worker.ask_to_leave()
        give_up = time.monotonic() + _LEAVE_PATIENCE
        while worker.code is None and time.monotonic() < give_up and not self._left(name, page):
            time.sleep(0.1)
        worker.dismiss()
        worker.wait()

    def _left(self, name: str, page: str | None) -> bool:
        """Whether the master gives a worker nothing more, and it has nothing left to do.

        The worker is asked itself: the master takes its executors for gone as soon as it leaves.
        """
        told = self.state()
        if not told or name in listed(told):
            return False
        return page is None or fetch(page).get("executors") == []

    def _start(self) -> None:
        write_configuration(self.conf_dir)
        port, page = self.port or free_port(), free_port()
        check_port_free(port)
        self._page, self.url = f"http://{LOOPBACK}:{page}/json/", f"spark://{LOOPBACK}:{port}"
        place = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        master = ["org.apache.spark.deploy.master.Master", *place]
        options = {"SPARK_MASTER_OPTS": _PACKING} if self.packs else {}
        self._vital["master"] = self._daemon("master", master, options)
        self._await(lambda: self.state().get("status") == "ALIVE", "master")
        for number in range(1, self.workers + 1):
            offer = Offer(name=f"worker-{number}", cores=self.cores, memory=self.memory)
            self._vital[offer.name] = self._start_worker(offer)

    def _start_worker(self, offer: Offer) -> Kept:
        scratch = str(self.folder / offer.name)
        place = ["--host", LOOPBACK, "--webui-port", "0", "--work-dir", scratch]
        main = "org.apache.spark.deploy.worker.Worker"
        options = {"SPARK_WORKER_OPTS": offer.options(self.conf_dir)} if offer.resource else {}
        worker = [main, *place, *offer.arguments(), self.url]
        return self._daemon(offer.name, worker, options, before=_YIELDING, again=_RESTARTS)

    def _daemon(
        self,
        name: str,
        words: Sequence[str],
        options: Mapping[str, Sequence[str]],
        *,
        before: Sequence[str] = (),
        again: int = 0,
    ) -> Kept:
        given = {key: f"{os.environ.get(key, '')} {quoted(o)}" for key, o in options.items()}
        return Kept.start(
            [*before, str(self.spark_home / "bin" / "spark-class"), *words],
            again=again,
            environment={**self._environment(), **given},
            log=self.folder / f"{name}.log",
        )

    def _stop(self) -> None:
        daemons = [*self._spare.values(), *self._vital.values()]
        for daemon in daemons:
            daemon.dismiss()
        for daemon in daemons:
            daemon.wait()
        for thread in self._leaving:
            thread.join()

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
            self._check({**self._vital, **self._spare})
        except PlantError as error:
            raise ClusterError(str(error)) from None

    def _check(self, daemons: Mapping[str, Kept]) -> None:
        for name, daemon in daemons.items():
            if daemon.code is not None:
                raise PlantError(
                    f"the {name} of the embedded cluster ended with exit code {daemon.code}; "
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
