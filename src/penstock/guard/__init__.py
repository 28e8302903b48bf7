"""What is safe: policies that hold a policy, and let through what is allowed.

`docs/guards.md` has each of them with its settings.

Guards nest in any order, the outermost having the last word; `safe` nests the usual ones:

| from the inside | does | because it stands there |
|---|---|---|
| hold | keeps what was not measured | nothing further out is decided on a guess |
| dead band | leaves alone what is busy enough | a backlog may still raise it |
| catch-up | raises for a backlog | the window below remembers what it asked for |
| scale-down | shrinks to the window's maximum | |
| step factor | limits a step | |
| cooldown | lets a change rest | |
| effectiveness | takes back what did not help | no delay further in may hold that up |
| quota | limits the sum | |
| clamp | keeps bounds | they hold whatever was decided |
| pause, excluded periods | stop everything, even the return into bounds | |

>>> from penstock.policy import Threshold
>>> Clamp(Cooldown(Hold(Threshold()), in_=60.0), high=8).high
8
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.core.plugins import Registry, as_guard
from penstock.core.roles import Policy
from penstock.core.units import format_size
from penstock.guard.capacity import CatchUp, DeadBand, Effectiveness
from penstock.guard.excluded_periods import ExcludedPeriods
from penstock.guard.hold import Cooldown, DelayedScaleDown, DryRun, Hold, Pause
from penstock.guard.limits import Clamp, Quota, StepFactor, StepLimit

GUARDS: Final[Registry[type[Policy]]] = Registry(
    "guard",
    group="penstock.guards",
    built_in={
        "clamp": "penstock.guard.limits:Clamp",
        "cooldown": "penstock.guard.hold:Cooldown",
        "step-limit": "penstock.guard.limits:StepLimit",
        "step-factor": "penstock.guard.limits:StepFactor",
        "hold": "penstock.guard.hold:Hold",
        "dead-band": "penstock.guard.capacity:DeadBand",
        "catch-up": "penstock.guard.capacity:CatchUp",
        "scale-down": "penstock.guard.hold:DelayedScaleDown",
        "effectiveness": "penstock.guard.capacity:Effectiveness",
        "quota": "penstock.guard.limits:Quota",
        "pause": "penstock.guard.hold:Pause",
        "excluded-periods": "penstock.guard.excluded_periods:ExcludedPeriods",
        "dry-run": "penstock.guard.hold:DryRun",
    },
    adapt=as_guard,
)

__all__ = [
    "GUARDS",
    "CatchUp",
    "Clamp",
    "Cooldown",
    "DeadBand",
    "DelayedScaleDown",
    "DryRun",
    "Effectiveness",
    "ExcludedPeriods",
    "Hold",
    "Pause",
    "Quota",
    "StepFactor",
    "StepLimit",
    "safe",
]


def safe(
    policy: Policy,
    *,
    low: int = 1,
    high: int | None = None,
    utilization_min: float | None = None,
    utilization_max: float | None = None,
    catch_up: float | None = 600.0,
    scale_down_interval: float | None = 600.0,
    scale_up_max_factor: float | None = None,
    scale_down_max_factor: float | None = 0.6,
    quota_cpu: float | None = None,
    quota_memory: float | None = None,
    executor_cores: int = 1,
    executor_memory: float | None = None,
    excluded_periods: tuple[str, ...] = (),
    began: datetime | None = None,
    pause_out: bool = False,
    pause_in: bool = False,
    effectiveness: float | None = 0.1,
    stabilization: float | None = None,
) -> Policy:
    """The policy within the guards that these settings ask for; None leaves a guard out.

    Times are seconds, memory is bytes.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> policy = safe(Static(degrees=9), high=8, quota_cpu=6)
    >>> idle = {"running": 4, "utilisation": 0.2, "arrival_rate": 100.0}
    >>> policy(seen(counter=idle)).configuration.degrees
    {'counter': 6}
    """
    _check_quota(low, executor_cores, quota_cpu, "{:g}".format, "cores")
    _check_quota(low, executor_memory, quota_memory, format_size, "of memory")
    band = _given(low=utilization_min, high=utilization_max)
    factors = _given(out=scale_up_max_factor, in_=scale_down_max_factor)
    guarded: Policy = Hold(policy)
    if band:
        guarded = DeadBand(guarded, **band)
    if catch_up is not None:
        guarded = CatchUp(guarded, duration=catch_up)
    if scale_down_interval is not None:
        guarded = DelayedScaleDown(guarded, interval=scale_down_interval)
    if factors:
        guarded = StepFactor(guarded, **{"in_": 1.0, **factors})
    if stabilization is not None:
        guarded = Cooldown(guarded, out=stabilization, in_=stabilization)
    if effectiveness is not None:
        guarded = Effectiveness(guarded, threshold=effectiveness)
    if quota_cpu is not None or quota_memory is not None:
        guarded = Quota(
            guarded,
            cores=quota_cpu,
            memory=quota_memory,
            executor_cores=executor_cores,
            **_given(executor_memory=executor_memory),
        )
    guarded = Clamp(guarded, low=low, high=high)
    if pause_out or pause_in:
        guarded = Pause(guarded, out=pause_out, in_=pause_in)
    if excluded_periods:
        guarded = ExcludedPeriods(guarded, periods=excluded_periods, began=began)
    return guarded


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _check_quota(
    low: int, each: float | None, quota: float | None, form: Callable[[float], str], of: str
) -> None:
    """Reject a quota that the fewest executors exceed."""
    if quota is not None and each is not None and low * each > quota:
        raise SettingError(
            f"the fewest executors, {low}, take {form(low * each)} {of}, and the quota is "
            f"{form(quota)}; lower the one or raise the other"
        )
