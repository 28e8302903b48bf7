"""Settings of an attachment: by keyword, file and conf, under every name that users know."""

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.attachment.policy import Size, build_policy, check_effect, graph_of, guard
from penstock.attachment.settings import (
    Settings,
    declared,
    from_conf,
    read_settings,
    read_with,
    squash,
)
from penstock.core.errors import FileError, SettingError
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy import Mpc, Threshold
from penstock.testing import seen
from tests.conftest import Write
from tests.support.paths import DOCS

BEGAN = datetime(2026, 1, 1, 12, 0).astimezone()
NO_FILE: dict[str, str] = {}


def settings(**keywords: object) -> Settings:
    return read_settings(keywords, NO_FILE)


def test_importing_penstock_imports_no_pyspark() -> None:
    words = "import sys, penstock; penstock.attach; print('pyspark' in sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "False"


def test_reading_settings_imports_no_more_of_pydantic_than_its_core() -> None:
    words = (
        "import sys; from penstock.attachment.policy import build_policy; "
        "from penstock.attachment.settings import read_settings; "
        "build_policy(read_settings({'policy': 'mpc', 'step': '5s'}, {})); "
        "print('pydantic' in sys.modules, 'pydantic_core' in sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "False True"


def test_nothing_is_touched_unless_set_so() -> None:
    assert settings().mode == "advise"


def test_keywords_win_over_the_file_and_the_file_over_the_conf(write: Write) -> None:
    file = write("min_executors: 2\nmax_executors: 9\nstep: 5s\n")
    conf = {"minExecutors": "3", "maxExecutors": "8", "step": "7s", "quota.cpu": "6"}
    found = read_settings({"config": str(file), "min_executors": 1}, conf)
    assert (found.min_executors, found.max_executors, found.step, found.quota_cpu) == (1, 9, 5.0, 6)


def test_the_conf_may_name_the_file(write: Write) -> None:
    file = write("mode: apply\n")
    assert read_settings({}, {"config": str(file)}).mode == "apply"


@pytest.mark.parametrize(
    "setting", [one for one, _ in declared().values()], ids=lambda one: one.name
)
def test_every_setting_is_known_by_dots_underscores_and_capitals(setting: Any) -> None:
    words = squash(setting.outer).split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    assert {squash(camel), squash("_".join(words)), squash(setting.outer)} == {setting.name}
    assert setting.name in Settings.__dataclass_fields__


def test_every_setting_has_its_place_in_the_documentation() -> None:
    page = (DOCS / "attach.md").read_text(encoding="utf-8")
    names = [name for row in page.split("\n") if row.startswith("| `") for name in row.split("`")]
    ends = {named.name: named.name.rpartition(".")[2] for _, named in declared().values()}
    missing = [name for name, end in ends.items() if name not in names and f".{end}" not in names]
    assert missing == []


def test_dotted_and_nested_files_say_the_same(write: Write) -> None:
    nested = "scale-down: {interval: 2m, max-factor: 0.5}\nutilization:\n  min: 0.3\n  max: 0.8\n"
    flat = "scale-down.interval: 2m\nscale-down.max-factor: 0.5\nutilization.min: 0.3\n"
    found = [
        read_settings({"config": str(write(text))}, NO_FILE)
        for text in (nested, flat + "utilization.max: 0.8\n")
    ]
    assert found[0] == found[1]
    assert found[0].scale_down_interval == 120.0


def test_options_of_a_policy_come_from_all_places(write: Write) -> None:
    by_file = read_settings(
        {"config": str(write("policy: {name: threshold, max_utilisation: 0.6}\n"))}, NO_FILE
    )
    by_conf = read_settings({}, {"policy": "threshold", "policy.maxUtilisation": "0.6"})
    by_word = settings(policy={"name": "threshold", "max_utilisation": 0.6})
    assert [build_policy(s) for s in (by_file, by_conf, by_word)] == [Threshold(0.6)] * 3


def test_another_policy_leaves_the_options_of_the_first_behind() -> None:
    conf = {"policy": "threshold", "policy.max_utilisation": "0.6"}
    assert read_settings({"policy": "rules"}, conf).options == {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"polcy": "mpc"}, "there is no setting 'polcy'; did you mean 'policy'?"),
        ({"policy": "treshold"}, "there is no policy 'treshold'; did you mean 'threshold'?"),
        ({"min_executors": 5, "max_executors": 3}, "min_executors must not be above max_executors, "
         "got 5 and 3"),
        ({"initial_executors": 30}, "initial_executors must be between min_executors and "
         "max_executors, got 30 and 1 to 20"),
        ({"scale_down_interval": 30}, "scale_down_interval needs a unit, got 30; "
         "write 30s, 30ms or 30m"),
        ({"slo": "10"}, "slo needs a unit, got 10; write 10s, 10ms or 10m"),
        ({"slo": "0s"}, "slo must be above 0s, got 0s"),
        ({"mode": "aply"}, "mode must be advise, apply or off, got 'aply'; did you mean 'apply'?"),
        ({"min_executors": 0}, "min_executors must be 1 or more, got 0"),
        ({"max_executors": "many"}, "max_executors must be a whole number, got 'many'"),
        ({"utilization_target": 70}, "utilization_target must be in (0, 1], got 70"),
        ({"utilization_min": 0.9, "utilization_max": 0.8}, "utilization.min must be below "
         "utilization.max, got 0.9 and 0.8; give both"),
        ({"utilization_min": 0.9}, "utilization.min must be below utilization.max, got 0.9 and "
         "0.85; give both"),
        ({"utilization_max": 0.4}, "utilization.min must be below utilization.max, got 0.5 and "
         "0.4; give both"),
        ({"step": "1ms"}, "step must be 0.1s or more, got 0.001s"),
        ({"policy": {"name": "threshold", "max_utilisation": 0.6}, "utilization_target": 0.7},
         "policy.max_utilisation of policy threshold is set twice, as utilization.target too; "
         "leave one out"),
        ({"policy": {"name": "latency", "forecaster": "last"}, "forecast_model": "holt"},
         "policy.forecaster of policy latency is set twice, as forecast too; leave one out"),
        ({"metrics_window": "1s"}, "metrics.window must not be shorter than step, got 1s and 10s"),
        ({"quota_memory": 16}, "quota_memory needs a unit, got 16; write 16m or 16g"),
        ({"enabled": False}, "there is no setting 'enabled' here; write mode: off, advise or "
         "apply"),
        ({"policy": Threshold}, "policy must be a name or an instance, such as Threshold()"),
        ({"policy": 7}, "policy must be the name of a policy or a callable, got 7"),
        ({"dashboard": 99999}, "dashboard must be true, false or a port from 0 to 65535, "
         "got 99999"),
        ({"pause": "maybe"}, "pause must be true or false, got 'maybe'"),
        ({"config": 3}, "config must be the name of a YAML file, got 3"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_mistake_gets_one_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError) as caught:
        build_policy(read_settings(given, NO_FILE))
    assert str(caught.value) == sentence


def test_a_mistake_in_the_conf_is_reported_under_its_whole_name() -> None:
    with pytest.raises(SettingError, match=r"^spark\.penstock\.step needs a unit"):
        read_settings({}, from_conf([("spark.penstock.step", "5")]))
    with pytest.raises(SettingError, match=r"no setting 'spark\.penstock\.maxExecuters'; did"):
        read_settings({}, from_conf([("spark.penstock.maxExecuters", "5")]))


def test_every_mistake_in_a_file_has_its_line(write: Write) -> None:
    text = "mode: aply\nstep: 5\n? [a]\n: 1\nquota:\n  cpu: -1\n  memory: 3\nmod: off\nstep: 6s\n"
    file = write(text)
    with pytest.raises(SettingError) as caught:
        read_settings({"config": file, "min_executors": 0}, NO_FILE)
    found = [line.removeprefix(f"{file}, ")[:28] for line in str(caught.value).splitlines()]
    assert found == [
        "line 3: a key must be a word",
        "line 9: step already stands ",
        "line 1: mode must be advise,",
        "line 2: step needs a unit, g",
        "line 6: quota.cpu must be ab",
        "line 7: quota.memory needs a",
        "line 8: there is no setting ",
        "min_executors must be 1 or m",
    ]


def test_a_file_that_is_not_there_is_reported() -> None:
    with pytest.raises(FileError, match=r"cannot read the settings in nowhere\.yaml: No such"):
        settings(config="nowhere.yaml")


def test_a_file_without_settings_is_reported(write: Write) -> None:
    with pytest.raises(SettingError, match="must hold settings such as `mode: advise`"):
        settings(config=write("- a\n- b\n"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("target.utilization", "utilization.target"),
        ("scale-up.grace-period", "scale-down.interval"),
    ],
)
def test_old_names_are_taken_with_a_word_about_the_new(old: str, new: str, write: Write) -> None:
    value = "0.6" if "target" in old else "3m"
    found = settings(config=write(f"{old}: {value}\n"))
    assert getattr(found, squash(new)) == (0.6 if "target" in old else 180.0)
    assert any(f"is called {new} now" in note for note in found.notes)


def test_a_setting_under_two_spellings_is_refused(write: Write) -> None:
    with pytest.raises(SettingError, match="is set twice under different spellings"):
        settings(config=write("target.utilization: 0.6\nutilization.target: 0.7\n"))


READING = {"running": 4, "arrival_rate": 90.0, "utilisation": 0.5}


def accept(found: Settings) -> Policy:
    check_effect(found)
    return guard(build_policy(found), found, began=BEGAN, size=Size())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"policy": "static", "utilization_target": 0.6}, "utilization.target has no effect"),
        ({"policy": "threshold", "forecast": {"model": "holt"}}, "forecast has no effect"),
        ({"policy": Threshold(), "utilization_target": 0.6}, "utilization.target has no effect"),
        ({"policy": "latency", "slo": "5s", "forecast": {"horizon": "1m"}}, "forecast.horizon has"),
        ({"restart_time": "1m", "catch_up_duration": "off"}, "restart.time has no effect"),
        ({"restart_time_tracking": False}, "restart.time-tracking cannot be switched off"),
        ({"scaling_effectiveness_detection_threshold": 0.2}, "threshold has no effect while"),
        ({"initial_executors": 2}, "initial_executors has no effect in mode advise"),
        ({"policy": "nash"}, "policy nash divides executors among several modules"),
        ({"policy": "fuzzy"}, "policy fuzzy divides executors among several modules"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_setting_without_effect_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        accept(read_settings(given, NO_FILE))


def test_a_forecast_reaches_the_policy_that_foresees() -> None:
    found = settings(
        policy="mpc",
        step="10s",
        forecast={"model": "holt-winters", "horizon": "45s", "season": "1h", "gate": 0.2},
    )
    policy = build_policy(found)
    assert isinstance(policy, Mpc)
    assert policy.horizon == 5
    assert policy.forecaster == {
        "trusted": {"forecaster": {"holt-winters": {"period": 360}}, "tolerance": 0.2}
    }
    assert policy.graph == graph_of(found)


def decided(number: int, load: dict[str, Any] | None = None, /, **keywords: object) -> Decision:
    """What the guards make of a wish, on four executors."""
    found = settings(policy=lambda now: _wish(number), **keywords)
    guarded = guard(build_policy(found), found, began=BEGAN, size=Size(cores=2, memory=2.0**30))
    usual = {"running": 4, "arrival_rate": 100.0, "utilisation": 0.7, "service_time": 0.01}
    return guarded(seen(at=10.0, application={**usual, **(load or {})}))


def _wish(number: int) -> Decision:
    return Decision(configuration=Configuration(degrees={"application": number}), why="a wish")


@pytest.mark.parametrize(
    ("wish", "given", "outcome"),
    [
        (30, {"max_executors": 7}, 7),
        (1, {"min_executors": 2, "scale_down_interval": "off", "scale_down_max_factor": "off"}, 2),
        (9, {"utilization_min": 0.5, "utilization_max": 0.9}, 4),
        (30, {"scale_up_max_factor": 1}, 8),
        (1, {"scale_down_max_factor": 0.25, "scale_down_interval": "off"}, 3),
        (9, {"quota_cpu": 12}, 6),
        (9, {"quota_memory": "5g"}, 5),
        (9, {"pause": True}, 4),
        (9, {"pause_scale_out": True}, 4),
        (1, {"pause_scale_in": True, "scale_down_interval": "off"}, 4),
        (9, {"excluded_periods": "11:00-13:00"}, 4),
        (1, {"scale_down_interval": "1h"}, 4),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else str(value),
)  # fmt: skip
def test_each_guard_does_what_its_setting_says(
    wish: int, given: dict[str, object], outcome: int
) -> None:
    assert decided(wish, **given).configuration.degrees == {"application": outcome}
    without = {"scale_down_interval": "off", "scale_down_max_factor": "off"}
    assert decided(wish, **without).configuration.degrees != {"application": outcome}


def test_a_backlog_raises_the_degree_until_it_is_caught_up() -> None:
    late = {"backlog": 60_000.0, "arrival_rate": 300.0}
    degrees = [
        decided(4, late, catch_up_duration=t).configuration.degrees["application"]
        for t in ("2m", "10m", "off")
    ]
    assert degrees[0] > degrees[1] > degrees[2] == 4


def test_a_policy_may_be_any_callable() -> None:
    def mine(now: Observation) -> Decision:
        return _wish(5)

    assert settings(policy=mine).policy_name == "mine"
    assert accept(settings(policy=mine))(seen(application=READING)).configuration.degrees == {
        "application": 5
    }


def _asks(degree: Any) -> Decision:
    return Decision(configuration=Configuration(degrees={"application": degree}), why="a wish")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (7, "it must return a Decision, got 7"),
        (None, "it must return a Decision, got None"),
        (_asks(0), "module application needs at least one executor, got 0"),
        (_asks(-3), "module application needs at least one executor, got -3"),
        (_asks(2.5), "it must ask for a whole number of executors, got 2.5"),
        (_asks(float("nan")), "it must ask for a whole number of executors, got nan"),
        (_asks(None), "it must ask for a whole number of executors, got None"),
        (Decision(configuration=Configuration(degrees={"shop": 2}), why="who"), "there is no "
         "module 'shop' to scale; there are application"),
        (Decision(configuration=Configuration(degrees={}), why=None), "it must say why in a "  # type: ignore[arg-type]
         "sentence, got None"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_no_guard_makes_sense_of_a_decision_that_cannot_be(answer: Any, sentence: str) -> None:
    policy = accept(settings(policy=lambda now: answer))
    with pytest.raises((TypeError, SettingError)) as caught:
        policy(seen(application=READING))
    assert str(caught.value) == sentence


def test_a_quota_that_the_fewest_executors_pass_is_refused() -> None:
    found = settings(min_executors=3, quota_memory="2g")
    with pytest.raises(SettingError) as caught:
        guard(build_policy(found), found, began=BEGAN, size=Size(memory=2.0**30))
    assert str(caught.value) == (
        "the fewest executors, 3, take 3 GiB of memory, and the quota is 2 GiB; "
        "lower the one or raise the other"
    )


def test_paths_are_written_as_texts() -> None:
    assert settings(record=Path("runs/mine")).given_by_name()["record"] == "runs/mine"


@pytest.mark.parametrize(
    ("policy", "takes"),
    [
        (lambda: None, "()"),
        (lambda one, two: None, "(one, two)"),
        (lambda *, seen: None, "(*, seen)"),
    ],
    ids=["nothing", "two", "keyword"],
)
def test_a_policy_that_cannot_be_given_an_observation_is_refused(policy: Any, takes: str) -> None:
    message = f"policy <lambda> must take one argument, the observation; it takes {takes}"
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        build_policy(settings(policy=policy))


@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        ("exits", "policy own_factories:exits cannot be made: SystemExit"),
        ("unreadable", "policy own_factories:unreadable cannot be made: "),
        ("nothing", "policy own_factories:nothing cannot be used: it makes a NoneType"),
        (
            "two",
            "policy own_factories:two must take one argument, the observation; it takes (a, b)",
        ),
    ],
)
def test_a_factory_that_makes_no_policy_is_refused(
    factory: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_factories.py").write_text(FACTORIES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingError, match=f"^{re.escape(sentence)}"):
        build_policy(settings(policy=f"own_factories:{factory}"))


FACTORIES = """
import sys

class Unreadable(Exception):
    def __str__(self):
        raise ValueError("no text")

def exits():
    sys.exit()

def unreadable():
    raise Unreadable

def nothing():
    return None

def two():
    return lambda a, b: None
"""


def test_all_mistakes_are_raised_at_once(tmp_path: Path) -> None:
    file = tmp_path / "penstock.yaml"
    file.write_text("quota: {cpu: -1}\nmin_executors: 4\n")
    conf = {"maxExecutors": "2", "stepp": "3s"}
    keywords = {
        "config": str(file),
        "mode": "aply",
        "step": 30,
        "initial_executors": 3,
        "policy": "threshold",
        "policy_foo": 3,
        "restart_time_tracking": False,
    }
    with pytest.raises(SettingError) as caught:
        read_with(keywords, conf, check_effect, build_policy)
    sentences = str(caught.value).splitlines()
    assert [sentence.partition(",")[0].partition(";")[0] for sentence in sentences] == [
        "there is no setting 'spark.penstock.stepp'",
        f"{file}",
        "mode must be advise",
        "step needs a unit",
        "min_executors must not be above max_executors",
        "restart.time-tracking cannot be switched off: the time that executors take to come is "
        "always learned",
        "policy threshold has no setting 'foo'",
    ]


def test_what_follows_from_a_wrong_mode_is_not_a_mistake() -> None:
    with pytest.raises(SettingError) as caught:
        read_with({"mode": "aply", "initial_executors": 3}, NO_FILE, check_effect)
    assert str(caught.value) == (
        "mode must be advise, apply or off, got 'aply'; did you mean 'apply'?"
    )
