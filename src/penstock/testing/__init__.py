"""Test your own policies, guards, forecasters, workloads, applications and plants.

Build graphs and observations by hand, play them to a policy, and look at what it decided:

>>> from penstock.core.loop import control
>>> from penstock.policy import Threshold
>>> plant = ScriptedPlant([seen(at=1.0, counter={"utilisation": 0.9, "running": 2})])
>>> [tick.asked.degrees for tick in control(plant, Threshold())]
[{'counter': 3}]

Or have the conformance checks look for you. Each is a function with a name that says what it asks,
so that a test over `POLICY_CHECKS` shows which one failed; `check_policy` runs them all.

>>> check_policy(Threshold)

A function that decides is checked as `example(as_policy(function))`, or by the name that a file has
for it: `check_policy(example(POLICIES["acme.scaling:steady"]))`.
"""

from penstock.testing.applications import APPLICATION_CHECKS, check_application
from penstock.testing.checking import failures
from penstock.testing.forecasters import FORECASTER_CHECKS, check_forecaster
from penstock.testing.plants import PLANT_CHECKS, check_plant
from penstock.testing.policies import (
    GUARD_CHECKS,
    POLICY_CHECKS,
    check_guard,
    check_policy,
    example,
)
from penstock.testing.script import Clock, ScriptedPlant, chain, seen, varied
from penstock.testing.workloads import WORKLOAD_CHECKS, check_workload

__all__ = [
    "APPLICATION_CHECKS",
    "FORECASTER_CHECKS",
    "GUARD_CHECKS",
    "PLANT_CHECKS",
    "POLICY_CHECKS",
    "WORKLOAD_CHECKS",
    "Clock",
    "ScriptedPlant",
    "chain",
    "check_application",
    "check_forecaster",
    "check_guard",
    "check_plant",
    "check_policy",
    "check_workload",
    "example",
    "failures",
    "seen",
    "varied",
]
