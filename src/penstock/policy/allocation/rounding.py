"""Whole cores: the best division among modules that each keep their bounds.

Where all divisions that differ in what they bring can be tried, they are; else moves that help are
made from a real-valued division on.
"""

from collections.abc import Callable, Mapping

from penstock.policy.allocation.bounds import Bounds
from penstock.policy.allocation.climbing import climb
from penstock.policy.allocation.flow import active
from penstock.policy.allocation.knapsack import pack
from penstock.policy.allocation.network import Network
from penstock.policy.allocation.reach import reaches

Start = Callable[[], Mapping[str, float]]
"""Finds a real-valued division, where one is needed."""


def whole(network: Network, bounds: Bounds, *, start: Start) -> dict[str, int]:
    """The division of cores that brings most, and no core that brings nothing.

    >>> from penstock.policy.allocation.network import Inflow, Outflow
    >>> network = Network(
    ...     budget=8.0,
    ...     modules=("fraud", "reports"),
    ...     inflows=(
    ...         Inflow(name="f", target="fraud", consumes=20.0, rate=70.0),
    ...         Inflow(name="r", target="reports", consumes=50.0, rate=150.0),
    ...     ),
    ...     outflows=(
    ...         Outflow(name="f", origin="fraud", produces=20.0, weight=5.0),
    ...         Outflow(name="r", origin="reports", produces=50.0),
    ...     ),
    ... )
    >>> bounds = Bounds(cores=6, low={"fraud": 1, "reports": 1}, high={"fraud": 9, "reports": 9})
    >>> whole(network, bounds, start=dict)
    {'fraud': 4, 'reports': 2}
    """
    sinks = reaches(network)
    found = pack(sinks, bounds)
    return climb(sinks, bounds, start=start()) if found is None else found


def fill(division: Mapping[str, int], network: Network, bounds: Bounds) -> dict[str, int]:
    """The division with every core that was left, each given to the busiest module then.

    They bring nothing yet; a rise of load finds them where it would hurt first.
    """
    filled = dict(division)
    busy = active(network, {name: float(filled[name]) for name in network.modules})
    for _ in range(bounds.cores - sum(filled.values())):
        open_ = [name for name in filled if filled[name] < bounds.high[name]]
        if not open_:
            break
        filled[max(open_, key=lambda name: busy.get(name, 0.0) / filled[name])] += 1
    return filled


def even(bounds: Bounds) -> dict[str, int]:
    """The cores in equal numbers, as far as the bounds let them: what fair sharing would give.

    >>> even(Bounds(cores=7, low={"a": 1, "b": 1, "c": 1}, high={"a": 1, "b": 9, "c": 9}))
    {'a': 1, 'b': 3, 'c': 3}
    """
    division = dict(bounds.low)
    for _ in range(bounds.room):
        open_ = [name for name in division if division[name] < bounds.high[name]]
        if not open_:
            break
        division[min(open_, key=division.__getitem__)] += 1
    return division
