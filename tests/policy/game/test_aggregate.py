"""Sums over all agents: exact by the tree, closer and closer by gossip, and agreed on by all."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.model import FlowModel
from penstock.policy.game import incentive
from penstock.policy.game.agents import MessageExchange
from penstock.policy.game.aggregate import Aggregation, Tally, broadcast, gather, gossip, push
from penstock.policy.game.bulk import push_sum
from penstock.policy.game.topology import Topology
from tests.support.game_graphs import chain, models

VALUES = st.floats(-1e6, 1e6)


def everyone(_: object) -> bool:
    return True


def numbers(model: FlowModel, data: st.DataObject) -> dict[str, tuple[float, float]]:
    return {name: (data.draw(VALUES), data.draw(VALUES)) for name in model.modules}


@given(models(most=15), st.data())
@settings(max_examples=50)
def test_the_root_has_the_sum_and_the_maximum_after_one_message_from_each_other(
    model: FlowModel, data: st.DataObject
) -> None:
    talk, known = MessageExchange(model), numbers(model, data)
    own = {name: Tally((x,), (y,)) for name, (x, y) in known.items()}
    total = gather(talk.tree(everyone), own, talk.network)
    assert total.sums[0] == pytest.approx(fsum(x for x, _ in known.values()), abs=1e-6)
    assert total.maxima[0] == max(y for _, y in known.values())
    assert talk.messages == len(known) - 1
    assert talk.iterations == talk.topology.height


@given(models(most=15))
@settings(max_examples=50)
def test_all_are_informed_after_one_message_to_each_other(model: FlowModel) -> None:
    talk = MessageExchange(model)
    answer = broadcast(talk.tree(everyone), (1.0, 2.0), talk.network)
    assert answer == dict.fromkeys(model.modules, (1.0, 2.0))
    assert talk.messages == len(answer) - 1
    assert talk.iterations == talk.topology.height


@given(models(most=15), st.data())
@settings(max_examples=50)
def test_branches_without_a_receiver_get_no_message(model: FlowModel, data: st.DataObject) -> None:
    talk = MessageExchange(model)
    chosen = data.draw(st.sets(st.sampled_from(sorted(model.modules))))
    branches = talk.branches(chosen)
    own = {name: Tally((1.0,)) for name in chosen}
    assert gather(branches, own, talk.network).sums == ((float(len(chosen)),) if chosen else ())
    assert chosen <= set(broadcast(branches, (1.0,), talk.network))
    assert talk.messages == 2 * (len(branches) - 1)


@given(models(most=15), st.data(), st.integers(1, 30))
@settings(max_examples=50)
def test_gossip_loses_nothing_and_maxima_reach_as_far_as_iterations(
    model: FlowModel, data: st.DataObject, iterations: int
) -> None:
    talk, known = MessageExchange(model), numbers(model, data)
    own = {name: Tally((x,), (y,)) for name, (x, y) in known.items()}
    held = push(talk.neighbours, own, talk.network, iterations).values()
    assert fsum(tally.sums[0] for tally in held) == pytest.approx(len(known))
    total = fsum(tally.sums[1] for tally in held)
    assert total == pytest.approx(fsum(x for x, _ in known.values()), abs=1e-6)
    if iterations >= talk.topology.diameter:
        assert {tally.maxima[0] for tally in held} == {max(y for _, y in known.values())}
    assert talk.messages == iterations * talk.topology.links


@given(models(most=15), st.data())
@settings(max_examples=30)
def test_gossip_converges_to_the_sum_at_every_agent(model: FlowModel, data: st.DataObject) -> None:
    known = {name: data.draw(st.floats(0.1, 10.0)) for name in model.modules}
    talk = MessageExchange(model)
    own = {name: Tally((x,)) for name, x in known.items()}
    far = 20 * (talk.topology.diameter + 1) ** 2
    for estimate in gossip(talk.neighbours, own, talk.network, far):
        assert estimate.sums[0] == pytest.approx(fsum(known.values()), rel=1e-6)


@given(models(most=15), st.data(), st.integers(1, 20))
@settings(max_examples=30)
def test_gossip_at_once_is_gossip_by_messages(
    model: FlowModel, data: st.DataObject, iterations: int
) -> None:
    talk, known = MessageExchange(model), numbers(model, data)
    own = {name: Tally((x, y)) for name, (x, y) in known.items()}
    estimates = [e.sums for e in gossip(talk.neighbours, own, talk.network, iterations)]
    shape = Topology.of(model.neighbours)
    at_once = push_sum(np.array(list(known.values())), shape, iterations)
    assert at_once == pytest.approx(np.array(estimates), rel=1e-9, abs=1e-6)


def test_agents_that_disagree_stop_together() -> None:
    """One iteration of gossip leaves opinions apart; one objection is heard by all."""
    talk = MessageExchange(
        FlowModel.of(chain([1.0, 2.0, 3.0])), aggregation=Aggregation("gossip", 1)
    )
    assert talk.any_objection(np.array([False, False, True]))
    assert not talk.any_objection(np.array([False, False, False]))
    assert talk.messages == 2 * 2 * 4


@given(models(most=15), st.integers(1, 20))
@settings(max_examples=40)
def test_however_wrong_the_estimates_agents_stop_together_and_waste_nothing(
    model: FlowModel, iterations: int
) -> None:
    plan = incentive(model, aggregation="gossip", iterations=iterations, max_rounds=50)
    assert 1 <= plan.rounds <= 50
    efficiency = model.pace(plan.replicas).efficiency
    for name, module in model.modules.items():
        assert module.fixed or efficiency[name] == pytest.approx(1.0, rel=1e-6)


def test_what_cannot_be_added_up_with_is_refused() -> None:
    with pytest.raises(SettingError, match="must be tree or gossip, got 'forest'"):
        Aggregation("forest")
    with pytest.raises(SettingError, match="iterations of aggregation must be 1 or more, got 0"):
        Aggregation("gossip", 0)
