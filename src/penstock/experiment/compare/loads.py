"""What the policies are played against: workloads by name, with rows of their own for each seed."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.core.units import format_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A workload as the tables call it.

    >>> from penstock.workload import parse
    >>> load = Load(name="a day", workload=parse("daily:60/s..300/s"))
    >>> load.drawn_with(7).seed
    7
    """

    name: str
    workload: Workload
    fixed: bool = False
    """Whether its chance is the same for every seed, because somebody chose it."""

    def drawn_with(self, seed: int) -> Any:
        """The workload with the chance of a seed, where it has any."""
        if self.fixed or not hasattr(self.workload, "seed"):
            return self.workload
        return cast(Any, replace(cast(Any, self.workload), seed=seed))


def check_rows(load: Load, seed: int, duration: float) -> None:
    """Refuse a load that nothing could be learned from."""
    rows = float(load.drawn_with(seed).arrivals(np.array([duration]))[0])
    if rows < 1:
        raise SettingError(
            f"workload {load.name} has no rows in the {format_duration(duration)} of a run; give "
            "another one, or a longer --duration"
        )
