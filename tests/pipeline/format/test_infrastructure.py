"""Regions and managers of a pipeline file: what it says, and every mistake with its line."""

from importlib import resources
from pathlib import Path
from subprocess import run
from sys import executable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.regions import Infrastructure, Region
from penstock.pipeline.file import check, load
from penstock.pipeline.settings import Part
from penstock.pipeline.twins import left_out, out_of_reach, refusal
from tests.conftest import Write
from tests.support.pipeline_files import SMALL, WORDCOUNT, again, line_of, mistakes, refused_or_read

_FILE = resources.files("penstock.apps") / "wordcount" / "wordcount-regions.yaml"
REGIONS = _FILE.read_text(encoding="utf-8")


class TestWhatAFileSays:
    def test_the_built_in_pipeline_has_three_regions(self) -> None:
        file = load("wordcount-regions", to_run=True)
        assert file.infrastructure is not None
        assert file.infrastructure.places == Infrastructure(
            regions=tuple(Region(name=n, max_nodes=4, slots=2) for n in ("dc1", "dc2", "dc3")),
            delays={"dc1-dc2": 0.002, "dc1-dc3": 0.002, "dc2-dc3": 0.001},
        )
        assert [module.region for module in file.graph.modules] == ["dc1", "dc2", "dc3"]
        assert file.graph["counter"].operators == ("counter", "consumer")
        assert file.infrastructure.policy == Part("simple", {"idle": 1})
        assert file.lack_of_room() is None

    def test_what_is_left_out_has_a_default(self, write: Write) -> None:
        file = load(write(SMALL))
        assert file.infrastructure is not None
        assert file.infrastructure.places.regions == (
            Region(name="dc1"),
            Region(name="dc2", max_nodes=4, slots=3),
        )
        assert (file.infrastructure.policy, file.infrastructure.manager) == (
            Part("simple"),
            Part("accept"),
        )
        assert file.manager == Part("conflicts")

    def test_without_regions_nobody_has_to_grant_anything(self) -> None:
        file = load("wordcount")
        assert (file.manager, file.infrastructure) == (None, None)
        assert "manager" not in file.resolved
        assert "infrastructure" not in file.resolved

    def test_an_application_can_have_a_manager_without_regions(self) -> None:
        file = load("wordcount", ["manager=token-bucket", "manager.every=1m"])
        assert file.manager == Part("token-bucket", {"every": "1m"})

    def test_fewest_nodes_are_also_the_first(self, write: Write) -> None:
        file = load(write(SMALL.replace("dc1: {}", "dc1: {min_nodes: 3}")))
        assert file.infrastructure is not None
        assert file.infrastructure.places["dc1"].initial_nodes == 3

    @pytest.mark.parametrize(
        "settings",
        [
            [],
            ["infrastructure.policy=rl", "infrastructure.policy.demand_weight=0.9"],
            ["infrastructure.manager={name: token-bucket, every: 90s, burst: 2}"],
            ["manager=accept", "infrastructure.delays={}", "infrastructure.regions.dc1.slots=3"],
        ],
    )
    def test_what_was_resolved_is_itself_a_pipeline_file(
        self, tmp_path: Path, settings: list[str]
    ) -> None:
        file = load("wordcount-regions", settings)
        assert again(file, tmp_path) == file

    def test_a_policy_that_is_a_word_can_be_given_settings(self) -> None:
        settings = ["infrastructure.policy=simple", "infrastructure.policy.idle=3"]
        file = load("wordcount-regions", settings)
        assert file.infrastructure is not None
        assert file.infrastructure.policy == Part("simple", {"idle": 3})

    def test_reading_a_file_compiles_nothing(self) -> None:
        script = (
            "import sys; from penstock.pipeline.file import load; "
            "load('wordcount-regions', ['policy=rl', 'infrastructure.policy=rl']); "
            "sys.exit('numba' in sys.modules or 'pyspark' in sys.modules)"
        )
        assert run([executable, "-c", script], check=False).returncode == 0


class TestMistakes:
    @pytest.mark.parametrize(
        ("right", "wrong", "message"),
        [
            (
                "region: dc1",
                "region: dc9",
                "module splitter is in region 'dc9'; there are dc1, dc2, dc3",
            ),
            ("region: dc2", "region: [dc2]", "region of module filter must be a text"),
            ("dc1: {max_nodes: 4", "dc1: {max_nodes: 0", "max_nodes of region dc1 must be 1 to 10"),
            ("dc1: {max_nodes: 4", "dc1: {max_nodes: four", "max_nodes of region dc1 must be a wh"),
            ("dc1: {max_nodes: 4", "dc1: {max_node: 4", "did you mean 'max_nodes'?"),
            ("dc2: {max_nodes: 4", "dc2: {min_nodes: 5, max_nodes: 4", "region dc2 needs 0 <= min"),
            (
                "dc2: {max_nodes: 4",
                "dc2: {name: dc2, max_nodes: 4",
                "has its name before the colon",
            ),
            (
                "slots: 2}",
                "slots: 1e9}",
                "slots of region dc1 must be 1 to 10,000, got 1,000,000,000",
            ),
            ("slots: 2}", "slots: 0}", "slots of region dc1 must be 1 to 10,000, got 0"),
            (
                "dc1-dc2: 2ms",
                "dc1-dc2: 2",
                "delays of infrastructure needs a unit for dc1-dc2, got 2;",
            ),
            (
                "dc1-dc2: 2ms",
                "dc1-dc2: -2ms",
                "infrastructure for dc1-dc2: cannot read the duration",
            ),
            ("dc1-dc2: 2ms", "dc1-dc9: 2ms", "there is no pair of regions 'dc1-dc9'; did you mean"),
            ("dc1-dc2: 2ms", "dc1-dc1: 2ms", "there is no pair of regions 'dc1-dc1'"),
            (
                "dc1-dc3: 2ms",
                "dc2-dc1: 3ms",
                "is 0.002s and dc2-dc1 is 0.003s; a delay is the same both ways, keep one",
            ),
            ("name: simple", "name: simpel", "there is no policy of infrastructure 'simpel'; did"),
            ("name: simple,", "nam: simple,", "policy of infrastructure needs name; there are rl"),
            ("idle: 1", "idel: 1", "policy simple of infrastructure has no setting 'idel'"),
            ("idle: 1", "idle: -1", "idle"),
            ("manager: accept", "manager: acept", "there is no manager of infrastructure 'acept'"),
            ("manager: accept", "manager: [accept]", "must be written as accept or {name: accept}"),
            (
                "manager: conflicts",
                "manager: conflict",
                "there is no manager 'conflict'; did you m",
            ),
            (
                "manager: conflicts",
                "manager: {name: token-bucket, every: 60}",
                "every of manager token-bucket needs a unit, got 60",
            ),
            ("delays:", "delay:", "infrastructure has no section 'delay'; did you mean 'delays'?"),
        ],
    )
    def test_a_mistake_is_reported_with_the_line_it_stands_on(
        self, write: Write, right: str, wrong: str, message: str
    ) -> None:
        assert REGIONS.count(right) >= 1
        found = mistakes(write(REGIONS.replace(right, wrong, 1)))
        assert len(found) == 1
        assert found[0].startswith(f"job.yaml, line {line_of(REGIONS, right)}: ")
        assert message in found[0]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ("demand_weight: 0.7, resource_weight: 0.7", "sum to 1, got 0.7 and 0.7"),
            ("demand_weight: 1.5", "must be 0 or more and sum to 1, got 1.5 and -0.5"),
            ("quantum: 0", "quantum of policy rl of infrastructure must be in (0, 1], got 0"),
            ("quantum: 1.5", "must be in (0, 1], got 1.5"),
        ],
    )
    def test_what_a_policy_refuses_is_reported_with_its_line(
        self, write: Write, settings: str, message: str
    ) -> None:
        (found,) = mistakes(
            write(REGIONS.replace("name: simple, idle: 1", f"name: rl, {settings}"))
        )
        assert found.startswith(f"job.yaml, line {line_of(REGIONS, 'name: simple')}: ")
        assert message in found

    def test_a_module_without_a_region_is_reported_where_there_are_regions(
        self, write: Write
    ) -> None:
        text = REGIONS.replace("    region: dc2\n", "")
        assert mistakes(write(text)) == [
            f"job.yaml, line {line_of(text, '  filter:')}: "
            "module filter needs a region; there are dc1, dc2, dc3"
        ]

    def test_a_region_without_an_infrastructure_is_reported(self, write: Write) -> None:
        text = WORDCOUNT.replace("max_replicas: 4", "region: dc1", 1)
        assert mistakes(write(text)) == [
            f"job.yaml, line {line_of(text, 'region: dc1')}: module splitter is in region 'dc1' "
            "and the file has no infrastructure; "
            "add infrastructure: {regions: {dc1: {}}} or leave region out"
        ]

    @pytest.mark.parametrize("regions", ["{}", "", "~"])
    def test_an_infrastructure_needs_regions(self, write: Write, regions: str) -> None:
        text = SMALL[: SMALL.index("    dc1")].replace("regions:", f"regions: {regions}")
        (found,) = mistakes(write(text))
        assert found.startswith("job.yaml, line 7: infrastructure has no regions; write ")

    def test_all_mistakes_of_delays_are_found(self, write: Write) -> None:
        wrong = REGIONS.replace("2ms, dc1-dc3: 2ms", "2, dc1-dc4: 2ms")
        assert len(mistakes(write(wrong))) == 2

    def test_replicas_of_the_start_must_fit_the_nodes_of_the_start(self, write: Write) -> None:
        text = SMALL.replace("b: {region: dc2", "b: {region: dc1, initial_replicas: 2")
        assert mistakes(write(text)) == [
            "job.yaml, line 8: region dc1 begins with room for 2 and a, b with 3 replicas; "
            "raise its initial_nodes or slots, or lower initial_replicas"
        ]
        assert mistakes(write(text), "infrastructure.regions.dc1.initial_nodes=2") == []

    def test_nodes_of_a_region_that_is_not_there_are_reported(self, write: Write) -> None:
        wrong = REGIONS.replace("name: simple, idle: 1", "name: static, nodes: {dc2: 2, dc4: 1}")
        (found,) = mistakes(write(wrong))
        assert found.endswith("there is no region 'dc4'; did you mean 'dc3'?")

    def test_a_setting_is_blamed_for_what_it_breaks(self) -> None:
        (mistake,) = check("wordcount-regions", ["modules.filter.region=dc7"]).mistakes
        assert str(mistake).startswith("wordcount-regions.yaml with modules.filter.region=dc7: ")

    def test_a_mistake_in_a_module_does_not_hide_its_region(self, write: Write) -> None:
        text = REGIONS.replace("service_time: 20ms", "service_time: 20")
        assert len(mistakes(write(text))) == 1

    @pytest.mark.parametrize("section", ["infrastructure", "manager"])
    @pytest.mark.parametrize("value", ["[1, [2]]", "{x: {y: 1}}", "5", "text", "true"])
    def test_a_section_of_the_wrong_shape_is_reported_at_its_line(
        self, section: str, value: str
    ) -> None:
        sentences = [
            str(mistake) for mistake in check("wordcount-regions", [f"{section}={value}"]).mistakes
        ]
        assert any(f"with {section}=" in one for one in sentences)

    @pytest.mark.parametrize("key", ["regions", "regions.dc1", "delays", "policy", "manager"])
    @pytest.mark.parametrize("value", ["[1, [2]]", "{x: {y: 1}}", "5", "true"])
    def test_a_part_of_the_wrong_shape_is_reported(self, key: str, value: str) -> None:
        checked = check("wordcount-regions", [f"infrastructure.{key}={value}"])
        assert any(f"with infrastructure.{key}=" in str(one) for one in checked.mistakes)

    @given(data=st.data())
    def test_damage_to_a_file_is_reported_and_does_no_more(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        start = data.draw(st.integers(0, len(REGIONS)))
        end = data.draw(st.integers(start, min(start + 40, len(REGIONS))))
        junk = data.draw(st.sampled_from(["", "5", "[]", "{}", "null", ": ", "- ", "\n", "-1s"]))
        path = tmp_path_factory.getbasetemp() / "damaged-regions.yaml"
        refused_or_read(path, REGIONS[:start] + junk + REGIONS[end:])


class TestWhatIsTold:
    def test_replicas_that_a_region_can_never_host_are_reported(self) -> None:
        (mistake,) = out_of_reach(load("wordcount-regions", ["modules.counter.max_replicas=20"]))
        assert mistake.startswith(
            "module counter may grow to 20 replicas and region dc3 has room for 8"
        )
        assert list(out_of_reach(load("wordcount-regions"))) == []
        assert list(out_of_reach(load("wordcount"))) == []

    def test_the_twin_leaves_nothing_out_of_regions(self, write: Write) -> None:
        assert list(left_out(load("wordcount-regions", ["interference.processes=2"]))) == []
        assert refusal(load(write(SMALL.replace("b: {", "b: {keys: 5, ")))) is None

    def test_replicas_that_a_region_can_never_host_do_not_start_on_a_cluster_of_our_own(
        self,
    ) -> None:
        lack = load("wordcount-regions", ["modules.counter.max_replicas=9"]).lack_of_room()
        assert lack is not None
        assert lack.startswith(
            "module counter may grow to 9 executors and region dc3 has room for 8"
        )

    def test_a_node_needs_memory_for_all_of_its_slots(self) -> None:
        lack = load("wordcount-regions", ["cluster.memory=600m"]).lack_of_room()
        assert lack is not None
        assert "a node of region dc1 has 2 slots" in lack
        assert "is enough for 1 executor;" in lack
