"""The data of a paper: how its file is read, and what is said about mistakes in it."""

import re
from typing import Any

import pytest

from penstock.core.errors import FileError
from penstock.papers.data import FILE, PaperFile, fill, read_paper, read_text
from penstock.papers.framework import Finding, Results
from tests.support.papers import NAMES, made_up, paper

BRIEF = """\
title: A brief paper
seeds: 2
published: {cost: 2.0, share: {1: 0.5}}
tolerance: {any: 0.2, cost: 0.5}
tables:
  V:
    title: "Tab. V: {what}"
    header: [strategy, cost, images]
    write: {cost: ",.1f", images: ",.0f"}
    limits: 20 %
    calibrated: [images]
    notes:
      - about: [cost]
        where: {strategy: [nash]}
        text: Costs differ.
claims:
  - text: It costs {cost:g}.
    measure: dear
    found: "{all:.1f}"
    TEST
"""


def brief(text: str = BRIEF, test: str = "at_most: 2.5") -> PaperFile:
    return read_text(text.replace("TEST", test), name=f"brief/{FILE}")


def costs(**by_strategy: float) -> Results[Any]:
    return made_up({(name, "cost"): value for name, value in by_strategy.items()})


def test_a_table_has_the_formats_tolerances_and_reasons_of_the_file() -> None:
    sheet = brief().sheet("V", what="cost")
    rows = [sheet.row((name,), name, {"strategy": name}, {"cost": 2.0}) for name in ("nash", "rl")]
    table = sheet.table(rows)
    assert table.title == "Tab. V: cost"
    cost, images = rows[0].cells
    assert not isinstance(cost, str)
    assert not isinstance(images, str)
    assert (cost.tolerance, images.tolerance) == (0.5, 0.2)
    assert (cost.calibrated, images.calibrated) == (False, True)
    assert cost.where == {"table": "V", "strategy": "nash", "quantity": "cost"}
    shown = table.fill(costs(nash=3.5, rl=3.5))
    assert shown.rows[0] == ("nash", "3.5 (2)*", "")
    assert shown.notes[1:] == ("Costs differ.",)
    assert table.fill(costs(nash=2.9, rl=3.5)).notes[1:] == ()


@pytest.mark.parametrize(
    ("test", "cost", "limit", "holds"),
    [
        ("at_most: 2.5", 2.5, "at most 2.5", True),
        ("at_most: 2.5", 2.6, "at most 2.5", False),
        ("at_least: 2.5", 2.4, "at least 2.5", False),
        ("between: [1, 2]", 2.1, "agrees: 1 to 2", False),
        ("agrees: {with: cost, within: 0.5}", 2.5, "agrees within 0.5", True),
        ("agrees: {with: cost, within: 0.5}", 1.4, "agrees within 0.5", False),
        ("agrees: {with: share, within: 0.5}", 1.0, "agrees within 0.5", True),
    ],
)
def test_a_claim_is_judged_by_the_limit_of_the_file(
    test: str, cost: float, limit: str, holds: bool
) -> None:
    file = brief(test=test)
    file.measures["dear"] = lambda results: results.means(["nash"], "cost")
    [claim] = file.claims()
    answer = claim.answer(costs(nash=cost))
    assert answer is not None
    assert (answer.text, answer.found) == ("It costs 2.", f"{cost:.1f}")
    assert (answer.limit, answer.holds) == (limit, holds)


@pytest.mark.parametrize(("test", "found"), [("", [1.0]), ("at_most: 2", Finding([1.0], True))])
def test_either_the_file_or_the_measure_judges_a_claim(test: str, found: object) -> None:
    file = brief(test=test)
    file.measures["dear"] = lambda _: found
    [claim] = file.claims()
    with pytest.raises(TypeError, match=r"either the limit or the measure .* It costs 2"):
        claim.answer(costs())


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("calibrate:", "calibrated:", "line 11: a table has no setting 'calibrate'"),
        ("seeds: two", "seeds: 2", "line 2: seeds of the file must be a whole number, got 'two'"),
        ("meassure:", "measure:", "line 18: a claim has no setting 'meassure'"),
        ("seeds: 2\nseeds: 3", "seeds: 2", "line 3: seeds already stands on line 2"),
        ("abuot:", "about:", "line 13: a note has no setting 'abuot'"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(wrong: str, right: str, message: str) -> None:
    def read() -> None:
        file = brief(BRIEF.replace(right, wrong))
        file.sheet("V", what="")
        file.claims()

    with pytest.raises(FileError, match=re.escape(f"brief/{FILE}, {message}")):
        read()


def test_a_name_that_is_not_known_is_not_printed() -> None:
    with pytest.raises(KeyError, match="what"):
        brief().sheet("V")


@pytest.mark.parametrize("name", NAMES)
def test_every_function_of_a_paper_that_is_registered_is_named_in_its_file(name: str) -> None:
    one = paper(name)
    text = str(read_paper(f"penstock.papers.{name}").draft.value)
    module = __import__(f"penstock.papers.{name}.results", fromlist=["FILE"])
    assert len(one.claims) >= 7
    for function in module.FILE.measures:
        assert re.search(rf"'(measure|each)': '{function}'", text), function


def test_shares_have_their_unit_once_and_names_in_brackets() -> None:
    assert fill("{all:.0f%}", {}, [0.5, 0.25]) == "50, 25 %"
    assert fill("{0:.2f}", {}, {"rl": 0.25}) == "0.25 (rl)"
    assert fill("{rl:.2fh} of {n:#pass}", {"n": 1}, {"rl": 0.25}) == "25.00 of 1 pass"
