"""How many rows come, and when: the same object feeds Spark and the twin.

| kind | short form | settings |
|---|---|---|
| `constant` | `constant:300/s` | `rate` |
| `step` | `step:100/s,400/s@30s,200/s@1m` | `levels` (also `{0s: 100/s, 30s: 400/s}`) |
| `daily` | `daily:60/s..420/s` | `low`, `high`, `period`, `noise`, `slot`, `seed` |
| `random-walk` | `random-walk:300/s` | `start`, `step`, `low`, `high`, `slot`, `seed` |
| `poisson` | `poisson:300/s` | `rate`, `slot`, `seed` |
| `map` | `map:1000` | `dispersion`, `rate`, `fast`, `slow`, `slot`, `seed` |
| `self-similar` | `self-similar:0.7` | `hurst`, `rate`, `slot`, `seed` |
| `lognormal-walk` | `lognormal-walk:10k/s` | `start`, `sigma`, `period`, `low`, ... |
| `trace` | `trace:arrivals.txt` | `path`, `speed`, `scale`, `repeat` |

A short form takes further settings after commas: `daily:60/s..420/s,period=2m,noise=0.1`. In a
file the same is a mapping: `{kind: daily, low: 60/s, high: 420/s, period: 2m, noise: 0.1}`.

>>> parse("daily:60/s..420/s,period=2m")
Daily(low=60.0, high=420.0, period=120.0, noise=0.0, slot=None, seed=1)
>>> parse({"kind": "constant", "rate": "300/s"})
Constant(rate_=300.0)

Those from `poisson` to `trace` give the moment of each row, chance included: `drawn` is true for
them. How bursty counts are can be measured with `penstock.workload.burstiness`.

Row number `i`, counted from 0, comes when `arrivals` reaches `i + 1`; so by any moment `t`,
`floor(arrivals(t))` rows have come.
"""

from penstock.workload.bursty import Markovian, SelfSimilar
from penstock.workload.parse import WORKLOADS, parse
from penstock.workload.regular import Constant, Daily, Step
from penstock.workload.stochastic import LognormalWalk, Poisson, RandomWalk, drawn, with_seed
from penstock.workload.trace import Trace

__all__ = [
    "WORKLOADS",
    "Constant",
    "Daily",
    "LognormalWalk",
    "Markovian",
    "Poisson",
    "RandomWalk",
    "SelfSimilar",
    "Step",
    "Trace",
    "drawn",
    "parse",
    "with_seed",
]
