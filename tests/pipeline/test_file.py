"""A pipeline file is read with every default, and every mistake is reported with its line."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError, SettingError
from penstock.guard import Clamp, Cooldown, DryRun, Hold, StepLimit
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import check, load
from penstock.pipeline.settings import ClusterSettings
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy import Static, Threshold
from penstock.workload import Constant, Daily
from tests.conftest import Write
from tests.support.paths import DOCS
from tests.support.pipeline_files import GAME, again, mistakes

ALLOC = """\
budget: 1.0
sources: {s: {rate: inf, to: a}}
modules: {a: {}, b: {}}
streams:
  - {from: s, to: a, consumes: 0.3}
  - {from: a, to: b, produces: 0.7, consumes: 0.4}
sinks:
  o1: {from: b, produces: 0.9, weight: 0.3}
"""


class TestWhatAFileSays:
    def test_the_built_in_pipeline_is_what_its_file_says(self) -> None:
        file = load("wordcount")
        assert (file.name, file.step, file.duration, file.seed) == ("wordcount", 2.0, 60.0, 1)
        assert file.graph.visits() == {"splitter": 1.0, "counter": 2.0}
        assert file.graph["counter"].operators == ("counter", "consumer")
        assert file.graph["counter"].service_time == 0.0015
        assert file.workload == Daily(low=60.0, high=300.0, period=60.0, noise=0.05, seed=1)
        assert file.slo.latency_p95 == 10.0
        assert file.cluster == ClusterSettings(workers=2, cores=8, memory="8g")
        assert file.runnable

    def test_what_is_left_out_has_a_default(self, write: Write) -> None:
        file = load(write("source: {module: a, rate: 2/s}\nmodules: {a: }\n"))
        assert (file.step, file.duration, file.seed) == (2.0, 60.0, 1)
        assert file.policy.name == "latency"
        assert [guard.name for guard in file.guards] == ["hold"]
        assert file.workload == Constant(2.0)

    def test_a_graph_file_can_be_loaded_but_not_run(self, write: Write) -> None:
        path = write(GAME)
        assert check(path).sort == "graph"
        file = load(path)
        assert (file.name, file.runnable, file.duration) == ("job", False, 9000.0)
        assert file.workload.rate(np.array([0.0])).tolist() == [2.0]
        with pytest.raises(FileError, match="add `pipeline:` with one of wordcount"):
            load(path, to_run=True)

    def test_an_allocation_graph_is_checked_and_left_to_planning(self, write: Write) -> None:
        checked = check(write(ALLOC))
        assert (checked.sort, checked.mistakes, checked.file) == ("allocation graph", (), None)
        with pytest.raises(FileError, match="can be planned but neither run nor simulated"):
            load(write(ALLOC))

    def test_mistakes_of_an_allocation_graph_are_reported_with_their_lines(
        self, write: Write
    ) -> None:
        wrong = ALLOC.replace("to: b,", "to: bb,").replace("budget: 1.0", "budget: -1")
        assert mistakes(write(wrong)) == [
            "job.yaml, line 1: budget of the allocation graph must be above 0, got -1",
            "job.yaml, line 6: there is no module 'bb'; did you mean 'b'?",
        ]

    def test_fewest_replicas_are_also_the_first(self, write: Write) -> None:
        file = load(write("source: {module: a, rate: 2/s}\nmodules: {a: {min_replicas: 3}}\n"))
        assert file.graph["a"].initial_replicas == 3

    def test_words_mean_what_they_say_and_not_what_yaml_once_made_of_them(
        self, write: Write
    ) -> None:
        text = "source: {module: on, rate: 1e3/s}\nmodules: {on: {work: none, service_cv: 1e0}}\n"
        file = load(write(text))
        assert (file.graph.source, file.graph["on"].work) == ("on", "none")
        assert file.graph["on"].service_cv == 1.0

    def test_anchors_and_merges_spare_repetition(self, write: Write) -> None:
        text = (
            "source: {module: a, rate: 2/s}\n"
            "modules:\n"
            "  a: &a {service_time: 3ms, max_replicas: 4}\n"
            "  b: {<<: *a, max_replicas: 5}\n"
            "streams: [{from: a, to: b}]\n"
        )
        b = load(write(text)).graph["b"]
        assert (b.service_time, b.max_replicas) == (0.003, 5)

    def test_the_seed_of_the_file_is_that_of_its_workload(self) -> None:
        for workload in ("daily:1/s..2/s", "{kind: daily, low: 1/s, high: 2/s}"):
            file = load("wordcount", ["seed=7", f"workload={workload}"])
            assert file.workload == Daily(low=1.0, high=2.0, seed=7)

    def test_a_trace_lies_beside_its_file(self, write: Write, tmp_path: Path) -> None:
        (tmp_path / "rows.txt").write_text("0 5\n1 7\n")
        for workload in ("trace:rows.txt", "{kind: trace, path: rows.txt}"):
            file = load(write(f"source: {{module: a}}\nmodules: {{a: }}\nworkload: {workload}\n"))
            assert file.workload.arrivals(np.array([2.0])).tolist() == [12.0]

    def test_what_was_resolved_is_itself_a_pipeline_file(self, tmp_path: Path) -> None:
        file = load("wordcount", ["guards+=dry-run", "modules.counter.buffer=500"])
        assert again(file, tmp_path) == file

    @given(
        step=st.floats(1e-3, 10),
        replicas=st.integers(1, 1000),
        service=st.floats(0, 1),
        policy=st.sampled_from(["threshold", "static", "{name: static, degrees: {counter: 3}}"]),
        workload=st.sampled_from(
            ["constant:3/s", "step:1/s,2/s@9s", "{kind: daily, low: 0/s, high: 1/s}"]
        ),
    )
    def test_a_resolved_file_reads_the_same_whatever_it_says(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        step: float,
        replicas: int,
        service: float,
        policy: str,
        workload: str,
    ) -> None:
        file = load(
            "wordcount",
            [
                f"step={step!r}s",
                f"modules.splitter.max_replicas={replicas}",
                f"modules.splitter.service_time={service!r}s",
                f"policy={policy}",
                f"workload={workload}",
            ],
        )
        assert again(file, tmp_path_factory.getbasetemp()) == file


def examples() -> list[str]:
    """The whole files of the handbook."""
    page = DOCS / "pipeline-file.md"
    return re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


class TestHandbook:
    @pytest.mark.parametrize("text", examples())
    def test_the_files_of_the_handbook_have_no_mistakes(self, write: Write, text: str) -> None:
        assert mistakes(write(text)) == []

    def test_the_handbook_shows_the_built_in_file_as_it_is(self, write: Write) -> None:
        assert load(write(examples()[0])).resolved == load("wordcount").resolved

    def test_what_a_file_may_name_is_what_spark_can_run(self) -> None:
        launch = pytest.importorskip("penstock.pipeline.deploy.pipeline")
        real = {n: tuple(launch.application_of(load(n)).operators) for n in APPLICATIONS}
        assert real == {name: spec.shape.operators for name, spec in APPLICATIONS.items()}


class TestPolicy:
    def test_guards_stand_around_the_policy_and_bounds_around_them(self) -> None:
        assert build_policy(load("wordcount")) == Clamp(
            StepLimit(Cooldown(Hold(Threshold()), out=4.0, in_=12.0), out=2, in_=1),
            low={"splitter": 1, "counter": 1},
            high={"splitter": 4, "counter": 4},
        )

    def test_a_dry_run_comes_on_top_of_the_bounds(self) -> None:
        policy = build_policy(load("wordcount", ["policy=static", "guards=[dry-run, hold]"]))
        bounds = {"splitter": 4, "counter": 4}
        low = {"splitter": 1, "counter": 1}
        assert policy == DryRun(Clamp(Hold(Static()), low=low, high=bounds))

    def test_each_policy_starts_with_a_memory_of_its_own(self) -> None:
        file = load("wordcount")
        assert build_policy(file) is not build_policy(file)


class TestCluster:
    def test_what_spark_would_refuse_is_refused_before(self) -> None:
        for wrong in ({"cores": 0}, {"memory": "lots"}, {"ui_port": -1}, {"executor_memory": "1k"}):
            with pytest.raises(SettingError):
                ClusterSettings(**wrong)


def test_the_source_may_bring_rows_out_of_order_and_in_small_batches() -> None:
    file = load("wordcount", ["source.disorder=400ms", "source.max_rows=100"])
    assert (file.source.disorder, file.source.max_rows) == (0.4, 100)
    with pytest.raises(FileError, match="max_rows of source must be 1 or more, got 0"):
        load("wordcount", ["source.max_rows=0"])
    with pytest.raises(FileError, match="disorder of source"):
        load("wordcount", ["source.disorder=1"])
