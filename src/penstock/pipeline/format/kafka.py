"""Topics of Kafka in a pipeline file: where rows come from, and where results go.

>>> from penstock.core.located import read
>>> draft = read("source: {kafka: {servers: localhost, topic: lines}}", name="job.yaml")
>>> read_kafka_source(draft)
>>> print(draft.mistakes[0])
job.yaml, line 1: servers of kafka of source must be host:port, got 'localhost'; write \
localhost:9092, and a comma between several
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NoReturn, TypeVar

from penstock.core.errors import SettingError
from penstock.core.located import Draft, Path
from penstock.core.schema import Matches, OneOf, checked
from penstock.pipeline.format.sections import assemble, check_keys, kind, mapping
from penstock.pipeline.shape import APPLICATIONS, AppSpec

T = TypeVar("T")

FORMATS: Final = ("json", "text")
STARTS: Final = ("latest", "earliest")

_LIKE: Final = "{servers: localhost:9092, topic: lines}"
_SERVER: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+):\d{1,5}")
_TOPIC: Final = r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}"
_OURS: Final = {
    "kafka.bootstrap.servers": "servers",
    "subscribe": "topic",
    "subscribePattern": "topic",
    "assign": "topic",
    "topic": "topic",
    "startingOffsets": "starting_offsets",
    "startingTimestamp": "starting_offsets",
    "endingOffsets": "duration",
    "includeHeaders": "nothing",
}
"""Options that are settings of ours, and which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic, and how it is reached."""

    servers: str
    """Brokers to ask first, as `host:port`, with a comma between several."""
    topic: Annotated[str, Matches(_TOPIC, "letters, digits, dots, - and _")]
    """Its name."""
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Options of Spark's Kafka connector; those of Kafka's own clients begin with `kafka.`."""

    def addresses(self) -> list[str]:
        """The brokers one by one.

        >>> Topic(servers="a:9092, b:9092", topic="lines").addresses()
        ['a:9092', 'b:9092']
        """
        return [server.strip() for server in self.servers.split(",")]

    def spark_options(self) -> dict[str, str]:
        """The options as Spark takes them, with the brokers.

        >>> Topic(servers="a:9092", topic="x", options={"failOnDataLoss": False}).spark_options()
        {'kafka.bootstrap.servers': 'a:9092', 'failOnDataLoss': 'false'}
        """
        given = {key: _written(value) for key, value in self.options.items()}
        return {"kafka.bootstrap.servers": ",".join(self.addresses()), **given}

    def client_options(self) -> dict[str, str]:
        """The options of Kafka's own clients, with the brokers.

        >>> Topic(servers="a:9092", topic="x", options={"failOnDataLoss": False}).client_options()
        {'bootstrap.servers': 'a:9092'}
        """
        ours = self.spark_options().items()
        return {key[6:]: value for key, value in ours if key.startswith("kafka.")}

    def _check(self, of: str) -> None:
        for server in self.addresses():
            if not _SERVER.fullmatch(server) or not 0 < int(server.rpartition(":")[2]) <= 65535:
                host = server.partition(":")[0] or "localhost"
                raise SettingError(
                    f"servers of {of} must be host:port, got {server!r}; write {host}:9092, "
                    "and a comma between several",
                    path=("servers",),
                )
        for key in self.options:
            if key in _OURS:
                why = f"options of {of} cannot have {key}; set {_OURS[key]} instead"
                raise SettingError(why, path=("options", key))


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("kafka of source")
class KafkaSource(Topic):
    """A topic that rows come from, instead of from the workload."""

    starting_offsets: Annotated[str, OneOf(STARTS)] = "latest"
    """`latest`: rows that come once the run begins; `earliest`: all that the topic still has."""
    format: Annotated[str, OneOf(FORMATS)] | None = None
    """How a value is read: `text`, or `json` for an object with the application's columns; what
    suits the application, unless given."""

    def __post_init__(self) -> None:
        """Refuse what could not be read."""
        self._check("kafka of source")

    def format_for(self, application: str) -> str:
        """How values are read for an application.

        >>> KafkaSource(servers="a:9092", topic="lines").format_for("wordcount")
        'text'
        """
        return self.format or ("text" if APPLICATIONS[application].one_text else "json")


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("kafka of sink")
class KafkaSink(Topic):
    """A topic that results go to, each as an object in JSON, besides being published."""

    key: str | None = None
    """The column whose value is the record's key; the first besides `ts`, unless given."""

    def __post_init__(self) -> None:
        """Refuse what could not be written."""
        self._check("kafka of sink")


@dataclass(frozen=True, slots=True)
class NoWorkload:
    """Stands where a file has no workload since its rows come from elsewhere; refuses to be used.

    >>> NoWorkload("topic lines").rate(None)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: rows come from topic lines, at an unknown rate; \
give a workload to simulate or plan with: --workload constant:100/s
    """

    origin: str

    def rate(self, at: Any) -> NoReturn:  # noqa: ARG002
        """Raise an error: the rate is unknown."""
        self.refuse()

    def arrivals(self, at: Any) -> NoReturn:  # noqa: ARG002
        """Raise an error: the rate is unknown."""
        self.refuse()

    def times(self, index: Any) -> NoReturn:  # noqa: ARG002
        """Raise an error: the rate is unknown."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Say what is missing."""
        raise SettingError(
            f"rows come from {self.origin}, at an unknown rate; give a workload to "
            "simulate or plan with: --workload constant:100/s"
        )


def read_kafka_source(draft: Draft) -> KafkaSource | None:
    """`kafka` of `source`."""
    return _read(draft, ("source", "kafka"), KafkaSource, of="kafka of source")


def read_sink(draft: Draft) -> KafkaSink | None:
    """`sink`: the topic that results go to."""
    given = mapping(draft, ("sink",), of="sink", like=f"{{kafka: {_LIKE}}}")
    check_keys(draft, ("sink",), given, ("kafka",), of="sink")
    if given == {} and draft.at(("sink",)) == {}:
        draft.note(("sink",), f"sink is empty; write sink: {{kafka: {_LIKE}}}")
    return _read(draft, ("sink", "kafka"), KafkaSink, of="kafka of sink") if given else None


def check_suits(draft: Draft, source: KafkaSource | None, application: AppSpec | None) -> None:
    """Write down why an application cannot have its rows from a topic, or not in this format."""
    if source is None or application is None:
        return
    path: Path = ("source", "kafka")
    name = application.name
    if application.makes_own_rows:
        draft.note(path, f"pipeline {name} makes its rows itself; leave kafka out of source")
    elif source.format == "text" and not application.one_text:
        sentence = f"rows of pipeline {name} have several columns; write format: json"
        draft.note((*path, "format"), sentence)


def _read(draft: Draft, path: Path, part: type[T], *, of: str) -> T | None:
    given = draft.at(path)
    if given is None and path[-1] not in (draft.at(path[:-1]) or {}):
        return None
    if not isinstance(given, dict):
        draft.note(path, f"{of} must be a mapping such as {_LIKE}, got {kind(given)}")
        return None
    return assemble(draft, path, given, part, of=of)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
