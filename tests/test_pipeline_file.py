"""A pipeline file is read with every default, and every mistake is told with its line."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError, SettingError, UserError
from penstock.guard import Clamp, Cooldown, DryRun, Hold, StepLimit
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import PipelineFile, check, load
from penstock.pipeline.settings import APPLICATIONS, ClusterSettings
from penstock.policy import Static, Threshold
from penstock.workload import Constant, Daily

WORDCOUNT = (resources.files("penstock.pipeline") / "wordcount.yaml").read_text(encoding="utf-8")

GAME = """\
step: 300s
source: {module: dispatcher, inter_arrival: 0.5s}
modules:
  dispatcher:    {service_time: 0.1s,   max_replicas: 1,  price: 0.00483, delay_cost: 0.5}
  denoiser-1:    {service_time: 2.48s,  max_replicas: 8,  price: 0.00483, delay_cost: 0.5}
  denoiser-2:    {service_time: 3.66s,  max_replicas: 8,  price: 0.00483, delay_cost: 0.5}
streams:
  - {from: dispatcher, to: denoiser-1, probability: 0.5}
  - {from: dispatcher, to: denoiser-2, probability: 0.5}
"""

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

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "job.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def mistakes(path: Path, *overrides: str) -> list[str]:
    return [
        str(mistake).replace(str(path), "job.yaml") for mistake in check(path, overrides).mistakes
    ]


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
        assert file.policy.name == "threshold"
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

    def test_mistakes_of_an_allocation_graph_are_told_with_their_lines(self, write: Write) -> None:
        wrong = ALLOC.replace("to: b,", "to: bb,").replace("budget: 1.0", "budget: -1")
        assert mistakes(write(wrong)) == [
            "job.yaml, line 1: budget must be above 0, got -1",
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


def again(file: PipelineFile, folder: Path) -> PipelineFile:
    """The file read back from what was recorded of it, apart from where it came from."""
    path = folder / "again.yaml"
    path.write_text(json.dumps(file.resolved, allow_nan=False))
    return replace(load(path), origin=file.origin, text=file.text)


def examples() -> list[str]:
    """The whole files of the handbook."""
    page = Path(__file__).parents[1] / "docs" / "pipeline-file.md"
    return re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


class TestHandbook:
    @pytest.mark.parametrize("text", examples())
    def test_the_files_of_the_handbook_have_no_mistakes(self, write: Write, text: str) -> None:
        assert mistakes(write(text)) == []

    def test_the_handbook_shows_the_built_in_file_as_it_is(self, write: Write) -> None:
        assert load(write(examples()[0])).resolved == load("wordcount").resolved

    def test_what_a_file_may_name_is_what_spark_can_run(self) -> None:
        launch = pytest.importorskip("penstock.pipeline.launch")
        real = {name: tuple(app.operators) for name, app in launch.APPLICATIONS.items()}
        assert real == APPLICATIONS


class TestOverrides:
    def test_a_setting_can_be_changed_added_and_replaced(self) -> None:
        file = load(
            "wordcount",
            [
                "modules.splitter.max_replicas=8",
                "policy.max_utilisation=0.5",
                "guards.cooldown.out=1m",
                "guards.2.step-limit.in=3",
                "guards.hold.needs=[running]",
                "streams.0.selectivity=3",
            ],
        )
        assert file.graph["splitter"].max_replicas == 8
        assert file.graph.visits()["counter"] == 3
        assert build_policy(file) == Clamp(
            StepLimit(
                Cooldown(
                    Hold(Threshold(max_utilisation=0.5), needs=("running",)), out=60.0, in_=12.0
                ),
                out=2,
                in_=3,
            ),
            low={"splitter": 1, "counter": 1},
            high={"splitter": 8, "counter": 4},
        )

    def test_a_policy_that_is_a_word_can_be_given_settings(self) -> None:
        file = load("wordcount", ["policy=static", "policy.degrees=3", "guards=[]"])
        assert file.policy.settings == {"degrees": 3}

    def test_a_workload_of_the_command_line_replaces_the_rate_of_the_file(
        self, write: Write
    ) -> None:
        file = load(write(GAME), ["workload=constant:9/s"])
        assert file.workload == Constant(9.0)
        assert file.resolved["source"] == {"module": "dispatcher"}

    @pytest.mark.parametrize(
        ("setting", "told"),
        [
            ("step=3", "step of the pipeline needs a unit, got 3; write 3s, 3ms or 3m"),
            ("policy=treshold", "there is no policy 'treshold'; did you mean 'threshold'?"),
            ("modules.splitter.max_replica=3", "did you mean 'max_replicas'?"),
            ("cluster.workers=0", "workers of cluster must be at least 1, got 0"),
            ("step.x=3", "step is '2s', which has no settings of its own"),
            ("guards.nope.out=3s", "the list has no item nope; it has 3, from 0"),
            ("step=[", "the value '[' is not YAML; put it into quotes"),
            ("modules+=x", "modules is not a list to add to"),
            ("step", "a setting is written as key=value"),
            ("=3", "a setting is written as key=value"),
            ("a..b=3", "a setting is written as key=value"),
        ],
    )
    def test_a_mistake_on_the_command_line_is_told_with_its_words(
        self, setting: str, told: str
    ) -> None:
        with pytest.raises(UserError) as error:
            load("wordcount", [setting])
        assert told in str(error.value)
        assert setting in str(error.value)


class TestMistakes:
    @pytest.mark.parametrize(
        ("right", "wrong", "told"),
        [
            (
                "service_time: 3ms",
                "service_time: 3",
                "service_time of module splitter needs a unit, got 3; write 3s, 3ms or 3m",
            ),
            ("slo:", "sloo:", "a pipeline file has no section 'sloo'; did you mean 'slo'?"),
            ("step: 2s", "step: 0s", "step of the pipeline must be above 0s"),
            ("step: 2s", "step: 1:30", "cannot read the duration '1:30'"),
            ("step: 2s", "step: on", "cannot read the duration 'on'"),
            ("duration: 60s", "duration: 1s", "is 1 s, shorter than its step of 2 s"),
            ("seed: 1", "seed: -1", "seed of the pipeline must be 0 or more, got -1"),
            ("kind: daily", "kind: dayly", "there is no workload 'dayly'; did you mean 'daily'?"),
            ("high: 300/s", "high: 300", "high of workload daily needs a unit, got 300"),
            ("noise: 0.05", "noise: -1", "noise of workload daily must be 0 or more, got -1"),
            ("noise: 0.05", "nose: 0.05", "workload daily has no setting 'nose'"),
            ("latency_p95: 10s", "latency_p95: 0s", "latency_p95 of slo must be above 0"),
            ("name: threshold", "name: x", "there is no policy 'x'; there are static, threshold"),
            ("name: threshold", "nam: x", "policy needs name; there are static, threshold"),
            (
                "name: threshold",
                "name: static, degrees: {countr: 2}",
                "there is no module 'countr'; did you mean 'counter'?",
            ),
            ("- hold", "- hodl", "there is no guard 'hodl'; did you mean 'hold'?"),
            ("out: 4s", "out: 4", "out of guard cooldown needs a unit, got 4"),
            ("out: 4s", "oot: 4s", "guard cooldown has no setting 'oot'; did you mean 'out'?"),
            ("workers: 2", "workers: two", "workers of cluster must be a whole number, got 'two'"),
            ("workers: 2", "port: 70000", "port of cluster must be 0 to 65535, got 70000"),
            ("memory: 512m", "memory: 100m", "executor_memory of cluster must be at least 450m"),
            ("memory: 512m", "memory: 9g", "more than a worker has; raise memory, which is 8g"),
            (
                " memory: 8g",
                " memory: 8",
                "memory of cluster must be a size with its unit, got '8'",
            ),
            ("module: splitter", "module: spliter", "there is no module 'spliter'; did you mean"),
            ("to: counter", "to: countr", "there is no module 'countr'; did you mean 'counter'?"),
            ("to: counter, s", "s", "a stream needs to; write {from: splitter, to: counter}"),
            ("selectivity: 2", "selectivity: 0", "selectivity of the streams from splitter must"),
            ("selectivity: 2", "probability: 0.5", "from splitter must sum to 1, got 0.5"),
            ("to: counter", "to: splitter", "the streams form a cycle: splitter -> splitter"),
            ("[splitter, filter]", "[splitter, fliter]", "no operator 'fliter'; did you mean"),
            ("pipeline: w", "pipeline: v", "there is no pipeline 'vordcount'; did you mean"),
        ],
    )
    def test_a_mistake_is_told_with_the_line_it_stands_on(
        self, write: Write, right: str, wrong: str, told: str
    ) -> None:
        assert WORDCOUNT.count(right) >= 1
        found = mistakes(write(WORDCOUNT.replace(right, wrong, 1)))
        assert len(found) == 1
        assert found[0].startswith(f"job.yaml, line {line_of(WORDCOUNT, right)}: ")
        assert told in found[0]

    def test_all_mistakes_are_found_in_the_order_of_the_file(self, write: Write) -> None:
        wrong = {"step: 2s": "step: 2", "- hold": "- hodl", "trigger: 1s": "triger: 1s"}
        text = WORDCOUNT
        for before, after in wrong.items():
            text = text.replace(before, after, 1)
        lines = [line_of(WORDCOUNT, before) for before in wrong]
        assert [mistake.place.line for mistake in check(write(text)).mistakes] == lines
        with pytest.raises(
            FileError, match=r"needs a unit.* \(and 2 more, listed by `penstock val"
        ):
            load(write(text))

    @pytest.mark.parametrize("section", ["source", "modules", "workload"])
    def test_a_missing_section_is_named(self, write: Write, section: str) -> None:
        sections = json.loads(json.dumps(load("wordcount").resolved))
        del sections[section]
        assert any(
            f"{section} is missing" in told for told in mistakes(write(json.dumps(sections)))
        )

    @pytest.mark.parametrize(
        "section",
        ["source", "modules", "streams", "guards", "policy", "workload", "slo", "cluster"],
    )
    @pytest.mark.parametrize("value", ["[1, [2]]", "{x: {y: 1}}", "5", "text", "true"])
    def test_a_section_of_the_wrong_shape_is_told_at_its_line(
        self, section: str, value: str
    ) -> None:
        checked = check("wordcount", [f"{section}={value}"])
        assert checked.mistakes
        assert any(f"with {section}=" in str(mistake) for mistake in checked.mistakes)

    def test_a_key_that_stands_twice_is_a_mistake(self, write: Write) -> None:
        found = mistakes(write(WORDCOUNT + "step: 5s\n"))
        last = WORDCOUNT.count("\n") + 1
        first = line_of(WORDCOUNT, "step: 2s")
        assert found == [
            f"job.yaml, line {last}: step already stands on line {first}; remove one of them"
        ]

    def test_a_workload_and_a_rate_contradict_each_other(self, write: Write) -> None:
        found = mistakes(
            write(WORDCOUNT.replace("module: splitter", "module: splitter, rate: 2/s"))
        )
        assert "there is a workload and a rate of source; keep one" in found[0]

    def test_a_cycle_is_shown_with_the_first_stream_in_it(self, write: Write) -> None:
        found = mistakes(write(WORDCOUNT + "  - {from: counter, to: splitter}\n"))
        assert len(found) == 1
        assert "cycle: splitter -> counter -> splitter; remove one of them" in found[0]

    def test_a_module_that_no_row_reaches_is_shown_at_its_line(self, write: Write) -> None:
        text = "source: {module: a, rate: 2/s}\nmodules:\n  a:\n  b:\n"
        assert mistakes(write(text)) == ["job.yaml, line 4: no row can reach module b from a"]

    def test_operators_must_be_covered_in_their_order(self, write: Write) -> None:
        found = mistakes(write(WORDCOUNT.replace("[splitter, filter]", "[filter, splitter]")))
        assert "must run splitter, filter, counter, consumer in this order" in found[0]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "job.yaml is empty; a pipeline file has at least source and modules"),
            ("# nothing\n", "job.yaml is empty"),
            ("- a\n", "job.yaml must be a mapping with source, modules and streams, got a list"),
            ("a: [1\nb: 2\n", "job.yaml, line 2: YAML breaks off here"),
            ("a:\n\tb: 1\n", "job.yaml, line 2: YAML breaks off here (found character '\\t'"),
            ("a: 'x\n", "close the quotes"),
            ("a: 1\n---\nb: 2\n", "keep one document a file"),
            ("a: *b\n", "define it with & before it is used with *"),
            ("a: &a [*a]\n", "job.yaml, line 1: an alias stands inside itself"),
            ("? [a]\n: 1\n", "job.yaml, line 1: a key must be a word"),
            ("[" * 1000, "job.yaml nests its values too deeply"),
            ("a: 1\n" * 250_000, "job.yaml has more than 1000000 bytes"),
            ("a: \0\n", "job.yaml, line 1: this is not text; a pipeline file is YAML in UTF-8"),
        ],
    )
    def test_a_file_that_is_not_yaml_is_told_in_a_sentence(
        self, write: Write, text: str, told: str
    ) -> None:
        path = write(text)
        with pytest.raises(FileError) as error:
            check(path)
        assert told in str(error.value).replace(str(path), "job.yaml")
        assert "\n" not in str(error.value)

    def test_aliases_cannot_unfold_to_billions(self, write: Write) -> None:
        text = "a0: &a0 [x]\n"
        for i in range(9):
            text += f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n"
        with pytest.raises(FileError, match="unfolds to more than 100000 values"):
            check(write(text))

    def test_rubbish_is_refused_with_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "job.yaml"
        path.write_bytes(b"a: 1\n\xff\xfe\x00")
        with pytest.raises(FileError, match="line 2: this is not text"):
            check(path)

    def test_a_missing_file_suggests_the_one_that_was_meant(self, write: Write) -> None:
        path = write(WORDCOUNT)
        with pytest.raises(FileError, match=r"there is no file .*/jbo.yaml; did you mean .*/job"):
            check(path.with_name("jbo.yaml"))

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="is a folder; give a file in it"):
            check(tmp_path)

    def test_a_name_that_is_not_built_in_suggests_one_that_is(self) -> None:
        with pytest.raises(FileError, match="no built-in pipeline 'wordcont'; did you mean 'word"):
            load("wordcont")

    @given(text=st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin-1")))
    def test_no_text_does_more_than_be_refused(
        self, tmp_path_factory: pytest.TempPathFactory, text: str
    ) -> None:
        refused_or_read(tmp_path_factory.getbasetemp() / "any.yaml", text)

    @given(data=st.data())
    def test_no_damage_to_a_file_does_more_than_be_told(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        start = data.draw(st.integers(0, len(WORDCOUNT)))
        end = data.draw(st.integers(start, min(start + 40, len(WORDCOUNT))))
        junk = data.draw(
            st.sampled_from(["", "5", "[]", "{}", "null", ": ", "- ", "\n", "nan", "-1s"])
        )
        path = tmp_path_factory.getbasetemp() / "damaged.yaml"
        refused_or_read(path, WORDCOUNT[:start] + junk + WORDCOUNT[end:])


def refused_or_read(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    try:
        checked = check(path)
    except UserError:
        return
    assert all("\n" not in str(mistake) for mistake in checked.mistakes)
    assert checked.mistakes or checked.file is not None or checked.sort == "allocation graph"


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


def test_settings_of_sparks_keep_their_dots() -> None:
    given = ["spark.executor.memory=2g", "spark.speculation=true", "spark.task.cpus=2"]
    file = load("wordcount", [f"cluster.conf.{setting}" for setting in given])
    assert file.cluster.spark_conf() == dict(setting.split("=") for setting in given)
    with pytest.raises(FileError, match="takes settings of Spark, got 'executor'"):
        load("wordcount", ["cluster.conf.executor=2g"])


def test_the_source_may_bring_rows_out_of_order_and_in_small_batches() -> None:
    file = load("wordcount", ["source.disorder=400ms", "source.max_rows=100"])
    assert (file.source.disorder, file.source.max_rows) == (0.4, 100)
    with pytest.raises(FileError, match="max_rows of source must be at least 1, got 0"):
        load("wordcount", ["source.max_rows=0"])
    with pytest.raises(FileError, match="disorder of source"):
        load("wordcount", ["source.disorder=1"])
