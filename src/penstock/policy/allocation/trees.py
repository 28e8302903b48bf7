"""A network that is a tree, or several, seen from one module of each: its hub.

Direction does not matter for being a tree: two chains that a module joins are one. Each other
module has one neighbour towards the hub, and talks to the hub through it.

>>> from penstock.policy.allocation.network import Link, Network
>>> join = Network(
...     budget=1.0,
...     modules=("a", "b", "c"),
...     links=(
...         Link(origin="a", target="c", produces=2.0, consumes=1.0),
...         Link(origin="b", target="c", produces=4.0, consumes=1.0),
...     ),
... )
>>> for limb in limbs(join):
...     print(limb)
Limb(module='a', hubward=None, link=None)
Limb(module='c', hubward='a', link=Link(origin='a', target='c', produces=2.0, consumes=1.0))
Limb(module='b', hubward='c', link=Link(origin='b', target='c', produces=4.0, consumes=1.0))
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from penstock.core.errors import SettingError
from penstock.policy.allocation.network import Link, Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Limb:
    """A module and how it is tied to the tree."""

    module: str
    hubward: str | None
    """The neighbour towards the hub; None of the hub itself."""
    link: Link | None
    """Between the two."""


def limbs(network: Network) -> list[Limb]:
    """Every module, each after its neighbour towards the hub; an error of what is no tree."""
    seen: dict[str, Limb] = {}
    for hub in network.order():
        if hub not in seen:
            _grow(network, hub, seen)
    return list(seen.values())


def _grow(network: Network, hub: str, seen: dict[str, Limb]) -> None:
    seen[hub] = Limb(module=hub, hubward=None, link=None)
    reached = [hub]
    for module in reached:
        for link in chain(network.outputs(module), network.inputs(module)):
            if link is seen[module].link:
                continue
            other = link.target if link.origin == module else link.origin
            if other in seen:
                raise _no_tree(seen, module, other)
            seen[other] = Limb(module=other, hubward=module, link=link)
            reached.append(other)


def _no_tree(seen: Mapping[str, Limb], one: str, other: str) -> SettingError:
    first, second = _to_hub(seen, one), _to_hub(seen, other)
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first.pop()
        second.pop()
    round_trip = [*reversed(first), *second[:-1]] if len(second) > 1 else [*reversed(first)]
    shown = ", ".join(round_trip if len(round_trip) <= 8 else [*round_trip[:7], "..."])
    return SettingError(
        f"shrink plans trees only, and the streams between {shown} form a ring; "
        "plan with lp, cutting-plane or heuristic-a"
    )


def _to_hub(seen: Mapping[str, Limb], module: str) -> list[str]:
    path = [module]
    while (hubward := seen[path[-1]].hubward) is not None:
        path.append(hubward)
    return path
