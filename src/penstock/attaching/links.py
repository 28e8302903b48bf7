"""Which query feeds which: the place that one writes is a place that another reads.

>>> sorted(places("FileSink[file:/data/out]") | places("KafkaV2[Subscribe[clicks, views]]"))
['kafka:clicks', 'kafka:views', 'path:/data/out']
>>> first = Ends(reads=frozenset(), writes=places("FileSink[file:/data/out]"))
>>> second = Ends(reads=places("FileStreamSource[file:/data/out]"), writes=frozenset())
>>> feeds({"clean": first, "count": second})
{'clean': ('count',), 'count': ()}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import normpath
from typing import Any, Final

_FILE: Final = re.compile(r"(?:FileSink|FileStreamSource|DeltaSink|DeltaSource)\[(.*)\]$")
_KAFKA: Final = re.compile(r"Kafka\w*\[Subscribe\[(.*?)\]\]")
_ICEBERG: Final = re.compile(r"(?:Iceberg\w*|Delta\w*Table)[(\[](.*?)[)\]]")

Places = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where the rows of a query come from, and where they go."""

    reads: Places
    writes: Places


def places(description: str) -> Places:
    """What a source or sink says of itself in a progress event; nothing where it does not tell.

    >>> places("ForeachBatchSink"), places("RateStreamV2[rowsPerSecond=5")
    (frozenset(), frozenset())
    """
    if match := _FILE.match(description):
        return frozenset({path(match[1])})
    if match := _KAFKA.match(description):
        return frozenset(f"kafka:{topic.strip()}" for topic in match[1].split(","))
    if match := _ICEBERG.match(description):
        return frozenset({f"table:{match[1]}"})
    return frozenset()


def path(told: str) -> str:
    """One spelling of a folder.

    >>> path("file:///data//out/"), path("s3a://bucket/out")
    ('path:/data/out', 'path:s3a://bucket/out')
    """
    scheme, colon, rest = told.partition(":")
    if not colon or scheme == "file":
        return f"path:{normpath('/' + (rest if colon else told).strip('/'))}"
    return f"path:{scheme}://{rest.strip('/')}"


def written(options: Mapping[str, str], table: str | None = None) -> Places:
    """Where the plan of a query says that its rows go.

    >>> sorted(written({"topic": "clean", "checkpointLocation": "/c"}, "spark_catalog.default.t"))
    ['kafka:clean', 'table:spark_catalog.default.t']
    """
    told = {key.lower(): value for key, value in options.items()}
    found = [
        *([f"kafka:{told['topic']}"] if "topic" in told else ()),
        *([path(told["path"])] if "path" in told else ()),
        *([f"table:{table}"] if table else ()),
    ]
    return frozenset(found)


def ends(progress: Mapping[str, Any], also: Places = frozenset()) -> Ends:
    """Both ends of a query, from its progress and from what else is known of its sink."""
    sources = [str(source.get("description", "")) for source in progress.get("sources") or []]
    sink = str((progress.get("sink") or {}).get("description", ""))
    return Ends(
        reads=frozenset().union(*(places(source) for source in sources)),
        writes=places(sink) | also,
    )


def feeds(queries: Mapping[str, Ends]) -> dict[str, tuple[str, ...]]:
    """By query, those that read what it writes, itself apart."""
    return {
        name: tuple(
            other
            for other, told in queries.items()
            if other != name and told.reads & ends_of.writes
        )
        for name, ends_of in queries.items()
    }
