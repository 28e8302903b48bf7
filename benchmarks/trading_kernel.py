"""How fast the trading operator is: quotes a second of one core's time, beside other fits.

The others fit the same windows: the iteration of Levenberg and Marquardt, as the trading
application of the paper does, and numpy's polynomial fit. They are given the averaged points and
asked for the two parabolas alone, so they do less than the operator. Run with
`python -m benchmarks.trading_kernel`.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from penstock.apps.trading.application import Algotrader
from penstock.apps.trading.quotes import SYMBOLS, Quotes
from penstock.apps.trading.series import Series
from penstock.apps.trading.window import SLIDE, WINDOW, analyse
from penstock.core.routing import Routing
from penstock.query.keyed import KeyedOperator
from penstock.query.keyed.operator import InProcess

REPEATS: Final = 7
KEYS, EACH = 20, 10_000
DAY_WARM, DAY_ROWS = 3_000_000, 300_000
SAMPLE: Final = 60
"""Windows that the slow fits are timed on."""

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats], Floats]
Sample = list[list[tuple[Floats, Floats]]]


class Full(NamedTuple):
    """Keys whose windows are full."""

    history: Series
    fresh: Series


def full(gap: int) -> Full:
    """Quotes of a key this many microseconds apart on average; 199 of 200 sides are there."""
    chance = np.random.default_rng(1)
    return Full(_random(chance, WINDOW, gap, 0), _random(chance, EACH, gap, 2 * gap * WINDOW))


def _random(chance: np.random.Generator, each: int, gap: int, start: int) -> Series:
    size = KEYS * each
    prices = chance.uniform(100, 200, (2, size))
    sizes = chance.integers(0, 201, (2, size))
    return Series.of(
        ts=start + np.cumsum(chance.integers(0, 2 * gap, (KEYS, each)), axis=1).ravel(),
        bid=prices[0],
        ask=prices[1],
        bid_size=sizes[0],
        ask_size=sizes[1],
        lengths=[each] * KEYS,
    )


def on_windows(quotes: Full) -> Callable[[], object]:
    """The window operator alone."""
    counts = np.full(KEYS, WINDOW)
    return lambda: analyse(quotes.history, counts, quotes.fresh)


def exchange(begin: int, end: int) -> pa.RecordBatch:
    """Rows of the pipeline's own source, 60,000 a second."""
    index = np.arange(begin, end)
    ts = pa.array((index * (1e6 / 60_000)).astype(np.int64))
    return pa.RecordBatch.from_pydict({"ts": ts, **Quotes().columns(index)})


def on_exchange(folder: str) -> Callable[[], object]:
    """Everything that a replica does: rows grouped by symbol, screened, evaluated, state saved."""
    operator = KeyedOperator(
        work=Algotrader(),
        store=str(folder),
        sink=lambda results, step: None,  # noqa: ARG005
        table=Routing(replicas=1),
        engine=InProcess(),
    )
    ends = iter(range(DAY_ROWS, 10**9, DAY_ROWS))

    def take_next() -> None:
        end = next(ends)
        operator.take(pa.Table.from_batches([exchange(end - DAY_ROWS, end)]), end // DAY_ROWS)

    for _ in range(DAY_WARM // DAY_ROWS):
        take_next()
    return take_next


def points(quotes: Full, row: int) -> list[tuple[Floats, Floats]]:
    """The averages of the window that ends with a fresh row of the first key, for each side."""
    fresh = quotes.fresh
    window = slice(row + 1 - WINDOW, row + 1)
    x = fresh.ts[window] - fresh.ts[window][0]
    cells, place = np.unique(fresh.ts[window] // 1000, return_inverse=True)
    made = []
    for price, size in ((fresh.bid, fresh.bid_size), (fresh.ask, fresh.ask_size)):
        there = size[window] > 0
        count = np.bincount(place[there], minlength=len(cells))
        sums = [np.bincount(place[there], v[there], len(cells)) for v in (x, price[window])]
        made.append((sums[0][count > 0] / count[count > 0], sums[1][count > 0] / count[count > 0]))
    return made


def parabola(x: Floats, a: float, b: float, c: float) -> Any:
    """What the iteration fits."""
    return (a * x + b) * x + c


def by_iteration(x: Floats, y: Floats) -> Floats:
    """Levenberg and Marquardt's, on a time axis from 0 to 1, from a start of zeros."""
    fitted, _ = curve_fit(parabola, x / x[-1], y, p0=(0.0, 0.0, 0.0), method="lm")
    return np.asarray(fitted / x[-1] ** np.array([2, 1, 0]))


def by_numpy(x: Floats, y: Floats) -> Floats:
    """On the same axis."""
    return np.asarray(np.polyfit(x / x[-1], y, 2) / x[-1] ** np.array([2, 1, 0]))


def fit_all(fit: Fit, sample: Sample) -> None:
    """Both sides of every window."""
    for window in sample:
        for x, y in window:
            fit(x, y)


def speed(run: Callable[[], object], quotes: int) -> list[float]:
    """Million quotes a second of CPU time, the slowest of several runs first."""
    speeds = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        speeds.append(quotes / (time.process_time() - start) / 1e6)
    return sorted(speeds)


def show(name: str, speeds: list[float], baseline: float | None = None) -> None:
    """One line of the table."""
    ratio = "" if baseline is None else f"{baseline / median(speeds):>9.0f}x"
    print(f"{name:<56}{speeds[0]:>9.3f}{median(speeds):>9.3f}{speeds[-1]:>9.3f}{ratio:>10}")


def check(quotes: Full, sample: Sample) -> None:
    """All three find the same parabolas."""
    found = analyse(quotes.history, np.full(KEYS, WINDOW), quotes.fresh)
    for place, sides in enumerate(sample):
        for side, (x, y) in zip(("bid", "ask"), sides, strict=True):
            ours = np.polyval(found.parabola(side)[WINDOW // SLIDE - 1 + place], x)
            for fit in (by_iteration, by_numpy):
                assert np.allclose(ours, np.polyval(fit(x, y), x), rtol=1e-5)


OTHERS: Final = {
    "numpy.polyfit": by_numpy,
    "Levenberg-Marquardt (scipy, MINPACK)": by_iteration,
}


def main() -> None:
    """Print the table."""
    wide, size = full(5_000), KEYS * EACH
    on_windows(wide)()  # compiles, or loads what was compiled before
    print(f"million quotes a second of CPU time, {REPEATS} repeats")
    print(f"{'':<56}{'low':>9}{'median':>9}{'high':>9}{'ours is':>10}")
    for gap in (100, 1_000):
        name = f"window operator, quotes {gap / 1e3:g} ms apart"
        show(name, speed(on_windows(full(gap)), size))
    ours = speed(on_windows(wide), size)
    show("window operator, 5 ms apart: a point for each quote", ours)
    sample = [points(wide, WINDOW - 1 + SLIDE * place) for place in range(SAMPLE)]
    check(wide, sample)
    for name, fit in OTHERS.items():
        slow = speed(partial(fit_all, fit, sample), SLIDE * SAMPLE)
        show(f"{name}, the same windows", slow, median(ours))
    name = f"whole replica with state in files, {SYMBOLS:,} symbols"
    with tempfile.TemporaryDirectory() as folder:
        show(name, speed(on_exchange(folder), DAY_ROWS))
    show("quotes made by the source", speed(lambda: exchange(0, 262_144), 262_144))


if __name__ == "__main__":
    main()
