"""Parts of others by import string and by entry point, wherever a name is taken."""

import json
import logging
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.attachment.policy import build_policy as attached_policy
from penstock.attachment.settings import Settings, read_settings
from penstock.cli import main
from penstock.core.errors import FileError, SettingError, UserError
from penstock.core.plugins import PolicyFunction, Registry, as_guard, as_policy
from penstock.core.settings import build, choose
from penstock.experiment.compare import entrants
from penstock.forecast import FORECASTERS, make
from penstock.guard import GUARDS
from penstock.pipeline.compose import build_policy
from penstock.pipeline.deploy.module import lay_out
from penstock.pipeline.deploy.pipeline import application_of
from penstock.pipeline.file import check, load
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy import POLICIES
from penstock.policy.hierarchy import MANAGERS
from penstock.testing import (
    APPLICATION_CHECKS,
    FORECASTER_CHECKS,
    GUARD_CHECKS,
    POLICY_CHECKS,
    WORKLOAD_CHECKS,
    example,
    failures,
    seen,
)
from penstock.workload import WORKLOADS, parse

ACME = Path(__file__).parent / "acme"
ADDS = {
    "penstock.policies": {"broken": "acme_broken:Policy", "static": "acme.scaling:Fast"},
    "penstock.guards": {"odd": "acme.scaling:ANSWER"},
}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package as if it were installed, and one more that has mistakes."""
    own = tomllib.loads((ACME / "pyproject.toml").read_text())["project"]["entry-points"]
    for name, groups in {"acme": own, "mistaken": ADDS}.items():
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
            for group, points in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "acme_broken.py").write_text("raise ValueError('no licence')\n")
    (tmp_path / "acme_needy.py").write_text("import acme_absent\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(ACME))
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        monkeypatch.delitem(sys.modules, name)


# Registries


def test_names_are_listed_without_importing_anything() -> None:
    assert {"fast", "broken", "mpc"} <= set(POLICIES)
    assert "clicks" in APPLICATIONS
    assert "acme" not in sys.modules
    assert len(POLICIES) == len(list(POLICIES))


def test_an_entry_point_and_its_import_string_are_the_same_part() -> None:
    assert POLICIES["fast"] is POLICIES["acme.scaling:Fast"]
    assert POLICIES["penstock.policy.static:Static"] is POLICIES["static"]


def test_a_built_in_name_wins_and_that_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert POLICIES["static"].__module__ == "penstock.policy.static"
        list(POLICIES), list(POLICIES)
    told = [record.getMessage() for record in caplog.records]
    assert told in (
        ["policy static is built in; write acme.scaling:Fast for that of the plug-in"],
        [],  # an earlier test listed them
    )


def test_a_name_that_two_packages_offer_must_be_written_out(tmp_path: Path) -> None:
    points = tmp_path / "mistaken-1.0.dist-info" / "entry_points.txt"
    points.write_text("[penstock.policies_twice]\nfast = a:B\n")
    other = tmp_path / "acme-1.0.dist-info" / "entry_points.txt"
    other.write_text("[penstock.policies_twice]\nfast = c:D\n")
    twice: Registry[object] = Registry("policy", group="penstock.policies_twice", built_in={})
    with pytest.raises(SettingError, match="'fast' is offered by several packages; write one of"):
        twice["fast"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "absent.scaling:Fast",
            "cannot be loaded: there is no module 'absent'; install it, or add its folder to "
            "PYTHONPATH",
        ),
        ("acme.scalin:Fast", "cannot be loaded: there is no module 'acme.scalin'; install it"),
        ("acme.scaling:Fst", "cannot be loaded: module 'acme.scaling' has no 'Fst'; did you mean"),
        ("acme_needy:Policy", "module 'acme_needy' needs module 'acme_absent'; install that too"),
        ("broken", "cannot be loaded: importing 'acme_broken' raises ValueError: no licence"),
        ("acme.scaling:ANSWER", "cannot be used: it must be a class or a function, got 42"),
        ("acme.loads:Spiky", "cannot be used: class Spiky has no method __call__"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_reported_in_a_sentence(name: str, why: str) -> None:
    with pytest.raises(SettingError) as told:
        choose(POLICIES, name, of="policy")
    assert str(told.value).startswith(f"policy '{name}' {why}") or why in str(told.value)


def test_mistakes_of_a_file_about_plug_ins_stand_on_their_lines(tmp_path: Path) -> None:
    text = (ACME / "acme" / "clicks" / "clicks.yaml").read_text()
    text = text.replace("pipeline: clicks", "pipeline: acme.clicks:CLICK")
    text = text.replace("kind: spiky", "kind: absent:Spiky").replace("name: fast", "name: broken")
    text = text.replace("guards: [hold, even]", "guards: [hold, odd, acme.scaling:steady]")
    (tmp_path / "job.yaml").write_text(text)
    told = [str(mistake) for mistake in check(tmp_path / "job.yaml").mistakes]
    lines = [one.partition(", line ")[2].partition(":")[0] for one in told]
    assert lines == ["1", "4", "6", "7", "7"]
    assert "pipeline 'acme.clicks:CLICK' cannot be loaded: module 'acme.clicks' has no" in told[0]
    assert "takes the policy that it holds as its first field" in "".join(told)


def test_names_that_are_not_there_are_reported_as_ever() -> None:
    with pytest.raises(SettingError, match="there is no policy 'sttic'; did you mean 'static'"):
        choose(POLICIES, "sttic", of="policy")
    with pytest.raises(SettingError, match="there is no workload 'trce'; did you mean 'trace'"):
        parse("trce:file")
    with pytest.raises(FileError, match="there is no built-in pipeline 'click'; did you mean 'cli"):
        load("click")


# What a policy may be


def test_a_function_is_a_policy_and_its_further_parameters_are_settings() -> None:
    kind = POLICIES["acme.scaling:steady"]
    policy = build(kind, {"least": "3"}, of="policy acme.scaling:steady")
    assert isinstance(policy, PolicyFunction)
    now = seen(counter={"running": 2})
    assert policy(now).configuration.degrees == {"counter": 3}
    assert deepcopy(policy) == policy
    assert repr(policy) == "PolicyFunction(acme.scaling:steady, least=3)"
    with pytest.raises(SettingError, match="has no setting 'most'; there are least"):
        build(kind, {"most": 3}, of="policy acme.scaling:steady")


def test_an_object_that_decides_is_copied() -> None:
    made = POLICIES["penstock.policy.static:Static"]()
    first = as_policy(made)()
    assert first == made
    assert first is not made


@pytest.mark.parametrize("name", ["Fast", "make_fast"])
def test_what_a_constructor_names_graph_is_taken_from_the_file(name: str) -> None:
    file = load("clicks", ["guards=[]", f"policy={{name: acme.scaling:{name}, aim: 0.4}}"])
    inner = build_policy(file).policy.policy  # type: ignore[attr-defined]  # in clamp and check
    assert (inner.graph, inner.aim) == (file.graph, 0.4)


def test_what_a_constructor_needs_or_raises_is_reported_in_a_sentence() -> None:
    with pytest.raises(SettingError, match="workload spiky needs a value for rate"):
        parse("spiky")
    with pytest.raises(SettingError, match="workload spiky cannot be made: ValueError: rate abo"):
        parse("spiky:2M/s")


def test_a_policy_that_returns_nonsense_is_reported_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--policy", "acme.scaling:nonsense", "--out", str(tmp_path / "run")]
    assert main(["simulate", "wordcount", "--duration", "10s", *words]) == 2
    assert "policy acme.scaling:nonsense: it must return a Decision, got 2" in (
        capsys.readouterr().err
    )
    found = failures(POLICY_CHECKS, example(POLICIES["acme.scaling:nonsense"]))
    assert found["returns_a_decision"] == "it must return a Decision, got 2"


# Conformance, over everything that the package adds


def test_the_parts_of_the_package_conform() -> None:
    for name in ("fast", "acme.scaling:steady", "acme.scaling:make_fast"):
        assert failures(POLICY_CHECKS, example(POLICIES[name])) == {}
    assert failures(GUARD_CHECKS, GUARDS["even"]) == {}
    assert failures(FORECASTER_CHECKS, FORECASTERS["largest"]) == {}
    assert failures(WORKLOAD_CHECKS, parse("spiky:10/s")) == {}
    assert failures(APPLICATION_CHECKS, "clicks") == {}
    assert failures(APPLICATION_CHECKS, "acme.clicks:CLICKS") == {}


# Wherever a name is taken


def test_short_forms_of_workloads_follow_an_import_string() -> None:
    ways = ["spiky:10/s", "acme.loads:Spiky:10/s", "acme.loads:Spiky:rate=10/s"]
    assert len({repr(parse(way)) for way in ways}) == 1
    assert parse({"kind": "acme.loads:Spiky", "rate": "10/s"}) == parse(ways[0])
    assert WORKLOADS.split("daily:1/s..2/s") == ("daily", "1/s..2/s")


def test_forecasters_and_managers_too() -> None:
    assert repr(make("largest", {"window": 5})) == "Largest(window=5)"
    trusted = make("trusted", {"forecaster": {"acme.loads:Largest": {"window": 2}}})
    assert repr(trusted.forecaster) == "Largest(window=2)"  # type: ignore[attr-defined]
    name = "penstock.policy.hierarchy.rules:Accept"
    assert choose(MANAGERS, name, of="manager") is MANAGERS["accept"]


@pytest.mark.parametrize("name", ["clicks", "acme.clicks:CLICKS"])
def test_a_pipeline_file_of_a_package_goes_by_its_name(name: str) -> None:
    file = load(name, to_run=True)
    assert (file.name, file.runnable) == ("clicks", True)
    assert tuple(application_of(file).operators) == ("parse", "rate")
    again = load("clicks", [f"pipeline={name}"])
    assert again.resolved["pipeline"] == name


def test_pipelines_that_share_a_cluster_take_theirs_from_the_package(tmp_path: Path) -> None:
    both = "cores: 6\npipelines: {a: {pipeline: clicks}, b: {pipeline: 'acme.clicks:CLICKS'}}\n"
    (tmp_path / "both.yaml").write_text(both + "policy: fair\n")
    file = load(tmp_path / "both.yaml", to_run=True)
    assert set(file.graph.names()) == {"a.parse", "a.rate", "b.parse", "b.rate"}


@pytest.mark.parametrize("policy", ["fast", "acme.scaling:Fast", "acme.scaling:steady"])
def test_simulate_and_validate_take_them(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--policy", policy, "--workload", "acme.loads:Spiky:20/s"]
    short = ["--duration", "10s", "--out", str(tmp_path / "run"), "--json"]
    assert main(["simulate", "clicks", *chosen, *short]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == policy
    assert main(["validate", "acme.clicks:CLICKS"]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0


def test_settings_follow_an_import_string_in_a_comparison() -> None:
    text = "acme.scaling:Fast,aim=0.7,acme.scaling:Fast:aim=0.8,fast:aim=0.9,acme.scaling:steady"
    found = [(one.part.name, dict(one.part.settings)) for one in entrants.read(text)]
    assert found == [
        ("acme.scaling:Fast", {"aim": 0.7}),
        ("acme.scaling:Fast", {"aim": 0.8}),
        ("fast", {"aim": 0.9}),
        ("acme.scaling:steady", {}),
    ]


def test_attach_takes_a_name_an_import_string_and_a_callable() -> None:
    conf = read_settings({}, {"policy": "acme.scaling:Fast", "policy.aim": "0.7"})
    given = [conf, Settings(policy="fast"), Settings(policy="acme.scaling:steady")]
    now = seen(application={"running": 2, "requested": 2, "wanted": 2, "utilisation": 0.7})
    degrees = [attached_policy(one)(now).configuration.degrees for one in given]
    assert degrees == [{"application": 2}, {"application": 3}, {"application": 2}]
    with pytest.raises(SettingError, match="policy 'broken' cannot be loaded"):
        attached_policy(Settings(policy="broken"))


# The handbook


HANDBOOK = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# ([\w/]+\.py)\n(.*?)```", HANDBOOK, re.DOTALL))
RUNS = re.findall(r"```bash\npenstock (.*?)\n```", HANDBOOK, re.DOTALL)


@pytest.fixture
def handbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of the handbook in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    own = {name: text for name, text in FILES.items() if "/" not in name}
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    yield
    for name in own:
        sys.modules.pop(Path(name).stem, None)


def test_the_handbook_has_an_example_of_each_kind() -> None:
    kinds = ("policy", "guard", "forecaster", "workload", "nodes", "manager")
    assert set(FILES) == {f"my_{kind}.py" for kind in kinds} | {
        "acme/clicks/__init__.py",
        "check_parts.py",
        "my_settings.py",
    }
    assert len(RUNS) == len(kinds)


@pytest.mark.parametrize("command", RUNS)
def test_the_parts_of_the_handbook_run(
    command: str, handbook: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*shlex.split(command), "--duration", "10s", "--out", "run", "--json"]) == 0
    text = Path("run/settings.json").read_text()
    [part] = re.findall(r"my_\w+:\w+", command)
    assert part in text
    assert json.loads(capsys.readouterr().out)["steps"] >= 2


def test_the_parts_of_the_handbook_conform(
    handbook: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    exec(FILES["check_parts.py"], {})  # noqa: S102  # what the page shows
    assert capsys.readouterr().out == "{}\n"


def test_the_settings_of_the_handbook_are_checked() -> None:
    declared: dict[str, Any] = {}
    exec(FILES["my_settings.py"], declared)  # noqa: S102
    with pytest.raises(SettingError, match="target of policy calm must be in"):
        declared["Calm"](target=1.3)
    with pytest.raises(SettingError, match="short of policy calm is above its long"):
        declared["Calm"](short=700.0)


def test_the_application_of_the_handbook_is_that_of_the_package() -> None:
    declared: dict[str, object] = {}
    exec(FILES["acme/clicks/__init__.py"], declared)  # noqa: S102
    assert declared["CLICKS"] == APPLICATIONS["clicks"]


# What a part of others does wrong


def _validated(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["validate", "wordcount", *words])
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.mark.parametrize("section", ["policy=sys:exit", "workload=sys:exit"])
def test_a_part_that_ends_the_program_is_a_mistake_and_later_files_are_read(
    section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = _validated(capsys, "trading", "--set", section)
    assert code == 2
    assert told.count("sys:exit cannot be made: SystemExit") == 2


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise SystemExit", "policy acme_rude:Rude ended the program: SystemExit"),
        ("raise ValueError('no')", "policy acme_rude:Rude raised ValueError: no"),
    ],
)
def test_a_policy_that_raises_in_a_run_is_named(
    body: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"class Rude:\n    def __call__(self, seen):\n        {body}\n"
    (tmp_path / "acme_rude.py").write_text(text)
    sys.modules.pop("acme_rude", None)
    words = ["--policy", "acme_rude:Rude", "--out", str(tmp_path / "run")]
    assert main(["simulate", "wordcount", "--duration", "10s", *words]) == 1
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("policy=os:getcwd", "policy os:getcwd cannot be used: it makes a str, which is not ca"),
        ("policy=builtins:print", "policy builtins:print cannot be used: it makes a NoneType, whi"),
        ("workload=os:getcwd", "os:getcwd cannot be used: it makes a str, which has no method r"),
        ("workload=builtins:print", "it makes a NoneType, which has no method rate"),
        ("workload={kind: 'builtins:print'}", "it makes a NoneType, which has no method rate"),
    ],
)
def test_what_a_factory_makes_must_be_the_part(
    setting: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = _validated(capsys, "--set", setting)
    assert (code, why in told) == (2, True), told


def test_an_object_that_a_factory_makes_is_the_part() -> None:
    kind = POLICIES["acme.scaling:make_fast"]
    assert kind(graph=None).aim == 0.5  # type: ignore[attr-defined,call-arg]


def test_a_guard_and_a_forecaster_of_a_factory_are_checked_too() -> None:
    guard = as_guard(lambda policy: 3)
    with pytest.raises(SettingError, match="guard g cannot be used: it makes an int, which"):
        build(guard, {}, of="guard g", policy=None)
    with pytest.raises(SettingError, match="it makes a str, which has no method update"):
        make("os:getcwd")


# Applications


def _add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> None:
    """Modules in a folder of their own, which entry points of applications name as well."""
    folder = tmp_path / "added"
    info = folder / "added-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1.0\n")
    points = "".join(f"{name} = {name}:APP\n" for name in modules)
    (info / "entry_points.txt").write_text(f"[penstock.applications]\n{points}bare = acme.clicks\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(folder))


_APP = """
from dataclasses import replace
from acme.clicks import CLICKS
APP = replace(CLICKS, {})
"""


def test_an_application_of_a_module_without_package_goes_by_its_import_string(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(tmp_path, monkeypatch, happ=_APP.format(""))
    assert load("happ:APP", to_run=True).name == "clicks"
    with pytest.raises(SettingError, match=r"'math:pi' cannot be used: it must be an AppSpec"):
        load("math:pi")
    with pytest.raises(FileError, match="there is no file wordcount:APP"):
        load("wordcount:APP")


def test_a_broken_application_fails_only_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = _APP.format("files='nowhere_at_all'")
    _add(
        tmp_path, monkeypatch, lost=lost, rude="raise SystemExit", fileless=_APP.format("files=''")
    )
    assert load("clicks").name == "clicks"
    assert not {"lost", "rude"} & sys.modules.keys()
    with pytest.raises(FileError, match="there is no built-in pipeline 'clcks'; did you mean 'cli"):
        load("clcks")
    with pytest.raises(
        SettingError, match="files of pipeline 'lost' cannot be read: there is no m"
    ):
        load("lost")
    with pytest.raises(SettingError, match="'rude' cannot be loaded: importing 'rude' raises Sys"):
        load("rude")
    with pytest.raises(FileError, match="pipeline fileless comes without a file; give one that"):
        load("fileless")
    with pytest.raises(
        SettingError, match=r"'bare' cannot be loaded: 'acme.clicks' is a module; wr"
    ):
        load("bare")


def test_a_further_file_of_a_package_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "acme_more"
    package.mkdir()
    (package / "__init__.py").touch()
    text = (ACME / "acme" / "clicks" / "clicks.yaml").read_text()
    (package / "clicks-at-night.yaml").write_text(text)
    broken = "raise SystemExit"
    _add(tmp_path, monkeypatch, a_broken=broken, more=_APP.format("files='acme_more'"))
    assert load("clicks-at-night").name == "clicks"


# Import strings


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("math:pi.foo", "module 'math' has no 'pi.foo'; there are as_integer_ratio"),
        ("acme_lazy:Fast", "taking 'Fast' from module 'acme_lazy' raises ZeroDivisionError: div"),
    ],
)
def test_an_import_string_that_reaches_nothing_is_a_sentence(
    name: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "acme_lazy.py").write_text("def __getattr__(name):\n    return 1 / 0\n")
    with pytest.raises(SettingError, match=why):
        choose(POLICIES, name, of="policy")


def test_a_policy_of_a_partial_can_be_shown() -> None:
    policy = as_policy(partial(POLICIES["acme.scaling:steady"].part))(least=2)  # type: ignore[attr-defined]
    assert repr(policy).startswith("PolicyFunction(<method-wrapper '__call__' of functools.partial")


def test_an_error_in_an_application_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = _APP + "def make(file):\n    raise ValueError('no licence')\n"
    _add(
        tmp_path,
        monkeypatch,
        fails=more.format("spark='fails:make'"),
        odd=more.format("spark='odd:__name__', name='odd'"),
        bare_spark=more.format("spark='acme.clicks'"),
        needy=more.format("needs=('acme_absent.nn',)"),
    )
    told = {
        "fails": "'clicks' cannot be made: fails:make raises ValueError: no licence",
        "odd": "'odd' cannot be used: odd:__name__ must be an Application, or a function that",
        "bare_spark": "'clicks' cannot be loaded: 'acme.clicks' is a module; write acme.clicks:N",
        "needy": "clicks needs acme_absent.nn; install it",
    }
    for name, why in told.items():
        with pytest.raises(UserError, match=re.escape(why)):
            application_of(replace(load("clicks"), application=name))
    file = load("clicks")
    application = application_of(file)
    fewer = replace(application, operators={"parse": application.operators["parse"]})
    with pytest.raises(SettingError, match="has an operator 'rate' that its Application does not"):
        lay_out(file.graph, APPLICATIONS["clicks"].shape, fewer)


# What is filled in and what may be decided


def test_a_seed_is_filled_in_where_it_has_no_default(tmp_path: Path) -> None:
    text = "class Plain:\n    def __init__(self, graph, slo, seed, aim=0.5):\n"
    text += "        self.seed = seed\n    def __call__(self, seen):\n        return None\n"
    (tmp_path / "acme_plain.py").write_text(text)
    for settings, seed in ({"seed=7": 7, "policy={name: 'acme_plain:Plain', seed: 3}": 3}).items():
        file = load("wordcount", ["guards=[]", "policy=acme_plain:Plain", settings])
        assert build_policy(file).policy.policy.seed == seed  # type: ignore[attr-defined]


def test_a_decision_about_a_module_that_there_is_not_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "from penstock.core.signals import Configuration, Decision\n\n\ndef stray(seen):\n"
    text += "    return Decision(configuration=Configuration(degrees={'countr': 2}), why='so')\n"
    (tmp_path / "acme_stray.py").write_text(text)
    words = ["--policy", "acme_stray:stray", "--out", str(tmp_path / "run")]
    assert main(["simulate", "wordcount", "--duration", "10s", *words]) == 2
    why = "policy acme_stray:stray: it decides about module 'countr', which there is not; did you"
    assert why in capsys.readouterr().err
