"""Keys belong to operators that work by key, and are as many as fit into memory."""

from pathlib import Path

import pytest

from penstock.pipeline.deploy.pipeline import application_of
from penstock.pipeline.file import check, load
from penstock.pipeline.shape import APPLICATIONS

GRAPH = "source: {module: a, rate: 5/s}\nmodules: {a: {keys: 10000000}}\n"
SPLIT = """\
pipeline: trading
source: {module: algotrader, rate: 100/s}
modules:
  algotrader: {keys: 100, max_replicas: 4}
  consumer: {max_replicas: 4}
streams:
  - {from: algotrader, to: consumer}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def mistakes(file: str | Path, *settings: str) -> list[str]:
    return [mistake.sentence for mistake in check(file, settings).mistakes]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_shape_names_the_operators_that_are_keyed_on_spark(name: str) -> None:
    operators = application_of(load(name)).operators
    shape = APPLICATIONS[name].shape
    keyed = [operator for operator in shape.operators if operators[operator].keyed]
    assert shape.keyed == tuple(keyed)


@pytest.mark.parametrize("module", ["splitter", "counter"])
def test_a_module_that_does_not_work_by_key_has_no_keys(module: str) -> None:
    assert mistakes("wordcount", f"modules.{module}.keys=10") == [
        f"module {module} has keys, and {module} does not work by key; leave keys out"
    ]


def test_an_operator_that_works_by_key_needs_keys(tmp_path: Path) -> None:
    expected = ["algotrader works by key; give its module keys, such as keys: 2836"]
    assert mistakes("trading", "modules.algotrader.keys=0") == expected
    assert mistakes(written(tmp_path, SPLIT.replace("keys: 100, ", ""))) == expected


def test_keys_beside_another_mistake_are_seen() -> None:
    late = "modules.algotrader.trigger=3"
    assert len(mistakes("trading", late)) == 1
    without = mistakes("trading", late, "modules.algotrader.keys=0")
    assert any("algotrader works by key" in sentence for sentence in without)
    unkeyed = mistakes("wordcount", "modules.counter.trigger=3", "modules.counter.keys=7")
    assert any("counter does not work by key" in sentence for sentence in unkeyed)


@pytest.mark.parametrize("keys", ["-5", "all", "2.5", "[]"])
def test_keys_that_are_no_count_are_one_mistake(keys: str) -> None:
    assert len(mistakes("trading", f"modules.algotrader.keys={keys}")) == 1


def test_of_modules_only_the_one_with_the_keyed_operator_has_keys(tmp_path: Path) -> None:
    split = written(tmp_path, SPLIT)
    assert mistakes(split) == []
    (mistake,) = mistakes(split, "modules.consumer.keys=4")
    assert mistake == "module consumer has keys, and consumer does not work by key; leave keys out"


def test_more_keys_than_fit_into_memory_are_refused(tmp_path: Path) -> None:
    graph = written(tmp_path, GRAPH)
    assert mistakes(graph) == []
    for file, module in ((graph, "a"), ("trading", "algotrader")):
        assert mistakes(file, f"modules.{module}.keys=10000001") == [
            f"keys of module {module} must be 0 to 10,000,000, got 10,000,001"
        ]
