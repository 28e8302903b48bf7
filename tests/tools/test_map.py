from pathlib import Path

import pytest
from tools.map import closures, page, unused, widths
from tools.sources import Tree

from tests.support.paths import ROOT

HOUSE = {
    "src/penstock/__init__.py": """
        def attach():
            from penstock.core.loop import drive
            return drive
        """,
    "src/penstock/core/__init__.py": "",
    "src/penstock/core/loop.py": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from penstock.cli.run import execute
        LIMIT = 3
        def drive(then: "execute"): return then
        def forgotten(): return forgotten()
        def tested(): return helper() + LIMIT
        def helper(): return deeper()
        def deeper(): return helper()
        """,
    "src/penstock/policy/__init__.py": "from penstock.policy.own import Own, rule\nNAMES = 1",
    "src/penstock/policy/own.py": "class Own: ...\ndef rule(): ...\ndef documented(): ...",
    "src/penstock/policy/tables/own.py": "def made(): ...",
    "src/penstock/cli/__init__.py": "",
    "src/penstock/cli/run.py": """
        from penstock import attach
        POLICIES = {"own": "penstock.policy.own:Own"}
        def execute(): return attach, POLICIES, load(f"penstock.policy.tables.{word}").made()
        """,
    "src/penstock/cli/simulate.py": """
        from penstock.cli import run
        for command in (run,): command.execute()
        """,
    "src/penstock/cli/validate.py": "",
    "tests/test_loop.py": """
        from penstock.core.loop import tested
        from penstock.policy import NAMES, rule
        assert tested() and rule() and NAMES
        """,
    "README.md": "`penstock.policy.own.documented` is public.",
    "pyproject.toml": """
        [[tool.importlinter.contracts]]
        type = "layers"
        layers = ["cli", "policy : other", "core"]
        """,
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small project on disk."""
    for name, text in HOUSE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("\n        ", "\n"))
    return tmp_path


def test_a_closure_follows_functions_and_import_strings_but_not_types(house: Path) -> None:
    behind = closures(Tree.of(house / "src" / "penstock"))
    assert behind["attach"] == {"penstock", "penstock.core", "penstock.core.loop"}
    assert behind["run"] == {
        *("penstock", "penstock.cli", "penstock.cli.run", "penstock.policy", "penstock.policy.own")
    }
    assert behind["simulate"] == behind["run"] | {"penstock.cli.simulate"}
    assert behind["validate"] == {"penstock", "penstock.cli", "penstock.cli.validate"}


def test_to_export_or_to_test_a_name_is_not_to_use_it(house: Path) -> None:
    names = unused(house, Tree.of(house / "src" / "penstock"))
    assert names["names used by tests alone"] == [
        *("penstock.core.loop.LIMIT", "penstock.core.loop.deeper", "penstock.core.loop.helper"),
        *("penstock.core.loop.tested", "penstock.policy.NAMES", "penstock.policy.own.rule"),
    ]
    assert names["names used nowhere"] == ["penstock.core.loop.forgotten"]


def test_packages_come_in_the_order_of_the_layers(house: Path) -> None:
    lines = list(page(house))
    assert [line.split()[0] for line in lines[1:5]] == ["core", "policy", "cli", "penstock"]
    assert lines[2].split() == ["policy", "3", "6"]
    assert lines[4].split()[3:] == ["core"]
    assert any(line.startswith("  penstock/cli 4, penstock/") for line in lines)


@pytest.fixture(scope="module")
def penstock() -> Tree:
    """The real one."""
    return Tree.of(ROOT / "src" / "penstock")


def test_every_name_of_the_house_is_used(penstock: Tree) -> None:
    assert unused(ROOT, penstock)["names used nowhere"] == []


def test_the_house_has_few_files(penstock: Tree) -> None:
    assert len(penstock.files) <= 420


def test_no_folder_is_wide() -> None:
    wide = {folder: n for top in ("src", "tests") for folder, n in widths(ROOT / top).items()}
    assert {folder: count for folder, count in wide.items() if count > 20} == {}


@pytest.mark.parametrize(("entry", "fewer_than"), [("attach", 140), ("simulate", 220)])
def test_few_files_stand_behind_an_entry_point(penstock: Tree, entry: str, fewer_than: int) -> None:
    assert len(closures(penstock)[entry]) < fewer_than
