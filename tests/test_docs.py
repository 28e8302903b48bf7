"""Paths and names in the docs exist."""

import re
from functools import cache
from pathlib import Path

import pytest
from tools.sources import Tree

from tests.support.paths import DOCS, ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
NAMING = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""Pages without names of the past."""
GROUPS = [
    "policies",
    "guards",
    "forecasters",
    "workloads",
    "applications",
    "node_policies",
    "managers",
]
OTHERS = ("penstock.yaml", "penstock.json", *(f"penstock.{group}" for group in GROUPS))
"""Dotted words that are files of users, not names of the package."""


@cache
def tree() -> Tree:
    return Tree.of(ROOT / "src" / "penstock")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_it_mentions_exist(page: Path) -> None:
    mentioned = re.findall(
        r"(?<![\w/.])(?:src/penstock|docs|examples)/[\w./-]*\w", page.read_text()
    )
    assert [path for path in mentioned if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_names_of_the_package_exist(page: Path) -> None:
    text = page.read_text()
    names = set(re.findall(r"(?<![\w./-])penstock(?:\.[A-Za-z_]\w*)+", text))
    for module, imported in re.findall(r"from (penstock[\w.]*) import ([\w, ]+)", text):
        names.update(f"{module}.{name}" for name in re.findall(r"\w+", imported))
    assert sorted(name for name in names.difference(OTHERS) if not _exists(name)) == []


def _exists(name: str) -> bool:
    return name in tree().files or any(tree().definitions(name))


def test_the_walks_pass_through_every_package() -> None:
    text = (DOCS / "architecture.md").read_text()
    packages = {path.parent.name for path in (ROOT / "src" / "penstock").glob("*/__init__.py")}
    assert {name for name in packages if f"](../src/penstock/{name})" not in text} == set()
