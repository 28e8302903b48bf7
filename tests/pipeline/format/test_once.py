"""One mistake in a sound file is named once: nothing that only follows from it is said."""

import json
from copy import deepcopy
from itertools import cycle
from typing import Any

import pytest

from penstock.core.located import read
from penstock.pipeline.file import check
from penstock.pipeline.format.find import built_in, find
from tests.conftest import Write
from tests.support.pipeline_files import GRAPH

FULL = """\
pipeline: wordcount
step: 2s
duration: 60s
policy: {name: mpc, module: splitter, forecaster: {holt-winters: {period: 30}}, horizon: 3}
guards: [hold, cooldown: {out: 4s, in: 8s}, clamp: {low: 1, high: {splitter: 4, counter: 3}}]
manager: {name: token-bucket, every: 1m}
slo: {latency_p95: 10s}
cluster: {workers: 2, conf: {spark.executor.memory: 1g}}
interference: {processes: 1, from: 3s, until: 5s}
source:
  module: splitter
  kafka: {servers: 'localhost:9092', topic: lines, format: text, options: {kafka.acks: all}}
modules:
  splitter: {operators: [splitter, filter], service_time: 3ms, max_replicas: 4}
  counter: {operators: [counter, consumer], service_time: 1ms, initial_replicas: 2}
streams: [{from: splitter, to: counter, selectivity: 2}]
sink: {kafka: {servers: 'localhost:9092', topic: counts}}
"""
FILES = {name: find(name).content for name in built_in()} | {
    "full": FULL,
    "allocation": f"{GRAPH}policy: {{name: cutting-plane, tolerance: 0.01}}\n",
}
NAMED = {"modules", "regions", "delays", "pipelines", "sources", "sinks", "conf", "options", "high"}
"""What stands inside goes by names of the user's own."""
Path = tuple[str | int, ...]


def inside(value: Any, at: Path = ()) -> list[Path]:
    """The paths of all values inside a value."""
    if not isinstance(value, dict | list):
        return []
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    return [path for key, item in items for path in ((*at, key), *inside(item, (*at, key)))]


def container(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


def sentences(write: Write, value: object) -> list[str]:
    return [mistake.sentence for mistake in check(write(json.dumps(value))).mistakes]


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_value_of_another_shape_is_named_once(write: Write, name: str) -> None:
    whole = read(FILES[name], name=name).value
    assert sentences(write, whole) == []
    for path, odd in zip(inside(whole), cycle((3, "x", [1], True, -7, "3s", [[]])), strict=False):
        wrong = deepcopy(whole)
        container(wrong, path)[path[-1]] = odd
        assert len(sentences(write, wrong)) <= 1, (path, odd)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_misspelt_setting_is_named_once(write: Write, name: str) -> None:
    whole = read(FILES[name], name=name).value
    for path in inside(whole):
        key = path[-1]
        if isinstance(key, int) or (len(path) > 1 and path[-2] in NAMED):
            continue
        wrong = deepcopy(whole)
        around = container(wrong, path)
        around[f"{key[:-2]}{key[-1]}" if len(key) > 3 else f"{key}x"] = around.pop(key)
        [sentence] = sentences(write, wrong)
        assert repr(key) in sentence or "there are" in sentence, path


STRUCTURE = {"name", "kind", "pipeline", "module", "from", "to", "operators", "format"}
"""What other settings are read by."""


@pytest.mark.parametrize("name", sorted(FILES))
def test_all_mistakes_of_a_file_are_named_together(write: Write, name: str) -> None:
    whole = read(FILES[name], name=name).value
    wrong, expected = deepcopy(whole), set[str]()
    for path in inside(whole):
        if isinstance(container(whole, path)[path[-1]], dict | list) or STRUCTURE & {*path}:
            continue
        alone = deepcopy(whole)
        for changed in (alone, wrong):
            container(changed, path)[path[-1]] = [["x"]]
        expected.update(sentences(write, alone))
    assert len(expected) >= 8
    assert set(sentences(write, wrong)) == expected
