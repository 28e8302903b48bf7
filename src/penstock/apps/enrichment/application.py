"""Payments that are looked up in another system and scored: two calls, each of which is waited for.

A small application for several pipelines that share a cluster: its modules hold no state.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from penstock.core.chance import uniform
from penstock.pipeline.application import Application, Operator

_ACCOUNTS: Final = 10_000
_SEGMENTS: Final = ("new", "regular", "business")


@dataclass(frozen=True, slots=True)
class Payments:
    """What the rows hold: who pays, and how much.

    >>> Payments(seed=1).columns(np.arange(2))["number"].to_pylist()
    [0, 1]
    """

    seed: int = 0

    @property
    def schema(self) -> str:
        """Three columns."""
        return "number long, account long, amount double"

    def columns(self, index: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The payments with these numbers."""
        account = (_ACCOUNTS * uniform(index, 2 * self.seed)).astype(np.int64)
        amount = np.round(-100.0 * np.log1p(-uniform(index, 2 * self.seed + 1)), 2)
        return {"number": pa.array(index), "account": pa.array(account), "amount": pa.array(amount)}


def look_up(payments: DataFrame) -> DataFrame:
    """What is known of the account."""
    segments = sql.array(*[sql.lit(segment) for segment in _SEGMENTS])
    known = segments[(sql.col("account") % len(_SEGMENTS)).cast("int")]
    return payments.select("ts", "number", "account", "amount", known.alias("segment"))


def score(payments: DataFrame) -> DataFrame:
    """How unusual the amount is for such an account, 0 to 1."""
    usual = sql.when(sql.col("segment") == "business", 400.0).otherwise(100.0)
    risk = 1.0 - sql.exp(-sql.col("amount") / usual)
    return payments.select("ts", "number", "account", risk.alias("risk"))


@dataclass(slots=True)
class Tally:
    """Counts what was scored, by the numbers of the payments.

    A batch that comes again after a failure is known by its number, and not counted twice.
    """

    folder: Path
    scored: int = 0
    suspicious: int = 0
    _digest: int = 0
    _last: int = -1

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take in a batch of scored payments."""
        seen = batch.select("number", "risk").toArrow()
        if number <= self._last:
            return
        self._last = number
        self.scored += seen.num_rows
        self.suspicious += sum(risk > 0.95 for risk in seen["risk"].to_pylist())
        self._digest = (self._digest + sum(map(_mark, seen["number"].to_pylist()))) % 2**64

    def results(self) -> dict[str, Any]:
        """How many there were, and a text that two runs share only if they scored the same."""
        return {
            "payments": self.scored,
            "suspicious": self.suspicious,
            "digest": f"{self._digest:016x}",
        }


def _mark(number: int) -> int:
    """A number that adds up to something else if a payment is missing or counted twice."""
    return int.from_bytes(hashlib.blake2b(str(number).encode(), digest_size=8).digest())


ENRICHMENT: Final = Application(
    rows=Payments,
    operators={
        "lookup": Operator(
            apply=look_up,
            schema="ts timestamp, number long, account long, amount double, segment string",
        ),
        "score": Operator(
            apply=score, schema="ts timestamp, number long, account long, risk double"
        ),
    },
    consumer=Tally,
)
