"""What is safe: policies that hold a policy, and let through what is allowed.

| kind | settings | lets through |
|---|---|---|
| `clamp` | `low` 1, `high` | degrees between bounds, for all modules or by module |
| `cooldown` | `out` 0s, `in` 300s | changes of a module that has rested since its last |
| `step-limit` | `out` 1, `in` 1 | so many executors more or fewer in one step |
| `step-factor` | `out` inf, `in` 0.6 | such a share of the executors more or fewer in one step |
| `hold` | `needs` | changes of modules that were measured in full |
| `dead-band` | `low` 0.5, `high` 0.85, `backlog` 30s | changes of modules too busy or too idle |
| `catch-up` | `duration` 10m, `utilisation` 0.9, `backlog` 10s, `rescale_time` 10s | degrees that \
work off what waits; raises others |
| `scale-down` | `interval` 10m | shrinking to the most that was recommended recently |
| `effectiveness` | `threshold` 0.1, `window` 1m, `block` 10m | growth that helps; takes back \
other |
| `quota` | `cores`, `memory`, `executor_cores` 1, `executor_memory` 1g | so much of all modules |
| `pause` | `out`, `in` | changes in the other direction |
| `excluded-periods` | `periods`, `began`, `zone` | changes outside some hours |
| `dry-run` | | nothing: the decision is proposed and not made |

Guards nest in any order, the outermost having the last word; `safe` nests the usual ones.

>>> from penstock.policy import Threshold
>>> Clamp(Cooldown(Hold(Threshold()), in_=60.0), high=8).high
8
"""

from typing import Final

from penstock.core.plugins import Registry, as_guard
from penstock.core.roles import Policy
from penstock.guard.capacity import CatchUp, DeadBand
from penstock.guard.delays import Cooldown, DelayedScaleDown
from penstock.guard.effectiveness import Effectiveness
from penstock.guard.excluded_periods import ExcludedPeriods
from penstock.guard.expected import safe
from penstock.guard.hold import DryRun, Hold, Pause
from penstock.guard.limits import Clamp, Quota, StepFactor, StepLimit

GUARDS: Final[Registry[type[Policy]]] = Registry(
    "guard",
    group="penstock.guards",
    built_in={
        "clamp": "penstock.guard.limits:Clamp",
        "cooldown": "penstock.guard.delays:Cooldown",
        "step-limit": "penstock.guard.limits:StepLimit",
        "step-factor": "penstock.guard.limits:StepFactor",
        "hold": "penstock.guard.hold:Hold",
        "dead-band": "penstock.guard.capacity:DeadBand",
        "catch-up": "penstock.guard.capacity:CatchUp",
        "scale-down": "penstock.guard.delays:DelayedScaleDown",
        "effectiveness": "penstock.guard.effectiveness:Effectiveness",
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
