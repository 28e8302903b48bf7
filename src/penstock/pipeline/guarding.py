"""What guards take from a run rather than from their settings, wherever they have a setting for it.

| setting | is, unless it is given |
|---|---|
| `began` | the moment at which the run begins |
| `executor_memory` | that of the cluster |
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penstock.core.settings import option_names
from penstock.pipeline.settings import ClusterSettings


def with_run(
    guard: type,
    settings: Mapping[str, Any],
    cluster: ClusterSettings | None,
    began: datetime | None,
) -> dict[str, Any]:
    """The settings of a guard with what it takes from the run.

    >>> from penstock.guard import Clamp, Quota
    >>> with_run(Quota, {"memory": "8g"}, ClusterSettings(), None)
    {'executor_memory': '512m', 'memory': '8g'}
    >>> with_run(Clamp, {"high": 8}, ClusterSettings(), None)
    {'high': 8}
    """
    memory = cluster.memory_of_executor() if cluster else None
    run = {"began": began, "executor_memory": memory}
    written = {str(name).replace("-", "_") for name in settings}
    taken = set(option_names(guard)) - written
    return {k: v for k, v in run.items() if k in taken and v is not None} | dict(settings)
