"""Several pipelines in one file: what it says, what is refused, and what all of it comes to."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml

from penstock.cli import main
from penstock.core.errors import FileError
from penstock.core.graph import GraphError
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import check, load
from penstock.pipeline.shape import APPLICATIONS
from penstock.pipeline.sharing import side_by_side, weights, worth
from penstock.pipeline.twins import open_twin
from penstock.policy.static import Fair, Fifo
from penstock.record import summarise
from tests.conftest import Write

PLAIN = """\
cores: 4
step: 1s
duration: 10s
policy: {name: static}
pipelines:
  first:
    workload: constant:10/s
    source: {module: work}
    modules: {work: {service_time: 10ms}}
  second:
    weight: 2.5
    workload: constant:20/s
    source: {module: work}
    modules: {work: {service_time: 10ms}, more: {service_time: 5ms}}
    streams: [{from: work, to: more, selectivity: 2}]
"""


def tick(readings: dict[str, dict[str, float]]) -> Tick:
    nothing = Decision(configuration=Configuration(degrees={}), why="-")
    return Tick(seen=observed(readings), decided=nothing, asked=None)


def observed(readings: dict[str, dict[str, float]], pool: int | None = None) -> Observation:
    modules = {name: ModuleReading(**of) for name, of in readings.items()}  # type: ignore[arg-type]
    return Observation(at=2.0, step=2.0, modules=modules, pool=pool)


class TestFile:
    def test_modules_bear_the_name_of_their_pipeline(self, write: Write) -> None:
        graph = load(write(PLAIN)).graph
        assert graph.names() == ("first.work", "second.work", "second.more")
        assert graph.sources == ("first.work", "second.work")
        assert graph.sinks() == ("first.work", "second.more")
        assert graph.visits() == {"first.work": 1, "second.work": 1, "second.more": 2}

    def test_each_pipeline_keeps_its_own_rows_and_worth(self, write: Write) -> None:
        file = load(write(PLAIN))
        rates = {name: part.workload.rate(np.zeros(1))[0] for name, part in file.parts.items()}
        assert rates == {"first": 10, "second": 20}
        assert weights(file) == {"first.work": 1.0, "second.more": 2.5}
        assert file.cores == 4

    def test_what_was_resolved_is_itself_such_a_file(self, write: Write) -> None:
        file = load(write(PLAIN))
        again = load(write(yaml.safe_dump(file.resolved, sort_keys=False)))
        assert (again.graph, again.resolved) == (file.graph, file.resolved)

    def test_a_pipeline_that_only_names_its_application_is_the_built_in_one(
        self, write: Write
    ) -> None:
        text = "cores: 12\npipelines:\n  a: {pipeline: wordcount}\n  b: {pipeline: recognition}\n"
        file = load(write(f"{text}policy: static\n"))
        alone = load("wordcount")
        assert file.parts["a"].graph["a.splitter"].service_time == 0.003
        assert file.parts["a"].workload == alone.workload
        assert file.runnable

    def test_modules_run_the_operators_that_they_are_named_after(self) -> None:
        part = load("shared").parts["fraud"]
        assert part.graph["fraud.lookup"].operators == ("lookup",)

    @pytest.mark.parametrize(
        ("setting", "sentence"),
        [
            ("cores=0", "cores of the pipelines must be 1 or more, got 0"),
            ("cores=many", "cores of the pipelines must be a whole number, got 'many'"),
            ("cores=2", "cores is 2 and the modules begin with 3;"),
            ("pipelines={}", "pipelines is empty; write pipelines: {fraud:"),
            ("pipelines.first.weight=0", "weight of pipeline first must be above 0, got 0"),
            (
                "pipelines.first.weight=.inf",
                "weight of pipeline first must be above 0 and finite, got inf",
            ),
            ("pipelines.first.pipeline=wordcont", "there is no pipeline 'wordcont'"),
            ("pipelines.first.slo.latency_p95=2s", "pipeline first has no section 'slo'"),
            ("pipelines.first.workload=constant:-1/s", "-1"),
            (
                "workload=constant:1/s",
                "says workload for itself; write it as pipelines.NAME.workload",
            ),
            ("budget=3", "a file of several pipelines has no section 'budget'"),
            ("pipelines.frst.weight=3", "frst has neither pipeline nor modules; write frst: "),
            ("pipelines.frst.weight=3", "did you mean 'first'?"),
            ("policy.cores=3", "cores of several pipelines stands at the top of the file"),
            ("policy.weights={first: 3}", "weights of several pipelines stands as weight of each"),
            ("policy=threshold", "policy threshold scales executors and does not divide those"),
            ("executors=mine", "executors of the pipelines must be shared or own, got 'mine'"),
            ("policy.degrees={first.work: 2, second.wrk: 1}", "there is no module 'second.wrk'"),
        ],
    )
    def test_a_mistake_is_one_sentence_with_its_value(
        self, write: Write, setting: str, sentence: str
    ) -> None:
        with pytest.raises(FileError, match=r"job\.yaml") as error:
            load(write(PLAIN), [setting])
        assert sentence in str(error.value)

    def test_a_name_that_is_no_name_is_refused_on_its_line(self, write: Write) -> None:
        mistakes = check(write(PLAIN.replace("  second:", "  a.b:"))).mistakes
        assert "line 10: a pipeline's name is a letter, then letters" in str(mistakes[0])

    def test_a_mistake_inside_a_pipeline_stands_on_its_line(self, write: Write) -> None:
        mistakes = check(write(PLAIN.replace("service_time: 5ms", "service_time: 5"))).mistakes
        assert [str(mistake).partition(": ")[0][-7:] for mistake in mistakes] == ["line 14"]

    def test_rows_of_two_pipelines_may_not_both_change_places(self, write: Write) -> None:
        text = "cores: 8\npipelines:\n  a: {pipeline: wordcount}\n  b: {pipeline: trading}\n"
        path = write(f"{text}policy: static\nexecutors: own\n")
        assert [str(mistake)[-160:] for mistake in check(path).mistakes if mistake.place.line == 4]
        with pytest.raises(FileError, match="line 4: rows of a and of b change places"):
            load(path)
        assert load(path, ["policy=fifo"]).runnable
        assert load(path, ["executors=shared"]).runnable

    def test_a_policy_that_may_outgrow_the_cores_is_refused(self, write: Write) -> None:
        with pytest.raises(FileError, match="may grow to 60 executors and cores is 4"):
            load(write(PLAIN), ["policy=threshold", "executors=own"])

    @pytest.mark.parametrize("name", list(APPLICATIONS))
    def test_an_application_exchanges_rows_if_it_is_said_to(self, name: str) -> None:
        from penstock.pipeline.deploy.module import lay_out
        from penstock.pipeline.deploy.pipeline import application_of

        file, shape = load(name), APPLICATIONS[name].shape
        stages = lay_out(file.graph, shape, application_of(file))
        assert any(stage.shuffles for stage in stages.values()) == shape.exchanges

    def test_sharing_with_nobody_is_refused(self) -> None:
        with pytest.raises(FileError, match="shares executors among several pipelines"):
            load("wordcount", ["policy=fifo"])


class TestSchedulers:
    @pytest.mark.parametrize(("name", "kind"), [("fair", Fair), ("fifo", Fifo)])
    def test_sparks_own_scheduler_is_left_alone(self, name: str, kind: type) -> None:
        policy = build_policy(load("shared", [f"policy={name}"]))
        assert policy == kind(cores=8)
        made = policy(observed({"fraud.lookup": {"arrival_rate": 1e9}}))
        assert made.configuration == Configuration(degrees={})

    def test_the_twin_has_no_such_scheduler(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["simulate", "shared", "--policy", "fair"]) == 2
        assert "policy fair is Spark's own scheduler" in capsys.readouterr().err


class TestWorth:
    def test_rows_count_by_their_weight_and_their_time(self) -> None:
        ticks = [
            tick({"a": {"processed_rate": 4.0}, "b": {"processed_rate": 1.0}}),
            tick({"a": {"processed_rate": 2.0}, "b": {}, "c": {"processed_rate": 9.0}}),
        ]
        step = ticks[0].seen.step
        found = worth(ticks, {"a": 5.0, "b": 1.0}, {})
        assert found["rows_out"] == {"a": 6.0 * step, "b": 1.0 * step}
        assert found["weighted_output"] == 31.0 * step

    def test_rows_that_the_plant_counted_are_taken_as_they_are(self) -> None:
        found = worth([tick({"a": {"processed_rate": 9.0}})], {"a": 5.0}, {"rows_out": {"a": 7}})
        assert found == {"rows_out": {"a": 7}, "weighted_output": 35.0}

    def test_what_is_not_reported_has_an_unknown_worth(self) -> None:
        made = tick({"a": {"processed_rate": 9.0}, "b": {"results_rate": 3.0}})
        found = worth([made], {"a": 5.0, "b": 1.0}, {})
        assert found == {"rows_out": {"a": 18.0, "b": None}, "weighted_output": None}

    def test_rows_of_every_pipeline_count_as_rows_that_came(self, write: Write) -> None:
        graph = load(write(PLAIN)).graph
        readings = {"first.work": {"arrival_rate": 4.0}, "second.work": {"arrival_rate": 6.0}}
        made = tick(readings)
        summary = summarise([made], None, source=graph.source, graph=graph)
        assert summary.rows_arrived == 10.0 * made.seen.step

    def test_executors_of_a_pool_are_counted_once(self) -> None:
        made = replace(tick({}), seen=observed({"a": {}, "b": {}}, pool=8))
        summary = summarise([made], None)
        assert (summary.executors_mean, summary.executor_seconds_total) == (8.0, 16.0)


class TestValidate:
    def test_several_pipelines_are_fine(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["validate", "shared"]) == 0
        printed = capsys.readouterr().out
        assert printed == "shared: a file of several pipelines, fine for run and simulate\n"

    def test_what_a_command_would_refuse_is_reported(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["validate", str(write(PLAIN))]) == 0
        assert "run would refuse it: every one of them needs `pipeline:`" in capsys.readouterr().out
        assert main(["validate", "shared", "--set", "policy=fair", "--set", "cores=99"]) == 0
        printed = capsys.readouterr().out
        assert "simulate would refuse it: policy fair is Spark's own scheduler" in printed
        assert "cores is 99 and the cluster has room for 16 executors" in printed


def test_missing_cores_are_one_mistake(write: Write) -> None:
    mistakes = check(write(PLAIN.replace("cores: 4\n", ""))).mistakes
    assert len(mistakes) == 1
    assert "cores is missing" in str(mistakes[0])


def test_pipelines_that_are_alike_have_rows_of_their_own(write: Write) -> None:
    twice = "{a: {pipeline: enrichment}, b: {pipeline: enrichment}}"
    text = f"cores: 8\npolicy: static\npipelines: {twice}"
    one, other = load(write(text)).parts.values()
    assert one.seed != other.seed
    assert one.workload != other.workload


def test_interference_reaches_every_pipeline_on_the_twin() -> None:
    def times(*overrides: str) -> list[float | None]:
        seen = next(iter(open_twin(load("shared", ["duration=10s", *overrides])).readings()))
        return [module.service_time for module in seen.modules.values()]

    slow = [1.5 * (time or 0.0) for time in times()]
    assert times("interference={processes: 2, slowdown: 1.5}") == pytest.approx(slow, rel=0.2)


def test_plan_does_not_take_several_pipelines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "shared"]) == 2
    assert "shared is a file of several pipelines" in capsys.readouterr().err


def test_graphs_side_by_side_need_names_of_their_own() -> None:
    graph = load("wordcount").graph
    with pytest.raises(GraphError, match="module splitter is defined twice"):
        side_by_side([graph, graph])


def test_simulate_reports_what_all_of_it_was_worth(
    write: Write, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path_factory.mktemp("run") / "shared")
    assert main(["simulate", str(write(PLAIN)), "--json", "--quiet", "--out", out]) == 0
    output = json.loads(capsys.readouterr().out)
    rows = output["results"]["rows_out"]
    assert output["results"]["weighted_output"] == pytest.approx(
        rows["first.work"] + 2.5 * rows["second.more"]
    )
    assert rows["second.more"] == pytest.approx(2 * 20 * 10, rel=0.2)
    assert output["rows_arrived"] == pytest.approx(300, rel=0.2)
