"""The policy of a file with managers and regions, and the tables that it begins with."""

import json
from pathlib import Path

import pytest

from penstock.core.errors import FileError
from penstock.core.signals import ModuleReading, Observation, RegionReading
from penstock.guard import Clamp, Cooldown, DryRun, Hold, StepLimit
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import PipelineFile, load
from penstock.policy import QLearning, Rl, Threshold
from penstock.policy.hierarchy import (
    Accept,
    ApplicationManager,
    Conflicts,
    InfrastructureManager,
    TokenBucket,
    TwoLevels,
)
from penstock.policy.nodes import SimpleNodes
from penstock.policy.rl.nodes import LearnedNodes
from penstock.policy.rl.saved import learned
from tests.conftest import Write
from tests.support.pipeline_files import SMALL, mistakes

MODULES = ("splitter", "filter", "counter")
BUSY = ModuleReading(
    arrival_rate=90.0, utilisation=0.9, running=1, waiting_time=4.0, service_time=0.01
)
FULL = RegionReading(nodes=1, idle=0, free=0, replicas=2, utilisation=0.9, unmet=1)


def bounds(least: int) -> dict[str, int]:
    return dict.fromkeys(MODULES, least)


def after_steps(file: PipelineFile, count: int = 5) -> dict[str, object]:
    """What the policy of a file has learned from steps that were all alike."""
    policy = build_policy(file)
    modules, regions = dict.fromkeys(MODULES, BUSY), {"dc1": FULL, "dc2": FULL}
    for at in range(count):
        policy(Observation(at=at, step=1.0, modules=modules, regions=regions))
    return learned(policy)


class TestComposition:
    def test_managers_stand_around_guards_and_both_levels_side_by_side(self) -> None:
        file = load("wordcount-regions")
        assert file.infrastructure is not None
        places = file.infrastructure.places
        guarded = StepLimit(Cooldown(Hold(Threshold()), out=5.0, in_=15.0), out=1, in_=1)
        assert build_policy(file) == TwoLevels(
            ApplicationManager(
                Clamp(guarded, low=bounds(1), high=bounds(4)),
                Conflicts(),
                graph=file.graph,
                infrastructure=places,
            ),
            InfrastructureManager(SimpleNodes(places, idle=1), Accept(), infrastructure=places),
            {"dc1": 2, "dc2": 2, "dc3": 2},
        )

    def test_a_dry_run_comes_on_top_of_both_levels(self) -> None:
        policy = build_policy(load("wordcount-regions", ["guards=[dry-run]"]))
        assert isinstance(policy, DryRun)
        assert isinstance(policy.policy, TwoLevels)

    def test_a_manager_needs_no_regions(self) -> None:
        file = load(
            "wordcount", ["manager={name: token-bucket, every: 30s, burst: 2}", "guards=[]"]
        )
        assert build_policy(file) == ApplicationManager(
            Clamp(
                Threshold(),
                low={"splitter": 1, "counter": 1},
                high={"splitter": 4, "counter": 4},
            ),
            TokenBucket(every=30.0, burst=2),
            graph=file.graph,
            infrastructure=None,
        )

    def test_a_learning_policy_is_given_the_graph_and_the_promise(self) -> None:
        file = load("wordcount", ["policy=rl", "guards=[]", "slo.latency_p95=8s"])
        policy = build_policy(file)
        assert isinstance(policy, Clamp)
        assert policy.policy == Rl(file.graph, slo=8.0)
        assert policy.policy.bound_of("counter") == 4.0

    def test_chance_comes_from_the_seed_of_the_file_unless_the_policy_has_one(self) -> None:
        for settings, drawn in (([], 7), (["policy.seed=3"], 3)):
            file = load("wordcount", ["seed=7", "policy=q-learning", "guards=[]", *settings])
            policy = build_policy(file)
            assert isinstance(policy, Clamp)
            assert isinstance(policy.policy, QLearning)
            assert policy.policy.seed == drawn

    def test_what_the_file_gives_cannot_be_set(self) -> None:
        for setting in ("policy={name: rl, slo: 3s}", "policy={name: rl, graph: x}"):
            with pytest.raises(FileError, match="policy rl has no setting"):
                load("wordcount", [setting])
        with pytest.raises(FileError, match="policy rl of infrastructure has no setting 'infra"):
            load("wordcount-regions", ["infrastructure.policy={name: rl, infrastructure: x}"])

    def test_a_bound_for_a_module_that_is_not_there_is_reported(self) -> None:
        with pytest.raises(FileError, match="there is no module 'countr'; did you mean 'counter'"):
            load("wordcount", ["policy={name: rl, bound: {countr: 3s}}"])


class TestTables:
    LEARNING = ("policy=rl", "infrastructure.policy=rl")

    def test_both_levels_begin_with_what_was_saved(self, tmp_path: Path) -> None:
        tables = after_steps(load("wordcount-regions", self.LEARNING))
        saved = tmp_path / "tables.json"
        saved.write_text(json.dumps(tables))
        loads = [f"policy.load={saved}", f"infrastructure.policy.load={saved}"]
        file = load("wordcount-regions", [*self.LEARNING, *loads])
        again = learned(build_policy(file))
        assert again["application"] == tables["application"]
        assert again["infrastructure"] == tables["infrastructure"]

    def test_tables_lie_beside_their_file_or_where_the_user_is(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write(SMALL + "policy: {name: rl, load: gone.json}\n")
        (found,) = mistakes(path)
        line = SMALL.count("\n") + 1
        assert found.startswith(f"job.yaml, line {line}: there is no file {tmp_path}/gone.json")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        for settings in (
            ["policy.load=mine.json"],
            ["policy=threshold", "infrastructure.policy={name: rl, load: mine.json}"],
        ):
            with pytest.raises(FileError, match=f"there is no file {elsewhere}/mine.json"):
                load(path, settings)

    def test_tables_of_another_shape_are_reported_with_their_line(
        self, write: Write, tmp_path: Path
    ) -> None:
        tables = after_steps(load("wordcount-regions", self.LEARNING))
        (tmp_path / "tables.json").write_text(json.dumps(tables))
        text = SMALL.replace("regions:", "policy: {name: rl, load: tables.json}\n  regions:")
        (found,) = mistakes(write(text))
        assert found.startswith("job.yaml, line 7: the table of dc1 in ")
        assert "numbers to 4, and 11 levels, 2 flags and numbers to 50 are needed" in found

    def test_tables_are_not_held_against_a_file_that_has_other_mistakes(
        self, write: Write, tmp_path: Path
    ) -> None:
        (tmp_path / "tables.json").write_text("{}")
        text = SMALL.replace("{region: dc1", "{region: dc7")
        (found,) = mistakes(write(text + "policy: {name: rl, load: tables.json}\n"))
        assert "module a is in region 'dc7'" in found

    def test_a_resolved_file_keeps_the_whole_path(self, tmp_path: Path) -> None:
        tables = after_steps(load("wordcount-regions", self.LEARNING))
        (tmp_path / "tables.json").write_text(json.dumps(tables))
        loads = [f"infrastructure.policy.load={tmp_path}/tables.json"]
        file = load("wordcount-regions", ["infrastructure.policy=rl", *loads])
        assert file.resolved["infrastructure"]["policy"]["load"] == f"{tmp_path}/tables.json"
        policy = build_policy(file)
        assert isinstance(policy, TwoLevels)
        assert isinstance(policy.infrastructure, InfrastructureManager)
        assert isinstance(policy.infrastructure.policy, LearnedNodes)
