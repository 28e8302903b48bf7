"""What the documentation says of guards is so."""

import doctest
import re
from pathlib import Path

import pytest

from penstock.core.settings import option_names
from penstock.guard import GUARDS
from penstock.pipeline.file import check
from tests.support.paths import DOCS

GUIDE = (DOCS / "guards.md").read_text()


def test_its_file_is_without_mistakes(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (tmp_path / "job.yaml").write_text(text)
    assert check(tmp_path / "job.yaml").mistakes == ()


def test_its_python_runs_as_shown() -> None:
    failed, tried = doctest.testfile(str(DOCS / "guards.md"), module_relative=False)
    assert (failed, tried) == (0, 7)


@pytest.mark.parametrize("page", ["guards.md", "pipeline-file.md"])
@pytest.mark.parametrize("kind", sorted(GUARDS))
def test_every_setting_of_every_guard_is_reported(kind: str, page: str) -> None:
    rows = re.findall(rf"^\| `{kind}` \| .*$", (DOCS / page).read_text(), re.MULTILINE)
    for setting in set(option_names(GUARDS[kind])) - {"policy"}:
        assert any(f"`{setting}`" in row for row in rows)
