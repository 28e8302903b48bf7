"""What is safe: policies that hold a policy, and let through what is allowed.

| kind | settings | lets through |
|---|---|---|
| `clamp` | `low` 1, `high` | degrees between bounds, for all modules or by module |
| `cooldown` | `out` 0s, `in` 300s | changes of a module that has rested since its last |
| `step-limit` | `out` 1, `in` 1 | so many executors more or fewer in one step |
| `hold` | `needs` | changes of modules that were measured in full |
| `dry-run` | | nothing: the decision is proposed and not made |

Guards nest in any order, the outermost having the last word:

>>> from penstock.policy import Threshold
>>> Clamp(Cooldown(Hold(Threshold()), in_=60.0), high=8).high
8
"""

from typing import Final

from penstock.core.roles import Policy
from penstock.guard.clamp import Clamp
from penstock.guard.cooldown import Cooldown
from penstock.guard.dry_run import DryRun
from penstock.guard.hold import Hold
from penstock.guard.step_limit import StepLimit

GUARDS: Final[dict[str, type[Policy]]] = {
    "clamp": Clamp,
    "cooldown": Cooldown,
    "step-limit": StepLimit,
    "hold": Hold,
    "dry-run": DryRun,
}

__all__ = ["GUARDS", "Clamp", "Cooldown", "DryRun", "Hold", "StepLimit"]
