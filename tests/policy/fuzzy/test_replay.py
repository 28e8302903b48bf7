"""The published logs of the controller: each row's measurements lead to the next row's workers."""

from itertools import pairwise
from math import isnan
from typing import NamedTuple

import pytest

from penstock.policy.fuzzy import Terms, next_degrees
from tests.support.paths import PUBLISHED

LOGS = PUBLISHED / "ppq"
NAMES = [f"controller_skyline_r0.{r}_Game{game}.log" for r in (6, 7) for game in (1, 2)]


class Row(NamedTuple):
    rho_plq: float
    splitting: float
    rho_wlq: float
    plq: int
    wlq: int

    @property
    def has_numbers(self) -> bool:
        return not any(isnan(value) for value in self) and min(self.plq, self.wlq) >= 1


def read(line: str) -> Row:
    _, rho_plq, splitting, rho_wlq, plq, wlq, *_ = line.split()
    return Row(float(rho_plq), float(splitting), float(rho_wlq), int(plq), int(wlq))


def rows(name: str) -> list[Row]:
    path = LOGS / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand")
    return [read(line) for line in path.read_text().splitlines() if not line.startswith("#")]


def share(log: list[Row], terms: Terms) -> float:
    steps = [(now, then) for now, then in pairwise(log) if now.has_numbers and then.plq >= 1]
    hits = [next_degrees(*now, terms=terms) == (then.plq, then.wlq) for now, then in steps]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("name", NAMES)
def test_decides_as_the_published_controller_did(name: str) -> None:
    assert share(rows(name), Terms()) >= 0.98


@pytest.mark.parametrize("name", NAMES)
def test_the_words_did_not_move_with_the_setpoint(name: str) -> None:
    moved = Terms(fast=(0.3, 0.7), acceptable=(0.3, 0.7, 1.1), slow=(0.7, 1.1))
    assert share(rows(name), moved) < 0.5


@pytest.mark.parametrize("name", NAMES)
def test_holds_at_steps_without_numbers(name: str) -> None:
    silent = [row for row in rows(name) if isnan(row.splitting)]
    assert silent
    for row in silent:
        kept = (max(row.plq, 1), max(row.wlq, 1))
        assert next_degrees(row.rho_plq, row.splitting, row.rho_wlq, *kept) == kept


@pytest.mark.parametrize(
    ("measured", "before", "after"),
    [
        ((1.65, 1.00, 1.33), (1, 1), (2, 2)),
        ((1.25, 1.20, 3.70), (2, 2), (2, 3)),
        ((0.39, 1.85, 7.66), (2, 3), (1, 5)),
        ((0.65, 1.65, 0.87), (2, 27), (2, 26)),
        ((0.74, 1.90, 0.43), (2, 26), (2, 13)),
        ((0.75, 2.00, 0.86), (2, 48), (2, 45)),
    ],
)
def test_decides_as_in_a_few_steps_of_these_logs(
    measured: tuple[float, float, float], before: tuple[int, int], after: tuple[int, int]
) -> None:
    assert next_degrees(*measured, *before) == after
