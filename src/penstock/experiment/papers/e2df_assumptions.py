"""What the e2df paper leaves open, and what was taken: a table, and what stands under each other.

The values are read off what the simulation takes, so that they cannot be told wrong.
"""

from typing import Final

from penstock.experiment.closed_loop import Levels
from penstock.experiment.papers import e2df_setup as setup
from penstock.experiment.papers import e2df_workload as load
from penstock.experiment.papers.e2df_outcome import DAY, LEARNING
from penstock.experiment.reproduction import Table

_USUAL: Final = Levels()

ASSUMPTIONS: Final = (
    (
        "the load (Fig. 3 is drawn)",
        f"from {min(load.HOURS):g} to {max(load.HOURS):g} rows/s by the hour, joined by lines",
        "e2df_workload.HOURS",
    ),
    (
        "its noise",
        f"times 1 + {load.SLOW:g} e + {load.FAST:g} z, at most {load.MOST:g}; {load.MEMORY:g} of e "
        "stay for the next minute",
        "SLOW, FAST, MOST, MEMORY",
    ),
    ("response time", "even split over replicas, M/D/1 each, summed along the path", ""),
    ("overload", "infinite response, and no backlog in the next minute", ""),
    (
        "bound of an operator",
        f"of {1e3 * _USUAL.bound:g} ms; a quarter of {1e3 * setup.LIMIT:g} ms would be 15 ms",
        "Levels.bound",
    ),
    (
        "levels of an operator's rate",
        f"equal ones, {_USUAL.levels} up to {_USUAL.peak:g} rows/s at the source",
        "Levels.levels, Levels.peak",
    ),
    (
        "before anything was learned",
        f"levels stay as they are, which counts as {_USUAL.prior:g} seen; estimates are zero",
        "Levels.prior",
    ),
    (
        "regions of the operators",
        ", ".join(f"{operator} in {region}" for operator, region in setup.PLACEMENT.items()),
        "e2df_setup.PLACEMENT",
    ),
    ("node of a new replica", "a random one with a free core", ""),
    ("replica that goes", "the one on the emptiest node (the paper: a random one)", ""),
    ("order within a minute", "operators, then regions; new nodes serve in the next minute", ""),
    (
        "utilisation of a region",
        f"mean of min(rho, 1) over its replicas before they change, to the nearest "
        f"{_USUAL.quantum:g}",
        "Levels.quantum",
    ),
    ("an idle node", "exists where an active node is empty after operators have acted", ""),
    ("an unmet request", "one more replica where no active node of the region has a core", ""),
    (
        "monotone estimates",
        "over nodes and utilisation, idle node or not; for (k, lambda) in Section 6.2 read (k, u)",
        "",
    ),
    ("idle nodes that simple keeps", f"in each region {_USUAL.idle_nodes}", "Levels.idle_nodes"),
    (
        "nodes at the start",
        f"one in each region, {setup.STATIC_NODES} where they are static",
        "e2df_setup.places",
    ),
    ("a reconfiguration", "a minute in which at least one operator is scaled", ""),
    (
        "minutes that count",
        f"those after the first {LEARNING // DAY} days; of a shorter run, its second half",
        "e2df_outcome.LEARNING",
    ),
)
"""What is open, what was taken, and where it is set."""


def assumptions() -> Table:
    """All of them."""
    return Table(
        title="What the paper leaves open, and what was taken",
        header=("open", "taken", "set by"),
        rows=ASSUMPTIONS,
        notes=(
            "The tables above are compatible with these choices, which does not prove that the "
            "authors made them.",
        ),
    )


def beside_tables() -> tuple[str, ...]:
    """The same in short, under Tab. 1 and 2."""
    return (
        f"Counted from day {LEARNING // DAY + 1} on (of a shorter run, its second half), because "
        "the paper speaks of the time when learning is complete; whole runs are below.",
        "The paper leaves open, and these rest on: the load (drawn in Fig. 3 without data), M/D/1 "
        "operators without a backlog, "
        f"{1e3 * _USUAL.bound:g} ms as the bound of an operator, {_USUAL.levels} levels of its "
        "rate, regions of the operators, the node that a replica goes to and leaves, what counts "
        f"as an unmet request, and {_USUAL.idle_nodes} idle nodes of simple. Each is in the last "
        "table, with what sets it.",
    )
