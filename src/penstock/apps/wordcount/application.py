"""The word count of the e2df paper: sentences are split, short words dropped, the rest counted,
and the most frequent words published.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from penstock.apps.wordcount.sentences import SHORTEST_KEPT, Sentences
from penstock.pipeline.application import Application, Operator, publish

PUBLISHED: Final = 10
"""How many words are published."""
PAGE: Final = "top-words.json"


def split(sentences: DataFrame) -> DataFrame:
    """One row for each word."""
    return sentences.select("ts", sql.explode(sql.split("sentence", " ")).alias("word"))


def drop_short(words: DataFrame) -> DataFrame:
    """Words long enough to mean something: about two in five."""
    return words.where(sql.length("word") >= SHORTEST_KEPT)


def count(words: DataFrame) -> DataFrame:
    """How often each word has come since the beginning; only words that came now."""
    counted = words.groupBy("word").agg(
        sql.count(sql.lit(1)).alias("count"), sql.max("ts").alias("ts")
    )
    return counted.select("ts", "word", "count")


def keep(counts: DataFrame) -> DataFrame:
    """The consumer takes counts as they come."""
    return counts


@dataclass(slots=True)
class TopWords:
    """Publishes the most frequent words in a file, replaced as a whole after every batch.

    Counts are totals and only grow, so taking in a batch twice changes nothing.
    """

    folder: Path
    counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, batch: DataFrame, number: int) -> None:  # noqa: ARG002
        """Take in the counts that changed, and publish."""
        changed = batch.select("word", "count").toArrow()
        for word, times in zip(
            changed["word"].to_pylist(), changed["count"].to_pylist(), strict=True
        ):
            self.counts[word] = max(times, self.counts.get(word, 0))
        publish(self.results(), self.folder / PAGE)

    def results(self) -> dict[str, Any]:
        """The most frequent words, how many were counted in all, and a digest of every count."""
        return {
            "top_words": dict(self._top()),
            "words_counted": sum(self.counts.values()),
            "distinct_words": len(self.counts),
            "digest": digest(self.counts),
        }

    def _top(self) -> list[tuple[str, int]]:
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:PUBLISHED]


def digest(counts: Mapping[str, int]) -> str:
    """A short text that two runs share only if every word was counted equally often.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) != digest({"a": 1, "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(sorted(counts.items())).encode()).hexdigest()[:16]


WORDCOUNT: Final = Application(
    rows=Sentences,
    operators={
        "splitter": Operator(apply=split, schema="ts timestamp, word string"),
        "filter": Operator(apply=drop_short, schema="ts timestamp, word string"),
        "counter": Operator(
            apply=count,
            schema="ts timestamp, word string, count long",
            shuffles=True,
            updates=True,
        ),
        "consumer": Operator(apply=keep, schema="ts timestamp, word string, count long"),
    },
    consumer=TopWords,
)
