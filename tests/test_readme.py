"""The README says nothing that is not so, and is short."""

import re
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.pipeline.file import check
from penstock.policy import POLICIES
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ \.venv/bin/penstock ([^#\n]+)", README, re.MULTILINE)
LONGEST = 150
"""Lines."""


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= LONGEST


def test_its_pipeline_file_is_without_mistakes(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "my.yaml").write_text(text)
    assert check(str(tmp_path / "my.yaml")).mistakes == ()


def test_its_table_has_every_policy() -> None:
    [table] = re.findall(r"^\| policy \|.*?\n\n", README, re.MULTILINE | re.DOTALL)
    first = "\n".join(line.split("|")[1] for line in table.strip().splitlines()[2:])
    assert set(re.findall(r"`([\w-]+)`", first)) == set(POLICIES.built_in)


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
    assert {"demo", "test", "test-all", "bench", "docs", "map"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.slow
def test_its_tournament_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [command] = [command for command in COMMANDS if command.startswith("compare wordcount")]
    assert main([*command.split(), "--out", str(tmp_path / "compared"), "--quiet"]) == 0
    assert "Choose latency: " in capsys.readouterr().out
