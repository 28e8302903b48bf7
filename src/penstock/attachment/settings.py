"""Settings of an attachment: keywords, then a YAML file, then `spark.penstock.*`.

Each is declared once, as a field of `Settings`: its names, type, unit, bounds and default.

>>> given = {"policy": "mpc", "scale_down_interval": "2m"}
>>> read_settings(given, {"minExecutors": "3"}).given_by_name()
{'policy': 'mpc', 'min_executors': 3, 'scale-down.interval': 120.0}

Names are those of Flink's autoscaler. Dots, dashes, underscores and capitals make no
difference:

>>> squash("scale-down.max-factor"), squash("minExecutors"), squash("utilisation.target")
('scale_down_max_factor', 'min_executors', 'utilization_target')
>>> known("scale_up.grace-period")[0].outer
'scale-down.interval'
>>> known("scale-down.intervall")
Traceback (most recent call last):
...
penstock.core.errors.SettingError: there is no setting 'scale-down.intervall'; \
did you mean 'scale-down.interval'?
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Final

from penstock.core.errors import FileError, SettingError
from penstock.core.located import Draft
from penstock.core.located import read as read_yaml
from penstock.core.schema import (
    As,
    Bounds,
    Bytes,
    Count,
    OneOf,
    Port,
    Positive,
    PositiveSeconds,
    Seconds,
    Share,
    Written,
)
from penstock.core.schema import read as read_value
from penstock.core.settings import Setting, settings_of
from penstock.core.signals import Decision, Observation
from penstock.guard import DeadBand
from penstock.policy import DEFAULT

MODES: Final = ("advise", "apply", "off")


@dataclass(frozen=True, slots=True)
class Named(As):
    """The names of a setting, where they are not that of its field."""

    was: tuple[str, ...] = ()
    """Names that Flink has given up; they are taken, with a note about the new one."""
    also: tuple[str, ...] = ()
    """Further names."""
    off: bool = False
    """Whether `off` is a value: then there is none."""


Keys = tuple[str, ...]
INTERNAL: Final = object()
"""Marks a field that is no setting."""


def _mode(given: object) -> str:
    # YAML of old reads a bare `off` as false
    return "off" if given is False else str(given).strip().lower()


def _periods(given: object) -> tuple[str, ...]:
    """Times of the day, a list or one text with semicolons.

    >>> _periods("22:00-06:00; 12:00-13:00")
    ('22:00-06:00', '12:00-13:00')
    """
    parts = given.split(";") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise SettingError(f"it must be a list such as [22:00-06:00], got {given!r}")
    return tuple(part.strip() for part in parts if part.strip())


def _folder(given: object) -> Path:
    if not isinstance(given, str | Path) or not str(given):
        raise SettingError(f"it must be the name of a folder, got {given!r}")
    return Path(given)


def _page(given: object) -> object:
    """Whether there is a page, or its port."""
    for kind in (bool, Port):
        try:
            return read_value(kind, given)
        except SettingError:
            continue
    raise SettingError(f"it must be true, false or a port from 0 to 65535, got {given!r}")


Mode = Annotated[str, Written("advise, apply or off", _mode), OneOf(MODES)]
Periods = Annotated[tuple[str, ...], Written("times such as 22:00-06:00 or Sat,Sun", _periods)]
Folder = Annotated[Path, Written("a folder", _folder)]
Page = Annotated[bool | int, Written("true, false or a port", _page)]
Pace = Annotated[Seconds, Bounds(least=0.1)]

PREFIX: Final = "spark.penstock."
_BAND: Final = (DeadBand.low, DeadBand.high)
"""What stands for the one of `utilization.min` and `utilization.max` that is not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, durations in seconds. None leaves a guard or an aim out."""

    mode: Mode = "advise"
    """What is done with decisions, as above."""
    policy: str | Callable[[Observation], Decision] = DEFAULT
    """A policy by name or as `package.module:name` ([Extend Penstock](extend.md)), with settings as
    `policy: {name: …, …}` or `spark.penstock.policy.<setting>`; in Python also any callable from
    `Observation` to `Decision`."""
    slo: PositiveSeconds | None = None
    """Latency that 95 % of the rows should keep: for policies that take one, and the recording."""
    step: Pace = 10.0
    """Time between two decisions; each asks Spark a dozen things."""
    min_executors: Count = 1
    """Fewest executors, whatever is decided (guard `clamp`)."""
    max_executors: Count = 20
    """Most executors, whatever is decided (guard `clamp`)."""
    initial_executors: Count | None = None
    """Asked for at once, in mode `apply`; as they are unless given."""
    utilization_target: Annotated[
        Share | None, Named("utilization.target", was=("target.utilization",))
    ] = None
    """The busy share that a policy aims at: `max_utilisation` of `latency`, `threshold` and
    `rules`, `headroom` of `mpc`, and what others call it; the policy's unless given."""
    utilization_min: Annotated[Share | None, Named("utilization.min")] = None
    """No change while the busy share is between this and `utilization.max` (guard `dead-band`); 0.5
    where only the other is given."""
    utilization_max: Annotated[Share | None, Named("utilization.max")] = None
    """No change between `utilization.min` and this (guard `dead-band`); 0.85 where only the other
    is given."""
    metrics_window: Annotated[PositiveSeconds, Named("metrics.window")] = 300.0
    """How long the last report of a query stands in for what it does not report; after that,
    executors are held."""
    stabilization_interval: Annotated[PositiveSeconds | None, Named("stabilization.interval")] = (
        None
    )
    """Rest after a change (guard `cooldown`)."""
    scale_down_interval: Annotated[
        PositiveSeconds | None,
        Named("scale-down.interval", was=("scale-up.grace-period",), off=True),
    ] = 300.0
    """Shrink only to the most that was recommended in this time (guard `scale-down`)."""
    scale_up_max_factor: Annotated[Positive | None, Named("scale-up.max-factor")] = None
    """Largest share more in one step, 1 doubles (guard `step-factor`)."""
    scale_down_max_factor: Annotated[Share | None, Named("scale-down.max-factor", off=True)] = 0.6
    """Largest share fewer in one step (guard `step-factor`)."""
    catch_up_duration: Annotated[PositiveSeconds | None, Named("catch-up.duration", off=True)] = (
        600.0
    )
    """Enough executors to work off what waits in this time (guard `catch-up`), where sources report
    their backlog."""
    restart_time: Annotated[PositiveSeconds | None, Named("restart.time")] = None
    """What a change of executors is taken to cost until one was measured (guard `catch-up`); 10s
    unless given."""
    restart_time_tracking: Annotated[
        bool, Named("restart.time-tracking", also=("restart.time-tracking.enabled",))
    ] = True
    """Always on: the cost of a change is learned."""
    scaling_effectiveness_detection_enabled: Annotated[
        bool, Named("scaling.effectiveness.detection.enabled")
    ] = False
    """Take back a growth that did not help (guard `effectiveness`), where sources report their
    backlog."""
    scaling_effectiveness_detection_threshold: Annotated[
        Share,
        Named(
            "scaling.effectiveness.detection.threshold", also=("scaling.effectiveness.threshold",)
        ),
    ] = 0.1
    """Share of the expected gain below which a growth did not help."""
    quota_cpu: Annotated[Positive | None, Named("quota.cpu")] = None
    """Most cores of all executors (guard `quota`)."""
    quota_memory: Annotated[Bytes | None, Named("quota.memory")] = None
    """Most memory of all executors (guard `quota`), such as `16g`."""
    excluded_periods: Annotated[Periods, Named("excluded.periods")] = ()
    """Times in which nothing changes, such as `22:00-06:00` or `Sat,Sun` (guard
    `excluded-periods`)."""
    pause: bool = False
    """No change at all (guard `pause`)."""
    pause_scale_in: Annotated[bool, Named("pause-scale-in")] = False
    """No executor fewer (guard `pause`)."""
    pause_scale_out: Annotated[bool, Named("pause-scale-out")] = False
    """No executor more (guard `pause`)."""
    forecast_model: Annotated[str | None, Named("forecast.model")] = None
    """Forecaster of policies that forecast, such as `mpc`; the policy's unless given."""
    forecast_horizon: Annotated[PositiveSeconds | None, Named("forecast.horizon")] = None
    """How far it looks; the policy's unless given."""
    forecast_season: Annotated[PositiveSeconds | None, Named("forecast.season")] = None
    """Time after which the load repeats."""
    forecast_gate: Annotated[Positive | None, Named("forecast.gate")] = None
    """Error above which a forecast is not used."""
    history_max_count: Annotated[Count, Named("history.max.count")] = 360
    """Turns of the loop kept in `.ticks`."""
    record: Folder | None = None
    """A run folder for `penstock report`, `serve` and `fit`; a finished run in it is replaced. It
    grows by some 20 MB a day at a `step` of `10s`, and by the progress events of the queries."""
    dashboard: Page = False
    """The page of `penstock serve` on loopback; true for any port. `.status()` has its address."""
    options: Annotated[Mapping[str, object], INTERNAL] = field(default_factory=dict)
    """Of the policy."""
    given: Annotated[frozenset[str], INTERNAL] = frozenset()
    """Fields that were set."""
    notes: Annotated[tuple[str, ...], INTERNAL] = ()
    """What to say about how they were written."""

    def __post_init__(self) -> None:
        raise_all(why for _, why in contradictions(self))

    @property
    def policy_name(self) -> str:
        """What the policy is called."""
        if isinstance(self.policy, str):
            return self.policy
        return str(getattr(self.policy, "__name__", type(self.policy).__name__))

    def given_by_name(self) -> dict[str, Any]:
        """The settings that were given, by their names."""
        named = {name: names.name for name, (_, names) in declared().items()}
        shown = {"policy": self.policy_name, **{f"policy.{k}": v for k, v in self.options.items()}}
        values = {
            named[f.name]: getattr(self, f.name)
            for f in fields(self)
            if f.name in self.given and f.name in named
        }
        return shown | {k: str(v) if isinstance(v, Path) else v for k, v in values.items()}


def contradictions(given: Any) -> Iterator[tuple[set[str], str]]:
    """Fields whose values contradict one another, and a sentence about them."""
    low, high, first = given.min_executors, given.max_executors, given.initial_executors
    bounds = {"min_executors", "max_executors"}
    if low > high:
        yield bounds, f"min_executors must not be above max_executors, got {low} and {high}"
    elif first is not None and not low <= first <= high:
        yield (
            {*bounds, "initial_executors"},
            f"initial_executors must be between min_executors and max_executors, "
            f"got {first} and {low} to {high}",
        )
    least, most = given.utilization_min, given.utilization_max
    if (least or _BAND[0]) >= (most or _BAND[1]) and (least or most):
        yield (
            {"utilization_min", "utilization_max"},
            f"utilization.min must be below utilization.max, "
            f"got {least or _BAND[0]:g} and {most or _BAND[1]:g}; give both",
        )
    if given.metrics_window < given.step:
        yield (
            {"metrics_window", "step"},
            f"metrics.window must not be shorter than step, "
            f"got {given.metrics_window:g}s and {given.step:g}s",
        )


def raise_all(sentences: Iterable[str]) -> None:
    """Raise one error with a line for each mistake, where there is any."""
    lines = list(dict.fromkeys(sentences))
    if lines:
        raise SettingError("\n".join(lines))


@cache
def declared() -> dict[str, tuple[Setting, Named]]:
    """All settings but `policy`, which has settings of its own, each with its names."""
    found = {}
    for setting in settings_of(Settings):
        extras = getattr(setting.hint, "__metadata__", ())
        if setting.name != "policy" and INTERNAL not in extras:
            named = next((one for one in extras if isinstance(one, Named)), Named(setting.name))
            found[setting.name] = setting, named
    return found


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


def known(name: str, where: str = "") -> tuple[Setting, Named]:
    """The setting that a name means, or an error with the nearest that there is."""
    plain, missing = squash(name), f"there is no setting {where + name!r}"
    for setting, named in declared().values():
        if plain in map(squash, (named.name, *named.was, *named.also)):
            return setting, named
    if plain in _INSTEAD:
        raise SettingError(f"{missing} here; {_INSTEAD[plain]}")
    spellings = {name: names.name for name, (_, names) in declared().items()}
    spellings["policy"] = "policy"
    close = get_close_matches(plain, spellings, n=1)
    listed = ", ".join(sorted(spellings.values()))
    hint = f"did you mean {spellings[close[0]]!r}?" if close else f"there are {listed}"
    raise SettingError(f"{missing}; {hint}")


def flat(given: Mapping[str, object], above: Keys = ()) -> Iterator[tuple[Keys, object]]:
    """Nested settings with the keys that lead to each; those of a policy go one level deep.

    >>> dict(flat({"scale-down": {"interval": "5m"}, "policy": {"name": "mpc", "x": {"y": 1}}}))
    {('scale-down', 'interval'): '5m', ('policy', 'name'): 'mpc', ('policy', 'x'): {'y': 1}}
    """
    for key, value in given.items():
        if isinstance(value, Mapping) and above != ("policy",):
            yield from flat(value, (*above, key))
        else:
            yield (*above, key), value


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place, each with the name that it had there."""

    values: Mapping[str, object]
    options: Mapping[str, object]
    """Of the policy."""
    notes: tuple[str, ...] = ()
    mistakes: tuple[tuple[str | None, str], ...] = ()
    """The field of each that is wrong, where one is meant, and a sentence about it."""

    def over(self, below: "Layer") -> "Layer":
        """Both, where this one wins; another policy leaves the options of the first behind."""
        inherits = "policy" not in self.values
        options = {**(below.options if inherits else {}), **self.options}
        return Layer(
            {**below.values, **self.values},
            options,
            tuple({*below.notes, *self.notes}),
            (*below.mistakes, *self.mistakes),
        )


def read_settings(keywords: Mapping[str, object], conf: Mapping[str, str]) -> Settings:
    """Settings by keyword, `config` naming a file among them, and by Spark's conf without prefix.

    >>> read_settings({"step": 30, "mod": "off"}, {})
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: step needs a unit, got 30; write 30s, 30ms or 30m
    there is no setting 'mod'; did you mean 'mode'?
    """
    return read_with(keywords, conf)[0]


def read_with(
    keywords: Mapping[str, object], conf: Mapping[str, str], *rules: Callable[[Settings], Any]
) -> tuple[Settings, list[Any]]:
    """The settings, and what further rules make of them.

    All mistakes are raised at once. Of settings that are wrong, the rules see the default; what
    they say about these (`fields`) is left out.
    """
    merged = _merged(keywords, conf)
    wrong = {name for name, _ in merged.mistakes if name is not None}
    right = {name: value for name, value in merged.values.items() if name not in wrong}
    whole = SimpleNamespace(**{f.name: right.get(f.name, f.default) for f in fields(Settings)})
    clashes = list(contradictions(whole))
    mistakes = [why for _, why in merged.mistakes]
    mistakes += [why for names, why in clashes if not names & wrong]
    wrong = wrong.union(*(names for names, _ in clashes))
    settings = Settings(
        **{name: value for name, value in right.items() if name not in wrong},  # type: ignore[arg-type]  # each was read by its own reader
        options=merged.options,
        given=frozenset(right.keys() - wrong),
        notes=merged.notes,
    )
    results = []
    for rule in rules:
        try:
            results.append(rule(settings))
        except SettingError as error:
            mistakes += [str(e) for e in (error, *error.also) if not wrong.intersection(e.fields)]
    raise_all(mistakes)
    return settings, results


def _merged(keywords: Mapping[str, object], conf: Mapping[str, str]) -> Layer:
    """Keywords, then the file, then Spark's conf."""
    given = {name: value for name, value in keywords.items() if value is not None}
    file = given.pop("config", None) or conf.get("config")
    below = layer({k: v for k, v in conf.items() if k != "config"}, where=PREFIX)
    return layer(given).over(read_file(file).over(below) if file else below)


def read_file(path: object) -> Layer:
    """The settings in a YAML file, and every mistake in it with its line."""
    if not isinstance(path, str | Path):
        raise SettingError(f"config must be the name of a YAML file, got {path!r}")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise FileError(f"cannot read the settings in {path}: {why}") from None
    draft = read_yaml(text, name=str(path))
    if not isinstance(draft.value, dict):
        raise SettingError(f"{path} must hold settings such as `mode: advise`")
    own = layer(draft.value, draft=draft)
    return replace(own, mistakes=(*((None, str(one)) for one in draft.mistakes), *own.mistakes))


def layer(given: Mapping[str, object], where: str = "", draft: Draft | None = None) -> Layer:
    """What one place says; messages begin with the line of a draft, or with `where` and a name."""
    values: dict[str, object] = {}
    options: dict[str, object] = {}
    notes: list[str] = []
    mistakes: list[tuple[str | None, str]] = []
    for keys, value in flat(given):
        name = ".".join(keys)
        line, label, plain = f"{draft.place(keys)}: " if draft else "", where + name, squash(name)
        field_name = "policy" if plain in ("policy", "policy_name") else None
        try:
            if field_name is not None:
                _put(values, field_name, _policy(value, label), label)
            elif plain.startswith("policy_"):
                _put(options, _option(name), value, label)
            else:
                setting, named = known(name, where)
                field_name = setting.name
                off = named.off and (value is False or str(value).strip().lower() == "off")
                read = None if off else read_value(setting.hint, value, what=label)
                _put(values, field_name, read, label)
                if plain in map(squash, named.was):
                    renamed = f"{label} is called {named.name} now; it was taken for that"
                    notes.append(f"{line}{renamed}")
        except SettingError as error:
            mistakes.append((field_name, f"{line}{error}"))
    return Layer(values, options, tuple(notes), tuple(mistakes))


def _policy(value: object, label: str) -> object:
    if isinstance(value, type):
        raise SettingError(f"{label} must be a name or an instance, such as {value.__name__}()")
    if not isinstance(value, str) and not callable(value):
        raise SettingError(f"{label} must be the name of a policy or a callable, got {value!r}")
    return value


def _option(name: str) -> str:
    """The option's own spelling: names in files have dashes, those in Python underscores."""
    return separated(re.sub(r"^policy[._-]", "", name))


def _put(table: dict[str, object], key: str, value: object, label: str) -> None:
    if key in table:
        raise SettingError(f"{label} is set twice under different spellings; leave one out")
    table[key] = value


def from_conf(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The settings in Spark's conf, without their prefix.

    >>> from_conf([("spark.penstock.minExecutors", "2"), ("spark.app.name", "x")])
    {'minExecutors': '2'}
    """
    return {key.removeprefix(PREFIX): v for key, v in entries if key.startswith(PREFIX)}
