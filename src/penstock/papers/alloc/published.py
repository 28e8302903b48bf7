"""What the alloc paper printed: Tab. 1 to 4. Fig. 7 and 8 are drawn."""

from typing import Final, NamedTuple

SIZES: Final = (20, 50, 100)
"""Nodes of the graphs of Tab. 1 and 2."""
TREE_SIZES: Final = (50, 100, 500, 1000)
"""Nodes of the trees of Tab. 3 and 4,"""
DRAWN: Final = 355
"""and of the one of Fig. 7 and 8."""


class Row(NamedTuple):
    """A column of Tab. 1 or 2."""

    edges: float
    sources: float
    sinks: float
    share: float
    """Of the optimum, on average,"""
    spread: float
    """its standard deviation,"""
    good: float
    """and the share of graphs in which it is above 0.9."""
    iterations: float | None = None


TABLE_1: Final = {
    20: Row(74.2, 4.6, 3.1, 0.744, 0.266, 0.421),
    50: Row(507.4, 5.8, 3.7, 0.576, 0.332, 0.295),
    100: Row(2063.7, 7.0, 4.9, 0.543, 0.343, 0.251),
}
"""Heuristic A, by nodes."""
TABLE_2: Final = {
    20: Row(79.1, 4.4, 3.4, 0.824, 0.254, 0.61, 5.2),
    50: Row(520.1, 4.9, 3.6, 0.689, 0.364, 0.411, 10.1),
    100: Row(1912.7, 7.6, 5.0, 0.590, 0.392, 0.322, 10.0),
}
"""Heuristic B, by nodes."""
TABLE_3: Final = {50: 4.1, 100: 4.8, 500: 5.4, 1000: 7.1}
"""Hops until 95 % of the new optimum, by nodes."""
TABLE_4: Final = {50: 0.962, 100: 0.942, 500: 0.919, 1000: 0.904}
"""Share of the optimum under a perturbation every 5 hops, by nodes."""
