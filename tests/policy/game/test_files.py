"""Games named in a file: the policy is given the file's graph, and mistakes are told by line."""

from pathlib import Path

import pytest

from penstock.guard import Clamp, Hold
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import check, load
from penstock.policy import Incentive, Nash

GRAPH = """\
step: 300s
source: {module: scan, inter_arrival: 0.5s}
modules:
  scan: {service_time: 0.1s, max_replicas: 1, price: 0.005, delay_cost: 0.5}
  match: {service_time: 2s, max_replicas: 8, price: 0.005, delay_cost: 0.5}
streams:
  - {from: scan, to: match}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "graph.yaml"
    path.write_text(text)
    return path


def mistakes(folder: Path, text: str) -> list[str]:
    found = check(written(folder, text)).mistakes
    return [str(mistake).removeprefix(f"{folder}/") for mistake in found]


def test_a_policy_that_needs_a_graph_gets_the_files(tmp_path: Path) -> None:
    file = load(written(tmp_path, GRAPH), ["policy={name: incentive, increment: 0.2}"])
    policy = build_policy(file)
    assert isinstance(policy, Clamp)
    assert isinstance(policy.policy, Hold)
    assert policy.policy.policy == Incentive(file.graph, increment=0.2)


def test_a_policy_by_its_name_alone_gets_the_files_graph(tmp_path: Path) -> None:
    file = load(written(tmp_path, GRAPH), ["policy=nash", "guards=[]"])
    policy = build_policy(file)
    assert isinstance(policy, Clamp)
    assert policy.policy == Nash(file.graph)


@pytest.mark.parametrize("policy", ["nash", "incentive", "social"])
def test_each_module_without_a_price_is_reported_with_its_line(tmp_path: Path, policy: str) -> None:
    unpriced = GRAPH.replace("price: 0.005, ", "") + f"policy: {policy}\n"
    assert mistakes(tmp_path, unpriced) == [
        f"graph.yaml, line 4: price of module scan must be above 0 and finite for policy "
        f"{policy}, got 0",
        f"graph.yaml, line 5: price of module match must be above 0 and finite for policy "
        f"{policy}, got 0",
    ]


def test_a_module_with_nothing_at_stake_is_reported_all_that_it_lacks(tmp_path: Path) -> None:
    bare = GRAPH.replace("{service_time: 2s, max_replicas: 8, price: 0.005, delay_cost: 0.5}", "{}")
    messages = mistakes(tmp_path, bare + "policy: social\n")
    assert [line.split(" must ")[0].split(": ")[1] for line in messages] == [
        "delay_cost of module match",
        "price of module match",
        "service_time of module match",
    ]


def test_other_policies_need_no_price(tmp_path: Path) -> None:
    unpriced = GRAPH.replace("price: 0.005, ", "")
    assert mistakes(tmp_path, unpriced) == []
    assert mistakes(tmp_path, unpriced + "policy: threshold\n") == []


def test_settings_of_a_game_are_checked_beside_its_graph(tmp_path: Path) -> None:
    wrong = GRAPH.replace("price: 0.005, ", "", 1)
    messages = mistakes(
        tmp_path, wrong + "policy: {name: incentive, increment: 2, aggregate: tree}\n"
    )
    assert [line for line in messages if "line 8" in line] == [
        "graph.yaml, line 8: increment of policy incentive must be in (0, 1], got 2",
        "graph.yaml, line 8: policy incentive has no setting 'aggregate'; "
        "did you mean 'aggregation'?",
    ]
    assert any("price of module scan" in line for line in messages)
    messages = mistakes(tmp_path, GRAPH + "policy: {name: incentive, increment: 2}\n")
    assert messages == [
        "graph.yaml, line 8: increment of policy incentive must be in (0, 1], got 2"
    ]


def test_the_graph_is_the_files_own_and_no_setting(tmp_path: Path) -> None:
    messages = mistakes(tmp_path, GRAPH + "policy: {name: nash, graph: other}\n")
    assert len(messages) == 1
    assert messages[0].startswith("graph.yaml, line 8: policy nash has no setting 'graph'")


def test_a_broken_graph_is_not_blamed_on_the_policy(tmp_path: Path) -> None:
    messages = mistakes(tmp_path, GRAPH.replace("to: match", "to: scan") + "policy: nash\n")
    assert messages
    assert not any("nash" in line for line in messages)
