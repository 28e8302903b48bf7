"""Results of papers that were made up, and what the papers' claims and tables say of them."""

from collections.abc import Hashable, Iterable, Mapping
from importlib import import_module
from typing import Any

from penstock.experiment.results import Claim, Entry, Reproduction, Table
from penstock.papers.framework import Options, Paper, Results, reproduce

Made = Mapping[tuple[Hashable, str], float]
"""By subject and quantity."""
NAMES = ("game", "mpc", "ppq", "e2df", "alloc")


def paper(name: str) -> Paper[Any, Any]:
    found: Paper[Any, Any] = import_module(f"penstock.papers.{name}.results").PAPER
    return found


def made_up(values: Made, details: Any = None, **options: Any) -> Results[Any]:
    """Results of one seed."""
    chosen = Options(**{"seeds": 1, **options})
    measured = {key: [value] for key, value in values.items()}
    return Results(options=chosen, measured=measured, details=details or {})


def answers(name: str, results: Results[Any]) -> tuple[Claim, ...]:
    found = (claim.answer(results) for claim in paper(name).claims)
    return tuple(claim for claim in found if claim is not None)


def answer(name: str, results: Results[Any], words: str) -> Claim:
    """The one claim with these words."""
    [found] = [claim for claim in answers(name, results) if words in claim.text]
    return found


def tables(name: str, results: Results[Any]) -> list[Table]:
    made = (t if isinstance(t, Table) else t.fill(results) for t in paper(name).tables(results))
    return [table for table in made if table.rows]


def notes(name: str, results: Results[Any]) -> str:
    return " ".join(note for table in tables(name, results) for note in table.notes)


def run(name: str, **given: Any) -> Reproduction:
    one = paper(name)
    return reproduce(one, one.options(**given))


def find(entries: Iterable[Entry], **where: str) -> Entry | None:
    """The entry of a place; None where there is none."""
    return next((e for e in entries if where.items() <= e.where.items()), None)
