"""An agent in a process of its own: all that it hears comes through its lines.

Apart from the tests, so that the process has little to import.
"""

from multiprocessing.connection import Connection

from penstock.policy.game.agents import Agent


def live(agent: Agent, lines: dict[str, Connection], iterations: int, answer: Connection) -> None:
    """Play one game with the neighbours at the other end of the lines."""
    agent.start()
    for _ in range(iterations):
        for message in agent.advertise():
            lines[message.receiver].send(message)
        for line in lines.values():
            agent.mailbox.append(line.recv())
        agent.respond()
    answer.send((agent.model.name, agent.replicas))
