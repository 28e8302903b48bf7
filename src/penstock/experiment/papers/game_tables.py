"""Tab. IV and V as they are shown: ours, and the paper's in brackets."""

from collections.abc import Sequence
from typing import Final

from penstock.experiment.cells import Words, cell
from penstock.experiment.papers import game_printed as printed
from penstock.experiment.papers.game_entries import TOLERANCE, TOLERANCE_OF_COUNTS
from penstock.experiment.papers.game_reasons import reasons_iv, reasons_v
from penstock.experiment.papers.game_service import COMPARED
from penstock.experiment.reproduction import Entry, Table, find

_PLAYERS: Final = {"nash": "selfish", "incentive": "cooperative", "social": "optimum"}
_LEGEND: Final = (
    "Ours with its 95 % interval, the paper's in brackets; * is off by more than {share:g} %"
)
_ROWS: Final[dict[str, tuple[str, Words]]] = {
    "cost": ("total cost", lambda x: f"{x:,.0f}"),
    "images": ("completed images", lambda x: f"{x:,.0f}"),
    "throughput": ("images a step", lambda x: f"{x:.1f}"),
    "turned_away": ("share turned away", lambda x: f"{x:.3f}"),
}


def tables(entries: Sequence[Entry]) -> tuple[Table, ...]:
    """A part of Tab. IV for each workload, and Tab. V."""
    workloads = [w for w in printed.WORKLOADS if find(entries, workload=w)]
    parts = [_table_iv(entries, workload, last=workload == workloads[-1]) for workload in workloads]
    return (*parts, _table_v(entries, workloads))


def _table_iv(entries: Sequence[Entry], workload: str, *, last: bool) -> Table:
    rows = []
    for module in printed.MODULES:
        cells = [
            cell(
                find(entries, workload=workload, module=module, strategy=strategy, quantity=what),
                words,
            )
            for what, words in (("reconfigurations", _one), ("efficiency", _three))
            for strategy in COMPARED
        ]
        rows.append((module, *cells))
    legend = (
        f"{_LEGEND.format(share=100 * TOLERANCE)}, or {100 * TOLERANCE_OF_COUNTS:g} % for counts."
    )
    return Table(
        title=f"Tab. IV, {workload}: reconfigurations and relative efficiency",
        header=(
            "module",
            *(f"changes, {_PLAYERS[name]}" for name in COMPARED),
            *(f"efficiency, {_PLAYERS[name]}" for name in COMPARED),
        ),
        rows=tuple(rows),
        notes=(legend, *reasons_iv(entries)) if last else (),
    )


def _table_v(entries: Sequence[Entry], workloads: Sequence[str]) -> Table:
    rows = [row for workload in workloads for row in _rows_v(entries, workload)]
    return Table(
        title="Tab. V: cost and completed images",
        header=("workload", "figure", *_PLAYERS.values(), "cooperative / selfish"),
        rows=tuple(rows),
        notes=(f"{_LEGEND.format(share=100 * TOLERANCE)}.", *reasons_v(entries)),
    )


def _rows_v(entries: Sequence[Entry], workload: str) -> list[tuple[str, ...]]:
    def shown(quantity: str, strategy: str, words: Words) -> str:
        found = find(entries, table="V", workload=workload, strategy=strategy, quantity=quantity)
        return cell(found, words)

    rows = [
        (
            workload if quantity == "cost" else "",
            name,
            *(shown(quantity, strategy, words) for strategy in _PLAYERS),
            shown(quantity, "incentive/nash", _three),
        )
        for quantity, (name, words) in _ROWS.items()
    ]
    stability = shown("stability", "incentive/nash", _three)
    return [*rows, ("", "price of stability", "", "", "", stability)]


def _one(value: float) -> str:
    return f"{value:.1f}"


def _three(value: float) -> str:
    return f"{value:.3f}"
