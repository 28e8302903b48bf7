"""What the ppq paper printed: Tab. 3 to 5 and figures of its text. Fig. 9 to 18 are drawn."""

from typing import Final

from penstock.papers.framework import printed

TABLE_3: Final = printed("""
stream    rate  peak
rw      11_816  4.17
map-1k  30_331  1.57
map-2k  29_659  1.75
map-3k  28_873  2.01
map-4k  30_189  2.03
ss-0.6  25_582  2.24
ss-0.7  26_552  2.06
ss-0.8  26_028  3.83
game1   16_923  1.44
game2   19_272  1.16
""")
"""Tuples a second, and the busiest second by the mean one (RW-DS, MAP-DS, SS-DS, games)."""
STREAMS: Final[tuple[str, ...]] = tuple(TABLE_3)
"""Of Tab. 3 to 5. Game3 and Game4 were never published."""
WORKLOADS: Final = ("steps", *STREAMS)
"""With the artificial scenario of Fig. 9."""

ROWS: Final[dict[str, dict[str, dict[str, float]]]] = {
    "skyline": printed("""
stream   plq    wlq  splitting   delta    cv
rw      1.77  12.6        1.48  0.0040  1.60
map-1k  4.28  41.0        3.37  0.0139  0.82
map-2k  4.16  38.8        3.63  0.0177  0.95
map-3k  4.30  37.2        3.54  0.0237  1.29
map-4k  6.01  36.8        4.86  0.0264  1.85
ss-0.6  3.05  31.5        2.99  0.0102  0.86
ss-0.7  3.47  34.7        3.24  0.0111  1.17
ss-0.8  3.50  30.9        3.05  0.0219  2.30
game1   3.82  15.65       2.74  0.0121  0.86
game2   2.30  25.3        2.06  0.0176  1.15
"""),
    "top-delta": printed("""
stream   plq    wlq  splitting   delta    cv
rw      2.61  17.0        2.08  0.0044  1.43
map-1k  5.43  49.5        4.31  0.0192  0.96
map-2k  5.26  46.28       4.53  0.0214  1.24
map-3k  5.65  45.3        4.81  0.0268  1.58
map-4k  6.95  43.06       5.13  0.0306  1.99
ss-0.6  3.71  38.6        3.41  0.0132  0.97
ss-0.7  3.83  41.8        3.27  0.0187  1.34
ss-0.8  4.01  37.9        3.68  0.0274  2.97
game1   4.11  27.7        2.98  0.0145  0.96
game2   2.81  33.5        2.32  0.0227  1.23
"""),
}
"""Tab. 4 and 5: workers of the pane and of the window stage on average, parts of a pane, time to
the last result beyond the stream's own as a share of that, and variation of throughput."""

SETPOINT: Final = 0.9
LATEST: Final = 0.031
"""No stream takes longer beyond its own time (Section 5.3)."""
WORKERS_OF_PHASES: Final = {"40K": 3.0, "50K": 4.0, "70K": 6.0}
"""Fig. 9: workers of the pane stage that are enough, as the text has them, by tuples a second."""
OVERLOAD: Final = 3.0
"""Fig. 10a: the load at which elasticity alone ends, about."""
KEPT: Final = {1: 0.27, 8: 0.54, 12: 0.58}
"""Fig. 11: share of the tuples that go on, by the parts that panes are evenly split into."""
PID_AT_8: Final = {"splitting": 5.18, "kept": 0.43}
"""Fig. 11: parts that the PID comes to with 8 workers, and the share of the tuples that goes on."""
ENOUGH: Final = 7
"""Fig. 11: workers that are enough for 80,000 tuples a second."""
LESS_IDLE: Final = 0.45
"""Fig. 13: by which share merges lower the idle time."""
MERGES: Final = 0.37
"""Their share of the tasks."""
GAME1_LOADS: Final = {"load_of_all": 0.882, "window_load_of_all": 0.912}
"""Of both stages, over the whole of Game1."""
STATIC: Final = (6, 38)
"""Fig. 15: workers of both stages that are enough for Game1 all the time,"""
STATIC_CV: Final = 0.66
"""and the coefficient of variation with them."""
