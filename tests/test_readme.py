"""The README says nothing that is not so."""

import doctest
import re
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.pipeline.file import check
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ \.venv/bin/penstock ([^#\n]+)", README, re.MULTILINE)


def test_its_python_runs_as_shown() -> None:
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried > 5
    assert failed == 0


PIPELINE, GRAPH, _, SHARED, KAFKA = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)


def test_its_pipeline_file_is_without_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(PIPELINE)
    assert check(str(path)).mistakes == ()


def test_its_pipeline_from_kafka_is_without_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "kafka.yaml"
    path.write_text(KAFKA)
    assert main(["validate", str(path)]) == 0


def test_its_graph_is_planned_as_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(GRAPH)
    command = r"\$ penstock plan graph.yaml --policy social\n"
    [shown] = re.findall(rf"{command}(.*?)```", README, re.DOTALL)
    assert main(["plan", str(path), "--policy", "social"]) == 0
    assert capsys.readouterr().out == shown
    assert main(["plan", str(path), "--policy", "nash"]) == 0
    [cost] = re.findall(r"against ([\d.]+) for `nash`", README)
    assert f"cost of a step  {cost}\n" in capsys.readouterr().out


def test_its_pipelines_share_as_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(SHARED)
    assert main(["simulate", str(path), "--duration", "60s", "--out", str(tmp_path / "run")]) == 0
    [shown] = re.findall(r"on the twin:\n\n> (.*?)\n\n", README, re.DOTALL)
    assert shown.replace("\n> ", " ") in capsys.readouterr().out


def test_its_simulation_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [command] = [command for command in COMMANDS if command.startswith("simulate")]
    assert main([*command.split(), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "report.html" in capsys.readouterr().out


def test_every_command_it_shows_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        with pytest.raises(SystemExit) as left:
            main([*command.split(), "--help"])
        assert left.value.code == 0


def test_its_targets_stand_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"demo", "test", "test-all", "bench"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.slow
def test_its_tournament_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [command] = re.findall(r"^\$ penstock (compare wordcount .*)$", README, re.MULTILINE)
    assert main([*command.split(), "--out", str(tmp_path / "compared"), "--quiet"]) == 0
    assert "Choose latency: " in capsys.readouterr().out
