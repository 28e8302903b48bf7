"""Topics of Kafka in a pipeline file: where rows come from, and where results go.

>>> KafkaSource(servers="localhost", topic="lines")
Traceback (most recent call last):
...
penstock.core.errors.SettingError: servers of kafka of source must be host:port such as \
localhost:9092, with a comma between several, got 'localhost'
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NoReturn

from penstock.core.errors import SettingError
from penstock.core.schema import Matches, OneOf, checked
from penstock.pipeline.shape import APPLICATIONS

FORMATS: Final = ("json", "text")
STARTS: Final = ("latest", "earliest")

_PORT: Final = r"(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})"
"""1 to 65535."""
_SERVER: Final = rf"\s*(\[[0-9a-fA-F:.]+\]|[\w.-]+):{_PORT}\s*"
_SERVERS: Final = Matches(
    f"{_SERVER}(,{_SERVER})*",
    "host:port such as localhost:9092, with a comma between several",
)
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

    servers: Annotated[str, _SERVERS]
    """Brokers to ask first, as `host:port`, with a comma between several."""
    topic: Annotated[str, Matches(_TOPIC, "letters, digits, dots, - and _")]
    """Its name."""
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Options of Spark's Kafka connector; those of Kafka's own clients begin with `kafka.`."""

    def __post_init__(self) -> None:
        """Refuse options that are settings of ours."""
        for key in self.options:
            if key in _OURS:
                why = f"options of kafka cannot have {key}; set {_OURS[key]} instead"
                raise SettingError(why, path=("options", key))

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


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("kafka of source")
class KafkaSource(Topic):
    """A topic that rows come from, instead of from the workload."""

    starting_offsets: Annotated[str, OneOf(STARTS)] = "latest"
    """`latest`: rows that come once the run begins; `earliest`: all that the topic still has."""
    format: Annotated[str, OneOf(FORMATS)] | None = None
    """How a value is read: `text`, or `json` for an object with the application's columns; what
    suits the application, unless given."""

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


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
