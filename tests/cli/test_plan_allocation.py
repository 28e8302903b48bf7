"""`penstock plan` of allocation graphs as people and scripts use it."""

import json
import re
import subprocess
import sys
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from penstock.cli import main
from penstock.cli.plan import ALLOCATION_POLICIES, divide
from penstock.pipeline.format.allocation import AllocationGraph
from penstock.pipeline.settings import Part
from penstock.policy.allocation import PLANNERS
from penstock.policy.allocation.network import Network
from tests.conftest import Write
from tests.support.allocation import small_graphs, true_optimum
from tests.support.paths import ROOT
from tests.support.pipeline_files import GRAPH

EVERYWHERE = tuple(sorted(set(ALLOCATION_POLICIES) - {"shrink", "single-output"}))
"""Policies that plan any graph."""

DIAMOND = """\
sources: {s: {to: a}}
modules: {a: {}, b: {}, c: {}, d: {}}
streams:
  - {from: s, to: a, consumes: 1}
  - {from: a, to: b, produces: 2, consumes: 1}
  - {from: a, to: c, produces: 3, consumes: 1}
  - {from: b, to: d, produces: 1, consumes: 2}
  - {from: c, to: d, produces: 1, consumes: 4}
sinks: {o: {from: d, produces: 5}}
"""


@pytest.fixture
def graph(write: Write) -> str:
    return str(write(GRAPH))


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["plan", *words, "--json"]) == 0
    output: dict[str, Any] = json.loads(capsys.readouterr().out)
    return output


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 2
    errors = capsys.readouterr().err
    assert len(errors.splitlines()) == 1
    return errors


def test_the_policies_on_offer_are_those_that_there_are() -> None:
    assert set(ALLOCATION_POLICIES) == set(PLANNERS)
    assert ALLOCATION_POLICIES[0] == "cutting-plane"


class TestAnswers:
    @pytest.mark.parametrize("policy", sorted(set(ALLOCATION_POLICIES) - {"single-output"}))
    def test_the_shape_is_that_which_others_script_against(
        self, graph: str, capsys: pytest.CaptureFixture[str], policy: str
    ) -> None:
        output = planned(capsys, graph, "--policy", policy)
        assert list(output) == ["policy", "resource", "value", "optimum", "messages", "passes"]
        assert output["policy"] == policy
        assert list(output["resource"]) == ["a", "b", "c"]
        assert 0 < output["value"] <= output["optimum"] * (1 + 1e-9)

    @pytest.mark.parametrize("policy", ["lp", "shrink", "cutting-plane"])
    def test_the_best_division_of_a_small_graph_is_found(
        self, graph: str, capsys: pytest.CaptureFixture[str], policy: str
    ) -> None:
        output = planned(capsys, graph, "--policy", policy)
        best = (0.5 + 0.3 * 0.9 * 7.875) / (4.5 + 7.875 + 1)  # all that a gives is used
        assert output["optimum"] == pytest.approx(best, rel=1e-9)
        assert output["value"] == pytest.approx(best, rel=1e-3)
        assert sum(output["resource"].values()) == pytest.approx(1.0)

    def test_one_sink_is_planned_by_the_paper_s_first_algorithm(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        output = planned(capsys, str(write(DIAMOND)), "--policy", "single-output")
        # a unit of d asks for 2 of b and 4 of c, and these for the larger of 2/2 and 4/3 of a
        needed = 4 / 3 + 2 + 4 + 1
        assert output["value"] == pytest.approx(5 / needed)
        assert output["resource"]["c"] == pytest.approx(4 / needed)

    def test_the_policy_is_the_one_asked_for_or_the_file_s_or_the_exact_one(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert planned(capsys, str(write(GRAPH)))["policy"] == "cutting-plane"
        own = str(write(f"policy: {{name: heuristic-b, tolerance: 0.5}}\n{GRAPH}"))
        assert planned(capsys, own)["policy"] == "heuristic-b"
        assert planned(capsys, own, "--policy", "shrink")["policy"] == "shrink"

    def test_a_setting_of_the_file_or_the_policy_changes_the_plan(
        self, graph: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        once = planned(capsys, graph, "--policy", "lp")
        twice = planned(capsys, graph, "--policy", "lp", "--set", "budget=2")
        assert twice["value"] == pytest.approx(2 * once["value"])
        fine = ("--policy", "cutting-plane", "--set", "policy.tolerance=1e-7")
        assert planned(capsys, graph, *fine)["value"] == pytest.approx(once["value"], rel=1e-6)

    def test_a_limited_source_is_shared_by_value(
        self, graph: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        output = planned(capsys, graph, "--policy", "lp", "--set", "sources.s.rate=0.03")
        assert output["resource"]["a"] == pytest.approx(0.1)
        assert output["value"] == pytest.approx(0.175 * 0.27 + 0.1 * 0.2 / 0.9 * 0.5)

    def test_pieces_that_have_only_the_budget_in_common_compete_for_it(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = (
            "sources: {s: {to: a, rate: 3}, t: {to: b}}\nmodules: {a: {}, b: {}}\nbudget: 10\n"
            "streams: [{from: s, to: a, consumes: 1}, {from: t, to: b, consumes: 1}]\n"
            "sinks: {o: {from: a, produces: 4}, p: {from: b, produces: 1}}\n"
        )
        for policy in ("lp", "cutting-plane"):
            output = planned(capsys, str(write(text)), "--policy", policy)
            assert output["resource"] == pytest.approx({"a": 3.0, "b": 7.0}, rel=1e-2)
            assert output["optimum"] == pytest.approx(19.0)


class TestWords:
    def test_idle_modules_are_reported_and_why(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = GRAPH.replace("c: {}}", "c: {}, d: {}, e: {}}").replace(
            "weight: 1.0", "weight: 1e-3"
        )
        text = text.replace("sinks:", "  - {from: a, to: d, produces: 1, consumes: 1}\nsinks:")
        text = text.replace("sinks:", "  - {from: d, to: e, produces: 1, consumes: 1}\nsinks:")
        printed = shown(capsys, str(write(text)), "--policy", "lp")
        assert printed[3].split() == ["c", "0", "0", "%", "idle"]
        assert printed[4].endswith("0 %  idle, it leads to no sink")
        assert printed[5].endswith("0 %  idle, it leads to no sink")

    @pytest.mark.parametrize(
        ("rate", "budget", "message"),
        [("inf", "1", "the budget"), ("0.03", "1", "source s, 70 % of the budget is left")],
    )
    def test_what_limits_is_reported(
        self, graph: str, capsys: pytest.CaptureFixture[str], rate: str, budget: str, message: str
    ) -> None:
        words = ("--set", f"sources.s.rate={rate}", "--set", f"budget={budget}")
        [line] = [
            line
            for line in shown(capsys, graph, "--policy", "lp", *words)
            if line.startswith("limited by")
        ]
        assert line.split(maxsplit=2)[2] == message

    def test_a_share_is_never_rounded_up_to_the_optimum(
        self, graph: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "100 % of the optimum" in "\n".join(shown(capsys, graph, "--policy", "lp"))


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--policy", "nash"), "there is no policy of allocation graphs 'nash'; there are cut"),
            (("--policy", "heuristic"), "did you mean 'heuristic-"),
            (("--policy", "single-output"), "sink"),
            (("--rate", "2/s"), "--set sources.NAME.rate=2/s"),
            (("--set", "budget=0"), "must be above 0, got 0"),
            (("--set", "policy.tolerance=0.1", "--policy", "lp"), "has no setting 'tolerance'"),
            (("--set", "policy.tolerance=x"), "tolerance of policy cutting-plane must be a number"),
            (("--set", "policy.tolerance=-1"), "tolerance"),
        ],
    )
    def test_a_mistake_gets_one_sentence(
        self, graph: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
    ) -> None:
        assert message in refused(capsys, graph, *words)

    def test_what_cannot_be_shrunk_is_refused_by_name(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert re.search(r"\bd\b|a -> ", refused(capsys, str(write(DIAMOND)), "--policy", "shrink"))

    @pytest.mark.parametrize("policy", ALLOCATION_POLICIES)
    def test_a_policy_for_budgets_is_refused_where_there_is_none(
        self, capsys: pytest.CaptureFixture[str], policy: str
    ) -> None:
        message = refused(capsys, "recognition", "--policy", policy)
        assert f"policy '{policy}' divides the budget of an allocation graph" in message
        assert "there are nash, incentive, social" in message

    @pytest.mark.parametrize("policy", EVERYWHERE)
    def test_what_numbers_cannot_hold_is_refused(
        self, write: Write, capsys: pytest.CaptureFixture[str], policy: str
    ) -> None:
        text = "sources: {s: {to: m0}}\nmodules: {m0: {}, m1: {}, m2: {}, m3: {}}\nstreams:\n"
        text += "  - {from: s, to: m0, consumes: 1}\n"
        for i in range(3):
            text += f"  - {{from: m{i}, to: m{i + 1}, produces: 1e-150, consumes: 1e150}}\n"
        text += "sinks: {o: {from: m3, produces: 1}}\n"
        refused(capsys, str(write(text)), "--policy", policy)


def test_a_hundred_modules_are_planned_by_all(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(random_graph(100, np.random.default_rng(3))))
    for policy in EVERYWHERE:
        output = planned(capsys, path, "--policy", policy)
        assert sum(output["resource"].values()) <= 1 + 1e-9
        assert output["value"] <= output["optimum"] * (1 + 1e-9)
        if policy in ("lp", "cutting-plane"):
            assert output["value"] >= 0.999 * output["optimum"]


def test_ten_thousand_modules_are_planned(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write(random_graph(10_000, np.random.default_rng(4), inputs=1, reach=10_000)))
    output = planned(capsys, path, "--policy", "shrink")
    assert output["value"] == pytest.approx(output["optimum"], rel=1e-9)


def random_graph(
    count: int, chance: np.random.Generator, *, inputs: int = 3, reach: int = 20
) -> str:
    """A graph in which every module is fed by up to so many of those that it can reach back to."""
    text = "sources: {s: {to: m0}}\nmodules:\n"
    text += "".join(f"  m{i}: {{}}\n" for i in range(count))
    text += "streams:\n  - {from: s, to: m0, consumes: 1}\n"
    last = set(range(count))
    for i in range(1, count):
        for origin in set(chance.integers(max(0, i - reach), i, size=inputs).tolist()):
            produces, consumes = chance.uniform(0.1, 1.0, size=2)
            text += (
                f"  - {{from: m{origin}, to: m{i}, produces: {produces}, consumes: {consumes}}}\n"
            )
            last.discard(origin)
    text += "sinks:\n"
    for i in sorted(last):
        produces, weight = chance.uniform(0.1, 1.0, size=2)
        text += f"  o{i}: {{from: m{i}, produces: {produces}, weight: {weight}}}\n"
    return text


@given(small_graphs())
def test_numbers_twelve_orders_apart_are_planned_right(network: Network) -> None:
    best = true_optimum(network)
    for policy, settings in (("lp", {}), ("cutting-plane", {"tolerance": 1e-7})):
        plan, optimum = divide(AllocationGraph(network=network, policy=Part(policy, settings)))
        assert optimum == pytest.approx(best, rel=1e-6)
        assert plan.value == pytest.approx(best, rel=1e-6)


def test_planning_a_budget_loads_neither_spark_nor_numba(graph: str) -> None:
    code = (
        "import sys; from penstock.cli import main; "
        f"main(['plan', {graph!r}]); sys.exit('pyspark' in sys.modules or 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def test_checking_a_file_does_not_load_the_solver(graph: str) -> None:
    code = (
        "import sys; from penstock.cli import main; "
        f"main(['validate', {graph!r}, '--set', 'policy=lp']); sys.exit('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def test_the_handbook_names_every_policy_with_its_settings() -> None:
    text = (ROOT / "docs" / "allocation.md").read_text(encoding="utf-8")
    for policy, planner in PLANNERS.items():
        assert f"| `{policy}` |" in text
        for name, default in signature(planner).parameters.items():
            if default.kind is default.KEYWORD_ONLY:
                assert f"`{name}` ({default.default:,})" in text


def test_the_example_comes_out_as_shown(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "allocation.md").read_text(encoding="utf-8")
    [example] = [one for one in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "sinks" in one]
    [documented] = re.findall(r"\$ penstock plan alloc\.yaml\n(.*?)```", text, re.DOTALL)
    assert "\n".join(shown(capsys, str(write(example)))) + "\n" == documented
