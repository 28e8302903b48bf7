"""`--infrastructure` on the command line: two levels from the first word to the record."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import main
from penstock.policy import NODE_POLICIES
from penstock.record import load
from tests.support.pipeline_files import SMALL

SHORT = ["--duration", "100s", "--quiet"]


def simulate(out: Path, *words: str) -> int:
    return main(["simulate", "wordcount", *SHORT, "--out", str(out), *words])


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


class TestSimulate:
    @pytest.mark.parametrize(
        ("nodes", "policy"),
        [("rl", "rl"), ("simple", "threshold"), ("static", "q-learning"), ("rl", "warm-start")],
    )
    def test_two_levels_run_end_to_end(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], nodes: str, policy: str
    ) -> None:
        words = ["--infrastructure", nodes, "--policy", policy, "--json"]
        assert simulate(tmp_path / "run", *words) == 0
        found = printed(capsys)
        assert (found["pipeline"], found["policy"], found["steps"]) == ("wordcount", policy, 20)
        run = load(tmp_path / "run")
        assert run.settings.file["infrastructure"]["policy"]["name"] == nodes  # type: ignore[index]
        assert set(run.ticks[-1].seen.regions) == {"dc1", "dc2", "dc3"}
        assert set(run.ticks[-1].decided.configuration.nodes) <= {"dc1", "dc2", "dc3"}

    def test_simple_keeps_an_idle_node_in_every_region(self, tmp_path: Path) -> None:
        words = ["--infrastructure", "simple", "--workload", "constant:20/s"]
        assert simulate(tmp_path / "run", *words, "--set", "infrastructure.policy.idle=1") == 0
        last = load(tmp_path / "run").ticks[-1].seen
        assert {name: region.idle for name, region in last.regions.items()} == dict.fromkeys(
            ("dc1", "dc2", "dc3"), 1
        )

    def test_every_proposal_is_recorded_with_its_answer(self, tmp_path: Path) -> None:
        assert simulate(tmp_path / "run", "--infrastructure", "simple") == 0
        requests = [r for tick in load(tmp_path / "run").ticks for r in tick.decided.requests]
        assert {request.level for request in requests} == {"application", "infrastructure"}
        assert all(request.why and request.answer for request in requests)

    def test_settings_can_stand_beside_the_policy_of_an_option(self, tmp_path: Path) -> None:
        words = ["--infrastructure", "rl", "--set", "infrastructure.policy.demand_weight=0.9"]
        assert simulate(tmp_path / "run", *words) == 0
        section = load(tmp_path / "run").settings.file["infrastructure"]
        assert section["policy"] == {"name": "rl", "demand_weight": 0.9}  # type: ignore[index]

    def test_a_dry_run_acquires_nothing(self, tmp_path: Path) -> None:
        assert simulate(tmp_path / "run", "--infrastructure", "simple", "--dry-run") == 0
        run = load(tmp_path / "run")
        assert all(tick.asked is None for tick in run.ticks)
        assert {region.nodes for tick in run.ticks for region in tick.seen.regions.values()} == {1}
        assert any(tick.decided.proposed is not None for tick in run.ticks)

    def test_the_twin_leaves_nothing_out(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert simulate(tmp_path / "run", "--infrastructure", "simple") == 0
        assert capsys.readouterr().err == ""

    def test_without_the_option_wordcount_has_no_regions(self, tmp_path: Path) -> None:
        assert simulate(tmp_path / "run") == 0
        run = load(tmp_path / "run")
        assert "infrastructure" not in run.settings.file
        assert not any(tick.seen.regions or tick.decided.requests for tick in run.ticks)


class TestLearned:
    def test_a_run_begins_with_what_another_has_learned(self, tmp_path: Path) -> None:
        first, second = tmp_path / "first", tmp_path / "second"
        words = ["--infrastructure", "rl", "--policy", "rl"]
        assert simulate(first, *words) == 0
        saved = first / "learned.json"
        assert json.loads(saved.read_text())
        loads = [f"policy.load={saved}", f"infrastructure.policy.load={saved}"]
        settings = [word for one in loads for word in ("--set", one)]
        assert simulate(second, *words, *settings) == 0
        assert (second / "learned.json").is_file()

    def test_a_policy_that_learns_nothing_leaves_no_table(self, tmp_path: Path) -> None:
        assert simulate(tmp_path / "run", "--infrastructure", "simple") == 0
        assert not (tmp_path / "run" / "learned.json").exists()

    def test_a_table_of_another_shape_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["--infrastructure", "rl", "--policy", "rl"]
        assert simulate(tmp_path / "run", *words) == 0
        saved = tmp_path / "run" / "learned.json"
        other = ["--set", f"policy.load={saved}", "--set", "policy.levels=7"]
        assert simulate(tmp_path / "other", *words, *other) == 2
        said = capsys.readouterr().err
        assert "learned.json" in said
        assert not (tmp_path / "other").exists()

    def test_rubbish_is_no_table(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for text in ("", "{", "[]", "{}", '{"a": 1}', "null", "\x00\xff"):
            (tmp_path / "table").write_text(text)
            words = ["--policy", "rl", "--set", f"policy.load={tmp_path / 'table'}"]
            assert simulate(tmp_path / "run", *words) == 2
            said = capsys.readouterr().err.strip()
            assert str(tmp_path / "table") in said
            assert "\n" not in said


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["wordcount", "--infrastructure", "x"], "there is no policy of infrastructure 'x'"),
            (["wordcount", "--infrastructure", ""], "--infrastructure needs a value, got ''"),
            (["wordcount", "--infrastructure", "[rl]"], "must be written as simple or {name: si"),
            (
                ["trading", "--infrastructure", "rl"],
                "trading.yaml with infrastructure.policy=rl: infrastructure has no regions; write",
            ),
            (
                ["wordcount", "--set", "infrastructure.policy=rl"],
                "infrastructure has no regions; write infrastructure: {regions: {dc1: {max_nod",
            ),
            (
                [
                    *("wordcount", "--infrastructure", "rl"),
                    *("--set", "infrastructure.policy.demand_weight=1.9"),
                ],
                "must be 0 or more and sum to 1, got 1.9 and -0.9",
            ),
            (
                [
                    *("wordcount", "--infrastructure", "rl"),
                    *("--set", "infrastructure.regions.dc1.max_nodes=0"),
                ],
                "max_nodes of region dc1 must be 1 to 10,000, got 0",
            ),
        ],
    )
    @pytest.mark.parametrize("command", ["simulate", "run"])
    def test_a_mistake_is_one_sentence_and_ends_with_2(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        command: str,
        words: list[str],
        said: str,
    ) -> None:
        try:
            code: object = main([command, *words, "--out", str(tmp_path / "run")])
        except SystemExit as ended:
            code = ended.code
        shown = capsys.readouterr()
        assert code == 2
        assert said in shown.err
        assert len(shown.err.strip().splitlines()) == 1
        assert not (tmp_path / "run").exists()

    def test_keys_run_in_regions(self, tmp_path: Path) -> None:
        words = ["--set", "infrastructure.regions={dc1: {}}"]
        words += ["--set", "modules.algotrader.region=dc1", "--duration", "12s", "--quiet"]
        assert main(["simulate", "trading", *words, "--out", str(tmp_path / "run")]) == 0
        last = load(tmp_path / "run").ticks[-1].seen
        assert last.modules["algotrader"].arrival_cv is not None
        assert last.regions["dc1"].replicas == last.modules["algotrader"].requested


def test_validate_notes_what_regions_cannot_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--set", "modules.filter.max_replicas=20"]
    assert main(["validate", "wordcount-regions", *words, "--json"]) == 0
    notes = printed(capsys)["files"][0]["notes"]
    assert "on a cluster of its own run would refuse it: module filter may grow to 20" in notes[0]
    graph = tmp_path / "graph.yaml"
    graph.write_text(SMALL)
    assert main(["validate", str(graph), "--json"]) == 0
    (first, *_) = printed(capsys)["files"][0]["notes"]
    assert (
        first == "module b may grow to 20 replicas and region dc2 has room for 12, so it will not"
    )


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_help_names_every_policy_of_regions(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert ", ".join(sorted(NODE_POLICIES)) in shown
    assert "with wordcount, wordcount-regions runs" in shown
