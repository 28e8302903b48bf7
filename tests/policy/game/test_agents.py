"""Agents: each knows itself and its neighbours, and could live in another process."""

import pickle
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

import pytest

from penstock.model import FlowModel
from penstock.policy.game.agents import MessageExchange, agents_of, find_pne
from penstock.policy.game.aggregate import Mailbox, Message, Network
from penstock.policy.game.topology import Topology
from tests.policy.game.agent_process import live
from tests.support.game_graphs import SERVICE, chain

T = TypeVar("T")

DIAMETER = 3
"""Of the paper's graph."""


def played(model: FlowModel, iterations: int) -> tuple[dict[str, float], Network]:
    agents = agents_of(model)
    network = Network({agent.model.name: agent.mailbox for agent in agents})
    find_pne(agents, network, iterations)
    return {agent.model.name: agent.replicas for agent in agents}, network


def moved(things: T) -> T:
    copy: T = pickle.loads(pickle.dumps(things))  # noqa: S301  # our own
    return copy


def test_a_mailbox_gives_every_message_once_and_in_order() -> None:
    box, letters = Mailbox(), [Message(sender="a", receiver="b", content=(x,)) for x in (1.0, 2.0)]
    for letter in letters:
        box.append(letter)
    assert box.take() == tuple(letters)
    assert box.take() == ()


def test_all_is_sent_before_anything_is_read() -> None:
    """Otherwise an agent late in the list would hear of two hops in one iteration."""
    model = FlowModel.of(chain([9.0, 0.1, 0.1]))
    agents = agents_of(model)
    network = Network({agent.model.name: agent.mailbox for agent in agents})
    find_pne(agents, network, iterations=1)
    assert agents[1].pace == pytest.approx(agents[0].own_interval)
    assert agents[2].pace == pytest.approx(max(a.own_interval for a in agents[1:]))


def test_each_iteration_brings_the_bottleneck_one_hop_further() -> None:
    """As many iterations as the diameter are needed, and not one more."""
    model = FlowModel.of(chain([9.0, *[0.1] * 6]))
    assert Topology.of(model.neighbours).diameter == 6
    final, _ = played(model, 6)
    for iterations in range(6):
        replicas, _ = played(model, iterations)
        informed = [name for name in replicas if replicas[name] == pytest.approx(final[name])]
        assert informed == [f"m{i}" for i in range(iterations + 1)]
    assert played(model, 20)[0] == final


def test_an_agent_knows_nothing_of_modules_beyond_its_neighbours() -> None:
    for agent in agents_of(FlowModel.of(SERVICE)):
        near = {agent.model.name, *agent.ratios}
        known = pickle.dumps(agent).decode("latin-1")
        assert {name for name in SERVICE.names() if name in known} == near


def test_a_ratio_is_how_often_rows_come_by_at_the_neighbour() -> None:
    agents = {agent.model.name: agent for agent in agents_of(FlowModel.of(SERVICE))}
    assert agents["denoiser-1"].ratios == {"dispatcher": 2.0, "edge-detector": 2.0}
    assert agents["edge-detector"].ratios == {
        "denoiser-1": 0.5,
        "denoiser-2": 0.5,
        "recognizer": 1.0,
    }


def test_agents_that_are_moved_between_iterations_arrive_at_the_same() -> None:
    model = FlowModel.of(SERVICE)
    agents = list(agents_of(model))
    for agent in agents:
        agent.start()
    for _ in range(DIAMETER):
        sent = moved([m for a in agents for m in a.advertise()])
        agents = moved(agents)
        for agent in agents:
            for message in sent:
                if message.receiver == agent.model.name:
                    agent.mailbox.append(message)
            agent.respond()
    assert {a.model.name: a.replicas for a in agents} == played(model, DIAMETER)[0]


def test_agents_in_processes_of_their_own_arrive_at_the_same() -> None:
    graph, processes = chain([0.1, 0.3, 9.0]), get_context("spawn")
    model, iterations = FlowModel.of(graph), 2
    lines: dict[str, dict[str, Connection]] = {name: {} for name in graph.names()}
    for stream in graph.streams:
        here, there = processes.Pipe()
        lines[stream.origin][stream.target], lines[stream.target][stream.origin] = here, there
    answers = {name: processes.Pipe(duplex=False) for name in graph.names()}
    workers = []
    for agent in agents_of(model):
        name = agent.model.name
        arguments = (agent, lines[name], iterations, answers[name][1])
        workers.append(processes.Process(target=live, args=arguments))
        workers[-1].start()
    try:
        replies = dict(receive.recv() for receive, _ in answers.values() if receive.poll(60))
    finally:
        for worker in workers:
            worker.join(10)
            worker.kill()
    assert replies == played(model, iterations)[0]


def test_an_incentive_makes_only_the_bottleneck_want_more() -> None:
    talk = MessageExchange(FlowModel.of(SERVICE))
    talk.find_pne()
    talk.raise_incentive(0.1)
    assert [a.model.name for a in talk.agents if a.incentive > 0.0] == ["recognizer"]
    before = talk.replicas()["recognizer"]
    talk.find_pne()
    assert talk.replicas()["recognizer"] == pytest.approx(before / 0.9**0.5)
    talk.undo()
    assert talk.replicas()["recognizer"] == before


def test_an_incentive_of_the_whole_price_makes_an_agent_want_all_that_help() -> None:
    recognizer = agents_of(FlowModel.of(SERVICE))[-1]
    recognizer.incentive = recognizer.model.price
    recognizer.start()
    assert recognizer.preferred == 32.0
    tenths = sum([0.1 * recognizer.model.price] * 10)
    assert tenths != recognizer.model.price
    agent = replace(recognizer, incentive=tenths)
    agent.start()
    assert agent.preferred == 32.0


def test_a_module_with_one_degree_only_passes_on_what_it_hears() -> None:
    graph = chain([0.1, 0.1, 9.0])
    fixed = replace(graph.modules[1], max_replicas=1)
    graph = replace(graph, modules=(graph.modules[0], fixed, graph.modules[2]))
    replicas, _ = played(FlowModel.of(graph), 2)
    assert replicas["m1"] == 1.0
    assert 0.1 / replicas["m0"] == pytest.approx(9.0 / replicas["m2"])
