"""The policy that decides for an application, inside the guards that its settings ask for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from inspect import signature
from math import ceil
from typing import Any, Final

from penstock.attachment.errors import APPLICATION, CheckedPolicy
from penstock.attachment.settings import Settings
from penstock.core.errors import SettingError, UserError, describe
from penstock.core.graph import FlowGraph, Module
from penstock.core.plugins import is_ours
from penstock.core.roles import Policy
from penstock.core.settings import build, choose, option_names, taken
from penstock.guard import CatchUp, safe
from penstock.policy import POLICIES

_AIMS: Final = ("utilisation_target", "max_utilisation", "target", "headroom")
"""What policies call the busy share that they aim at."""
_FOR_SEVERAL: Final = ("allocation", "fair", "fifo", "fuzzy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Of one executor."""

    cores: int = 1
    memory: float | None = None
    """Bytes."""


def graph_of(settings: Settings) -> FlowGraph:
    """The application as a graph of one module."""
    low, high = settings.min_executors, settings.max_executors
    first = settings.initial_executors or low
    module = Module(name=APPLICATION, min_replicas=low, max_replicas=high, initial_replicas=first)
    return FlowGraph(source=APPLICATION, modules=(module,))


def build_policy(settings: Settings) -> Policy:
    """The policy itself, without guards.

    >>> build_policy(Settings(policy="threshold", utilization_target=0.6)).max_utilisation
    0.6
    >>> build_policy(Settings(policy="static", utilization_target=0.6))
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: utilization.target has no effect on policy static, which \
aims at no utilisation; leave it out or choose another policy
    """
    if not isinstance(settings.policy, str):
        _check_callable(settings)
        return _foreign(settings.policy, settings.policy_name)
    kind = choose(POLICIES, settings.policy, of="policy")
    name = settings.policy if ":" in settings.policy else settings.policy.replace("_", "-")
    if name in _FOR_SEVERAL or getattr(kind, "needs_prices", False):
        raise SettingError(
            f"policy {name} divides executors among several modules, and an attached application "
            "is one; choose latency, threshold or another"
        )
    ours = {**_aims(settings, kind), **_foresight(settings, kind)}
    if twice := [option for option in ours if option in settings.options]:
        known = "utilization.target" if twice[0] in _AIMS else "forecast"
        raise SettingError(
            f"policy.{twice[0]} of policy {settings.policy_name} is set twice, as {known} too; "
            "leave one out"
        )
    given = {**settings.options, **ours}
    fixed = taken(kind, {"graph": graph_of(settings), "slo": settings.slo})
    try:
        made = build(kind, given, of=f"policy {name}", **fixed)
    except (Exception, SystemExit) as error:
        if is_ours(kind) or isinstance(error, UserError):
            raise
        raise SettingError(f"policy {name} cannot be made: {describe(error)}") from error
    return made if is_ours(kind) else _foreign(made, name)


def _foreign(policy: Any, name: str) -> Policy:
    """A policy of the user's, whose decisions are checked; one that cannot be called is refused.

    >>> _foreign(lambda one, two: None, "mine")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: policy mine must take one argument, the observation; it \
takes (one, two)
    """
    if not callable(policy):
        raise SettingError(f"policy {name} must be a callable, got {policy!r}")
    try:
        parameters = signature(policy)
    except (TypeError, ValueError):  # written in C
        return CheckedPolicy(policy)
    try:
        parameters.bind(object())
    except TypeError:
        raise SettingError(
            f"policy {name} must take one argument, the observation; it takes {parameters}"
        ) from None
    return CheckedPolicy(policy)


def guard(policy: Policy, settings: Settings, *, began: datetime, size: Size) -> Policy:
    """The policy inside the guards that users expect."""
    threshold = settings.scaling_effectiveness_detection_threshold
    guarded = safe(
        policy,
        low=settings.min_executors,
        high=settings.max_executors,
        utilization_min=settings.utilization_min,
        utilization_max=settings.utilization_max,
        catch_up=settings.catch_up_duration,
        scale_down_interval=settings.scale_down_interval,
        scale_up_max_factor=settings.scale_up_max_factor,
        scale_down_max_factor=settings.scale_down_max_factor,
        quota_cpu=settings.quota_cpu,
        quota_memory=settings.quota_memory,
        executor_cores=size.cores,
        executor_memory=size.memory,
        excluded_periods=settings.excluded_periods,
        began=began,
        pause_out=settings.pause or settings.pause_scale_out,
        pause_in=settings.pause or settings.pause_scale_in,
        effectiveness=threshold if settings.scaling_effectiveness_detection_enabled else None,
        stabilization=settings.stabilization_interval,
    )
    _set_restart_time(guarded, settings)
    return guarded


def check_effect(settings: Settings) -> None:
    """Refuse settings that would have no effect beside the others."""
    errors = tuple(_without_effect(settings))
    if errors:
        raise SettingError(str(errors[0]), fields=errors[0].fields, also=errors[1:])


def _without_effect(settings: Settings) -> Iterator[SettingError]:
    if not settings.restart_time_tracking:
        yield SettingError(
            "restart.time-tracking cannot be switched off: the time that executors take to come is "
            "always learned; leave it out"
        )
    detects = settings.scaling_effectiveness_detection_enabled
    if not detects and "scaling_effectiveness_detection_threshold" in settings.given:
        yield SettingError(
            "scaling.effectiveness.detection.threshold has no effect while "
            "scaling.effectiveness.detection.enabled is false; set that to true",
            fields=("scaling_effectiveness_detection_enabled",),
        )
    if settings.initial_executors is not None and settings.mode == "advise":
        why = "initial_executors has no effect in mode advise; leave it out"
        yield SettingError(why, fields=("mode",))


def _check_callable(settings: Settings) -> None:
    """A policy that was built already takes nothing from settings."""
    meant = [f"policy.{name}" for name in settings.options]
    named = {"utilization_target": "utilization.target"} | {
        f"forecast_{part}": f"forecast.{part}" for part in ("model", "horizon", "season", "gate")
    }
    lost = [*meant, *(name for field, name in named.items() if field in settings.given)]
    if lost:
        raise SettingError(
            f"{lost[0]} has no effect on a policy that is given as an object; set it there"
        )


def _aims(settings: Settings, kind: type[Any]) -> dict[str, object]:
    if settings.utilization_target is None:
        return {}
    known = [name for name in _AIMS if name in option_names(kind)]
    if not known:
        raise SettingError(
            f"utilization.target has no effect on policy {settings.policy_name}, which aims at no "
            "utilisation; leave it out or choose another policy"
        )
    return {known[0]: settings.utilization_target}


def _foresight(settings: Settings, kind: type[Any]) -> dict[str, object]:
    """`forecast` in the words of policies that foresee."""
    given = [name for name in settings.given if name.startswith("forecast_")]
    if not given:
        return {}
    if "forecaster" not in option_names(kind):
        raise SettingError(
            f"forecast has no effect on policy {settings.policy_name}, which foresees nothing; "
            "choose mpc, or leave it out"
        )
    model = settings.forecast_model or "holt-winters"
    chosen: dict[str, object] = {}
    if settings.forecast_season is not None:
        chosen["period"] = max(round(settings.forecast_season / settings.step), 2)
    forecaster: Mapping[str, object] = {model: chosen}
    if settings.forecast_gate is not None:
        forecaster = {"trusted": {"forecaster": forecaster, "tolerance": settings.forecast_gate}}
    horizon = settings.forecast_horizon
    if horizon is not None and "horizon" not in option_names(kind):
        raise SettingError(
            f"forecast.horizon has no effect on policy {settings.policy_name}, which looks one "
            "step ahead; leave it out"
        )
    ahead = {} if horizon is None else {"horizon": max(ceil(horizon / settings.step), 1)}
    return {"forecaster": forecaster, **ahead}


def _set_restart_time(guarded: Policy, settings: Settings) -> None:
    """Set the initial estimate of the time that executors take to start."""
    if settings.restart_time is None:
        return
    inner: Any = guarded
    while inner is not None:  # a guard and what it holds, down to the policy
        if isinstance(inner, CatchUp):
            inner.rescale_time = settings.restart_time
            return
        inner = getattr(inner, "policy", None)
    raise SettingError(
        "restart.time has no effect without catch-up.duration; set that too, or leave it out"
    )
