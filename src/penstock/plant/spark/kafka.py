"""Kafka beside Spark: the connector's files, whether a broker answers, and offsets of a topic."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from penstock.core.errors import ClusterError
from penstock.plant.spark.jars import SPARKS, Wanted, are_kept, jars_of
from penstock.plant.spark.session import first_line, try_connecting

_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_TOKENS: Final = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
CONNECTORS: Final = (
    (Wanted((f"{_CONNECTOR}:{pyspark.__version__}",), SPARKS),),
    # Repositories lag behind a release of Spark; these were tried with Spark 4.3.
    (
        Wanted((f"{_CONNECTOR}:4.2.0",), (*SPARKS, _TOKENS)),
        Wanted((f"{_TOKENS}:4.0.0",), (*SPARKS, "org.apache.kafka:kafka-clients")),
    ),
)
"""Spark's Kafka connector: that of this very Spark, or else the newest that works with it."""
_PATIENCE: Final = "15000"
"""Milliseconds for a broker to answer a question about offsets."""


def connector(
    java_home: Path, conf: Mapping[str, str], cache: Path | None = None
) -> dict[str, str]:
    """Settings with which Spark knows Kafka; none where the user has seen to it.

    What is in the cache comes first: a repository is asked once, and not at every start.
    """
    if "spark.jars" in conf or "spark.jars.packages" in conf:
        return {}
    failures: list[ClusterError] = []
    for wanted in sorted(CONNECTORS, key=lambda each: not are_kept(each, cache)):
        try:
            jars = jars_of(wanted, java_home, conf, cache)
        except ClusterError as error:
            failures.append(error)
        else:
            return {"spark.jars": ",".join(str(jar) for jar in jars)}
    raise failures[0]


def check_reachable(addresses: Sequence[str], of: str) -> None:
    """Refuse brokers of which none answers; of several, one is enough."""
    failures = [failure for failure in map(_try, addresses) if failure]
    if len(failures) == len(addresses):
        raise ClusterError(
            f"no Kafka broker answers at {', '.join(addresses)} ({failures[0]}); start it, "
            f"or correct servers of {of}"
        )


def _try(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    return try_connecting((host.strip("[]"), int(port)))


@dataclass(slots=True, kw_only=True)
class Offsets:
    """Asks the brokers how far the partitions of a topic reach. Open it within a session."""

    spark: SparkSession
    topic: str
    options: Mapping[str, str]
    """Of Kafka's own clients, `bootstrap.servers` among them."""
    of: str
    """What the topic is for, in messages."""
    _client: Any = field(default=None, repr=False)

    def earliest(self) -> dict[int, int]:
        """The first offset that each partition still has."""
        return self._told(lambda specs: specs.earliest())

    def latest(self) -> dict[int, int]:
        """The offset that the next record of each partition will have."""
        return self._told(lambda specs: specs.latest())

    def close(self) -> None:
        """Let go of the brokers."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _told(self, which: Callable[[Any], Any]) -> dict[int, int]:
        try:
            return self._ask(which)
        except Py4JJavaError as error:
            raise self._refused(error) from None
        except (Py4JError, TypeError) as error:
            raise ClusterError(
                f"Kafka's client is not among the files that Spark was given ({error}); "
                "leave spark.jars and spark.jars.packages out, or add kafka-clients to them"
            ) from None

    def _ask(self, which: Callable[[Any], Any]) -> dict[int, int]:
        jvm: Any = self.spark._jvm
        admin, kafka = self._admin(), jvm.org.apache.kafka
        described = admin.describeTopics(_list(jvm, self.topic)).allTopicNames().get()
        wanted = jvm.java.util.HashMap()
        for partition in described.get(self.topic).partitions():
            place = kafka.common.TopicPartition(self.topic, partition.partition())
            wanted.put(place, which(kafka.clients.admin.OffsetSpec))
        found = admin.listOffsets(wanted).all().get()
        return {place.partition(): int(found.get(place).offset()) for place in wanted.keySet()}

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
        servers, told = self.options["bootstrap.servers"], first_line(error)
        if "UnknownTopicOrPartition" in told:
            return ClusterError(
                f"there is no topic {self.topic} at {servers}; create it (kafka-topics.sh "
                f"--bootstrap-server {servers} --create --topic {self.topic} --partitions 4), "
                f"or correct topic of {self.of}"
            )
        return ClusterError(f"Kafka at {servers} does not tell of topic {self.topic} ({told})")


def _list(jvm: Any, *items: str) -> Any:
    found = jvm.java.util.ArrayList()
    for item in items:
        found.add(item)
    return found
