"""What the alloc paper printed: Tab. 1 to 4. Fig. 7 and 8 are drawn."""

from typing import Final

from penstock.papers.framework import printed

HEURISTICS: Final[dict[str, dict[str, dict[str, float]]]] = {
    "heuristic-a": printed("""
nodes   edges  sources  sinks  share  spread   good
20       74.2      4.6    3.1  0.744   0.266  0.421
50      507.4      5.8    3.7  0.576   0.332  0.295
100    2063.7      7.0    4.9  0.543   0.343  0.251
"""),
    "heuristic-b": printed("""
nodes   edges  sources  sinks  share  spread   good  iterations
20       79.1      4.4    3.4  0.824   0.254  0.61          5.2
50      520.1      4.9    3.6  0.689   0.364  0.411        10.1
100    1912.7      7.6    5.0  0.590   0.392  0.322        10.0
"""),
}
"""Tab. 1 and 2: share of the optimum on average, its standard deviation, and the share of graphs in
which it is above 0.9."""
TREES: Final = printed("""
nodes  hops  share
50      4.1  0.962
100     4.8  0.942
500     5.4  0.919
1000    7.1  0.904
""")
"""Tab. 3 and 4: hops until 95 % of the new optimum, and the share of the optimum under a
perturbation every 5 hops."""
SIZES: Final = (20, 50, 100)
"""Nodes of the graphs of Tab. 1 and 2."""
TREE_SIZES: Final = (50, 100, 500, 1000)
"""Nodes of the trees of Tab. 3 and 4,"""
DRAWN: Final = 355
"""and of the one of Fig. 7 and 8."""
