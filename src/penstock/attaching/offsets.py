"""Rows in the offsets of a source, where they can be counted: those of Kafka, and of our own.

>>> end = {"clicks": {"0": 70, "1": 20}}
>>> counted(end), waiting({"endOffset": end, "latestOffset": {"clicks": {"0": 100, "1": 20}}})
(90, 30.0)

Files have numbers of log entries and the rate source has seconds, which are not rows:

>>> counted({"logOffset": 7}), counted(12), waiting({"endOffset": 12, "latestOffset": 14})
(None, None, None)
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

Source = Mapping[str, Any]
"""One of `sources` in a progress event."""


def counted(offset: Any) -> int | None:
    """Rows that had come by an offset; None where it does not count rows."""
    told = _parsed(offset)
    if not isinstance(told, dict):
        return None
    if isinstance(told.get("rows"), int):
        return int(told["rows"])
    parts = [part for topic in told.values() if isinstance(topic, dict) for part in topic.values()]
    topics_only = bool(told) and all(isinstance(topic, dict) for topic in told.values())
    if not topics_only or not all(isinstance(part, int) for part in parts):
        return None
    return sum(int(part) for part in parts)


def waiting(source: Source) -> float | None:
    """Rows of a source that have come and have not been read."""
    newest, read = counted(source.get("latestOffset")), counted(source.get("endOffset"))
    if newest is not None and read is not None:
        return float(max(newest - read, 0))
    return _behind(source)


def all_waiting(sources: Sequence[Source]) -> float | None:
    """Rows over all sources of a query; unknown where one of them does not tell."""
    told = [waiting(source) for source in sources]
    known = [rows for rows in told if rows is not None]
    return sum(known) if known and len(known) == len(told) else None


def all_arrived(sources: Sequence[Source]) -> int | None:
    """Rows that had come to all sources of a query; unknown where one of them does not tell."""
    told = [counted(source.get("latestOffset")) for source in sources]
    known = [rows for rows in told if rows is not None]
    return sum(known) if known and len(known) == len(told) else None


def _behind(source: Source) -> float | None:
    """What Kafka's own metrics say: the mean over the partitions, else the one furthest behind."""
    metrics = source.get("metrics") or {}
    mean, most = (_number(metrics.get(f"{which}OffsetsBehindLatest")) for which in ("avg", "max"))
    read = _parsed(source.get("endOffset"))
    topics = read.values() if isinstance(read, dict) else ()
    parts = sum(len(topic) for topic in topics if isinstance(topic, dict))
    return mean * parts if mean is not None and parts else most


def _parsed(offset: Any) -> Any:
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _number(told: Any) -> float | None:
    try:
        number = float(told)
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) and number >= 0 else None
