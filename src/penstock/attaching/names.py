"""The names of settings as users of Spark and Flink write them, and what each is called here.

Dots, dashes, underscores and capitals tell names apart no more than they do in a user's memory:

>>> squash("scale-down.max-factor"), squash("minExecutors"), squash("utilisation.target")
('scale_down_max_factor', 'min_executors', 'utilization_target')
>>> known("scale_up.grace-period").name
'scale-down.interval'
>>> known("scale-down.intervall")
Traceback (most recent call last):
...
penstock.core.errors.SettingError: there is no setting 'scale-down.intervall'; \
did you mean 'scale-down.interval'?
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from penstock.attaching import values
from penstock.core.errors import SettingError


@dataclass(frozen=True, slots=True)
class Known:
    """A setting by its one name, and how its value is read."""

    name: str
    read: Callable[[object], object]

    @property
    def field(self) -> str:
        """Its name in Python."""
        return squash(self.name)


SETTINGS: Final = (
    Known("mode", values.mode),
    Known("slo", values.duration),
    Known("step", values.pace),
    Known("min_executors", values.count),
    Known("max_executors", values.count),
    Known("initial_executors", values.count),
    Known("utilization.target", values.share),
    Known("utilization.min", values.share),
    Known("utilization.max", values.share),
    Known("metrics.window", values.duration),
    Known("stabilization.interval", values.duration),
    Known("scale-down.interval", values.or_off(values.duration)),
    Known("scale-up.max-factor", values.factor),
    Known("scale-down.max-factor", values.or_off(values.share)),
    Known("catch-up.duration", values.or_off(values.duration)),
    Known("restart.time", values.duration),
    Known("restart.time-tracking", values.switch),
    Known("scaling.effectiveness.detection.enabled", values.switch),
    Known("scaling.effectiveness.detection.threshold", values.share),
    Known("quota.cpu", values.positive),
    Known("quota.memory", values.memory),
    Known("excluded.periods", values.periods),
    Known("history.max.count", values.count),
    Known("pause", values.switch),
    Known("pause-scale-in", values.switch),
    Known("pause-scale-out", values.switch),
    Known("forecast.model", values.word),
    Known("forecast.horizon", values.duration),
    Known("forecast.season", values.duration),
    Known("forecast.gate", values.positive),
    Known("record", values.path),
    Known("dashboard", values.port),
)
"""All but `policy`, which has settings of its own."""

RENAMED: Final[Mapping[str, str]] = {
    "target_utilization": "utilization.target",
    "scale_up_grace_period": "scale-down.interval",
}
"""What Flink has given another name."""

_ALSO: Final[Mapping[str, str]] = {
    "scaling_effectiveness_threshold": "scaling.effectiveness.detection.threshold",
    "restart_time_tracking_enabled": "restart.time-tracking",
}
_INSTEAD: Final[Mapping[str, str]] = {
    "enabled": "write mode: off, advise or apply",
    "scaling_enabled": "write mode: advise or apply",
    "target_utilization_boundary": "write utilization.min and utilization.max",
    "fallback": "executors are kept as they are while figures are missing",
    "vertex_min_parallelism": "write min_executors",
    "vertex_max_parallelism": "write max_executors",
}


def squash(name: str) -> str:
    """One spelling for all."""
    plain = separated(name)
    return plain.replace("utilisation", "utilization").replace("stabilisation", "stabilization")


def separated(name: str) -> str:
    """The words of a name, as Python joins them.

    >>> separated("maxUtilisation"), separated("scale-in_factor")
    ('max_utilisation', 'scale_in_factor')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[.\-_\s]+", "_", spaced).strip("_").lower()


def known(name: str) -> Known:
    """The setting that a name means, or an error with the nearest that there is."""
    plain = squash(name)
    table = {setting.field: setting for setting in SETTINGS}
    meant = RENAMED.get(plain) or _ALSO.get(plain)
    found = table.get(plain if meant is None else squash(meant))
    if found is not None:
        return found
    if plain in _INSTEAD:
        raise SettingError(f"there is no setting {name!r} here; {_INSTEAD[plain]}")
    spellings = {field: setting.name for field, setting in table.items()} | {"policy": "policy"}
    close = get_close_matches(plain, spellings, n=1)
    listed = ", ".join(sorted(spellings.values()))
    hint = f"did you mean {spellings[close[0]]!r}?" if close else f"there are {listed}"
    raise SettingError(f"there is no setting {name!r}; {hint}")


def flat(given: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Nested settings with dotted names; those of a policy go one level deep.

    >>> dict(flat({"scale-down": {"interval": "5m"}, "policy": {"name": "mpc", "x": {"y": 1}}}))
    {'scale-down.interval': '5m', 'policy.name': 'mpc', 'policy.x': {'y': 1}}
    """
    for key, value in given.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and not above.startswith("policy."):
            yield from flat(value, f"{name}.")
        else:
            yield name, value
