"""What an attachment was told to do: keywords, then a YAML file, then `spark.penstock.*`.

>>> read_settings({"policy": "mpc", "scale_down_interval": "2m"}, {"minExecutors": "3"}).told()
{'policy': 'mpc', 'min_executors': 3, 'scale-down.interval': 120.0}
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from penstock.attaching.names import RENAMED, SETTINGS, Known, flat, known, separated, squash
from penstock.core.errors import FileError, SettingError
from penstock.core.signals import Decision, Observation
from penstock.guard import DeadBand
from penstock.pipeline.located import read
from penstock.policy import DEFAULT

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
