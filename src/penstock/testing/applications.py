"""What every application promises: its declaration, what it runs on Spark and its file agree.

The subject is the name of the application as a file has it. No Spark is started.
"""

import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from penstock.pipeline.file import check, load
from penstock.pipeline.shape import APPLICATIONS
from penstock.testing.checking import Check, require, run_all

if TYPE_CHECKING:
    from penstock.pipeline.application import Application
    from penstock.spark.source import RowMaker

_SOME: Final = np.arange(50)


def ships_a_file_without_mistakes(name: str) -> None:
    """Which names it and goes by its name, so that it can be run, simulated and shared."""
    checked = check(name)
    require(not checked.mistakes, "; ".join(map(str, checked.mistakes)))
    require(checked.file is not None and checked.file.runnable, "its file names no application")
    own, named = APPLICATIONS[name].name, checked.file.name if checked.file else None
    require(named == own, f"the file of {own} is one of {named}")


def runs_the_operators_that_it_declares(name: str) -> None:
    """In an order in which rows cross them."""
    declared, real = APPLICATIONS[name].shape.operators, tuple(_on_spark(name).operators)
    require(real == declared, f"it declares {', '.join(declared)} and runs {', '.join(real)}")


def feeds_operators_that_it_has(name: str) -> None:
    """And the first operator is fed by none of them."""
    shape = APPLICATIONS[name].shape
    for pair in shape.feeds:
        require(set(pair) <= set(shape.operators), f"rows go from {pair[0]} to {pair[1]}")
    fed = {target for _, target in shape.feeds}
    unfed = [operator for operator in shape.operators if operator not in fed]
    require(unfed == [shape.operators[0]], f"no rows come to {', '.join(unfed)}")


def declares_what_works_by_key(name: str) -> None:
    """And whether rows change places between executors."""
    shape, operators = APPLICATIONS[name].shape, _on_spark(name).operators
    keyed = tuple(each for each, operator in operators.items() if operator.keyed)
    require(keyed == shape.keyed, f"it declares {shape.keyed} as keyed, and {keyed} are")
    moved = any(operator.shuffles or operator.keyed for operator in operators.values())
    require(moved == shape.exchanges, f"it declares exchanges={shape.exchanges}")


def makes_the_same_rows_again(name: str) -> None:
    """After a failure, in another process, and one by one."""
    rows = _rows(name)
    made = rows.columns(_SOME)
    again = pickle.loads(pickle.dumps(rows)).columns(_SOME)  # noqa: S301  # our own, just now
    require(made == again, "the rows of the same numbers differ from one time to the next")
    one = rows.columns(_SOME[7:8])
    same = all(one[key].to_pylist() == made[key].to_pylist()[7:8] for key in made)
    require(same, "a row depends on the rows that are made with it")


def makes_the_columns_that_it_declares(name: str) -> None:
    """In their order; `ts` comes on top of them."""
    rows = _rows(name)
    declared = [part.split()[0].strip("`") for part in rows.schema.split(", ")]
    made = list(rows.columns(_SOME))
    require(made == declared, f"its schema has {declared}, its rows have {made}")


def has_results_before_the_first_batch(name: str) -> None:
    """A run may end before any row has arrived."""
    with tempfile.TemporaryDirectory() as folder:
        results = _on_spark(name).consumer(Path(folder)).results()
    require(isinstance(results, dict), f"its results must be a dict, got {results!r}")


APPLICATION_CHECKS: Final[Sequence[Check[str]]] = (
    ships_a_file_without_mistakes,
    runs_the_operators_that_it_declares,
    feeds_operators_that_it_has,
    declares_what_works_by_key,
    makes_the_same_rows_again,
    makes_the_columns_that_it_declares,
    has_results_before_the_first_batch,
)


def check_application(name: str) -> None:
    """Run `APPLICATION_CHECKS` on an application, and fail with all that is wrong."""
    run_all(APPLICATION_CHECKS, name)


def _on_spark(name: str) -> "Application":
    from penstock.pipeline.deploy.pipeline import application_of  # needs pyspark

    return application_of(load(name))


def _rows(name: str) -> "RowMaker":
    from penstock.pipeline.deploy.pipeline import rows_of  # needs pyspark

    return rows_of(load(name), _on_spark(name))
