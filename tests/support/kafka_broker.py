"""A real Kafka broker for tests, from Maven Central and nothing but what the project installs.

One process is broker and controller. It listens on loopback at free ports, with a small heap, and
keeps its data in a folder of the test's.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from penstock.core.errors import ClusterError
from penstock.spark.cluster.embedded import Daemon, free_port
from penstock.spark.java import find_java, usable_home
from penstock.spark.kafka import Packages, jars_of
from tests.support.processes import PATIENCE

PACKAGES = ("org.apache.kafka:kafka_2.13:4.1.2", "org.apache.kafka:kafka-tools:4.1.2")
PARTITIONS = 3
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_TOOLS = "org.apache.kafka.tools"
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=1
num.io.threads=2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker that runs, and Kafka's own tools to use it with."""

    port: int
    java: tuple[str, ...]
    """The command that starts a program of Kafka's."""

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def create(self, topic: str, partitions: int = PARTITIONS) -> None:
        words = ["--create", "--topic", topic, "--partitions", str(partitions)]
        self._tool("TopicCommand", *words)

    def produce(self, topic: str, values: Iterable[str]) -> None:
        """Send values to a topic, and wait until the broker has them."""
        with self.producer(topic) as send:
            send(values)

    @contextmanager
    def producer(self, topic: str) -> Iterator["Send"]:
        """Something that sends values to a topic as long as it is open."""
        command = [*self.java, f"{_TOOLS}.ConsoleProducer", "--bootstrap-server", self.servers]
        # Records spread over all partitions, and go as soon as they come.
        more = ["--producer-property", "linger.ms=0", "--producer-property", "batch.size=0"]
        process = subprocess.Popen(
            [*command, "--topic", topic, *more], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        try:
            yield Send(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()

    def consume(self, topic: str, *properties: str) -> list[str]:
        """Every record of a topic, as the console consumer prints it."""
        shown = [word for each in properties for word in ("--property", each)]
        words = ["--topic", topic, "--from-beginning", "--timeout-ms", "6000", *shown]
        return self._tool("consumer.ConsoleConsumer", *words).splitlines()

    def _tool(self, name: str, *words: str) -> str:
        command = [*self.java, f"{_TOOLS}.{name}", "--bootstrap-server", self.servers, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        # A consumer that ran out of records says so by its exit code.
        assert done.returncode == 0 or "TimeoutException" in done.stderr, done.stderr
        return done.stdout


@dataclass(frozen=True, slots=True)
class Send:
    """Sends values; the process of the producer hands them on."""

    process: "subprocess.Popen[bytes]"

    def __call__(self, values: Iterable[str]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{value}\n" for value in values).encode())
        self.process.stdin.flush()


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """A broker as long as the block lasts."""
    home = usable_home(find_java(), folder)
    jars = [*_jars(home), *(Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")]
    java = (
        str(home / "bin" / "java"),
        *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", ":".join(str(jar) for jar in jars)),
    )
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(port=port, controller=controller, folder=folder))
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)]
    subprocess.run(formatting, check=True, capture_output=True, timeout=PATIENCE)
    command, log = [*java, "kafka.Kafka", str(settings)], folder / "broker.log"
    # it ends with the tests, however these end
    daemon = Daemon.start(command, restarts=0, environment=dict(os.environ), log=log)
    try:
        _await(port, daemon, log)
        yield Broker(port=port, java=java)
    finally:
        daemon.stop()
        daemon.wait()
        shutil.rmtree(folder / "data", ignore_errors=True)


def _jars(java_home: Path) -> list[Path]:
    """The broker's files; without Maven Central the tests are skipped, but not unnoticed."""
    try:
        return jars_of([Packages(PACKAGES)], java_home, {})
    except ClusterError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"a Kafka broker cannot be fetched: {error}")


def _await(port: int, daemon: Daemon, log: Path) -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up and daemon.exit_code is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.2)
    raise AssertionError(f"the broker did not start: {log.read_text(errors='replace')[-2000:]}")
