"""The workloads of the game paper, Section 6.2: mean inter-arrival times, step after step.

The paper draws them in Fig. 12 without figures. Its text says three things, from which the shapes
below were fitted. Each workload is slow, with inter-arrival times above the 0.715 s of the
equilibrium, in certain steps of 600: there both strategies decide alike. By Tab. V so many images
are completed in a step, where by the model it is `300 / max(gap, 0.715)` of them for the selfish
strategy and `300 / max(gap, 0.451)` for the cooperative one. And by Tab. IV the recogniser is
reconfigured so often, which tells how much noise there is.

| | slow in steps | selfish | cooperative | reconfigurations |
|---|---|---|---|---|
| `cyclic` | 200 to 400 | 406 (paper 403) | 483 (483) | 31, 108 (23, 96) |
| `trend` | 0 to 300 | 407 (414) | 518 (518) | 99, 201 (121, 199) |
| `rwalk` | 0 to 100, 400 to 550 | 400 (401) | 500 (501) | 75, 232 (154, 297) |

Ours are means over 100 seeds, worked out from the inter-arrival times alone, as they would be
measured with gaps that scatter by 30 %; degrees follow an average that forgets half of what it
knew in each step. No straight line has the figures of `trend`: it
would have to be slow for half of the time and yet complete 414 of 420 images, and be so fast in
the other half that 518 of 665 are completed; so it falls gently, then steeply, then gently.

>>> gaps = inter_arrivals("cyclic", seed=1)
>>> gaps.shape, bool(gaps[300] > 0.8 > 0.715 > gaps[100])
((600,), True)
>>> workload = section6("cyclic", seed=1)
>>> round(float(workload.rate(np.array([300 * 300.0]))[0] * gaps[300]), 9)
1.0
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.core.settings import near
from penstock.workload import Step

Floats = NDArray[np.float64]

STEPS: Final = 600
STEP: Final = 300.0
"""Seconds."""
EQUILIBRIUM: Final = 0.715
"""Seconds between images at the Pareto-optimal equilibrium, however fast they come."""

_SWING: Final = 0.42
"""Rows a second by which the rate of `cyclic` goes up and down, once in all 600 steps."""
_TREND: Final = ((0, 0.80), (300, EQUILIBRIUM), (336, 0.451), (600, 0.45))
_WALK: Final = (
    (0, 0.85),
    (100, EQUILIBRIUM),
    (130, 0.48),
    (370, 0.48),
    (400, EQUILIBRIUM),
    (475, 0.90),
    (550, EQUILIBRIUM),
    (600, 0.46),
)
"""What the walk is drawn back to: step, and seconds between images."""
_CYCLIC_NOISE: Final = 0.01
_TREND_NOISE: Final = 0.04
_WALK_MOVE: Final = 0.04
_WALK_MEMORY: Final = 0.9
"""Share of its distance from the skeleton that the walk keeps in each step."""


def section6(name: str, seed: int, steps: int = STEPS, step: float = STEP) -> Workload:
    """One of the three workloads, for any plant; with other steps it is played faster or slower."""
    gaps = inter_arrivals(name, seed, steps)
    return Step(levels=tuple((1.0 / gap, k * step) for k, gap in enumerate(gaps.tolist())))


def inter_arrivals(name: str, seed: int, steps: int = STEPS) -> Floats:
    """Mean seconds between rows, for each step; every seed has noise of its own."""
    if name not in SCENARIOS:
        raise SettingError(f"there is no workload {name!r} in Section 6.2{near(name, SCENARIOS)}")
    for what, value, least in (("steps", steps, 1), ("seed", seed, 0)):
        if value < least:
            raise SettingError(f"{what} of workload {name} must be at least {least}, got {value}")
    position = (np.arange(steps) + 0.5) * STEPS / steps
    random = np.random.default_rng([seed, tuple(SCENARIOS).index(name)])
    return SCENARIOS[name](position, random)


def _cyclic(position: Floats, random: np.random.Generator) -> Floats:
    # a sine of the rate that passes the equilibrium's at 200 and 400 of 600 steps
    rate = 1.0 / EQUILIBRIUM + _SWING * (0.5 + np.cos(2.0 * np.pi * position / STEPS))
    return np.exp(_CYCLIC_NOISE * random.standard_normal(len(position))) / rate


def _trend(position: Floats, random: np.random.Generator) -> Floats:
    noise = _TREND_NOISE * random.standard_normal(len(position))
    return np.exp(noise) * _through(_TREND, position)


def _rwalk(position: Floats, random: np.random.Generator) -> Floats:
    moves = _WALK_MOVE * random.standard_normal(len(position))
    away = np.zeros(len(position))
    for k in range(1, len(position)):
        away[k] = _WALK_MEMORY * away[k - 1] + moves[k]
    return np.exp(away) * _through(_WALK, position)


def _through(knots: tuple[tuple[float, float], ...], position: Floats) -> Floats:
    steps, seconds = zip(*knots, strict=True)
    return np.asarray(np.interp(position, steps, seconds), np.float64)


SCENARIOS: Final[dict[str, Callable[[Floats, np.random.Generator], Floats]]] = {
    "cyclic": _cyclic,
    "trend": _trend,
    "rwalk": _rwalk,
}
