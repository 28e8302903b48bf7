"""What tuples and tasks of a preference query take, by the tuples that they are compared with."""

from dataclasses import dataclass
from math import inf

from penstock.core.errors import SettingError
from penstock.model.skyline import Floats, check_dimensions, comparisons, expected_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds of work, on tuples whose coordinates are independent.

    >>> costs = Costs(tuple_time=30e-6, comparison=0.2e-6)
    >>> first, thousandth = costs.of_tuples(1000)[[0, 999]]
    >>> f"the first tuple of a part takes {first * 1e6:.0f} us, the 1000th {thousandth * 1e6:.0f}"
    'the first tuple of a part takes 30 us, the 1000th 99'
    """

    tuple_time: float = 0.0
    """Of a tuple in the pane stage, before it is compared."""
    task_time: float = 0.0
    """Of a task of the window stage, before tuples are compared."""
    comparison: float = 0.0
    """Of a comparison of two tuples in the pane stage,"""
    window_comparison: float | None = None
    """and in the window stage; the same unless given."""
    dimensions: int = 8
    """Coordinates of a tuple."""

    def __post_init__(self) -> None:
        """Refuse work that takes less than no time."""
        check_dimensions(self.dimensions)
        for name in ("tuple_time", "task_time", "comparison", "window_comparison"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise SettingError(f"{name} of the twin must be 0 s or more, got {value:g}")

    def of_tuples(self, most: int) -> Floats:
        """Of a tuple of which 0, 1, 2... up to `most` others of its part came before."""
        compared = comparisons(most, dimensions=self.dimensions)
        return self.tuple_time + self.comparison * compared

    def sizes(self, most: int) -> Floats:
        """Tuples in the result of 0, 1, 2... up to `most` tuples."""
        return expected_sizes(most, dimensions=self.dimensions)

    @property
    def of_tasks(self) -> tuple[float, float]:
        """Of a task, and of a comparison in it."""
        each = self.comparison if self.window_comparison is None else self.window_comparison
        return self.task_time, each
