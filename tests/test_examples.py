"""The examples of the documentation come out as shown."""

import doctest
import re
from pathlib import Path

import pytest
import yaml
from benchmarks.__main__ import ALL as BENCHMARKS

from penstock.cli import main
from tests.support.paths import DOCS, ROOT

PROMPT = re.compile(r"^>>> ", re.MULTILINE)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if PROMPT.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_runs_as_shown(page: Path) -> None:
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 0
    assert failed == 0


def test_the_graph_is_planned_as_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "plan.md").read_text()
    [graph] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "graph.yaml"
    path.write_text(graph)
    command = r"\$ penstock plan graph.yaml --policy social\n"
    [shown] = re.findall(rf"{command}(.*?)```", page, re.DOTALL)
    assert main(["plan", str(path), "--policy", "social"]) == 0
    assert capsys.readouterr().out == shown
    assert main(["plan", str(path), "--policy", "nash"]) == 0
    [cost] = re.findall(r"is ([\d.]+) with `nash`", page)
    assert f"cost of a step  {cost}\n" in capsys.readouterr().out


def test_pipelines_share_as_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "allocation.md").read_text()
    [shared] = re.findall(r"```yaml\n(pipelines:.*?)```", page, re.DOTALL)
    path = tmp_path / "two.yaml"
    path.write_text(shared)
    assert main(["simulate", str(path), "--duration", "60s", "--out", str(tmp_path / "run")]) == 0
    [shown] = re.findall(r"on the twin:\n\n> (.*?)\n\n", page, re.DOTALL)
    assert shown.replace("\n> ", " ") in capsys.readouterr().out


def test_the_alerts_are_about_metrics_that_exist() -> None:
    page = (DOCS / "operate.md").read_text()
    reference = (DOCS / "metrics.md").read_text()
    names = set(re.findall(r"^\| `(penstock_\w+)", reference, re.MULTILINE))
    [rules] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    alerts = [rule["expr"] for rule in yaml.safe_load(rules)["groups"][0]["rules"]]
    assert len(alerts) >= 5
    assert set(re.findall(r"penstock_\w+", page)) <= names


def test_benchmarks_exist_as_named() -> None:
    page = (DOCS / "benchmarks.md").read_text()
    named = {
        name
        for names in re.findall(r"`python -m benchmarks ([\w ]+)`", page)
        for name in names.split()
    }
    assert named <= set(BENCHMARKS)
    assert set(BENCHMARKS) - named == {"allocation", "startup"}  # print figures of no page
    for path in re.findall(r"`pytest (tests/[\w/.]+)`", page):
        assert (ROOT / path).exists()
