"""Find the Pareto-optimal Nash equilibrium by talking to neighbours: game, Function 1.

Each agent begins with the degree that it would choose alone. In every iteration it hears how fast
its neighbours go and gives up what it cannot use beside the slowest. After as many iterations as
the graph's diameter, the slowest module of all has been heard of everywhere.
"""

from collections.abc import Sequence

from penstock.policy.game.agent import Agent
from penstock.policy.game.network import Network


def find_pne(agents: Sequence[Agent], network: Network, iterations: int) -> None:
    """Play one game; afterwards every agent's `replicas` is its part of the equilibrium."""
    for agent in agents:
        agent.start()
    adapt(agents, network, iterations)


def adapt(agents: Sequence[Agent], network: Network, iterations: int) -> None:
    """Let every agent hear of the slowest within so many hops."""
    for _ in range(iterations):
        network.deliver(message for agent in agents for message in agent.advertise())
        for agent in agents:
            agent.respond()
