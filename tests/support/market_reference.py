"""The trading operator as one would write it on a blackboard: slow, and plainly right.

Rows are mappings as the source makes them: number, symbol, ts (microseconds, or with a time zone),
bid, ask, bid_size, ask_size. They are taken one by one in the order given, by a single thread.
"""

import warnings
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.apps.trading.operator import Memory, Operator, to_batch
from penstock.apps.trading.series import COLUMNS, Arrivals, Series, concatenate

Row = Mapping[str, Any]
SIDES = ("bid", "ask")
COEFFICIENTS = ("quadratic", "linear", "constant")
SMOOTH = {f"{side}_{name}" for side in SIDES for name in COEFFICIENTS}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def reference(rows: Iterable[Row], window: int = 1000, slide: int = 25) -> list[dict[str, Any]]:
    """Every result, by symbol and ordinal."""
    return Trader(window=window, slide=slide).run(rows)


@dataclass
class Symbol:
    """All that is known of one symbol."""

    window: deque[Row]
    last: int | None = None
    newest: int | None = None
    count: int = 0


@dataclass
class Trader:
    """The operator; `refused` counts rows by reason while it runs."""

    window: int = 1000
    slide: int = 25
    resolution: int = 1000
    lateness: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    _symbols: dict[str, Symbol] = field(default_factory=dict)

    def run(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        """Every result, by symbol and ordinal."""
        return ordered(found for row in rows if (found := self.take(row)) is not None)

    def take(self, row: Row) -> dict[str, Any] | None:
        """The result that a row sets off, if any."""
        row = {**row, "ts": micros(row["ts"])}
        reason = self._fault(row)
        if reason is not None:
            self.refused[reason] += 1
            return None
        known = self._symbols[row["symbol"]]
        known.last = row["number"]
        known.newest = row["ts"] if known.newest is None else max(known.newest, row["ts"])
        known.count += 1
        known.window.append(row)
        return self._result(row, known) if known.count % self.slide == 0 else None

    def _fault(self, row: Row) -> str | None:
        if malformed(row):
            return "malformed"
        if row["bid_size"] == 0 and row["ask_size"] == 0:
            return "empty"
        known = self._symbols.setdefault(row["symbol"], Symbol(deque(maxlen=self.window)))
        if known.last is not None and row["number"] <= known.last:
            return "duplicate"
        if known.newest is not None and row["ts"] < known.newest - self.lateness:
            return "late"
        return None

    def _result(self, row: Row, known: Symbol) -> dict[str, Any]:
        quotes = list(known.window)
        oldest = min(quote["ts"] for quote in quotes)
        prices = [price(quote) for quote in quotes[-self.slide :]]
        found = {
            "symbol": row["symbol"],
            "ordinal": known.count // self.slide,
            "number": row["number"],
            "ts": row["ts"],
            "oldest": oldest,
            "open": prices[0],
            "high": max(prices),
            "low": min(prices),
            "close": prices[-1],
        }
        for side in SIDES:
            x, y = averages(quotes, side, self.resolution)
            found[f"{side}_points"] = len(x)
            names = [f"{side}_{name}" for name in COEFFICIENTS]
            found |= dict(zip(names, parabola(x, y), strict=True))
        return found


def ordered(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(results, key=lambda result: (result["symbol"], result["ordinal"]))


def malformed(row: Row) -> bool:
    if not row["symbol"] or row["number"] is None or row["ts"] is None:
        return True
    return any(not sound(row[side], row[f"{side}_size"]) for side in SIDES)


def sound(price: float | None, size: int | None) -> bool:
    if size is None or size < 0:
        return False
    return size == 0 or (price is not None and 0 < price < 1e12)


def price(quote: Row) -> float:
    """Midway between the sides, or the only one."""
    there = [quote[side] for side in SIDES if quote[f"{side}_size"] > 0]
    return float(sum(there) / len(there))


def averages(quotes: Sequence[Row], side: str, resolution: int) -> tuple[list[float], list[float]]:
    """Of each millisecond with this side, its mean moment since the oldest and its mean price.

    Quotes that lateness lets in out of order are averaged only with their neighbours.
    """
    runs = [list(run) for _, run in groupby(quotes, lambda quote: quote["ts"] // resolution)]
    sided = [[quote for quote in run if quote[f"{side}_size"] > 0] for run in runs]
    kept = [run for run in sided if run]
    oldest = min(quote["ts"] for quote in quotes)
    x = [sum(quote["ts"] - oldest for quote in run) / len(run) for run in kept]
    return x, [sum(quote[side] for quote in run) / len(run) for run in kept]


def parabola(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Of least squares, by numpy; of a lower degree where the points tell no more."""
    if not x:
        return 0.0, 0.0, 0.0
    middle, half = (max(x) + min(x)) / 2, (max(x) - min(x)) / 2 or 1.0
    scaled = (np.array(x) - middle) / half
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.RankWarning)
        try:
            fitted = np.polyfit(scaled, y, min(len(set(x)) - 1, 2))
        except np.exceptions.RankWarning:
            fitted = np.polyfit(scaled, y, 1)
    whole = np.poly1d(fitted)(np.poly1d([1 / half, -middle / half]))
    a, b, c = (0.0, 0.0, 0.0, *np.atleast_1d(whole.coeffs))[-3:]
    return float(a), float(b), float(c)


def micros(moment: Any) -> Any:
    return (
        (moment - _EPOCH) // timedelta(microseconds=1) if isinstance(moment, datetime) else moment
    )


def in_batches(
    rows: Sequence[Row], cuts: Sequence[int], operator: Operator
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """What the operator itself makes of the rows, cut before these places into batches."""
    states: dict[str, Memory] = {}
    found: list[dict[str, Any]] = []
    refused: Counter[str] = Counter()
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        came = Arrivals.of(to_rows(rows[begin:end]))
        memory = _joined([states.get(name, Memory.empty(1)) for name in came.symbols])
        step = operator(memory, came)
        states |= zip(came.symbols, _parted(step.remembered(memory)), strict=True)
        found += _plain(to_batch(step.results, came.symbols, step.number))
        refused += Counter(step.refused)
    return ordered(found), refused


def _joined(parts: Sequence[Memory]) -> Memory:
    """What is known of several symbols."""
    if not parts:
        return Memory.empty(0)
    return Memory(
        counts=np.concatenate([part.counts for part in parts]),
        last=np.concatenate([part.last for part in parts]),
        newest=np.concatenate([part.newest for part in parts]),
        history=concatenate([part.history for part in parts]),
    )


def _parted(whole: Memory) -> list[Memory]:
    """What is known of each symbol."""
    return [
        Memory(
            counts=whole.counts[k : k + 1],
            last=whole.last[k : k + 1],
            newest=whole.newest[k : k + 1],
            history=_only(whole.history, k),
        )
        for k in range(len(whole.counts))
    ]


def _only(series: Series, key: int) -> Series:
    a, b = int(series.offsets[key]), int(series.offsets[key + 1])
    columns = {name: getattr(series, name)[a:b] for name in COLUMNS}
    return Series(offsets=np.array([0, b - a]), **columns)


def to_rows(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as Spark would hand them over."""
    types = {
        "ts": pa.timestamp("us", "UTC"),
        "number": pa.int64(),
        "symbol": pa.string(),
        "bid": pa.float64(),
        "bid_size": pa.int32(),
        "ask": pa.float64(),
        "ask_size": pa.int32(),
    }
    columns = [pa.array([row[name] for row in rows], kind) for name, kind in types.items()]
    return pa.RecordBatch.from_arrays(columns, list(types))


def _plain(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [
        {**row, "ts": micros(row["ts"]), "oldest": micros(row["oldest"])}
        for row in batch.to_pylist()
    ]


def same(found: Row, wanted: Row, tolerance: float = 1e-6) -> bool:
    """Whether two results agree: to the bit, and parabolas over the whole window.

    Three points close together and hours after the oldest quote make a parabola whose terms are
    huge and cancel: what may differ is a part of the terms, not of their sum.
    """
    if any(found[name] != wanted[name] for name in wanted if name not in SMOOTH):
        return False
    span = wanted["ts"] - wanted["oldest"]
    x = np.array([[0.0, 0.5 * span, span]])
    for side in SIDES:
        terms = [_terms(result, side) * x.T ** [2, 1, 0] for result in (found, wanted)]
        apart = abs(terms[0].sum(axis=1) - terms[1].sum(axis=1))
        if (apart > tolerance * abs(terms[1]).sum(axis=1)).any():
            return False
    return True


def _terms(result: Row, side: str) -> Any:
    return np.array([result[f"{side}_{name}"] for name in COEFFICIENTS])
