"""The operator, workloads and strategies of Section 5: 12 replicas, 1.2 to 2 GHz, 2,836 symbols.

Rows are *triggering tuples*, those after which a window is worked on: one in 25 quotes. The others
cost next to nothing, and are not simulated.

The workloads of Section 5.1 are a random walk of 180 s, and a trading day in 235 s. The published
data have the walk; of the day the paper draws a picture. Here both are generated, and `--data`
takes the published walk and frequencies in their place.

- `rwalk` moves by a normal draw of 16,500 quotes/s in every second, from 300,000, and is reflected
  at the least and the greatest rate of the published one, whose moves have that deviation.
- `day` is high at the open and at the close and low in between, with noise in every second and
  bursts of a few seconds: more variable than the walk, as the paper says. Its height and noise are
  chosen so that strategies use about as many replicas as in Tab. 7, and miss about as often.

>>> quotes("rwalk", seed=1).shape, quotes("day", seed=1).shape
((180,), (235,))
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count as count_up
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np

from penstock.core.errors import FileError, SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Policy
from penstock.core.settings import near
from penstock.model.power import VoltageTable, power
from penstock.papers.mpc import published
from penstock.papers.mpc.published import PEAK_WATTS, WORKLOADS
from penstock.policy.mpc import STRATEGIES, Mpc, lpt
from penstock.policy.rules import Rules
from penstock.policy.spl import Spl
from penstock.policy.static import Static
from penstock.twin import KeyedTwin
from penstock.workload import RandomWalk
from penstock.workload.curve import Curve, Curved, Floats
from penstock.workload.keys import names
from penstock.workload.keys import shares as usual_shares
from penstock.workload.trace import read_counts

NAME: Final = "trader"
QUOTES: Final = 25
"""Of a symbol, for each result."""
SERVICE_TIME: Final = 0.45e-3
"""Seconds that a triggering tuple takes at 2 GHz. Read from Section 5.2.2: 6 replicas are enough
for 300,000 quotes/s and 8 for 400,000, where 7 are not; so it lies between 0.4375 and 0.5 ms."""
SERVICE_CV: Final = 0.3
MOST_REPLICAS: Final = 12
FASTEST: Final = 2.0
"""GHz."""

VOLTAGES: Final = VoltageTable({(12 + i) / 10: round(0.80 + 0.015 * i, 3) for i in range(9)})
"""0.80 V at 1.2 GHz to 0.92 V at 2 GHz. The paper prints none."""
IDLE_WATTS: Final = 16.0
"""What the cores take whatever they do. The paper's watts are measured, and Expr. 9 has only what
comes on top."""
_CAPACITANCE: Final = (PEAK_WATTS - IDLE_WATTS) / float(
    power(MOST_REPLICAS, FASTEST, VOLTAGES, capacitance=1.0)
)


def watts(replicas: int, clock: float) -> float:
    """What a meter would show: modelled.

    >>> watts(12, 2.0), round(watts(6, 2.0), 1), round(watts(10, 1.2), 1)
    (68.25, 47.3, 36.5)
    """
    return IDLE_WATTS + float(power(replicas, clock, VOLTAGES, capacitance=_CAPACITANCE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The configuration that a run begins with."""

    replicas: int
    clock: float = FASTEST


@dataclass(frozen=True, slots=True)
class Triggers(Curved):
    """Triggering tuples of a workload that is known by the second."""

    quotes: tuple[float, ...]

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # all of it
        """Flat within a second, and nothing after the last."""
        rates = np.array([*self.quotes, 0.0]) / QUOTES
        return Curve.through(starts=np.arange(len(rates)), rates=rates)


def operator(replicas: int = 1) -> FlowGraph:
    """The algo-trader, as it begins."""
    module = Module(
        name=NAME,
        service_time=SERVICE_TIME,
        service_cv=SERVICE_CV,
        max_replicas=MOST_REPLICAS,
        initial_replicas=replicas,
    )
    return FlowGraph(source=NAME, modules=(module,))


def enough(rate: float, busy: float = 0.95) -> int:
    """Replicas at 2 GHz that are no busier than that with so many quotes a second.

    >>> enough(300e3), enough(400e3)
    (6, 8)
    """
    return min(ceil(rate / QUOTES * SERVICE_TIME / busy), MOST_REPLICAS)


def open_operator(
    quotes: Floats, shares: Mapping[str, float], *, seed: int, step: float, start: Start
) -> KeyedTwin:
    """The operator with all keys spread evenly, and a journal of its rows.

    It runs on for a while after the last quote, so that the journal has every row.
    """
    return KeyedTwin(
        operator(start.replicas),
        Triggers(tuple(quotes.tolist())),
        step=step,
        duration=len(quotes) + DRAIN,
        shares=shares,
        routing=lpt(shares, start.replicas),
        seed=seed,
        frequency=start.clock,
        reference=FASTEST,
        power=watts,
        journal=True,
    )


DRAIN: Final = 20.0
"""Seconds after the last quote in which rows that still wait are worked off."""


# The strategies of Tab. 6 and 7, with the settings that the paper gives them.


THRESHOLD: Final = {"rwalk": 1.5e-3, "day": 7e-3}
"""Seconds that a result may take, on average over a second."""
KEEPS_UP: Final = 0.95
"""Results by triggering tuples of a second, under which quality is missed."""
HOLT: Final = {"rwalk": {"a": 1.0, "b": 0.015}, "day": {"a": 0.67, "b": 0.26}}
SCALE: Final = SERVICE_TIME
"""Seconds of effective service time that alpha is the price of: what a single replica has, which is
the most there can be. The paper divides its prices by such bounds (Section 3.3.1)."""
HEADROOM: Final = 0.95
"""Busy share at which a replica is taken to be full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A strategy, with or without switching cost, and how far it looks ahead."""

    strategy: str
    switching: bool = True
    horizon: int = 1
    step: int = 1
    """Seconds between decisions."""

    @property
    def name(self) -> str:
        """As a script finds it.

        >>> Variant(strategy="th-node", horizon=2).name, Variant(strategy="spl", step=4).name
        ('th-node sw-2', 'spl 4s')
        """
        return f"{self.strategy} {self.choice}"

    @property
    def choice(self) -> str:
        """What it is told apart by from others of its strategy."""
        if self.step > 1:
            return f"{self.step}s"
        if not self.controlled:
            return "peak"
        return f"sw-{self.horizon}" if self.switching else "nosw"

    @property
    def controlled(self) -> bool:
        """Whether it is one of Tab. 6."""
        return self.strategy in STRATEGIES


PEAK: Final = Variant(strategy="static")
"""12 replicas at 2 GHz, all the time."""
VARIANTS: Final = tuple(
    variant
    for strategy in STRATEGIES
    for variant in (
        Variant(strategy=strategy, switching=False),
        *(Variant(strategy=strategy, horizon=horizon) for horizon in (1, 2, 3)),
    )
)
"""Those of Fig. 11 to 17."""
COMPARED: Final = (
    Variant(strategy="rules-90", step=4),
    Variant(strategy="rules-95", step=4),
    Variant(strategy="spl", step=4),
    Variant(strategy="th-node", horizon=2, step=4),
    Variant(strategy="th-node", horizon=2, step=2),
)
"""Those of Tab. 7, on the trading day."""


def policy(variant: Variant, graph: FlowGraph, workload: str) -> Policy:
    """The strategy, ready to decide."""
    if variant.controlled:
        return controller(variant, graph, workload)
    if variant.strategy == "spl":
        return Spl(congestion=0.1, sensitivity=0.9, levels=12)
    if variant == PEAK:
        return Static()
    return Rules(max_utilisation=_MOST_BUSY[variant.strategy], min_utilisation=0.8)


def controller(variant: Variant, graph: FlowGraph, workload: str) -> Mpc:
    """One of Tab. 6."""
    return Mpc(
        graph,
        strategy=variant.strategy,
        horizon=variant.horizon,
        switching=variant.switching,
        alpha=published.ALPHA[variant.strategy][workload],
        beta=published.BETA,
        gamma=published.GAMMA,
        threshold=THRESHOLD[workload],
        scale=SCALE,
        headroom=HEADROOM,
        forecaster={"holt": HOLT[workload]},
        trust=False,
        own_queues=False,
        voltages={str(clock): volts for clock, volts in VOLTAGES.volts.items()},
    )


_MOST_BUSY: Final = {"rules-90": 0.9, "rules-95": 0.95}


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
