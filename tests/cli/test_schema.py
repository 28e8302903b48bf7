"""`penstock schema`: editors find the same mistakes, and none in files that are sound."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from penstock.cli.main import main
from penstock.core.located import read
from penstock.guard import GUARDS
from penstock.pipeline.file import check
from penstock.pipeline.format.find import built_in
from penstock.pipeline.format.schema import descriptions, json_schema, options
from penstock.policy import POLICIES
from tests.conftest import Write
from tests.support.paths import ROOT

SCHEMA = json_schema()
SHIPPED = sorted(p for p in (ROOT / "src").rglob("*.yaml") if p.name != "paper.yaml")
"""Pipeline files; the data of papers have a format of their own."""
GRAPH = """\
step: 2s
source: {module: a, rate: 9/s}
policy: {name: threshold}
guards: [hold]
cluster: {workers: 2}
modules:
  a: {service_time: 1ms, max_replicas: 4}
  b:
streams: [{from: a, to: b}]
"""
ALLOCATION = """\
budget: 1.0
sources: {s: {rate: inf, to: a}}
modules: {a: {}}
streams: [{from: s, to: a, consumes: 0.3}]
sinks: {o: {from: a, produces: 0.9}}
"""


def errors(text: str) -> list[Any]:
    value = read(text, name="job.yaml").value
    return list(Draft7Validator(SCHEMA).iter_errors(value))


def test_the_command_prints_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    Draft7Validator.check_schema(printed)
    assert printed == SCHEMA


def test_shipped_files_are_sound_for_check_jsonschema(tmp_path: Path) -> None:
    assert len(SHIPPED) >= len(built_in())
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    words = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--schemafile",
        str(tmp_path / "schema.json"),
    ]
    finished = subprocess.run(
        [*words, *map(str, SHIPPED)], capture_output=True, text=True, check=False
    )
    assert (finished.returncode, finished.stdout) == (0, "ok -- validation done\n")


@pytest.mark.parametrize(
    "text",
    [GRAPH, ALLOCATION, f"{ALLOCATION}\npolicy: {{name: cutting-plane, tolerance: 0.01}}\n"],
)
def test_a_sound_file_has_no_error(text: str) -> None:
    assert errors(text) == []


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("step: 2s", "step: 2", ["step"]),
        ("step: 2s", "step: 2g", ["step"]),
        ("step: 2s", "stp: 2s", []),
        ("rate: 9/s", "rate: 9", ["source", "rate"]),
        ("rate: 9/s", "rat: 9/s", ["source"]),
        ("workers: 2", "workers: 0", ["cluster", "workers"]),
        ("workers: 2", "memory: 512", ["cluster", "memory"]),
        ("max_replicas: 4", "max_replicas: 0", ["modules", "a", "max_replicas"]),
        ("max_replicas: 4", "max_replica: 4", ["modules", "a"]),
        ("max_replicas: 4", "scaling: log", ["modules", "a", "scaling"]),
        ("max_replicas: 4", "max_replicas: '4'", ["modules", "a", "max_replicas"]),
        ("max_replicas: 4", "buffer: '4'", ["modules", "a", "buffer"]),
        ("name: threshold", "name: treshold", ["policy"]),
        ("name: threshold", "name: threshold, foo: 1", ["policy"]),
        ("[hold]", "[step-factor: {in: 1.3}]", ["guards", 0]),
        ("[hold]", "[hodl]", ["guards", 0]),
        ("[hold]", "[cooldown: {seconds: 3}]", ["guards", 0]),
        ("from: a, to: b", "from: a", ["streams", 0]),
    ],
)
def test_a_mistake_is_found_where_it_stands(
    old: str, new: str, path: list[str | int], write: Write
) -> None:
    wrong = GRAPH.replace(old, new)
    assert [list(error.absolute_path) for error in errors(wrong)] == [path]
    assert check(write(wrong)).mistakes != ()


@pytest.mark.parametrize(
    ("old", "new"),
    [("max_replicas: 4", "buffer: inf"), ("{name: threshold}", "{name: latency, margin: yes}")],
)
def test_a_word_that_stands_for_a_value_is_taken(old: str, new: str, write: Write) -> None:
    right = GRAPH.replace(old, new)
    assert errors(right) == []
    assert check(write(right)).mistakes == ()


def test_a_part_of_a_package_is_taken() -> None:
    assert errors(GRAPH.replace("{name: threshold}", "{name: 'acme.scaling:Fast', speed: 3}")) == []
    assert errors(GRAPH.replace("[hold]", "['acme.guards:Calm', 'acme.guards:Calm': {a: 1}]")) == []


@pytest.mark.parametrize("name", sorted(GUARDS))
def test_every_setting_of_a_guard_has_a_description(name: str) -> None:
    assert [setting.name for setting, description in options(GUARDS[name]) if not description] == []


@pytest.mark.parametrize("name", sorted(POLICIES.built_in))
def test_settings_of_policies_have_descriptions(name: str) -> None:
    assert [
        setting.name for setting, description in options(POLICIES[name]) if not description
    ] == []


def test_descriptions_of_a_base_class_are_inherited() -> None:
    assert descriptions(POLICIES["rl"])["levels"].startswith("Into which")
