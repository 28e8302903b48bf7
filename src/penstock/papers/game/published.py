"""What the game paper printed: Tab. IV and V. Its figures 12 to 17 are drawn without numbers."""

from typing import Final

WORKLOADS: Final = ("cyclic", "trend", "rwalk")
MODULES: Final = ("denoiser-1", "denoiser-2", "edge-detector", "recognizer")
"""Those of Tab. IV: the dispatcher has one core, always."""

_PAIR = tuple[float, float]

RECONFIGURATIONS: Final[dict[str, dict[str, _PAIR]]] = {
    "cyclic": {
        "denoiser-1": (4, 8),
        "denoiser-2": (5, 14),
        "edge-detector": (12, 45),
        "recognizer": (23, 96),
    },
    "trend": {
        "denoiser-1": (5, 11),
        "denoiser-2": (7, 21),
        "edge-detector": (51, 125),
        "recognizer": (121, 199),
    },
    "rwalk": {
        "denoiser-1": (6, 12),
        "denoiser-2": (8, 44),
        "edge-detector": (68, 205),
        "recognizer": (154, 297),
    },
}
"""Tab. IV: without and with incentives."""

EFFICIENCY: Final[dict[str, dict[str, _PAIR]]] = {
    "cyclic": {
        "denoiser-1": (0.87, 0.88),
        "denoiser-2": (0.86, 0.90),
        "edge-detector": (0.99, 0.97),
        "recognizer": (0.97, 0.98),
    },
    "trend": {
        "denoiser-1": (0.87, 0.89),
        "denoiser-2": (0.87, 0.88),
        "edge-detector": (0.98, 0.96),
        "recognizer": (0.97, 0.99),
    },
    "rwalk": {
        "denoiser-1": (0.86, 0.88),
        "denoiser-2": (0.86, 0.87),
        "edge-detector": (0.99, 0.97),
        "recognizer": (0.98, 0.99),
    },
}
"""Tab. IV: without and with incentives."""

COST: Final[dict[str, _PAIR]] = {
    "cyclic": (1792, 1698),
    "trend": (2123, 1812),
    "rwalk": (1941, 1786),
}
STABILITY: Final = {"cyclic": 0.95, "trend": 0.82, "rwalk": 0.92}
"""Cost with incentives by cost without: elsewhere the price of stability is the inverse."""
IMAGES: Final[dict[str, _PAIR]] = {
    "cyclic": (241_736, 289_885),
    "trend": (248_377, 311_026),
    "rwalk": (240_851, 300_447),
}
THROUGHPUT: Final[dict[str, _PAIR]] = {
    "cyclic": (403, 483),
    "trend": (414, 518),
    "rwalk": (401, 501),
}
"""Images in a step. All four: Tab. V."""
