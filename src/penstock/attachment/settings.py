"""What an attachment was told to do: keywords, then a YAML file, then `spark.penstock.*`.

>>> read_settings({"policy": "mpc", "scale_down_interval": "2m"}, {"minExecutors": "3"}).told()
{'policy': 'mpc', 'min_executors': 3, 'scale-down.interval': 120.0}

The names of settings as users of Spark and Flink write them, and what each is called here.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from penstock.core.errors import FileError, SettingError
from penstock.core.located import read
from penstock.core.schema import read as read_value
from penstock.core.settings import near
from penstock.core.signals import Decision, Observation
from penstock.core.units import parse_duration, parse_size
from penstock.guard import DeadBand
from penstock.policy import DEFAULT

# Values of settings as people write them. Each reader refuses what cannot be, in one sentence.


MODES: Final = ("advise", "apply", "off")


def or_off(read: Callable[[object], object]) -> Callable[[object], object]:
    """A reader that takes `off` for an answer.

    >>> or_off(duration)("off"), or_off(duration)("5m")
    (None, 300.0)
    """

    def read_or_off(given: object) -> object:
        switched_off = given is False or str(given).strip().lower() == "off"
        return None if switched_off else read(given)

    return read_or_off


def duration(given: object) -> float:
    """Seconds, above none."""
    seconds = parse_duration(given)
    if not seconds > 0:
        raise SettingError(f"must be above 0s, got {given!r}")
    return seconds


def pace(given: object) -> float:
    """Seconds from look to look, each of which asks Spark a dozen things."""
    seconds = duration(given)
    if seconds < 0.1:
        raise SettingError(f"must be 100ms or more, got {given!r}")
    return seconds


def mode(given: object) -> str:
    """Whether to advise, to act or to stand aside.

    >>> mode("aply")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no mode 'aply'; did you mean 'apply'?
    """
    # YAML of old reads a bare `off` as false
    word = "off" if given is False else str(given).strip().lower()
    if word not in MODES:
        raise SettingError(f"there is no mode {given!r}{near(word, MODES)}")
    return word


def count(given: object) -> int:
    """A whole number from one."""
    number = _number(given, int)
    if number < 1:
        raise SettingError(f"must be a whole number from 1, got {given!r}")
    return int(number)


def positive(given: object) -> float:
    """A number above zero."""
    number = _number(given, float)
    if not 0 < number < float("inf"):
        raise SettingError(f"must be a number above 0, got {given!r}")
    return number


def share(given: object) -> float:
    """A number above zero, at most one.

    >>> share("1.3")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: must be in (0, 1], got '1.3'
    """
    number = _number(given, float)
    if not 0 < number <= 1:
        raise SettingError(f"must be in (0, 1], got {given!r}")
    return number


def factor(given: object) -> float:
    """How many times as many; above zero, as Flink has it: 1 is twice as many."""
    return positive(given)


def switch(given: object) -> bool:
    """On or off."""
    try:
        return bool(read_value(bool, given))
    except SettingError:
        raise SettingError(f"must be true or false, got {given!r}") from None


def memory(given: object) -> float:
    """Bytes, from a size as Spark writes it.

    >>> memory("1g") / 2**20
    1024.0
    """
    return float(parse_size(str(given), "it"))


def periods(given: object) -> tuple[str, ...]:
    """Times of the day, a list or one text with semicolons.

    >>> periods("22:00-06:00; 12:00-13:00")
    ('22:00-06:00', '12:00-13:00')
    """
    parts = given.split(";") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise SettingError(f"must be a list such as [22:00-06:00], got {given!r}")
    return tuple(part.strip() for part in parts if part.strip())


def word(given: object) -> str:
    """A name."""
    if not isinstance(given, str) or not given.strip():
        raise SettingError(f"must be a name, got {given!r}")
    return given.strip()


def path(given: object) -> Path:
    """A folder."""
    if not isinstance(given, str | Path) or not str(given):
        raise SettingError(f"must be the name of a folder, got {given!r}")
    return Path(given)


def port(given: object) -> bool | int:
    """Whether there is a page, or the port of it."""
    try:
        return bool(read_value(bool, given))
    except SettingError:
        pass
    number = _number(given, int)
    if not 0 <= number < 2**16:
        raise SettingError(f"must be true, false or a port from 0 to 65535, got {given!r}")
    return int(number)


def _number(given: object, kind: type) -> float:
    try:
        return float(read_value(kind, given))
    except SettingError:
        what = "a whole number" if kind is int else "a number"
        raise SettingError(f"must be {what}, got {given!r}") from None


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
    Known("mode", mode),
    Known("slo", duration),
    Known("step", pace),
    Known("min_executors", count),
    Known("max_executors", count),
    Known("initial_executors", count),
    Known("utilization.target", share),
    Known("utilization.min", share),
    Known("utilization.max", share),
    Known("metrics.window", duration),
    Known("stabilization.interval", duration),
    Known("scale-down.interval", or_off(duration)),
    Known("scale-up.max-factor", factor),
    Known("scale-down.max-factor", or_off(share)),
    Known("catch-up.duration", or_off(duration)),
    Known("restart.time", duration),
    Known("restart.time-tracking", switch),
    Known("scaling.effectiveness.detection.enabled", switch),
    Known("scaling.effectiveness.detection.threshold", share),
    Known("quota.cpu", positive),
    Known("quota.memory", memory),
    Known("excluded.periods", periods),
    Known("history.max.count", count),
    Known("pause", switch),
    Known("pause-scale-in", switch),
    Known("pause-scale-out", switch),
    Known("forecast.model", word),
    Known("forecast.horizon", duration),
    Known("forecast.season", duration),
    Known("forecast.gate", positive),
    Known("record", path),
    Known("dashboard", port),
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


PREFIX: Final = "spark.penstock."
_BAND: Final = (DeadBand.low, DeadBand.high)
"""What stands for the one of `utilization.min` and `utilization.max` that is not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, durations in seconds. None leaves a guard or an aim out."""

    policy: str | Callable[[Observation], Decision] = DEFAULT
    options: Mapping[str, object] = field(default_factory=dict)
    """Of the policy."""
    mode: str = "advise"
    slo: float | None = None
    """Seconds that the 95th percentile of the latency may reach."""
    step: float = 10.0
    min_executors: int = 1
    max_executors: int = 20
    initial_executors: int | None = None
    utilization_target: float | None = None
    utilization_min: float | None = None
    utilization_max: float | None = None
    metrics_window: float = 300.0
    stabilization_interval: float | None = None
    scale_down_interval: float | None = 300.0
    scale_up_max_factor: float | None = None
    scale_down_max_factor: float | None = 0.6
    catch_up_duration: float | None = 600.0
    restart_time: float | None = None
    restart_time_tracking: bool = True
    scaling_effectiveness_detection_enabled: bool = False
    scaling_effectiveness_detection_threshold: float = 0.1
    quota_cpu: float | None = None
    quota_memory: float | None = None
    """Bytes."""
    excluded_periods: tuple[str, ...] = ()
    history_max_count: int = 360
    pause: bool = False
    pause_scale_in: bool = False
    pause_scale_out: bool = False
    forecast_model: str | None = None
    forecast_horizon: float | None = None
    forecast_season: float | None = None
    forecast_gate: float | None = None
    record: Path | None = None
    dashboard: bool | int = False
    given: frozenset[str] = frozenset()
    """Fields that somebody set."""
    notes: tuple[str, ...] = ()
    """What to say about how they were written."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        low, high, first = self.min_executors, self.max_executors, self.initial_executors
        if low > high:
            raise SettingError(
                f"min_executors must not be above max_executors, got {low} and {high}"
            )
        if first is not None and not low <= first <= high:
            raise SettingError(
                f"initial_executors must be between min_executors and max_executors, "
                f"got {first} and {low} to {high}"
            )
        least, most = self.utilization_min, self.utilization_max
        if (least or _BAND[0]) >= (most or _BAND[1]) and (least or most):
            raise SettingError(
                f"utilization.min must be below utilization.max, "
                f"got {least or _BAND[0]:g} and {most or _BAND[1]:g}; give both"
            )
        if self.metrics_window < self.step:
            raise SettingError(
                f"metrics.window must not be shorter than step, "
                f"got {self.metrics_window:g}s and {self.step:g}s"
            )

    @property
    def policy_name(self) -> str:
        """What the policy is called."""
        if isinstance(self.policy, str):
            return self.policy
        return str(getattr(self.policy, "__name__", type(self.policy).__name__))

    def told(self) -> dict[str, Any]:
        """The settings that somebody set, by their names."""
        named = {setting.field: setting.name for setting in SETTINGS}
        shown = {"policy": self.policy_name, **{f"policy.{k}": v for k, v in self.options.items()}}
        values = {
            named[f.name]: getattr(self, f.name)
            for f in fields(self)
            if f.name in self.given and f.name in named
        }
        return shown | {k: str(v) if isinstance(v, Path) else v for k, v in values.items()}


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place, each with the name that it had there."""

    values: Mapping[str, object]
    options: Mapping[str, object]
    """Of the policy."""
    notes: tuple[str, ...] = ()

    def over(self, below: "Layer") -> "Layer":
        """Both, where this one wins; another policy leaves the options of the first behind."""
        inherits = "policy" not in self.values
        options = {**(below.options if inherits else {}), **self.options}
        return Layer({**below.values, **self.values}, options, tuple({*below.notes, *self.notes}))


def read_settings(keywords: Mapping[str, object], conf: Mapping[str, str]) -> Settings:
    """Settings by keyword, `config` naming a file among them, and by Spark's conf without prefix.

    >>> read_settings({"step": 30}, {})
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: step: a duration needs a unit, got 30; \
write 30s, 30ms or 30m
    """
    given = {name: value for name, value in keywords.items() if value is not None}
    file = given.pop("config", None) or conf.get("config")
    below = layer({k: v for k, v in conf.items() if k != "config"}, where=PREFIX)
    merged = layer(given).over(layer(*read_file(file)).over(below) if file else below)
    return Settings(
        **merged.values,  # type: ignore[arg-type]  # each was read by its own reader
        options=merged.options,
        given=frozenset(merged.values),
        notes=merged.notes,
    )


def read_file(path: object) -> tuple[Mapping[str, object], str, str]:
    """A YAML file of settings, and what to call its values in messages."""
    if not isinstance(path, str | Path):
        raise SettingError(f"config must be the name of a YAML file, got {path!r}")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise FileError(f"cannot read the settings in {path}: {why}") from None
    draft = read(text, name=str(path))
    if draft.mistakes:
        raise SettingError(str(draft.mistakes[0]))
    if not isinstance(draft.value, dict):
        raise SettingError(f"{path} must hold settings such as `mode: advise`")
    return draft.value, "", f" in {path}"


def layer(given: Mapping[str, object], where: str = "", after: str = "") -> Layer:
    """What one place says; messages call a setting `where` + name + `after`."""
    values: dict[str, object] = {}
    options: dict[str, object] = {}
    notes: list[str] = []
    for name, value in flat(given):
        told = f"{where}{name}{after}"
        plain = squash(name)
        if plain in ("policy", "policy_name"):
            _put(values, "policy", _policy(value, told), told)
        elif plain.startswith("policy_"):
            _put(options, _option(name), value, told)
        else:
            setting = _known(name, where, after)
            _put(values, setting.field, _read(setting, value, told), told)
            if plain in RENAMED:
                notes.append(f"{told} is called {setting.name} now; it was taken for that")
    return Layer(values, options, tuple(notes))


def _known(name: str, where: str, after: str) -> Known:
    try:
        return known(name)
    except SettingError as error:
        told = str(error).replace(repr(name), repr(f"{where}{name}"), 1)
        raise SettingError(f"{told.replace(';', f'{after};', 1)}") from None


def _read(setting: Known, value: object, told: str) -> object:
    try:
        return setting.read(value)
    except SettingError as error:
        joint = " " if str(error).startswith("must") else ": "
        raise SettingError(f"{told}{joint}{error}") from None


def _policy(value: object, told: str) -> object:
    if isinstance(value, type):
        raise SettingError(f"{told} must be a name or an instance, such as {value.__name__}()")
    if not isinstance(value, str) and not callable(value):
        raise SettingError(f"{told} must be the name of a policy or a callable, got {value!r}")
    return value


def _option(name: str) -> str:
    """The option's own spelling: names in files have dashes, those in Python underscores."""
    return separated(re.sub(r"^policy[._-]", "", name))


def _put(table: dict[str, object], key: str, value: object, told: str) -> None:
    if key in table:
        raise SettingError(f"{told} is set twice under different spellings; leave one out")
    table[key] = value


def from_conf(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The settings in Spark's conf, without their prefix.

    >>> from_conf([("spark.penstock.minExecutors", "2"), ("spark.app.name", "x")])
    {'minExecutors': '2'}
    """
    return {key.removeprefix(PREFIX): v for key, v in entries if key.startswith(PREFIX)}
