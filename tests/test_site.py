"""The documentation builds as a site, and a broken link is an error."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import DOCS

INDEX = "# Index\n\n## Start\n\n- [Page](page.md)\n"


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the pages of a folder with the configuration of ours."""
    strict = ("--fail-on-warning", "--keep-going", "--nitpicky", "--quiet")
    command = (sys.executable, "-m", "sphinx", *strict, "-c", str(DOCS), str(docs), str(site))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_pages_build_without_a_warning(tmp_path: Path) -> None:
    built = build(DOCS, tmp_path)
    assert (built.returncode, built.stderr) == (0, "")
    for page in DOCS.rglob("*.md"):
        assert (tmp_path / page.relative_to(DOCS).with_suffix(".html")).exists()


def test_the_site_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text(INDEX)
    (tmp_path / "page.md").write_text("# Page\n")
    assert build(tmp_path, tmp_path / "site").returncode == 0
    text = (tmp_path / "site" / "index.html").read_text()
    assert 'src="http' not in text
    assert 'rel="stylesheet" type="text/css" href="http' not in text


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("# Page\n\n[gone](gone.md)\n", "gone.md"),
        ("# Page\n\n[gone](index.md#gone)\n", "gone"),
        ("# Page\n\n![gone](gone.png)\n", "gone.png"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, page: str, reason: str) -> None:
    (tmp_path / "index.md").write_text(INDEX)
    (tmp_path / "page.md").write_text(page)
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert reason in built.stderr


def test_a_page_that_no_index_lists_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Index\n")
    (tmp_path / "page.md").write_text("# Page\n")
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert "isn't included in any toctree" in built.stderr
