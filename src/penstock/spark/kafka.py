"""Kafka for Spark: the connector's packages, a check of the brokers, and offsets of a topic.

The connector's packages are fetched from Maven Central once, by Spark's own Ivy, and cached in the
user's folder, so that a session starts without a repository, and later without a network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from penstock.core.errors import ClusterError, first_line
from penstock.spark.session import try_connecting

_DOWNLOAD_PATIENCE: Final = 300
"""Seconds after which a download is given up."""

SPARK_PROVIDED: Final = (
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
    "at.yawk.lz4:lz4-java",
    "org.lz4:lz4-java",
    "com.github.luben:zstd-jni",
    "com.google.code.findbugs:jsr305",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
)
"""Packages that come with Spark, and need not be sent to executors."""


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages with their dependencies, except for some."""

    packages: tuple[str, ...]
    """As `group:artifact:version`."""
    without: tuple[str, ...] = ()
    """As `group:artifact`."""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where packages are cached.

    >>> cache_folder({"XDG_CACHE_HOME": "/cache"}).as_posix()
    '/cache/penstock/jars'
    """
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "penstock" / "jars"


def are_cached(wanted: Sequence[Packages], cache: Path | None = None) -> bool:
    """Whether all of these packages are cached."""
    return all(((cache or cache_folder()) / _name(each)).is_dir() for each in wanted)


def jars_of(
    wanted: Sequence[Packages], java_home: Path, conf: Mapping[str, str], cache: Path | None = None
) -> list[Path]:
    """The files of all these packages, from the cache or from a repository.

    Settings of Spark's in `conf` that begin with `spark.jars.` say where to look, such as
    `spark.jars.repositories` and `spark.jars.ivySettings`.
    """
    jars: list[Path] = []
    for each in wanted:
        folder = (cache or cache_folder()) / _name(each)
        if not folder.is_dir():
            _fetch(each, java_home, conf, folder)
        jars += sorted(folder.glob("*.jar"))
    return jars


def _name(wanted: Packages) -> str:
    """A unique folder name."""
    first = wanted.packages[0].split(":", 1)[1].replace(":", "-")
    return f"{first}-{sha256(repr(wanted).encode()).hexdigest()[:12]}"


def _fetch(wanted: Packages, java_home: Path, conf: Mapping[str, str], folder: Path) -> None:
    """Fetch packages into a folder atomically."""
    cache = folder.parent
    try:
        cache.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=".fetching-", dir=cache))
    except OSError as error:
        raise ClusterError(
            f"Java packages cannot be cached in {cache} ({error.strerror}); set XDG_CACHE_HOME to "
            "a folder that can be written"
        ) from None
    try:
        _submit(wanted, java_home, conf, draft)
        if not folder.is_dir():  # another run may have been faster
            (draft / "jars").rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _submit(wanted: Packages, java_home: Path, conf: Mapping[str, str], ivy: Path) -> None:
    """Have Spark resolve packages for a program that does nothing."""
    program = ivy / "nothing.py"
    program.touch()
    settings = {k: v for k, v in conf.items() if k.startswith("spark.jars.")}
    settings |= {
        "spark.jars.ivy": str(ivy),
        "spark.jars.packages": ",".join(wanted.packages),
        "spark.jars.excludes": ",".join(wanted.without),
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--master", "local", *words, str(program)]
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    environment = os.environ | python | {"JAVA_HOME": str(java_home), "SPARK_HOME": str(home)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_DOWNLOAD_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unavailable(wanted, f"no answer in {_DOWNLOAD_PATIENCE} s") from None
    if done.returncode != 0 or not (ivy / "jars").is_dir():
        raise _unavailable(wanted, _reason(done.stdout + done.stderr))


def _reason(output: str) -> str:
    """Why packages were not found, from the output of Ivy.

    >>> _reason("noise\\njava.lang.RuntimeException: [unresolved dependency: a#b;1: not found]\\n")
    'unresolved dependency: a#b;1: not found'
    """
    lines = [line for line in output.splitlines() if "unresolved dependency: " in line]
    text = lines[0].partition("[")[2].partition("]")[0] if lines else ""
    last = output.strip().splitlines()[-1:] or ["no reason was given"]
    return text or last[0].strip()


def _unavailable(wanted: Packages, why: str) -> ClusterError:
    return ClusterError(
        f"{wanted.packages[0]} cannot be fetched from Maven Central ({why}); connect this machine, "
        "or give the files yourself with --conf spark.jars=FILE,FILE"
    )


_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_TOKENS: Final = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
CONNECTORS: Final = (
    (Packages((f"{_CONNECTOR}:{pyspark.__version__}",), SPARK_PROVIDED),),
    # Repositories lag behind a release of Spark; these were tried with Spark 4.3.
    (
        Packages((f"{_CONNECTOR}:4.2.0",), (*SPARK_PROVIDED, _TOKENS)),
        Packages((f"{_TOKENS}:4.0.0",), (*SPARK_PROVIDED, "org.apache.kafka:kafka-clients")),
    ),
)
"""Spark's Kafka connector: that of this very Spark, or else the newest that works with it."""
_PATIENCE: Final = "15000"
"""Milliseconds for a broker to answer a request for offsets."""


def connector(
    java_home: Path, conf: Mapping[str, str], cache: Path | None = None
) -> dict[str, str]:
    """Spark settings for the Kafka connector; none if the user has given packages.

    Cached packages come first, so that a repository is needed only once.
    """
    if "spark.jars" in conf or "spark.jars.packages" in conf:
        return {}
    failures: list[ClusterError] = []
    for wanted in sorted(CONNECTORS, key=lambda each: not are_cached(each, cache)):
        try:
            jars = jars_of(wanted, java_home, conf, cache)
        except ClusterError as error:
            failures.append(error)
        else:
            return {"spark.jars": ",".join(str(jar) for jar in jars)}
    raise failures[0]


def check_reachable(addresses: Sequence[str], of: str) -> None:
    """Refuse brokers if none of them answers."""
    places = [address.rpartition(":") for address in addresses]
    attempts = [try_connecting((host.strip("[]"), int(port))) for host, _, port in places]
    failures = [failure for failure in attempts if failure]
    if len(failures) == len(addresses):
        raise ClusterError(
            f"no Kafka broker answers at {', '.join(addresses)} ({failures[0]}); start it, "
            f"or correct servers of {of}"
        )


@dataclass(slots=True, kw_only=True)
class TopicOffsets:
    """Reads the offsets of a topic's partitions from the brokers, within a session."""

    spark: SparkSession
    topic: str
    options: Mapping[str, str]
    """Of Kafka's own clients, `bootstrap.servers` among them."""
    of: str
    """The section of the file that names the topic, for messages."""
    _client: Any = field(default=None, repr=False)

    def earliest(self) -> dict[int, int]:
        """The first offset of each partition."""
        return self._offsets("earliest")

    def latest(self) -> dict[int, int]:
        """The offset that the next record of each partition will have."""
        return self._offsets("latest")

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _offsets(self, which: str) -> dict[int, int]:
        try:
            return self._list_offsets(which)
        except Py4JJavaError as error:
            raise self._refused(error) from None
        except (Py4JError, TypeError) as error:
            raise ClusterError(
                f"Kafka's client is missing in the packages of Spark ({error}); "
                "leave spark.jars and spark.jars.packages out, or add kafka-clients to them"
            ) from None

    def _list_offsets(self, which: str) -> dict[int, int]:
        jvm: Any = self.spark._jvm
        admin, kafka = self._admin(), jvm.org.apache.kafka
        topics = jvm.java.util.Collections.singletonList(self.topic)
        described = admin.describeTopics(topics).allTopicNames().get()
        wanted = jvm.java.util.HashMap()
        for partition in described.get(self.topic).partitions():
            place = kafka.common.TopicPartition(self.topic, partition.partition())
            wanted.put(place, getattr(kafka.clients.admin.OffsetSpec, which)())
        offsets = admin.listOffsets(wanted).all().get()
        return {place.partition(): int(offsets.get(place).offset()) for place in wanted.keySet()}

    def _admin(self) -> Any:
        if self._client is None:
            jvm: Any = self.spark._jvm
            settings = jvm.java.util.Properties()
            patience = {"default.api.timeout.ms": _PATIENCE, "request.timeout.ms": _PATIENCE}
            for key, value in {**patience, **self.options}.items():
                settings.put(key, value)
            self._client = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        return self._client

    def _refused(self, error: Py4JJavaError) -> ClusterError:
        servers, cause = self.options["bootstrap.servers"], first_line(error)
        if "UnknownTopicOrPartition" in cause:
            return ClusterError(
                f"there is no topic {self.topic} at {servers}; create it (kafka-topics.sh "
                f"--bootstrap-server {servers} --create --topic {self.topic} --partitions 4), "
                f"or correct topic of {self.of}"
            )
        return ClusterError(
            f"Kafka at {servers} refused the offsets of topic {self.topic} ({cause})"
        )
