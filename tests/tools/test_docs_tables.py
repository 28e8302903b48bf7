"""The tables of settings in the docs are those of the declarations."""

import pytest
from tools.docs_tables import PAGES, rewritten, table

from tests.support.paths import DOCS


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_a_page_are_up_to_date(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert "<!-- settings: " in page
    assert rewritten(page) == page, "run python -m tools.docs_tables"


def test_a_table_has_meaning_bounds_and_default() -> None:
    assert "| `slots` | Replicas that one node can host; 1 to 10,000 | `2` |" in table("region")
    assert "(guard `scale-down`); above 0s; `off` | `5m` |" in table("attach")
