"""The workloads of Section 5.1: a random walk of 180 s, and a trading day told in 235 s.

The published data have the walk; of the day the paper draws a picture. Here both are generated, and
`--data` takes the published walk and frequencies in their place.

- `rwalk` moves by a normal draw of 16,500 quotes/s in every second, from 300,000, and is reflected
  at the least and the greatest rate of the published one, whose moves have that deviation.
- `day` is high at the open and at the close and low in between, with noise in every second and
  bursts of a few seconds: more variable than the walk, as the paper says. Its height and noise are
  chosen so that strategies use about as many replicas as in Tab. 7, and miss about as often.

>>> quotes("rwalk", seed=1).shape, quotes("day", seed=1).shape
((180,), (235,))
"""

from collections.abc import Mapping
from itertools import count as count_up
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import FileError, SettingError
from penstock.core.settings import near
from penstock.experiment.papers.mpc_printed import WORKLOADS
from penstock.workload import RandomWalk
from penstock.workload.keys import names
from penstock.workload.keys import shares as usual_shares
from penstock.workload.trace import read_counts

Floats = NDArray[np.float64]

SECONDS: Final = {"rwalk": 180, "day": 235}
KEYS: Final = 2836
_TRIES: Final = 100_000
"""More than any seed ever takes: no two try the same walk."""
WALK_FILE: Final = "random_walk_rates.txt"
KEYS_FILE: Final = "key_frequencies.txt"

_START, _MOVE, _LOW, _HIGH = 300e3, 16.5e3, 135e3, 458e3
"""Of the walk, in quotes a second."""
_MEAN, _SPREAD = 297e3, 73e3
"""Mean and standard deviation of the published walk. Another is drawn unless its mean is within"""
_NEAR: Final = (0.05, 0.15)
"""these shares of them."""

_NOON: Final = 122e3
"""Quotes a second when the day is quietest,"""
_OPEN: Final = 380e3
"""by how much it is busier at the open,"""
_OPEN_LASTS: Final = 46.0
"""which fades in so many seconds,"""
_CLOSE: Final = 380e3
"""and at the close,"""
_CLOSE_LASTS: Final = 9.0
"""which comes in so many."""
_SLOW: Final = 0.08
"""Deviation of what lasts for a while, as a share,"""
_SLOW_LASTS: Final = 20.0
"""and for how many seconds it does."""
_FAST: Final = 0.1
"""Deviation of a single second, as a share."""


def quotes(name: str, seed: int, data: str | None = None) -> Floats:
    """Quotes a second, for each second."""
    if name not in WORKLOADS:
        raise SettingError(f"there is no workload {name!r} in the paper{near(name, WORKLOADS)}")
    if name == "day":
        return _day(np.random.default_rng([seed, 1]))
    return _walk(seed) if data is None else read_counts(str(Path(data) / WALK_FILE))[1]


def shares(data: str | None = None) -> Mapping[str, float]:
    """The share of the quotes that each symbol has."""
    if data is None:
        return usual_shares(KEYS)
    found = _frequencies(Path(data) / KEYS_FILE)
    return dict(zip(names(len(found)), found, strict=True))


def _walk(seed: int) -> Floats:
    at = np.arange(float(SECONDS["rwalk"]))
    for attempt in count_up(1):
        walk = RandomWalk(
            start=_START, step=_MOVE, low=_LOW, high=_HIGH, seed=_TRIES * seed + attempt
        )
        rates = walk.rate(at)
        if _typical(rates):
            break
    return rates


def _typical(rates: Floats) -> bool:
    off = abs(rates.mean() / _MEAN - 1.0), abs(rates.std() / _SPREAD - 1.0)
    return all(share <= near for share, near in zip(off, _NEAR, strict=True))


def _day(random: np.random.Generator) -> Floats:
    at = np.arange(float(SECONDS["day"]))
    opening = _OPEN * np.exp(-at / _OPEN_LASTS)
    closing = _CLOSE * np.exp((at - SECONDS["day"]) / _CLOSE_LASTS)
    swings = _SLOW * _lasting(random.standard_normal(len(at)), _SLOW_LASTS)
    noise = _FAST * random.standard_normal(len(at))
    rates: Floats = (_NOON + opening + closing) * np.exp(swings + noise)
    return rates


def _lasting(draws: Floats, seconds: float) -> Floats:
    """Of unit variance like the draws, but forgotten only in so many seconds."""
    kept = np.exp(-1.0 / seconds)
    values = draws.copy()
    for second in range(1, len(draws)):
        values[second] = kept * values[second - 1] + np.sqrt(1.0 - kept**2) * draws[second]
    return values


def _frequencies(path: Path) -> list[float]:
    """The last line of the file, after a number of its own; the first says how many there are."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [float(word) for word in lines[1].split()[1:]]
        announced = int(lines[0].split()[0])
    except (OSError, UnicodeDecodeError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or "it is no list of frequencies"
        raise FileError(f"cannot read {path}: {reason}") from None
    if len(found) != announced:
        raise FileError(f"{path} announces {announced} frequencies, and {len(found)} follow")
    return found
