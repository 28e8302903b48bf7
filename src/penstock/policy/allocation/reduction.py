"""A smaller network that stands for a larger one, and the way back (alloc, Theorems 2 to 4).

A parent feeds leaves, and each leaf turns what it is fed into something of worth. Two leaves are
equivalent to one of suitable numbers; a parent and its only leaf are equivalent to one module.

>>> cheap = Branch(fed=1.0, consumes=1.0, produces=1.0, weight=10.0)
>>> dear = Branch(fed=1.0, consumes=1.0, produces=1.0, weight=4.0)
>>> dominates(cheap, dear)
True
>>> absorb(1.0, merge(cheap, dear))
Stem(consumes=0.5, produces=0.5, weight=10.0)

The paper calls these equivalent to the fork whatever its source can give. They are where the budget
is short. Where the source is, the leaf that case (i) drops is worth having too: its flow is there
anyway. As that is how a fork stands inside a larger tree, Algorithm 2 as published can miss the
optimum, and `shrink` asks more than once. Merging three leaves and more does depend on the order,
against the remark below Theorem 4: `merge_all` takes the most worthwhile first, which is right. In
case (iii) of Theorem 2 the limit of the source lacks a factor in the paper; see `divide`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import inf

from penstock.policy.allocation.network import Network

Resource = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A network with super nodes in place of some of its modules."""

    network: Network
    super_nodes: Mapping[str, tuple[str, ...]]
    """The modules inside each."""
    expand: Callable[[Resource], dict[str, float]]
    """Resource of every module, from that of the modules and super nodes of the smaller one."""

    def then(self, following: "Reduction") -> "Reduction":
        """This one, with its network reduced further."""
        own = self.super_nodes
        merged = {
            name: tuple(
                dict.fromkeys(one for member in members for one in own.get(member, (member,)))
            )
            for name, members in following.super_nodes.items()
        }
        left = set(following.network.modules) - merged.keys()
        kept = {name: members for name, members in own.items() if name in left}
        return Reduction(
            network=following.network,
            super_nodes=kept | merged,
            expand=lambda resource: self.expand(following.expand(resource)),
        )


def unreduced(network: Network) -> Reduction:
    """A network that stands for itself."""
    return Reduction(network=network, super_nodes={}, expand=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stem:
    """A module that stands alone: Fig. 4."""

    consumes: float
    produces: float
    weight: float

    @property
    def worth(self) -> float:
        """What a unit of its resource brings."""
        return self.produces * self.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Stem):
    """A leaf below a parent: node 2 or 3 of Fig. 2."""

    fed: float
    """Flow that a unit of the parent's resource sends it."""

    @property
    def reach(self) -> float:
        """Resource that it can use for each unit of its parent's."""
        return self.fed / self.consumes


def dominates(one: Branch, other: Branch) -> bool:
    """Whether resource for one leaf, with what its parent needs for it, brings more than the other.

    Cases (i) and (ii) of Theorems 2 and 3.
    """
    return one.worth * one.fed / (one.consumes + one.fed) > other.worth


def merge(one: Branch, other: Branch) -> Branch:
    """The leaf that stands for two of the same parent (Theorem 3)."""
    if dominates(one, other):
        return one
    if dominates(other, one):
        return other
    reach = one.reach + other.reach
    produces = one.reach * one.produces + other.reach * other.produces
    worth = one.reach * one.worth + other.reach * other.worth
    fed = one.fed + other.fed
    return Branch(fed=fed, consumes=fed / reach, produces=produces / reach, weight=worth / produces)


def merge_all(branches: Iterable[Branch]) -> Branch:
    """The leaf that stands for all of a parent, merged from the most worthwhile down."""
    return reduce(merge, sorted(branches, key=lambda branch: branch.worth, reverse=True))


def absorb(consumes: float, leaf: Branch) -> Stem:
    """A parent that consumes so much, and its only leaf, as one module (Theorem 4)."""
    both = leaf.consumes + leaf.fed
    return Stem(
        consumes=consumes * leaf.consumes / both,
        produces=leaf.produces * leaf.fed / both,
        weight=leaf.weight,
    )


def divide(
    one: Branch, other: Branch, *, consumes: float, budget: float, rate: float = inf
) -> tuple[float, float, float]:
    """Resource of the parent and of its two leaves, by Theorem 2.

    The paper's limit of the source in case (iii) lacks one factor, the second leaf's consumption;
    with it all three cases say: use no more than the source's rate supports.

    >>> a, b = (Branch(fed=1.0, consumes=1.0, produces=1.0, weight=w) for w in (3.0, 2.0))
    >>> divide(a, b, consumes=1.0, budget=6.0), divide(a, b, consumes=1.0, budget=6.0, rate=1.0)
    ((2.0, 2.0, 2.0), (1.0, 1.0, 1.0))
    """
    first = 0.0 if dominates(other, one) else one.reach
    second = 0.0 if dominates(one, other) else other.reach
    parent = min(budget / (1.0 + first + second), rate / consumes)
    return parent, first * parent, second * parent
