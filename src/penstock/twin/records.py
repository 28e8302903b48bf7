"""Records that compiled code changes in place, and that stages of every kind have in common."""

from math import inf, log1p, sqrt
from typing import Any, Final

import numpy as np

from penstock.core.errors import PlantError
from penstock.core.graph import Module

Array = np.ndarray[Any, Any]

INDEX: Final = "u4"
"""Of a row, a station, a key. Compiled code would look whether a signed one counts from the end."""
NO_INDEX: Final = 0xFFFFFFFF
"""Index of no row, or of no station."""
IDLE: Final = 0
"""No micro-batch is open; the next moment is the trigger."""
OPEN: Final = 1
"""A micro-batch is being served or released."""

CHANCE: Final = np.dtype([("state", "u8")])  # where a stream of random numbers stands

LANE: Final = np.dtype([("first", INDEX), ("last", INDEX), ("count", "i4")])

POOL: Final = np.dtype([("free", INDEX), ("spare", "i8")])  # the first that is free, and how many

NODE: Final = [("done", "f8"), ("order", "i8"), ("next", INDEX), ("right", INDEX)]
"""What belongs to a list or a heap, see `rows`; of two done at once the lower order is first."""

HEAP: Final = np.dtype([("first_done", INDEX), ("busy", "i8"), ("due", "f8")])  # root, how many

BATCH: Final = np.dtype(
    [
        ("trigger", "f8"),  # 0 where rows are served one by one
        ("share", "f8"),  # rows that one server takes on in a micro-batch, at most
        ("overhead", "f8"),
        ("task_overhead", "f8"),
        ("sigma", "f8"),  # of the logarithm of both overheads
        ("warm_up", "f8"),
        ("warm", "i8"),  # servers that have taken part in a micro-batch
        ("fresh", "i8"),  # whether the open micro-batch is the first of some server
        ("phase", "i8"),
        ("moment", "f8"),  # when the micro-batch next does something
        ("tick", "i8"),  # number of the next trigger
        ("opened", "f8"),
        ("unfinished", "i8"),  # rows of the open micro-batch that are not done
    ]
)


def equip_batch(batch: Any, module: Module) -> None:
    """Write a module's micro-batches down as they are before the first trigger."""
    batch["trigger"], batch["share"] = module.trigger, module.rows_a_batch
    batch["overhead"], batch["task_overhead"] = module.overhead, module.task_overhead
    batch["sigma"] = sqrt(log1p(module.overhead_cv**2))
    batch["warm_up"], batch["warm"] = module.warm_up, module.initial_replicas
    batch["tick"] = 1
    batch["moment"] = module.trigger if module.trigger > 0 else inf


def longer(old: Array, size: int) -> Array:
    """The same with empty places behind."""
    made: Array = np.zeros((size, *old.shape[1:]), old.dtype)
    made[: len(old)] = old
    return made


def grown(old: Array, size: int, pool: Any) -> Array:
    """The same with more places that are free, which the pool then knows."""
    made = longer(old, size)
    made["next"][len(old) :] = np.arange(len(old) + 1, size + 1)
    made["next"][-1] = pool["free"]
    pool["free"] = len(old)
    pool["spare"] += size - len(old)
    return made


def check_room(size: int, most: int, what: str, now: float, remedy: str) -> None:
    """Refuse to hold more than memory is for."""
    if size > most:
        raise PlantError(
            f"more than {size // 2:,} {what} after {now:g} s, and the twin holds at most {most:,}; "
            f"lower the rate, or {remedy}"
        )
