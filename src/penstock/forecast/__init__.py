"""What will come, predicted from what came.

| kind | settings | predicts |
|---|---|---|
| `last` | | the newest value, again |
| `moving-average` | `window` 10 | the mean of the newest few |
| `ewma` | `alpha` 0.5 | an average that forgets |
| `holt` | `a` 0.67, `b` 0.26 | a level and a trend |
| `holt-winters` | `a`, `b`, `c` 0.5, `period`, `season` additive | and what repeats |
| `trusted` | `forecaster` holt, `tolerance` 0.25, `window` 10, `trial` 3, `floor` 0.9 | what \
another does while that comes true, else the newest value |

Forecasters know of no bounds: a trend may lead below zero. `trusted` does not go there, and a rate
that is predicted without it should be taken as zero or more. `Accuracy` measures how far off any
of them was recently.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.core.plugins import Registry, having
from penstock.core.roles import Forecaster
from penstock.core.settings import build, choose, option_names
from penstock.forecast.averages import Ewma, Last, MovingAverage
from penstock.forecast.trends import Holt, HoltWinters
from penstock.forecast.trusted import Accuracy, Trusted

__all__ = [
    "FORECASTERS",
    "Accuracy",
    "Ewma",
    "Holt",
    "HoltWinters",
    "Last",
    "MovingAverage",
    "Trusted",
    "build_forecaster",
    "make",
]

FORECASTERS: Final[Registry[type[Forecaster]]] = Registry(
    "forecaster",
    group="penstock.forecasters",
    built_in={
        "last": "penstock.forecast.averages:Last",
        "moving-average": "penstock.forecast.averages:MovingAverage",
        "ewma": "penstock.forecast.averages:Ewma",
        "holt": "penstock.forecast.trends:Holt",
        "holt-winters": "penstock.forecast.trends:HoltWinters",
        "trusted": "penstock.forecast.trusted:Trusted",
    },
    adapt=having("update", "forecast"),
)

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def make(name: str, settings: Mapping[str, object] = _NOTHING, /) -> Forecaster:
    """A forecaster from its name and settings as people write them.

    >>> make("holt", {"a": 1, "b": 0.015})
    Holt(a=1.0, b=0.015)

    The one that is to be trusted is a forecaster, its name, or its name with settings:

    >>> make("trusted", {"forecaster": {"moving-average": {"window": 5}}}).forecaster
    MovingAverage(window=5)
    """
    kind, of = choose(FORECASTERS, name, of="forecaster"), f"forecaster {name}"
    given = dict(settings)
    if "forecaster" in given and "forecaster" in option_names(kind):
        inner: Any = given["forecaster"]
        given["forecaster"] = build_forecaster(inner, of=of)
    return build(kind, given, of=of)


def build_forecaster(
    given: Forecaster | str | Mapping[str, object], *, of: str, trust: bool = False
) -> Forecaster:
    """The forecaster of a policy, by name or by name with settings; on trial where `trust` says so.

    >>> build_forecaster({"holt": {"a": 1, "b": 0.015}}, trust=False, of="policy mpc")
    Holt(a=1.0, b=0.015)
    """
    if isinstance(given, Forecaster):
        return given
    named = {given: None} if isinstance(given, str) else given
    if not isinstance(named, Mapping) or len(named) != 1:
        raise SettingError(
            f"forecaster of {of} must be a name, alone or with settings as in "
            f"{{holt: {{a: 1}}}}, got {given!r}"
        )
    ((name, settings),) = named.items()
    if not (settings is None or isinstance(settings, Mapping)):
        raise SettingError(
            f"settings of forecaster {name} must be written as {{a: 1}}, got {settings!r}"
        )
    made = make(str(name), settings or {})
    return Trusted(made) if trust and not isinstance(made, Trusted) else made
