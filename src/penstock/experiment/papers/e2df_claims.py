"""What the e2df paper found, and whether it was found again."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from penstock.experiment.papers.e2df_entries import (
    COMPARED,
    FEW_VIOLATIONS,
    SCARCE,
    TOLERANCE,
    TOLERANCE_OF_RECONFIGURATIONS,
    TOLERANCE_WHERE_SCARCE,
)
from penstock.experiment.papers.e2df_findings import findings
from penstock.experiment.papers.e2df_printed import APPLICATIONS
from penstock.experiment.reproduction import Claim, Entry

RESOURCES: Final = ("replicas", "nodes")


def claims(entries: Sequence[Entry]) -> tuple[Claim, ...]:
    """Each with what we found; the paper's figures only where whole runs were made."""
    return (*_table_1(entries), *_table_2(entries), *findings(entries))


def _table_1(entries: Sequence[Entry]) -> Iterator[Claim]:
    yield from _near(
        _of(entries, "1", RESOURCES),
        f"Tab. 1: replicas and nodes are within {100 * TOLERANCE['1']:g} % of the paper's.",
    )
    yield from _near(
        _of(entries, "1", ("reconfigurations",)),
        "Tab. 1: reconfigurations are within "
        f"{100 * TOLERANCE_OF_RECONFIGURATIONS:g} % of the paper's.",
    )
    violations = _of(entries, "1", ("violations",))
    worst = max(violations, key=lambda entry: entry.ours.mean)
    yield Claim(
        text=f"Tab. 1: violations are under {100 * FEW_VIOLATIONS:g} % with all policies.",
        found=f"{100 * worst.ours.mean:.2f} % at most ({_name(worst)}).",
        holds=worst.ours.mean < FEW_VIOLATIONS,
    )


def _table_2(entries: Sequence[Entry]) -> Iterator[Claim]:
    for application in APPLICATIONS:
        rows = [e for e in entries if e.where.get("application") == application]
        yield from _near(
            _of(rows, "2", RESOURCES),
            f"Tab. 2, {application}: replicas and nodes are within {100 * TOLERANCE['2']:g} % of "
            f"the paper's, {100 * TOLERANCE_WHERE_SCARCE:g} % with a weight of {SCARCE:g}.",
        )
        shares = [entry.ours.mean for entry in _of(rows, "2", ("violations",))]
        yield Claim(
            text=f"Tab. 2, {application}: the more demand weighs, the fewer violations.",
            found=", ".join(f"{100 * share:.2f}" for share in shares) + " %.",
            holds=all(after <= before for before, after in pairwise(shares))
            and shares[-1] < shares[0],
        )


def _near(entries: Sequence[Entry], text: str) -> Iterator[Claim]:
    """Whether all are as near as their tolerance says; nothing where nothing compares."""
    known = [(entry, _off(entry)) for entry in entries if entry.paper is not None]
    if not known:
        return
    far = [pair for pair in known if pair[0].differs]
    entry, share = max(far or known, key=lambda pair: abs(pair[1]))
    told = f"{_name(entry)}, {entry.where['quantity']}: {100 * share:+.1f} %"
    yield Claim(
        text=text,
        found=f"{len(known) - len(far)} of {len(known)} are; furthest off is {told}.",
        holds=not far,
    )


def _off(entry: Entry) -> float:
    return entry.ours.mean / entry.paper - 1 if entry.paper else 0.0


def _of(entries: Iterable[Entry], table: str, quantities: Sequence[str]) -> list[Entry]:
    return [
        entry
        for entry in entries
        if (entry.where["table"], entry.where["stretch"]) == (table, COMPARED)
        and entry.where["quantity"] in quantities
    ]


def _name(entry: Entry) -> str:
    """Where it stands in its table."""
    first = "infrastructure" if entry.where["table"] == "1" else "demand_weight"
    return f"{entry.where[first]} and {entry.where['application']}"
