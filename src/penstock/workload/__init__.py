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

from collections.abc import Mapping
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.plugins import Registry, having
from penstock.core.roles import Workload
from penstock.core.settings import build, choose, missing_settings, option_names
from penstock.workload.bursty import Markovian, SelfSimilar
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

WORKLOADS: Final[Registry[type[Workload]]] = Registry(
    "workload",
    group="penstock.workloads",
    built_in={
        "constant": "penstock.workload.regular:Constant",
        "step": "penstock.workload.regular:Step",
        "daily": "penstock.workload.regular:Daily",
        "random-walk": "penstock.workload.stochastic:RandomWalk",
        "poisson": "penstock.workload.stochastic:Poisson",
        "map": "penstock.workload.bursty:Markovian",
        "self-similar": "penstock.workload.bursty:SelfSimilar",
        "lognormal-walk": "penstock.workload.stochastic:LognormalWalk",
        "trace": "penstock.workload.trace:Trace",
    },
    adapt=having("rate", "arrivals", "times"),
)


def parse(spec: str | Mapping[str, object]) -> Workload:
    """A workload from its short form or its mapping; the package's table shows both.

    >>> parse("constnt:300/s")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no workload 'constnt'; did you mean 'constant'?
    """
    if isinstance(spec, str):
        kind, rest = WORKLOADS.split(spec)
        part = choose(WORKLOADS, kind.strip(), of="workload")
        return build(part, _short(part, rest), of=f"workload {kind}")
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise SettingError(f"write a workload as constant:300/s or {{kind: ...}}, got {spec!r}")
    kind = str(spec["kind"])
    settings = {name: value for name, value in spec.items() if name != "kind"}
    return build(choose(WORKLOADS, kind, of="workload"), settings, of=f"workload {kind}")


def _short(part: type[Workload], rest: str) -> dict[str, object]:
    pieces = rest.split(",") if rest.strip() else []
    # a path may hold an equals sign: in the first place only a known name makes a setting
    unnamed, named = [], dict[str, object]()
    for place, piece in enumerate(pieces):
        name, equals, value = piece.partition("=")
        if equals and (place > 0 or name.strip() in option_names(part)):
            named[name.strip()] = value.strip()
        else:
            unnamed.append(piece)
    main = ",".join(unnamed).strip()
    return (_unnamed(part, main) if main else {}) | named


def _unnamed(part: type[Workload], text: str) -> dict[str, object]:
    # what it cannot do without goes unnamed, parted by `..` where there are two
    names = missing_settings(part, ()) or option_names(part)[:1]
    values = text.split("..") if len(names) > 1 else [text]
    if len(values) != len(names):
        raise SettingError(f"write {' and '.join(names)} as 60/s..420/s, got {text!r}")
    return dict(zip(names, values, strict=True))
