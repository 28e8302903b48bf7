"""A smaller network that stands for a larger one, and the way back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.policy.allocation.network import Network

Resource = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A network with super nodes in place of some of its modules."""

    network: Network
    super_nodes: Mapping[str, tuple[str, ...]]
    """Who is inside each."""
    expand: Callable[[Resource], dict[str, float]]
    """Resource of every module, from that of the modules and super nodes of the smaller one."""

    def then(self, following: "Reduction") -> "Reduction":
        """This one, with its network reduced further."""
        inside = {
            name: tuple(
                one for member in members for one in self.super_nodes.get(member, (member,))
            )
            for name, members in following.super_nodes.items()
        }
        kept = {
            name: members
            for name, members in self.super_nodes.items()
            if name in following.network.modules and name not in inside
        }
        return Reduction(
            network=following.network,
            super_nodes=kept | {name: tuple(dict.fromkeys(who)) for name, who in inside.items()},
            expand=lambda resource: self.expand(following.expand(resource)),
        )


def unreduced(network: Network) -> Reduction:
    """A network that stands for itself."""
    return Reduction(network=network, super_nodes={}, expand=dict)
