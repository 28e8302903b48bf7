"""Settings of the command line lie over those of the file, and are blamed for what they break."""

import pytest

from penstock.core.errors import FileError, UserError
from penstock.guard import Clamp, Cooldown, Hold, StepLimit
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import check, load
from penstock.policy import Threshold
from penstock.workload import Constant
from tests.conftest import Write
from tests.support.pipeline_files import GAME, WORDCOUNT


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
        ("setting", "message"),
        [
            ("step=3", "step of the pipeline needs a unit, got 3; write 3s, 3ms or 3m"),
            ("policy=treshold", "there is no policy 'treshold'; did you mean 'threshold'?"),
            ("modules.splitter.max_replica=3", "did you mean 'max_replicas'?"),
            ("cluster.workers=0", "workers of cluster must be 1 or more, got 0"),
            ("step.x=3", "step is '2s', which has no settings of its own"),
            ("guards.nope.out=3s", "the list has no item nope; it has 3, from 0"),
            ("step=[", "the value '[' is not YAML; put it into quotes"),
            ("modules+=x", "modules is not a list to add to"),
            ("step", "a setting is written as key=value"),
            ("=3", "a setting is written as key=value"),
            ("a..b=3", "a setting is written as key=value"),
        ],
    )
    def test_a_mistake_on_the_command_line_is_reported_with_its_words(
        self, setting: str, message: str
    ) -> None:
        with pytest.raises(UserError) as error:
            load("wordcount", [setting])
        assert message in str(error.value)
        assert setting in str(error.value)


class TestSpark:
    def test_settings_of_sparks_keep_their_dots(self) -> None:
        given = ["spark.executor.memory=2g", "spark.speculation=true", "spark.task.cpus=2"]
        file = load("wordcount", [f"cluster.conf.{setting}" for setting in given])
        assert file.cluster.spark_conf() == dict(setting.split("=") for setting in given)

    def test_a_setting_of_sparks_is_a_text_as_it_stands(self) -> None:
        given = ["spark.a=[", "spark.b={x: 1}", "spark.c=1.50", "spark.d=a=b", "spark.e="]
        file = load("wordcount", conf=given)
        assert file.cluster.spark_conf() == dict(setting.split("=", 1) for setting in given)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("executor=2g", "conf of cluster takes settings of Spark, got 'executor'"),
            ("spark.executor.cores=2", "spark.executor.cores is Penstock's to set"),
            ("spark.executor.memory=2", "spark.executor.memory must be a size with its unit"),
            ("spark.executor.memory=9m", "spark.executor.memory must be at least 450m, got 9m"),
        ],
    )
    def test_a_mistake_in_conf_blames_the_flag_and_no_line(
        self, write: Write, setting: str, message: str
    ) -> None:
        for file in ("wordcount", write(WORDCOUNT.replace("memory: 8g", "conf: {spark.x: 1}"))):
            (mistake,) = check(file, conf=["spark.y=2", setting]).mistakes
            assert mistake.place.line == 0
            assert str(mistake).startswith(f"--conf {setting}: ")
            assert message in str(mistake)

    @pytest.mark.parametrize("setting", ["spark.x", "=3", " =3", ""])
    def test_conf_without_a_name_and_a_value_is_refused(self, setting: str) -> None:
        with pytest.raises(UserError, match="--conf is written as name=value, such as"):
            load("wordcount", conf=[setting])


class TestBlame:
    """Whatever a setting breaks, it is named and not the line that was right before."""

    @pytest.mark.parametrize(
        "setting",
        [
            *("step=100s", "duration=1s", "modules.splitter.initial_replicas=9"),
            *("modules.splitter.max_replicas=0", "streams.0.probability=0.5"),
            *("source.rate=3/s", "streams.0.to=splitter", "cluster.conf.x=3", "cluster.memory=1m"),
            *("modules.counter.operators=[counter]", "source={}", "modules={}"),
        ],
    )
    def test_a_mistake_that_a_setting_brings_is_reported_with_its_words(self, setting: str) -> None:
        mistakes = check("wordcount", ["seed=3", setting, "slo.latency_p95=4s"]).mistakes
        assert mistakes
        assert {mistake.place.line for mistake in mistakes} == {0}
        assert all(f"wordcount.yaml with {setting}: " in str(mistake) for mistake in mistakes)

    def test_a_mistake_of_the_file_keeps_its_line(self, write: Write) -> None:
        path = write(WORDCOUNT.replace("- hold", "- hodl"))
        places = [mistake.place.line > 0 for mistake in check(path, ["step=100s"]).mistakes]
        assert sorted(places) == [False, True]

    def test_a_password_is_not_shown(self) -> None:
        for overrides, conf in (
            (["cluster.conf.my.password=hush"], []),
            ([], ["my.password=hush"]),
        ):
            with pytest.raises(FileError) as error:
                load("wordcount", overrides, conf=conf)
            assert "my.password=(redacted)" in str(error.value)
            assert "hush" not in str(error.value)

    def test_what_else_is_wrong_is_listed_by_a_command_that_can_be_pasted(self) -> None:
        with pytest.raises(
            FileError, match=r"more, listed by `penstock validate wordcount --set 'g"
        ):
            load("wordcount", ["guards=[hodl, 7]"])
