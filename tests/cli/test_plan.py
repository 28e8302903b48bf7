"""`penstock plan` as people and scripts use it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import main

GRAPH = """
step: 300s
source: {module: dispatcher, inter_arrival: 0.2s}
modules:
  dispatcher:    {service_time: 0.1s,   max_replicas: 1,  price: 0.00483, delay_cost: 0.5}
  denoiser-1:    {service_time: 2.48s,  max_replicas: 8,  price: 0.00483, delay_cost: 0.5}
  denoiser-2:    {service_time: 3.66s,  max_replicas: 8,  price: 0.00483, delay_cost: 0.5}
  edge-detector: {service_time: 7.80s,  max_replicas: 32, price: 0.0177,  delay_cost: 0.5}
  recognizer:    {service_time: 14.44s, max_replicas: 32, price: 0.0177,  delay_cost: 0.5}
streams:
  - {from: dispatcher, to: denoiser-1, probability: 0.5}
  - {from: dispatcher, to: denoiser-2, probability: 0.5}
  - {from: denoiser-1, to: edge-detector}
  - {from: denoiser-2, to: edge-detector}
  - {from: edge-detector, to: recognizer}
"""


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "graph.yaml"
    path.write_text(GRAPH)
    return str(path)


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["plan", *words, "--json"]) == 0
    output: dict[str, object] = json.loads(capsys.readouterr().out)
    return output


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 2
    return capsys.readouterr().err


def test_the_answer_has_the_shape_that_others_script_against(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = planned(capsys, graph, "--policy", "nash")
    assert list(output) == [
        *("policy", "replicas", "rounded", "inter_departure", "bottleneck"),
        *("cost", "messages", "rounds"),
    ]
    assert output["policy"] == "nash"
    assert output["bottleneck"] == ["recognizer"]


@pytest.mark.parametrize(
    ("policy", "pace", "cost", "recognizer"),
    [("nash", 0.7150, 3.0785, 20.20), ("social", 0.45125, 2.4894, 32.0)],
)
def test_the_paper_s_graph_comes_out_as_it_should(
    graph: str,
    capsys: pytest.CaptureFixture[str],
    policy: str,
    pace: float,
    cost: float,
    recognizer: float,
) -> None:
    output: dict[str, dict[str, float]] = planned(capsys, graph, "--policy", policy)  # type: ignore[assignment]
    assert output["inter_departure"]["dispatcher"] == pytest.approx(pace, abs=1e-4)
    assert output["cost"]["total"] == pytest.approx(cost, abs=1e-4)
    assert output["replicas"]["recognizer"] == pytest.approx(recognizer, abs=0.01)


def test_without_a_policy_the_least_cost_is_planned(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned(capsys, graph)["policy"] == "social"


def test_a_pipeline_s_own_policy_is_used_with_its_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fast = ("recognition", "--rate", "100/s")
    assert planned(capsys, *fast)["policy"] == "incentive"
    coarse = planned(capsys, *fast, "--set", "policy.increment=0.5")["rounds"]
    assert coarse < planned(capsys, *fast, "--policy", "incentive")["rounds"]  # type: ignore[operator]


def test_a_rate_takes_the_place_of_the_file_s(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = planned(capsys, graph, "--rate", "1/s", "--policy", "nash")
    assert output["bottleneck"] == ["dispatcher"]
    assert output["inter_departure"]["recognizer"] == pytest.approx(1.0)  # type: ignore[index]


def test_people_get_a_table(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", graph, "--policy", "nash"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[5].split() == ["recognizer", "20.20", "20", "715", "ms", "0.715"]
    assert lines[-1].split(maxsplit=2)[2] == "30 messages in 1 round"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("service_time: 7.80s", "service_time: 0s", "service_time of module edge-detector"),
        ("price: 0.0177,  delay_cost: 0.5}\nst", "price: 0, delay_cost: 0.5}\nst", "recognizer"),
        ("0.00483, delay_cost: 0.5}\n  denoiser-1", "0.1}\n  denoiser-1", "delay_cost of module d"),
        ("denoiser-2, probability: 0.5", "denoiser-2, probability: 0.6", "streams from dispatcher"),
        ("  - {from: edge-detector, to: recognizer}", "", "module recognizer"),
        ("to: recognizer}", "to: denoiser-1}", "cycle"),
        ("max_replicas: 8,  price: 0.00483", "max_replicas: 8,  price: -1", "denoiser-1"),
    ],
)
def test_a_graph_that_cannot_be_is_refused_with_the_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, named: str
) -> None:
    assert old in GRAPH
    path = tmp_path / "wrong.yaml"
    path.write_text(GRAPH.replace(old, new, 1))
    message = refused(capsys, str(path), "--policy", "nash")
    assert named in message
    assert len(message.strip().splitlines()) == 1


def test_two_sources_are_refused(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    second = "modules.camera={service_time: 1s, price: 0.1, delay_cost: 0.1}"
    assert "camera" in refused(capsys, graph, "--set", second)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policy", "threshold"), "policy 'threshold' does not plan; there are incentive, nash"),
        (("--policy", "nahs"), "did you mean 'nash'"),
        (("--rate", "2"), "needs a unit"),
        (("--rate", ""), "needs a value"),
        (("--rate", "0/s"), "a plan needs an arrival rate above 0/s and finite, got 0/s"),
        (("--rate", "inf/s"), "a plan needs an arrival rate above 0/s and finite, got inf/s"),
        (("--set", "policy.increment=2", "--policy", "incentive"), "increment of policy incentive"),
    ],
)
def test_a_mistake_gets_one_sentence(
    graph: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, graph, *words)


def test_planning_does_not_load_spark(graph: str) -> None:
    code = (
        "import sys; from penstock.cli import main; "
        f"main(['plan', {graph!r}]); sys.exit('pyspark' in sys.modules or 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
