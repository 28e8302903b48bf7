"""What the game paper printed: Tab. IV and V. Its figures 12 to 17 are drawn without numbers."""

from typing import Final

from penstock.papers.framework import printed

WORKLOADS: Final = ("cyclic", "trend", "rwalk")
MODULES: Final = ("denoiser-1", "denoiser-2", "edge-detector", "recognizer")
"""Those of Tab. IV: the dispatcher has one core, always."""

RECONFIGURATIONS: Final = printed(
    """
workload  module         nash  incentive
cyclic    denoiser-1        4          8
cyclic    denoiser-2        5         14
cyclic    edge-detector    12         45
cyclic    recognizer       23         96
trend     denoiser-1        5         11
trend     denoiser-2        7         21
trend     edge-detector    51        125
trend     recognizer      121        199
rwalk     denoiser-1        6         12
rwalk     denoiser-2        8         44
rwalk     edge-detector    68        205
rwalk     recognizer      154        297
""",
    labels=2,
)
EFFICIENCY: Final = printed(
    """
workload  module         nash  incentive
cyclic    denoiser-1     0.87       0.88
cyclic    denoiser-2     0.86       0.90
cyclic    edge-detector  0.99       0.97
cyclic    recognizer     0.97       0.98
trend     denoiser-1     0.87       0.89
trend     denoiser-2     0.87       0.88
trend     edge-detector  0.98       0.96
trend     recognizer     0.97       0.99
rwalk     denoiser-1     0.86       0.88
rwalk     denoiser-2     0.86       0.87
rwalk     edge-detector  0.99       0.97
rwalk     recognizer     0.98       0.99
""",
    labels=2,
)
"""Both of Tab. IV: without and with incentives."""
TABLE_V: Final = printed(
    """
workload  quantity       nash  incentive
cyclic    cost           1792       1698
trend     cost           2123       1812
rwalk     cost           1941       1786
cyclic    images      241_736    289_885
trend     images      248_377    311_026
rwalk     images      240_851    300_447
cyclic    throughput      403        483
trend     throughput      414        518
rwalk     throughput      401        501
""",
    labels=2,
)
"""Throughput is images in a step."""
STABILITY: Final = {"cyclic": 0.95, "trend": 0.82, "rwalk": 0.92}
"""Tab. V: cost with incentives by cost without; elsewhere the price of stability is the inverse."""
