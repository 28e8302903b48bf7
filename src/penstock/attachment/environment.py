"""Whether executors can be changed here, judged by Spark's settings.

>>> obstacle("local[2]", {})
'master local[2] has no executors to scale'
>>> obstacle("spark://host:7077", {}) is None
True
>>> obstacle("yarn", {"spark.dynamicAllocation.enabled": "true"})
"Spark's own dynamic allocation is on and would act against it; set \
spark.dynamicAllocation.enabled to false, or its timeouts to 3650d"
"""

import re
from collections.abc import Mapping
from typing import Final

_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_NEVER: Final = 86400.0
"""Seconds that no streaming query waits for."""
_TIMEOUTS: Final = {
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "60s",
}


def obstacle(master: str, conf: Mapping[str, str]) -> str | None:
    """Why executors cannot be changed here; None where they can, as far as one can tell."""
    if is_local(master):
        return f"master {master} has no executors to scale"
    if conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true" and not idle(conf):
        return (
            "Spark's own dynamic allocation is on and would act against it; set "
            "spark.dynamicAllocation.enabled to false, or its timeouts to 3650d"
        )
    return None


def is_local(master: str) -> bool:
    """Whether the driver does all work itself.

    >>> is_local("local[*]"), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master.startswith("local") and not master.startswith("local-cluster")


def idle(conf: Mapping[str, str]) -> bool:
    """Whether Spark's own dynamic allocation never acts, its timeouts being out of reach.

    >>> idle({name: "3650d" for name in _TIMEOUTS}), idle({})
    (True, False)
    """
    return all(seconds(conf.get(name, usual)) >= _NEVER for name, usual in _TIMEOUTS.items())


def graceful(conf: Mapping[str, str]) -> bool:
    """Whether executors finish their tasks before they leave.

    >>> graceful({"spark.decommission.enabled": "true"}), graceful({})
    (True, False)
    """
    return conf.get("spark.decommission.enabled", "false").lower() == "true"


def seconds(told: str) -> float:
    """A time as Spark writes it; a bare number is seconds.

    >>> seconds("3650d") / 86400, seconds("250ms"), seconds("60"), seconds("soon")
    (3650.0, 0.25, 60.0, 0.0)
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", told.lower())
    if match is None or (match[2] or "s") not in _SECONDS:
        return 0.0
    return float(match[1]) * _SECONDS[match[2] or "s"]
